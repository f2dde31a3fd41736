#include "models/kernels/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "models/kernels/fitted_schema.h"
#include "models/kernels/operator_times.h"
#include "models/schema/units.h"
#include "models/schemas.h"

namespace kvsim::models {

double EfficiencyCurve::at(double size) const {
  if (points.empty()) return 1.0;
  if (size <= points.front().size) return points.front().efficiency;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (size > points[i].size) continue;
    const EfficiencyPoint& a = points[i - 1];
    const EfficiencyPoint& b = points[i];
    const double share = std::log(size / a.size) / std::log(b.size / a.size);
    return a.efficiency + share * (b.efficiency - a.efficiency);
  }
  return points.back().efficiency;
}

Machine MeasuredMachine::peaks() const {
  Machine m;
  m.memory_bytes_per_s = memory_bytes_per_s.value;
  m.bf16_flops_per_s = bf16_flops_per_s.value;
  m.fp8_flops_per_s = fp8_flops_per_s.value;
  m.fp4_flops_per_s = fp4_flops_per_s.value;
  m.multiprocessors = multiprocessors;
  m.l2_bytes = static_cast<double>(l2_bytes);
  return m;
}

double LinearTable::at(double tokens) const {
  const auto above = std::lower_bound(points.begin(), points.end(), tokens,
                                      [](const TimePoint& p, double size) { return p.size < size; });
  if (above == points.begin()) return points.front().seconds;
  if (above == points.end()) return points.back().seconds;
  const TimePoint& a = *(above - 1);
  const double share = (tokens - a.size) / (above->size - a.size);
  return a.seconds + share * (above->seconds - a.seconds);
}

bool DecodeTable::covers(double requests, double kv_length) const {
  return requests >= rows.front().requests && requests <= rows.back().requests && kv_length >= kv_lengths.front() &&
         kv_length <= kv_lengths.back();
}

double DecodeTable::at(double requests, double kv_length) const {
  std::size_t r = 1;
  while (r + 1 < rows.size() && requests > rows[r].requests) ++r;
  std::size_t l = 1;
  while (l + 1 < kv_lengths.size() && kv_length > kv_lengths[l]) ++l;
  const double x = std::log(kv_length / kv_lengths[l - 1]) / std::log(kv_lengths[l] / kv_lengths[l - 1]);
  const double y = std::log(requests / rows[r - 1].requests) / std::log(rows[r].requests / rows[r - 1].requests);
  const auto along = [&](const DecodeRow& row) {
    return (1 - x) * std::log(row.seconds[l - 1]) + x * std::log(row.seconds[l]);
  };
  return std::exp((1 - y) * along(rows[r - 1]) + y * along(rows[r]));
}

Machine machine_for(const GpuSpec& gpu, const KernelProfile& profile) {
  Machine machine = Machine::of(gpu);
  const std::string measured = profile.machine ? profile.machine->architecture : "";
  machine.as_measured = profile.measured_on == gpu.name || (!measured.empty() && measured == gpu.architecture);
  return machine;
}

bool is_measured_machine(const KernelProfile& profile, const GpuSpec& gpu) {
  return profile.measured_on == gpu.name;
}

namespace {

using namespace schema;

ScalarSpec fixed_time() {
  return time().non_negative().usually(0, 2).because("no operator takes less than no time");
}

ObjectSchema<EfficiencyCurve> curve_schema(const char* name, const char* size) {
  ObjectSchema<EfficiencyPoint> point(std::string(name) + " efficiency point", "One point of the curve.");
  point.required("size", &EfficiencyPoint::size, number().positive(), size);
  point.required("efficiency", &EfficiencyPoint::efficiency, kernel_efficiency(), "fraction of the GPU's peak rate");

  ObjectSchema<EfficiencyCurve> s(std::string(name) + " compute efficiency",
                                  "Fraction of the peak rate by size: linear in log(size), constant outside.");
  s.list("points", &EfficiencyCurve::points, point, Presence::required, "ascending in size", {.at_least = 1});
  add_source_fields(s, &EfficiencyCurve::source, Presence::optional);
  s.check([](const EfficiencyCurve& curve, const Reporter& report) {
    for (std::size_t i = 1; i < curve.points.size(); ++i) {
      if (curve.points[i].size <= curve.points[i - 1].size) {
        report.fail(fmt::format("points.{}.size", i), "the points must ascend in size");
      }
    }
  });
  return s;
}

ObjectSchema<KernelProfile> linear_schema() {
  ObjectSchema<KernelProfile> s("linear", "Linear layers, which stream the weights.");
  s.required("t0", &KernelProfile::linear_t0_s, fixed_kernel_time(), "fixed time per linear-layer call");
  s.required("bandwidth_efficiency", &KernelProfile::linear_bandwidth_efficiency, kernel_efficiency(),
             "fraction of the peak memory bandwidth with few tokens");
  s.object("compute_efficiency", &KernelProfile::linear_compute_efficiency,
           curve_schema("linear", "tokens in the step"), Presence::required,
           "fraction of the peak rate by tokens in the step");
  return s;
}

ObjectSchema<LowBitAttention> low_bit_schema() {
  using L = LowBitAttention;
  ObjectSchema<L> s("low_bit", "Attention over KV of few bits: its bytes are read, its elements dequantised.");
  s.required("elements_per_s", &L::elements_per_s, number().positive().usually(1e6, 1e15),
             "elements of KV that one multiprocessor dequantises a second");
  s.optional("blend_power", &L::blend_power, number().at_least(1).at_most(64),
             "how reading and dequantising overlap: 1: one after the other; large: the longer counts");
  return s;
}

ObjectSchema<KernelProfile> attention_schema() {
  ObjectSchema<KernelProfile> s("attention", "Attention, which reads the KV cache.");
  s.required("t0", &KernelProfile::attention_t0_s, fixed_kernel_time(), "fixed time per layer and attention call");
  s.required("bandwidth_efficiency", &KernelProfile::attention_bandwidth_efficiency, kernel_efficiency(),
             "fraction of the peak memory bandwidth when reading KV in decode and verify");
  s.object("compute_efficiency", &KernelProfile::attention_compute_efficiency,
           curve_schema("attention", "length of the KV attended to, in tokens"), Presence::required,
           "fraction of the peak rate by length of the KV attended to");
  s.object("low_bit", &KernelProfile::low_bit, low_bit_schema(), Presence::optional,
           "KV of few bits; left out: as the compressor has it");
  s.optional("further_query_share", &KernelProfile::further_query_share, number().at_least(0).at_most(1),
             "of the first query token's reading of the KV, what each further one of a request reads again in a decode "
             "step; 0: the KV is read once for all; not used where fitted.verify_attention is");
  return s;
}

ObjectSchema<FrameworkMemory> framework_schema() {
  using F = FrameworkMemory;
  ObjectSchema<F> s("framework", "GPU memory that a framework without paged KV takes beside weights and KV.");
  s.optional("workspace", &F::workspace_bytes, bytes().non_negative(),
             "per GPU: activations and logits of prompts, copies, fragmentation");
  s.optional("full_kv_factor", &F::full_kv_factor,
             number().at_least(1).at_most(100).because("a cache holds its bytes, and a few copies of them"),
             "memory of a 16-bit KV cache / its bytes, with the copies made to append to it");
  return s;
}

constexpr schema::Choice<Launch> kDecodeLaunch{"decode", Launch::decode, "decode attention"};
constexpr schema::Choice<Launch> kPrefillLaunch{"prefill", Launch::prefill,
                                                "prefill attention, in tiles of query tokens"};
constexpr schema::Choice<Launch> kMixedLaunch{"mixed", Launch::mixed,
                                              "mixed attention, one launch for all of the step"};

ObjectSchema<FusedKernels> fused_schema() {
  using F = FusedKernels;
  ObjectSchema<F> s("fused", "Kernels that an engine has made a part of the one before them.");
  s.optional("norms", &F::norms, boolean(), "norms, where GPUs share a layer: of the all-reduce before");
  s.optional("quantise", &F::quantise, boolean(),
             "quantising the inputs of narrow linear layers: of the norm or activation before");
  return s;
}

ObjectSchema<EngineKernels> engine_kernels_schema() {
  using K = EngineKernels;
  ObjectSchema<K> s("kernels by engine", "Forms of an engine's own kernels, in place of a profile's.");
  s.required("kernels", &K::kernels, text().non_empty(), "whose they are, as of engine_kernels");
  s.required("profile", &K::profile, text().non_empty(),
             "profile with forms fitted to that engine's rows: those of linear layers and attention are taken, format "
             "by format; fitted on another GPU they are scaled by the datasheets");
  return s;
}

ObjectSchema<AttentionLaunches> launches_schema() {
  using L = AttentionLaunches;
  ObjectSchema<L> s("launches",
                    "Which fitted launch serves a step's attention: as an engine's version does it on a GPU.");
  s.optional("decode", &L::decode, choice<Launch>({kDecodeLaunch, kMixedLaunch}), "steps of one query token a request");
  s.optional("several_queries", &L::several_queries,
             choice<Launch>({{"once", Launch::once,
                              "fitted.verify_attention; without it decode attention that reads the KV once for all "
                              "query tokens, or as long as their arithmetic takes"},
                             kPrefillLaunch,
                             kMixedLaunch}),
             "steps of verifications, or of several query tokens a request");
  s.optional("prefill", &L::prefill, choice<Launch>({kPrefillLaunch, kMixedLaunch}),
             "steps of chunks of prompts alone");
  s.optional("mixed", &L::mixed,
             choice<Launch>({{"apart", Launch::apart, "each kind of work by its own launch"}, kMixedLaunch}),
             "steps of chunks and of requests that decode or verify");
  add_source_fields(s, &L::source, Presence::optional);
  return s;
}

void check_launches(const KernelProfile& p, const Reporter& report) {
  if (p.launches.uses_mixed() && p.fitted.mixed_attention.empty()) {
    report.fail("launches", "`mixed` needs fitted.mixed_attention, which the profile does not have");
  }
}

ObjectSchema<LaunchCosts> launch_schema() {
  using L = LaunchCosts;
  ObjectSchema<L> s("launch", "What it costs to launch the kernels of a step, beside them.");
  s.optional("graph", &L::graph_s, fixed_kernel_time(),
             "launching the CUDA graph of a step of at most captured_tokens tokens");
  s.optional("kernel", &L::kernel_s, fixed_kernel_time(),
             "launching one kernel: a step of more tokens takes at least this for each of its kernels");
  s.optional(
      "chunks_captured", &L::chunks_captured, boolean(),
      "steps with chunks of prompts are captured, too, up to captured_tokens; false: they are launched kernel by "
      "kernel, however short");
  s.optional("by_requests", &L::by_requests, boolean(),
             "steps that verify drafts are captured up to captured_tokens requests, however many tokens each has; "
             "false: up to as many tokens");
  return s;
}

ObjectSchema<DraftCosts> draft_costs_fields() {
  using D = DraftCosts;
  ObjectSchema<D> s("drafts", "What drafting costs beside kernels: launches, sampling, waiting for the host.");
  s.optional("pass", &D::pass_s, fixed_time(), "a pass of a drafter; decode.drafter.type.pass_overhead goes first");
  s.optional("vocabulary", &D::vocabulary_s, fixed_time(),
             "more of a pass of a drafter whose vocabulary is not the model's: its tokens are translated");
  s.optional("round", &D::round_s, fixed_time(), "an iteration in which drafts are verified, once");
  s.optional("request", &D::request_s, fixed_time(), "more of such an iteration for each request that drafted");
  s.optional("layer", &D::layer_s, fixed_time(), "more of such an iteration for each layer of the model");
  return s;
}

ObjectSchema<QuantisedKernel> quantised_kernel_fields() {
  using Q = QuantisedKernel;
  ObjectSchema<Q> s("quantised", "What attention takes over quantised KV beside reading its bytes, of one layer.");
  s.optional("compressor", &Q::compressor, text(), "whose KV; left out: of any that has no entry");
  s.optional("layer", &Q::layer_s, fixed_time(), "a step that reads such KV, once");
  s.optional("token", &Q::token_s, fixed_time(),
             "a token of the longest KV of the step, or what elements_per_s says of all where that is more");
  s.optional("elements_per_s", &Q::elements_per_s, number().non_negative().usually(1e6, 1e15),
             "elements of KV that one multiprocessor unpacks a second, each query head for itself; 0: at no time");
  s.optional("low", &Q::low, number().at_least(0).at_most(1), "of this time, the least that a kernel may take");
  s.optional("high", &Q::high, number().at_least(1).at_most(100), "of this time, the most");
  return s;
}

ObjectSchema<Interference> interference_schema() {
  using I = Interference;
  const auto share = [] {
    return number().at_least(0).at_most(10).because("work that shares a GPU is slowed down, not sped up");
  };
  ObjectSchema<I> s("interference", "How much longer steps and copies take while the others run; 0: not at all.");
  s.optional("kernels_to_gpu", &I::kernels_to_gpu, share(),
             "of the time that memory bandwidth decides in a step, more while KV comes to the GPU");
  s.optional("kernels_from_gpu", &I::kernels_from_gpu, share(),
             "of the time that memory bandwidth decides in a step, more while KV leaves the GPU");
  s.optional("copies_to_gpu", &I::copies_to_gpu, share(), "of a copy to the GPU, more while steps run");
  s.optional("copies_from_gpu", &I::copies_from_gpu, share(), "of a copy from the GPU, more while steps run");
  s.optional(
      "kernels_at_most", &I::kernels_at_most, share(),
      "what kernels_to_gpu and kernels_from_gpu may be where they are not measured; slows nothing, answers say it");
  s.optional("copies_at_most", &I::copies_at_most, share(), "the same of copies_to_gpu and copies_from_gpu");
  return s;
}

ObjectSchema<KernelProfile> profile_fields() {
  using P = KernelProfile;
  ObjectSchema<P> s("profile", "What real kernels reach of a GPU's peaks: t = t0 + max(bytes, FLOPs at their rates).");
  s.optional("name", &P::name, text(), "name in the catalogue");
  s.required("description", &P::description, text().non_empty(), "one line for lists");
  s.required("measured_on", &P::measured_on, text().non_empty(), "the GPU behind the figures; none: not measured");
  const auto whole = [](auto& x) -> auto& {
    return x;
  };
  s.object("linear", whole, linear_schema(), Presence::required, "linear layers");
  s.object("attention", whole, attention_schema(), Presence::required, "attention");
  s.object("machine", &P::machine, measured_machine_schema(), Presence::optional,
           "datasheet of measured_on; needed with fitted forms and tables");
  s.object("fitted", &P::fitted, fitted_forms_schema(), Presence::optional, "forms fitted to measured kernels");
  s.object("launches", &P::launches, launches_schema(), Presence::optional,
           "which of the forms of attention serves which steps");
  s.object("tables", &P::tables, measured_tables_schema(), Presence::optional, "measured times by shape");
  s.object("framework", &P::framework, framework_schema(), Presence::optional,
           "memory that the framework takes; none: a paged engine");
  s.optional(
      "collective_library", &P::collective_library, text().non_empty(),
      "whose collectives the engine uses: vllm (its own kernel for short all-reduces, else NCCL) or nccl; another "
      "one's where the peer link has none of it");
  s.object("fused", &P::fused, fused_schema(), Presence::optional,
           "kernels that are a part of the one before them; by default none");
  s.list("by_engine", &P::by_engine, engine_kernels_schema(), Presence::optional,
         "forms of engines' own kernels; not in place of what a scenario itself says under profile.fitted");
  s.optional("engine_kernels", &P::engine_kernels, text(),
             "whose kernels the engine runs; by default what schedule.engine says, without one the profile's");
  s.optional("captured_tokens", &P::captured_tokens, tokens().non_negative(),
             "largest step that runs as a captured CUDA graph (vLLM captures up to 512 tokens); in a larger one each "
             "all-reduce copies its message first");
  s.optional("iteration_overhead", &P::iteration_overhead_s, fixed_time(),
             "scheduling and sampling, and launch where that is left out, once per iteration");
  s.object("drafts", &P::drafts, draft_costs_schema(), Presence::optional,
           "drafting beside kernels; by default what schedule.engine says, without one what vllm does");
  s.object("quantised", &P::quantised, quantised_kernel_schema(), Presence::optional,
           "attention over what decode.compressor quantises; by default what schedule.engine says of it, without one "
           "what vllm does; not where attention.low_bit says it");
  s.object("launch", &P::launch, launch_schema(), Presence::optional,
           "launching kernels; left out: no time of its own");
  s.object("interference", &P::interference, interference_schema(), Presence::optional,
           "steps and host copies at once; left out: neither slows the other");
  s.check(check_against_physics);
  s.check(check_launches);
  return s;
}

}  // namespace

double QuantisedKernel::layer_time_s(const StepWork& work, double elements, double heads,
                                     double multiprocessors) const {
  double tokens = 0, longest = 0;  // of KV, once for all query tokens of a request
  for (const AttentionWork* w : {&work.decode, &work.verify}) {
    if (w->quantised <= 0) continue;
    tokens += w->quantised / w->queries_each();
    longest = std::max(longest, w->longest_kv > 0 ? w->longest_kv : w->quantised / w->query_tokens);
  }
  if (tokens <= 0) return 0;
  const double rate = elements_per_s.value * multiprocessors;
  const double unpacking_s = rate > 0 ? tokens * heads * elements / rate : 0;
  return layer_s.value + std::max(token_s.value * longest, unpacking_s);
}

const ObjectSchema<QuantisedKernel>& quantised_kernel_schema() {
  static const ObjectSchema<QuantisedKernel> schema = quantised_kernel_fields();
  return schema;
}

const ObjectSchema<DraftCosts>& draft_costs_schema() {
  static const ObjectSchema<DraftCosts> schema = draft_costs_fields();
  return schema;
}

const ObjectSchema<KernelProfile>& profile_schema() {
  static const ObjectSchema<KernelProfile> schema = profile_fields();
  return schema;
}

namespace {

using schema::Dimension;

class Figures {
 public:
  /// `scaled_from`: the machine that was measured, where that is another one; empty otherwise.
  explicit Figures(std::string scaled_from) : scaled_from_(std::move(scaled_from)) {}

  void add(std::string name, std::string value, schema::Source source) {
    if (!scaled_from_.empty() && source.kind == schema::SourceKind::measurement) {
      source = {schema::SourceKind::derived,
                fmt::format("scaled by datasheet from {}: {}", scaled_from_, source.reference)};
    }
    list_.push_back({std::move(name), std::move(value), std::move(source)});
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
    if (!scaled_from_.empty() && source.kind == schema::SourceKind::measurement) {
      source = {schema::SourceKind::derived, fmt::format("as on {}: {}", scaled_from_, source.reference)};
    }
    list_.push_back({std::move(name), std::move(value), std::move(source)});
  }
  void add(std::string name, Dimension dimension, const Sourced<double>& figure) {
    add(std::move(name), schema::format_real(dimension, figure.value), figure.source);
  }
  [[nodiscard]] std::vector<UsedFigure> take() { return std::move(list_); }

 private:
  std::string scaled_from_;
  std::vector<UsedFigure> list_;
};

void add_linear(Figures& out, const GpuSpec& gpu, const KernelProfile& p, const LlmSpec& model, double gpus) {
  std::string why;
  const Machine machine = Machine::of(gpu);
  if (!LinearTimes::covers(p, model, machine, why)) {
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
  const bool fitted = AttentionTimes::covers(p, model, Machine::of(gpu), why);
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
