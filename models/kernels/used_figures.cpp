// The figures of a profile that decide a model's step times, for reports.
#include <fmt/format.h>

#include "models/kernels/linear_shapes.h"
#include "models/kernels/operators/attention.h"
#include "models/kernels/profile.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

using schema::Dimension;

class Figures {
 public:
  /// `scaled_from`: the machine that was measured, where that is another one; empty otherwise.
  explicit Figures(std::string scaled_from) : scaled_from_(std::move(scaled_from)) {}

  void add(std::string name, std::string value, schema::Source source) {
    add_of(std::move(name), std::move(value), std::move(source), "scaled by datasheet from");
  }
  template <class Form>
  void add_form(std::string name, const Form& form) {
    schema::Source source = form.source;
    if (form.error) source.reference += "; " + words_of(*form.error);
    add(std::move(name), "form", std::move(source));
    if (scaled_from_.empty()) list_.back().error = form.error;
  }
  /// A figure that another machine takes over as it stands.
  void add_unscaled(std::string name, std::string value, schema::Source source) {
    add_of(std::move(name), std::move(value), std::move(source), "as on");
  }
  void add(std::string name, Dimension dimension, const Sourced<double>& figure) {
    add(std::move(name), schema::format_real(dimension, figure.value), figure.source);
  }
  [[nodiscard]] std::vector<UsedFigure> take() { return std::move(list_); }

 private:
  /// `how`: what is done with the figure of another machine.
  void add_of(std::string name, std::string value, schema::Source source, const char* how) {
    if (!scaled_from_.empty() && source.kind == schema::SourceKind::measurement) {
      source = {schema::SourceKind::derived, fmt::format("{} {}: {}", how, scaled_from_, source.reference)};
    }
    list_.push_back({std::move(name), std::move(value), std::move(source)});
  }

  std::string scaled_from_;
  std::vector<UsedFigure> list_;
};

void add_linear(Figures& out, const GpuSpec& gpu, const KernelProfile& p, const LlmSpec& model, double gpus) {
  std::string why;
  const Machine machine = Machine::of(gpu);
  if (!covers_linear(p, model, machine, why)) {
    out.add("profile.linear.t0", Dimension::time, p.linear_t0_s);
    out.add("profile.linear.bandwidth_efficiency", Dimension::number, p.linear_bandwidth_efficiency);
    out.add("profile.linear.compute_efficiency", "curve", p.linear_compute_efficiency.source);
    return;
  }
  for (const NumberFormat weights : model.weight_formats()) {
    out.add_form("profile.fitted.linear", *form_for(p.fitted.linear, &LinearForm::weights, weights));
  }
  if (model.moe.experts > 0) {
    out.add_form("profile.fitted.moe", *form_for(p.fitted.moe, &MoeForm::weights, model.weight_format()));
  }
  std::vector<LinearShape> shapes = body_shapes(model, gpus);
  shapes.push_back(head_shape(model, gpus));
  for (const LinearTable& t : p.tables.linear) {
    for (const LinearShape& s : shapes) {
      if (t.weights != weights_of(model, s) || t.n != s.n || t.k != s.k) continue;
      out.add(fmt::format("profile.tables.linear {:.0f} x {:.0f}", t.n, t.k), "table", t.source);
      break;
    }
  }
}

void add_attention(Figures& out, const GpuSpec& gpu, const KernelProfile& p, const LlmSpec& model, double gpus) {
  std::string why;
  const bool fitted = covers_attention(p, model, Machine::of(gpu), why);
  if (!fitted) {
    out.add("profile.attention.t0", Dimension::time, p.attention_t0_s);
    out.add("profile.attention.bandwidth_efficiency", Dimension::number, p.attention_bandwidth_efficiency);
  }
  out.add("profile.attention.compute_efficiency", "curve", p.attention_compute_efficiency.source);
  if (p.low_bit.elements_per_s.value > 0) {
    out.add("profile.attention.low_bit.elements_per_s", Dimension::number, p.low_bit.elements_per_s);
  }
  if (p.further_query_share.value > 0) {
    out.add("profile.attention.further_query_share", Dimension::number, p.further_query_share);
  }
  if (!fitted) return;
  const NumberFormat kv = kv_format(model);
  if (model.attention == AttentionKind::mla) {
    out.add_form("profile.fitted.latent_decode_attention",
                 *form_for(p.fitted.latent_decode_attention, &DecodeForm::kv, kv));
    out.add_form("profile.fitted.latent_prefill_attention",
                 *form_for(p.fitted.latent_prefill_attention, &TiledForm::kv, kv));
    return;
  }
  out.add_form("profile.fitted.decode_attention", *form_for(p.fitted.decode_attention, &DecodeForm::kv, kv));
  if (const VerifyForm* verify = form_for(p.fitted.verify_attention, &VerifyForm::kv, kv)) {
    out.add_form("profile.fitted.verify_attention", *verify);
  }
  out.add_form("profile.fitted.prefill_attention", *form_for(p.fitted.prefill_attention, &TiledForm::kv, kv));
  const TiledForm* mixed = form_for(p.fitted.mixed_attention, &TiledForm::kv, kv);
  if (mixed != nullptr && p.launches.uses_mixed()) {
    out.add_form("profile.fitted.mixed_attention", *mixed);
    out.add_unscaled("profile.launches", "which form serves which steps", p.launches.source);
  }
  const auto heads = static_cast<double>(model.heads) / gpus;
  for (const DecodeTable& t : p.tables.decode_attention) {
    if (t.kv == kv && t.heads == heads) out.add("profile.tables.decode_attention", "table", t.source);
  }
}

}  // namespace

std::vector<UsedFigure> used_figures(const GpuSpec& gpu, const KernelProfile& p, const LlmSpec& model,
                                     std::int64_t tensor_parallel) {
  Figures out(is_measured_machine(p, gpu) || p.measured_on == "none" ? "" : p.measured_on);
  const auto gpus = static_cast<double>(tensor_parallel);
  add_linear(out, gpu, p, model, gpus);
  add_attention(out, gpu, p, model, gpus);
  if (p.fitted.elementwise) out.add("profile.fitted.elementwise", "form", p.fitted.elementwise->source);
  if (p.fitted.top_k) out.add("profile.fitted.top_k", "form", p.fitted.top_k->source);
  if (p.fitted.quantise) out.add("profile.fitted.quantise", "form", p.fitted.quantise->source);
  if (p.fitted.dequantise) out.add("profile.fitted.dequantise", "form", p.fitted.dequantise->source);
  if (!p.tables.sampler.empty()) out.add("profile.tables.sampler", "table", p.tables.sampler_source);
  if (p.framework) {
    const FrameworkMemory& f = *p.framework;
    out.add_unscaled("profile.framework.workspace", schema::format_bytes(f.workspace_bytes.value),
                     f.workspace_bytes.source);
    out.add_unscaled("profile.framework.full_kv_factor", schema::format_real(Dimension::number, f.full_kv_factor.value),
                     f.full_kv_factor.source);
  }
  const auto add_some = [&out](const char* name, Dimension dimension, const Sourced<double>& figure) {
    if (figure.value > 0) out.add_unscaled(name, schema::format_real(dimension, figure.value), figure.source);
  };
  add_some("profile.launch.graph", Dimension::time, p.launch.graph_s);
  add_some("profile.launch.kernel", Dimension::time, p.launch.kernel_s);
  add_some("profile.interference.kernels_to_gpu", Dimension::number, p.interference.kernels_to_gpu);
  add_some("profile.interference.kernels_from_gpu", Dimension::number, p.interference.kernels_from_gpu);
  add_some("profile.interference.copies_to_gpu", Dimension::number, p.interference.copies_to_gpu);
  add_some("profile.interference.copies_from_gpu", Dimension::number, p.interference.copies_from_gpu);
  out.add("profile.iteration_overhead", Dimension::time, p.iteration_overhead_s);
  return out.take();
}

}  // namespace kvsim::models
