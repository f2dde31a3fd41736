#include "models/kernels/step_time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "models/kernels/engine_kernels.h"

namespace kvsim::models {
namespace {

constexpr double kStateKernels = 2;    // a layer: convolution, and the state
constexpr double kIndexerKernels = 2;  // scores, and choosing the largest
constexpr double kLoadRows = 64;       // tokens that kernels of states take at once: a chunk

/// Kernel calls of a pass that carry a launch-and-ramp cost t0: QKV, output, gate+up and down per dense layer, the
/// latent's two extra projections for MLA, router and two grouped products (and the shared expert's two, and two to a
/// narrower width and back) per MoE layer, two of a layer that keeps a state, two of an indexer, the LM head.
double linear_calls_per_pass(const LlmSpec& m) {
  const bool mla = m.attention == AttentionKind::mla;
  const auto moe = routed_layers(m), blocks = static_cast<double>(m.block_layers());
  const double attention = mla ? 4 : 2;
  const double moe_block = 3.0 + (m.moe.shared_width() > 0 ? 2.0 : 0.0) + (m.moe.expert_hidden > 0 ? 2.0 : 0.0);
  return static_cast<double>(m.attention_layers()) * attention + (blocks - moe) * 2.0 + moe * moe_block +
         2.0 * static_cast<double>(m.state.layers + m.indexer.layers) + 1.0;
}

/// Kernels that a forward pass launches beside linear layers, attention and passes over activations. Of a routed layer:
/// choosing experts, sorting tokens by expert (two), the activation and summing up, and quantising the inputs of both
/// grouped products of narrow weights. Of a latent layer's chunks: two norms, writing the cache, and putting keys and
/// values together. Of others: writing keys and values. Two all-reduces a layer where GPUs share it. Counted in vLLM's
/// fused experts and latent attention; other engines' are alike.
double helper_kernels_per_pass(const LlmSpec& m, const KernelProfile& profile, bool shared) {
  const auto layers = static_cast<double>(m.attention_layers());
  const bool narrow = m.weight_format() != NumberFormat::bf16;
  const double routed = 5.0 + (narrow ? 2.0 : 0.0);
  const double attention = m.attention == AttentionKind::mla ? 5.0 : 1.0;
  const double reduced = shared ? all_reduces(m) : 0.0;
  const double heads = m.head_format() == NumberFormat::bf16 ? 1.0 : 0.0;  // LM heads whose inputs stay as they are
  const double quantised = narrow && !profile.fused.quantise ? linear_calls_per_pass(m) - heads : 0.0;
  return layers * attention + reduced + routed_layers(m) * routed + quantised;
}

/// Parameters of all layers that a token multiplies with before its attention scores.
double parameters_before_attention(const LlmSpec& m) {
  if (m.window_heads_differ()) {
    return parameters_before_attention(m.full_part()) + parameters_before_attention(m.window_part());
  }
  const auto layers = static_cast<double>(m.attention_layers()), shared = static_cast<double>(m.shared_kv_layers);
  const double states = static_cast<double>(m.state.layers) * static_cast<double>(m.hidden * m.state.in_width);
  if (m.attention != AttentionKind::mla) {
    return layers * static_cast<double>(m.hidden * (m.heads + 2 * m.kv_heads) * m.head_dim) -
           shared * static_cast<double>(m.hidden * 2 * m.kv_heads * m.head_dim) + states;
  }
  const MlaShape& s = m.mla;
  const std::int64_t width = m.heads * (s.qk_nope_head_dim + s.qk_rope_head_dim);
  const std::int64_t query = s.q_lora_rank > 0 ? s.q_lora_rank * (m.hidden + width) : m.hidden * width;
  const std::int64_t latent = m.hidden * (s.kv_lora_rank + s.qk_rope_head_dim);
  return layers * static_cast<double>(query + latent + s.kv_lora_rank * m.heads * s.qk_nope_head_dim) + states;
}

/// Of attention's projections.
double attention_bytes_per_parameter(const LlmSpec& m) {
  if (m.weight_bytes_override > 0) return static_cast<double>(m.weight_bytes()) / static_cast<double>(m.parameters());
  return m.stated_attention_format ? bytes_per_element(*m.stated_attention_format) : m.weight_bytes_per_parameter;
}

/// Bytes of the routed experts that so many tokens reach.
double routed_weight_bytes(const LlmSpec& m, double tokens) {
  return static_cast<double>(m.expert_weight_bytes()) * m.experts_touched(tokens) /
         static_cast<double>(std::max<std::int64_t>(m.moe.experts, 1));
}

}  // namespace

StepTimer::AttentionLayers::AttentionLayers(const LlmSpec& model, double gpus)
    : layers(static_cast<double>(model.attention_layers())),
      kv_share(model.kv_copies(static_cast<std::int64_t>(gpus)) / gpus),
      flops_per_pair(model.attention_flops_per_pair()) {}

bool is_captured(const KernelProfile& profile, const StepWork& work) {
  const bool short_enough = profile.launch.size_of(work) <= static_cast<double>(profile.captured_tokens);
  return short_enough && (profile.launch.chunks_captured || work.prefill.query_tokens <= 0);
}

StepTimer::StepTimer(const GpuSpec& gpu, const Interconnect& links, const KernelProfile& profile, const LlmSpec& model,
                     const Parallelism& parallel, CurveGrid grid)
    : gpu_(gpu),
      links_(links),
      model_(model),
      profile_(profile),
      parallel_(parallel),
      gpus_(static_cast<double>(parallel.tensor)) {
  memory_bytes_per_s_ = gpu.memory_bytes_per_s.value;
  head_flops_per_s_ = Machine::of(gpu).flops_per_s(model.head_format());
  linear_flops_per_s_ = Machine::of(gpu).flops_per_s(model.arithmetic_format());
  attention_flops_per_s_ = gpu.bf16_flops_per_s.value;  // narrow weights leave queries, keys and values in bf16
  linear_calls_ = linear_calls_per_pass(model);
  launches_ = linear_calls_ + static_cast<double>(model.attention_layers()) + 1;  // attention, and the sampler
  launches_ += kStateKernels * static_cast<double>(model.state.layers) +
               kIndexerKernels * static_cast<double>(model.indexer.layers);
  launches_ += helper_kernels_per_pass(model, profile_, parallel.expert_gpus() > 1);
  const bool norms = !profile_.fused.norms || parallel.tensor == 1;
  for (const ElementwiseKernel& k : elementwise_kernels(model, gpus_, true, norms)) launches_ += k.calls;
  head_flops_ = 2.0 * static_cast<double>(model.vocabulary * model.hidden);
  body_flops_ = model.linear_flops_per_token() - head_flops_;
  expert_flops_ = routed_layers(model) * static_cast<double>(model.moe.experts_per_token) * 2 *
                  static_cast<double>(model.expert_parameters());
  dense_weight_bytes_ = model.weight_bytes_read(1);
  head_weight_bytes_ = model.head_weight_bytes();
  qkv_weight_bytes_ = parameters_before_attention(model) * attention_bytes_per_parameter(model);
  const LlmSpec read = model.as_read();
  reads_of_kv_ = model.reads_of_kv();
  attention_ = AttentionLayers(read, gpus_);
  if (model.window.layers > 0) {
    layer_work_ = LayerWork(read);
    if (read.full_part().layers > 0) full_attention_ = AttentionLayers(read.full_part(), gpus_);
    window_attention_ = AttentionLayers(read.window_part(), gpus_);
  }
  const std::string& library = profile_.collective_library;
  const auto collective = [&](Collective operation, std::int64_t gpus) {
    CollectiveTimes times(links, operation, library, gpus);
    if (!times.estimate().empty()) fallbacks_.push_back(times.estimate());
    return times;
  };
  if (parallel.tensor > 1) {
    all_reduce_ = collective(Collective::all_reduce, parallel.tensor);
    all_gather_ = collective(Collective::all_gather, parallel.tensor);
  }
  if (parallel.attention_data > 1 && routed_layers(model) > 0) {
    gather_tokens_ = collective(Collective::all_gather, parallel.expert_gpus());
    scatter_tokens_ = collective(Collective::reduce_scatter, parallel.expert_gpus());
  }
  note_links(links);
  machine_ = machine_for(gpu, profile);
  note_origin(gpu);
  note_scaled_kernels();
  std::string why;
  linear_fitted_ = LinearTimes::covers(profile_, model_, machine_, why);
  if (linear_fitted_) {
    linear_times_ = LinearTimes(profile_, model_, machine_, parallel_, grid);
  } else if (profile_.machine) {
    fallbacks_.push_back(fmt::format("linear layers: {}; roofline with the profile's efficiencies", why));
  }
  attention_fitted_ = AttentionTimes::covers(profile_, model_, machine_, why);
  if (attention_fitted_) {
    attention_.times = AttentionTimes(profile_, read, machine_, gpus_, grid);
    if (layer_work_) {
      if (full_attention_.layers > 0) {
        full_attention_.times = AttentionTimes(profile_, read.full_part(), machine_, gpus_, grid);
      }
      window_attention_.times = AttentionTimes(profile_, read.window_part(), machine_, gpus_, grid);
    }
    if (attention_.times.lacks_mixed()) {
      fallbacks_.push_back(
          fmt::format("attention: the profile has no fitted form of the launch that serves mixed steps "
                      "for a {} KV cache; each kind of work by its own",
                      word(kv_format(model_))));
    }
  } else if (profile_.machine) {
    fallbacks_.push_back(fmt::format("attention: {}; roofline with the profile's efficiencies", why));
  }
  if (profile_.machine) note_missing();
  if (layer_work_ && attention_fitted_) {
    fallbacks_.push_back(
        "attention of layers with a window: no kernels of it were measured; forms of attention over all tokens, a "
        "chunk as pieces as long as the window");
  }
  if (model_.state.layers > 0) {
    fallbacks_.push_back(
        "layers that keep a state: no kernels of them were measured; roofline with the profile's efficiencies of "
        "attention, the state read and written once a step for each request");
  }
  if (model_.indexer.layers > 0) {
    fallbacks_.push_back(
        "indexers: no kernels of them were measured; roofline with the profile's efficiencies of attention, keys of "
        "all tokens read once for each request");
  }
  if (!model_.gated_blocks && model_.moe.experts > 0 && linear_fitted_) {
    fallbacks_.push_back(
        "experts of two matrices: forms are of three; those of two thirds of the width, as many parameters");
  }
  if (profile_.fitted.elementwise) {
    const ElementwiseForm& form = *profile_.fitted.elementwise;
    const bool rotary = model_.attention != AttentionKind::mla || !attention_fitted_;
    elementwise_kernels_ = elementwise_kernels(model_, gpus_, rotary);
    captured_kernels_ = elementwise_kernels(model_, gpus_, rotary, !profile_.fused.norms || parallel_.tensor == 1);
    elementwise_ = TokenCurve(
        [&](double tokens) {
          SplitTime sum;
          for (const ElementwiseKernel& k : kernels_of(tokens)) {
            sum.seconds += k.calls * form.seconds(k.bytes_per_token * tokens, machine_);
          }
          return sum;
        },
        grid);
  }
}

bool StepTimer::captured(const StepWork& work) const {
  return is_captured(profile_, parallel_.tensor_only() ? work : shared_work(work, parallel_).rank);
}

GpuSpec faster_gpu(GpuSpec gpu, double memory, double arithmetic) {
  gpu.memory_bytes_per_s.value *= memory;
  for (Sourced<double>* rate : {&gpu.bf16_flops_per_s, &gpu.fp8_flops_per_s, &gpu.fp4_flops_per_s})
    rate->value *= arithmetic;
  return gpu;
}

StepTimer StepTimer::coarse(double memory, double arithmetic) const {
  return {faster_gpu(gpu_, memory, arithmetic), links_, profile_, model_, parallel_, CurveGrid::coarse};
}

void StepTimer::note_missing() {
  const auto add = [&](const std::string& what) {
    fallbacks_.push_back(fmt::format("profile {}: {}", profile_.name, what));
  };
  if (!profile_.fitted.elementwise) add("no figures for norms, rotary embedding and activation, which take no time");
  if (profile_.tables.sampler.empty())
    add("no figures for sampling, which takes no time beside the iteration overhead");
  if (profile_.iteration_overhead_s.value <= 0) add("no iteration overhead: launch and scheduling take no time");
  if (linear_fitted_ && !profile_.tables.linear.empty() && !linear_times_.has_tables()) {
    add("its tables of linear layers are of other shapes than this model's: fitted forms");
  }
  if (attention_fitted_ && !profile_.tables.decode_attention.empty() && !attention_.times.has_table()) {
    add("its tables of decode attention are of other heads than this model's: fitted forms");
  }
  constexpr double kSlow = 0.5;  // of the memory bandwidth: no other kernel of routed experts is below 0.78
  const MoeForm* experts = form_for(profile_.fitted.moe, &MoeForm::weights, model_.weight_format());
  if (linear_fitted_ && model_.moe.experts > 0 && experts->stream.bandwidth_efficiency < kSlow) {
    add(fmt::format(
        "routed experts in {} are timed as the kernel that was measured, which reads weights at {:.0f} % of "
        "the memory bandwidth: an engine that takes another kernel is several times faster there",
        word(experts->weights), 100 * experts->stream.bandwidth_efficiency));
  }
  const std::vector<std::string> others = kernels_of_others(profile_, model_);
  if (!others.empty()) {
    add(fmt::format("{}: not by kernels of {}, which the engine runs: the forms are fitted to another engine's",
                    fmt::join(others, ", "), profile_.engine_kernels));
  }
  const auto [least, most] = attention_.times.head_dims();
  const bool heads = model_.attention != AttentionKind::mla;  // forms over latents are of the latent's own widths
  for (const std::int64_t dim : std::set{model_.head_dim, model_.window_part().head_dim}) {
    const auto width = static_cast<double>(dim);
    if (!attention_fitted_ || !heads || (width >= least && width <= most)) continue;
    add(fmt::format("attention was measured with heads of width {}, this model's are {} wide",
                    least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most), dim));
  }
}

ElementwiseForm StepTimer::elementwise_form() const {
  if (profile_.fitted.elementwise) return *profile_.fitted.elementwise;
  ElementwiseForm roofline;  // no fixed cost, weights' share of the memory bandwidth
  roofline.stream.bandwidth_efficiency = profile_.linear_bandwidth_efficiency.value;
  return roofline;
}

CompressionKernels StepTimer::compression_kernels() const {
  const FittedForms& f = profile_.fitted;
  return {elementwise_form(), f.top_k, f.quantise, f.dequantise};
}

double StepTimer::compression_s(const CompressionWork& work) const {
  return models::compression_s(compression_kernels(), machine_, work);
}

double StepTimer::dequantise_s(double full_bytes, double kept_bytes, double layers) const {
  if (!profile_.fitted.dequantise) return 0;
  return models::dequantise_s(compression_kernels(), machine_, full_bytes, kept_bytes, layers);
}

double StepTimer::rewrite_s(double bytes, double layers) const {
  return bytes > 0 ? gather_s(elementwise_form(), machine_, bytes, layers) : 0;
}

double StepTimer::selection_s(double scores, double rows, double layers) const {
  return scores > 0 ? top_k_s(compression_kernels(), machine_, scores, rows, layers) : 0;
}

double StepTimer::launch_s(const StepWork& work, double computing_s, const Faster& faster) const {
  if (faster.captured.value_or(is_captured(profile_, work))) return profile_.launch.graph_s.value / faster.launches;
  return std::max(launches_ * profile_.launch.kernel_s.value / faster.launches - computing_s, 0.0);
}

void StepTimer::note_origin(const GpuSpec& gpu) {
  const std::string& from = profile_.measured_on;
  if (from.empty() || from == "none") {
    fallbacks_.push_back(
        fmt::format("profile {} was measured on no machine: its efficiencies are generic or assumed", profile_.name));
  } else if (from != gpu.name) {
    const bool known = profile_.machine && !profile_.machine->architecture.empty() && !gpu.architecture.empty();
    const char* kin = !known                                               ? ""
                      : profile_.machine->architecture == gpu.architecture ? " (same architecture)"
                                                                           : " (another architecture)";
    fallbacks_.push_back(
        fmt::format("profile {} was measured on {}, used on {}{}: efficiencies carried over, peaks from the datasheet",
                    profile_.name, from, gpu.name, kin));
  }
}

void StepTimer::note_scaled_kernels() {
  std::set<std::string> said;
  const auto note = [&said](const auto* form) {
    if (form == nullptr || form->kernels.empty() || form->source.kind != schema::SourceKind::derived) return;
    said.insert(fmt::format("{}'s kernels, {}", form->kernels, form->source.reference));
  };
  const FittedForms& f = profile_.fitted;
  for (const NumberFormat format : model_.weight_formats()) note(form_for(f.linear, &LinearForm::weights, format));
  note(form_for(f.decode_attention, &DecodeForm::kv, kv_format(model_)));
  note(form_for(f.prefill_attention, &TiledForm::kv, kv_format(model_)));
  for (const std::string& what : said) fallbacks_.push_back(what);
}

StepTimer::Roofline StepTimer::roofline(double bytes_s, double flops_s) {
  return bytes_s >= flops_s ? Roofline{bytes_s, true} : Roofline{flops_s, false};
}

double StepTimer::attention_flops_s(const AttentionLayers& of, const AttentionWork& work) const {
  if (work.query_tokens <= 0) return 0;
  const double attended = work.pairs / work.query_tokens;
  return work.pairs * of.flops_per_pair / gpus_ /
         (profile_.attention_compute_efficiency.at(attended) * attention_flops_per_s_);
}

void StepTimer::add_attention(const StepWork& stored, KnownLengths* known, StepTime& time) const {
  std::optional<StepWork> shared;
  if (reads_of_kv_ != 1) {
    shared = stored;
    for (AttentionWork* w : {&shared->decode, &shared->verify, &shared->prefill}) w->kv_bytes *= reads_of_kv_;
  }
  const StepWork& work = shared ? *shared : stored;
  const bool alike =
      !layer_work_ || (!LayerWork::differs(work) && !model_.window_heads_differ() && model_.indexer.layers == 0);
  if (alike) {
    add_attention(attention_, work, known, time);
  } else {
    if (full_attention_.layers > 0) add_attention(full_attention_, layer_work_->in_full_layers(work), nullptr, time);
    add_attention(window_attention_, layer_work_->in_window_layers(work), nullptr, time);
  }
  if (model_.state.layers > 0) {
    time.state_s =
        add_load(state_load(model_, gpus_, work), kStateKernels * static_cast<double>(model_.state.layers), time);
  }
  if (model_.indexer.layers > 0) {  // attention of another kind, whole on every GPU
    AttentionLayers keys;
    keys.layers = kIndexerKernels * static_cast<double>(model_.indexer.layers);
    const double others_s = time.attention_s;
    for (const AttentionWork* w : {&work.decode, &work.verify, &work.prefill}) {
      if (w->query_tokens <= 0) continue;
      StepWork one;
      one.decode = *w;
      const LayerLoad load = indexer_load(model_, one);
      keys.flops_per_pair = w->pairs > 0 ? load.flops / w->pairs * gpus_ : 0;
      add_attention(keys, *w, load.bytes, time);
    }
    time.indexer_s = time.attention_s - others_s;
  }
}

double StepTimer::add_load(const LayerLoad& load, double calls, StepTime& time) const {
  const double efficiency = profile_.attention_compute_efficiency.at(kLoadRows);
  const Roofline r = roofline(load.bytes / (profile_.attention_bandwidth_efficiency.value * memory_bytes_per_s_),
                              load.flops / (efficiency * attention_flops_per_s_));
  if (r.memory_bound) time.hbm_bound_s += r.seconds;
  const double seconds = calls * profile_.attention_t0_s.value + r.seconds;
  time.attention_s += seconds;
  return seconds;
}

void StepTimer::add_attention(const AttentionLayers& of, const StepWork& work, KnownLengths* known, StepTime& t) const {
  if (!attention_fitted_) {
    add_attention(of, work.decode, work.decode.bytes_read(profile_.further_query_share.value), t);
    add_attention(of, work.verify, work.verify.kv_bytes, t);
    add_attention(of, work.prefill, work.prefill.kv_bytes, t);
    return;
  }
  const double decode_flops_s = work.decode.queries_each() > 1 ? attention_flops_s(of, work.decode) : 0;
  const SplitTime attention = of.times.time(work, decode_flops_s, attention_flops_s(of, work.verify), known);
  t.attention_s += attention.seconds;
  t.hbm_bound_s += attention.memory_bound_s;
  t.within_domain = t.within_domain && of.times.within_domain(work);
}

void StepTimer::add_attention(const AttentionLayers& of, const AttentionWork& work, double read_bytes,
                              StepTime& time) const {
  if (work.query_tokens <= 0) return;
  const double bytes_s =
      read_bytes * of.kv_share / (profile_.attention_bandwidth_efficiency.value * memory_bytes_per_s_);
  const Roofline r = roofline(bytes_s, attention_flops_s(of, work));
  time.attention_s += profile_.attention_t0_s.value * of.layers + r.seconds;
  if (r.memory_bound) time.hbm_bound_s += r.seconds;
}

double StepTimer::weight_bytes_read(double tokens) const {
  return model_.moe.experts > 0 ? model_.weight_bytes_read(tokens) : dense_weight_bytes_;
}

double StepTimer::weight_bytes_of_rank(double all_tokens) const {
  const double all = weight_bytes_read(all_tokens);
  if (parallel_.attention_data == 1) return all;
  const double experts = routed_weight_bytes(model_, all_tokens);
  return all - experts + experts / static_cast<double>(parallel_.attention_data);
}

void StepTimer::add_linear(const StepWork& work, double all_tokens, StepTime& time) const {
  const double tokens = work.tokens();
  if (linear_fitted_) {
    SplitTime t = linear_times_.body(tokens, all_tokens);
    if (work.logit_tokens > 0) {
      const SplitTime head = linear_times_.head(work.logit_tokens);
      t.seconds += head.seconds;
      time.head_s = head.seconds;
      t.memory_bound_s += head.memory_bound_s;
    }
    time.linear_s = t.seconds;
    time.hbm_bound_s += t.memory_bound_s;
    if (linear_times_.valid_to() > 0 && all_tokens > linear_times_.valid_to()) time.within_domain = false;
    return;
  }
  const double weights = weight_bytes_of_rank(all_tokens);
  const auto roofline_of = [&](double bytes, double flops, double rows, double flops_per_s) {
    return roofline(bytes / gpus_ / (profile_.linear_bandwidth_efficiency.value * memory_bytes_per_s_),
                    flops / gpus_ / (profile_.linear_compute_efficiency.at(rows) * flops_per_s));
  };
  const auto add = [&time](const Roofline& r) {
    time.linear_s += r.seconds;
    if (r.memory_bound) time.hbm_bound_s += r.seconds;
  };
  // Routed experts and the LM head are kernels of their own: those read all weights for few tokens each, and this one
  // computes the tokens that give logits alone. Of experts a GPU has its share of all ranks' tokens.
  const auto ranks = static_cast<double>(parallel_.attention_data);
  const double experts = model_.moe.experts > 0 ? routed_weight_bytes(model_, all_tokens) / ranks : 0;
  time.linear_s = profile_.linear_t0_s.value * (linear_calls_ - 1);
  add(roofline_of(weights - experts - head_weight_bytes_, (body_flops_ - expert_flops_) * tokens, tokens,
                  linear_flops_per_s_));
  if (experts > 0) add(roofline_of(experts, expert_flops_ * all_tokens / ranks, tokens, linear_flops_per_s_));
  if (work.logit_tokens <= 0) return;
  const double body_s = time.linear_s;
  time.linear_s += profile_.linear_t0_s.value;
  add(roofline_of(head_weight_bytes_, head_flops_ * work.logit_tokens, work.logit_tokens, head_flops_per_s_));
  time.head_s = time.linear_s - body_s;
}

void StepTimer::note_links(const Interconnect& links) {
  const auto borders = static_cast<double>(parallel_.pipeline - 1);
  double between = 0;
  if (links.nodes_of(parallel_.gpus()) > 1) {
    const std::int64_t in_one = std::max<std::int64_t>(1, links.node_gpus / parallel_.expert_gpus());
    between = static_cast<double>((parallel_.pipeline + in_one - 1) / in_one - 1);
    const LinkSpec& link = *links.between_nodes;
    sends_[1] = {between, link.latency_s.value, link.read_bytes_per_s.value};
  }
  sends_[0] = {borders - between, links.peer.latency_s.value, links.peer.read_bytes_per_s.value};
  if (links.node_gpus > 0 && parallel_.gpus() > links.node_gpus && !links.between_nodes) {
    fallbacks_.push_back(
        fmt::format("{} GPUs of a replica on nodes of {}: joined by {} as if they were one node, which is too fast; "
                    "cluster.node.link says what joins nodes",
                    parallel_.gpus(), links.node_gpus, links.peer.name));
  }
}

double StepTimer::sampler_s(double sequences) const {
  const std::vector<TimePoint>& points = profile_.tables.sampler;
  if (points.empty() || sequences <= 0) return 0;
  if (sequences <= points.front().size) return points.front().seconds;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (sequences > points[i].size) continue;
    const double share = (sequences - points[i - 1].size) / (points[i].size - points[i - 1].size);
    return points[i - 1].seconds + share * (points[i].seconds - points[i - 1].seconds);
  }
  return points.back().seconds * sequences / points.back().size;
}

/// Each GPU has a part of the vocabulary: what it embeds is summed over all, and the logits of all are gathered.
void StepTimer::add_collectives(const StepWork& rank, double all_tokens, TokenTime& time) const {
  const double tokens = rank.tokens(), logit_tokens = rank.logit_tokens;
  // Where ranks share experts, the routed layers' tokens are gathered, and their sums scattered, in place of a reduce.
  const double exchanges = parallel_.attention_data > 1 ? routed_layers(model_) : 0;
  const double all_bytes = all_tokens * static_cast<double>(model_.hidden) * kCarriedBytes;
  time.collectives_s = exchanges * (gather_tokens_.seconds(all_bytes) + scatter_tokens_.seconds(all_bytes));
  if (parallel_.tensor == 1) return;
  const double bytes = tokens * static_cast<double>(model_.hidden) * kCarriedBytes;
  double reduce_s = all_reduce_.seconds(bytes);
  // Outside a graph an all-reduce works on a copy of its message (measured on seven machines: what it takes beyond the
  // captured one is a copy at 0.74 to 0.91 of the memory bandwidth).
  if (tokens > static_cast<double>(profile_.captured_tokens))
    reduce_s += elementwise_form().seconds(2 * bytes, machine_);
  time.gathering_s = reduce_s;
  if (logit_tokens > 0) {
    time.gathering_s += all_gather_.seconds(logit_tokens * static_cast<double>(model_.vocabulary) * kCarriedBytes);
  }
  time.collectives_s += (all_reduces(model_) - exchanges) * reduce_s + time.gathering_s;
}

TokenTime StepTimer::token_time(const StepWork& work) const {
  if (parallel_.tensor_only()) return token_time_of(work, work.tokens());
  const SharedWork shared = shared_work(work, parallel_);
  return token_time_of(shared.rank, shared.tokens);
}

TokenTime StepTimer::token_time_of(const StepWork& work, double all_tokens) const {
  TokenTime t;
  const double tokens = work.tokens();
  if (tokens <= 0) return t;
  add_linear(work, all_tokens, t.linear);
  if (parallel_.expert_gpus() > 1) add_collectives(work, all_tokens, t);
  t.elementwise_s = profile_.iteration_overhead_s.value + (elementwise_.empty() ? 0 : elementwise_.at(tokens).seconds) +
                    sampler_s(work.sampled > 0 ? work.sampled : work.logit_tokens);
  return t;
}

StepTime StepTimer::time(const StepWork& work, const TokenTime& by_tokens, KnownLengths* known,
                         const Faster& faster) const {
  if (parallel_.tensor_only()) return time_of(work, by_tokens, known, faster);
  const SharedWork shared = shared_work(work, parallel_);
  StepTime t = time_of(shared.rank, by_tokens, known, faster);
  for (const StepWork& other : shared.others) {
    const StepTime of_other = time_of(other, by_tokens, known, faster);
    if (of_other.total_s > t.total_s) t = of_other;
  }
  if (parallel_.pipeline > 1 && shared.tokens > 0) {
    add_stages(shared, faster, t);
    if (shared.microbatches > 1) wait_for_chunks(work, faster, t);
  }
  return t;
}

/// Passes are timed as equal parts of the step. A chunk goes through the stages whole, so that a step takes no less
/// than the largest chunk: that of most tokens, or of most context.
void StepTimer::wait_for_chunks(const StepWork& work, const Faster& faster, StepTime& t) const {
  const auto by = [&work](const auto& size) {
    return std::max_element(work.chunks.begin(), work.chunks.end(),
                            [&size](const PrefillChunk& a, const PrefillChunk& b) { return size(a) < size(b); });
  };
  const auto longest = by([](const PrefillChunk& c) { return c.tokens; });
  const auto deepest = by([](const PrefillChunk& c) { return c.tokens * (c.before + c.tokens / 2); });
  for (auto chunk = longest; chunk != work.chunks.end(); chunk = chunk == deepest ? work.chunks.end() : deepest) {
    const SharedWork alone{one_chunk(work, *chunk), chunk->tokens};
    StepTime of_chunk = time_of(alone.rank, token_time_of(alone.rank, alone.tokens), nullptr, faster);
    add_stages(alone, faster, of_chunk);
    if (of_chunk.total_s > t.total_s) t = of_chunk;
  }
}

void StepTimer::add_stages(const SharedWork& shared, const Faster& faster, StepTime& t) const {
  const StepWork& rank = shared.rank;
  const double bytes = rank.tokens() * static_cast<double>(model_.hidden) * kCarriedBytes;
  PipelinePass pass;
  pass.tail_s = t.head_s + t.gathering_s + host_s(rank) / faster.host +
                sampler_s(rank.sampled > 0 ? rank.sampled : rank.logit_tokens) + rank.extra_gpu_s;
  if (faster.captured.value_or(is_captured(profile_, rank)))
    pass.tail_s += t.launch_s;  // else every stage launches its own kernels
  pass.layers_s = t.total_s - pass.tail_s;
  for (const Sends& sends : sends_) {
    if (sends.number <= 0) continue;
    // Every GPU of a stage sends its part.
    const double send_s = (sends.latency_s + bytes / gpus_ / sends.bytes_per_s) / faster.collectives;
    pass.sends_s += sends.number * send_s;
    pass.slowest_send_s = std::max(pass.slowest_send_s, send_s);
  }
  const double step_s = pipeline_s(pass, shared.microbatches, model_.layers, parallel_);
  t.collectives_s += step_s - t.total_s;
  t.total_s = step_s;
}

StepTime StepTimer::time_of(const StepWork& work, const TokenTime& by_tokens, KnownLengths* known,
                            const Faster& faster) const {
  StepTime t = by_tokens.linear;
  t.overhead_s = work.extra_gpu_s;
  if (work.tokens() > 0) {
    add_attention(work, known, t);
    if (profile_.quantised) t.attention_s += quantised_s(work);
    t.collectives_s = by_tokens.collectives_s / faster.collectives;
    t.gathering_s = by_tokens.gathering_s / faster.collectives;
    t.overhead_s += by_tokens.elementwise_s - profile_.iteration_overhead_s.value * (1 - 1 / faster.host);
    if (profile_.drafts) {
      t.overhead_s += profile_.drafts->host_s(work) / faster.host + profile_.drafts->layers_s(work, model_);
    }
    t.launch_s = launch_s(work, t.linear_s + t.attention_s + t.collectives_s + t.overhead_s, faster);
    t.overhead_s += t.launch_s;
  }
  t.total_s = t.linear_s + t.attention_s + t.collectives_s + t.overhead_s;
  return t;
}

double StepTimer::quantised_s(const StepWork& work) const {
  const bool latent = model_.attention == AttentionKind::mla;
  const std::int64_t elements = latent ? model_.mla.kv_lora_rank + model_.mla.qk_rope_head_dim : 2 * model_.head_dim;
  return static_cast<double>(model_.attention_layers()) *
         profile_.quantised->layer_time_s(work, static_cast<double>(elements),
                                          static_cast<double>(model_.heads) / gpus_, gpu_.multiprocessors.value);
}

double StepTimer::host_s(const StepWork& work) const {
  return profile_.iteration_overhead_s.value + (profile_.drafts ? profile_.drafts->host_s(work) : 0);
}

double StepTimer::one_token_s() const {
  StepWork work;
  work.decode.query_tokens = 1;
  work.logit_tokens = 1;
  return time(work).total_s;
}

LayerTime StepTimer::layers(const StepTime& time, const StepWork& work) const {
  const auto layers = static_cast<double>(model_.layers);
  const double tokens = work.tokens();
  double norms_before_s = 0;
  double norms_after_s = 0;
  if (tokens > 0 && !elementwise_.empty()) {
    double all_s = 0;
    for (const ElementwiseKernel& k : kernels_of(tokens)) {
      const double call_s = profile_.fitted.elementwise->seconds(k.bytes_per_token * tokens, machine_);
      all_s += k.calls * call_s;
      norms_before_s += k.before * call_s;
      norms_after_s += k.after * call_s;
    }
    const double scale = all_s > 0 ? elementwise_.at(tokens).seconds / all_s : 0;  // the curve interpolates
    norms_before_s *= scale;
    norms_after_s *= scale;
  }
  const double body_s = time.linear_s - time.head_s;
  const double body_bytes = weight_bytes_read(std::max(tokens, 1.0)) - head_weight_bytes_;
  const double before_s = body_s * std::min(qkv_weight_bytes_ / body_bytes, 1.0);
  LayerTime t;
  t.layers = layers;
  t.before_s = (before_s + norms_before_s) / layers;
  t.attention_s = time.attention_s / layers;
  t.after_s = (body_s - before_s + norms_after_s + time.collectives_s - time.gathering_s) / layers;
  t.tail_s = time.head_s + time.gathering_s + time.overhead_s - norms_before_s - norms_after_s;
  if (!captured(work)) {  // every layer waits for the launches of its kernels
    t.after_s += time.launch_s / layers;
    t.tail_s -= time.launch_s;
  }
  return t;
}

}  // namespace kvsim::models
