#include "models/kernels/step_fallbacks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "models/kernels/engine_kernels.h"

namespace kvsim::models {
namespace {

using Texts = std::vector<std::string>;

/// Stages of a pipeline, or a replica, on several nodes that nothing is known to join.
void add_links(const StepSetup& s, Texts& texts) {
  const Interconnect& links = s.links;
  if (links.node_gpus <= 0 || s.parallel.gpus() <= links.node_gpus || links.between_nodes) return;
  texts.push_back(
      fmt::format("{} GPUs of a replica on nodes of {}: joined by {} as if they were one node, which is too fast; "
                  "cluster.node.link says what joins nodes",
                  s.parallel.gpus(), links.node_gpus, links.peer.name));
}

void add_origin(const KernelProfile& profile, const GpuSpec& gpu, Texts& texts) {
  const std::string& from = profile.measured_on;
  if (from.empty() || from == "none") {
    texts.push_back(
        fmt::format("profile {} was measured on no machine: its efficiencies are generic or assumed", profile.name));
  } else if (from != gpu.name) {
    const bool known = profile.machine && !profile.machine->architecture.empty() && !gpu.architecture.empty();
    const char* kin = !known                                              ? ""
                      : profile.machine->architecture == gpu.architecture ? " (same architecture)"
                                                                          : " (another architecture)";
    texts.push_back(
        fmt::format("profile {} was measured on {}, used on {}{}: efficiencies carried over, peaks from the datasheet",
                    profile.name, from, gpu.name, kin));
  }
}

/// Forms of an engine's kernels that were measured on another GPU.
void add_scaled_kernels(const KernelProfile& profile, const LlmSpec& model, Texts& texts) {
  std::set<std::string> scaled;
  const auto add = [&scaled](const auto* form) {
    if (form == nullptr || form->kernels.empty() || form->source.kind != schema::SourceKind::derived) return;
    scaled.insert(fmt::format("{}'s kernels, {}", form->kernels, form->source.reference));
  };
  const FittedForms& f = profile.fitted;
  for (const NumberFormat format : model.weight_formats()) add(form_for(f.linear, &LinearForm::weights, format));
  add(form_for(f.decode_attention, &DecodeForm::kv, kv_format(model)));
  add(form_for(f.prefill_attention, &TiledForm::kv, kv_format(model)));
  texts.insert(texts.end(), scaled.begin(), scaled.end());
}

/// Figures that a measured profile lacks. `attention`: null, or times by form.
void add_missing(const StepSetup& s, const LinearLayers& linear, const AttentionTimes* attention, Texts& texts) {
  const KernelProfile& profile = s.profile;
  const LlmSpec& model = s.model;
  const auto add = [&](const std::string& text) { texts.push_back(fmt::format("profile {}: {}", profile.name, text)); };
  if (!profile.fitted.elementwise) add("no figures for norms, rotary embedding and activation, which take no time");
  if (profile.tables.sampler.empty()) add("no figures for sampling, which takes no time beside the iteration overhead");
  if (profile.iteration_overhead_s.value <= 0) add("no iteration overhead: launch and scheduling take no time");
  if (linear.times() && !profile.tables.linear.empty() && !linear.times()->has_tables()) {
    add("its tables of linear layers are of other shapes than this model's: fitted forms");
  }
  if (attention != nullptr && !profile.tables.decode_attention.empty() && !attention->decode().most_requests()) {
    add("its tables of decode attention are of other heads than this model's: fitted forms");
  }
  constexpr double kSlow = 0.5;  // of the memory bandwidth: no other kernel of routed experts is below 0.78
  const MoeForm* experts = form_for(profile.fitted.moe, &MoeForm::weights, model.weight_format());
  if (linear.times() && model.moe.experts > 0 && experts->stream.bandwidth_efficiency < kSlow) {
    add(fmt::format(
        "routed experts in {} are timed as the kernel that was measured, which reads weights at {:.0f} % of "
        "the memory bandwidth: an engine that takes another kernel is several times faster there",
        word(experts->weights), 100 * experts->stream.bandwidth_efficiency));
  }
  const Texts others = kernels_of_others(profile, model);
  if (!others.empty()) {
    add(fmt::format("{}: not by kernels of {}, which the engine runs: the forms are fitted to another engine's",
                    fmt::join(others, ", "), profile.engine_kernels));
  }
  // Forms over latents are of the latent's own widths.
  if (attention == nullptr || model.attention == AttentionKind::mla) return;
  const auto [least, most] = attention->decode().head_dims();
  for (const std::int64_t dim : std::set{model.head_dim, model.window_part().head_dim}) {
    const auto width = static_cast<double>(dim);
    if (width >= least && width <= most) continue;
    add(fmt::format("attention was measured with heads of width {}, this model's are {} wide",
                    least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most), dim));
  }
}

}  // namespace

Texts step_fallbacks(const StepSetup& s, const LinearLayers& linear, const Attention& attention,
                     const Collectives& collectives) {
  Texts texts = collectives.estimates();
  add_links(s, texts);
  add_origin(s.profile, s.gpu, texts);
  add_scaled_kernels(s.profile, s.model, texts);
  std::string why;
  if (s.profile.machine && !covers_linear(s.profile, s.model, s.machine, why)) {
    texts.push_back(fmt::format("linear layers: {}; roofline with the profile's efficiencies", why));
  }
  const AttentionTimes* times = attention.all().times() ? &*attention.all().times() : nullptr;
  if (times != nullptr && times->lacks_mixed()) {
    texts.push_back(
        fmt::format("attention: the profile has no fitted form of the launch that serves mixed steps "
                    "for a {} KV cache; each kind of work by its own",
                    word(kv_format(s.model))));
  }
  if (s.profile.machine && !covers_attention(s.profile, s.model, s.machine, why)) {
    texts.push_back(fmt::format("attention: {}; roofline with the profile's efficiencies", why));
  }
  if (s.profile.machine) add_missing(s, linear, times, texts);
  if (s.model.window.layers > 0 && times != nullptr) {
    texts.emplace_back(
        "attention of layers with a window: no kernels of it were measured; forms of attention over all tokens, a "
        "chunk as pieces as long as the window");
  }
  if (s.model.state.layers > 0) {
    texts.emplace_back(
        "layers that keep a state: no kernels of them were measured; roofline with the profile's efficiencies of "
        "attention, the state read and written once a step for each request");
  }
  if (s.model.indexer.layers > 0) {
    texts.emplace_back(
        "indexers: no kernels of them were measured; roofline with the profile's efficiencies of attention, keys of "
        "all tokens read once for each request");
  }
  if (!s.model.gated_blocks && s.model.moe.experts > 0 && linear.times()) {
    texts.emplace_back(
        "experts of two matrices: forms are of three; those of two thirds of the width, as many parameters");
  }
  return texts;
}

}  // namespace kvsim::models
