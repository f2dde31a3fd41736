// The keys of a kernel profile.
#include <fmt/format.h>

#include "models/kernels/fitted_schema.h"
#include "models/kernels/profile.h"
#include "models/schemas.h"

namespace kvsim::models {
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

ObjectSchema<MeasuredMachine> measured_machine_schema() {
  using M = MeasuredMachine;
  ObjectSchema<M> s("measured machine", "Datasheet of the GPU that was measured: fits scale from it.");
  s.required("memory_bandwidth", &M::memory_bytes_per_s, peak_bandwidth().positive(), "peak memory bandwidth");
  s.required("bf16_peak", &M::bf16_flops_per_s, peak_rate().positive(), "peak dense rate in bf16");
  s.optional("fp8_peak", &M::fp8_flops_per_s, peak_rate().non_negative(), "peak dense rate in fp8; 0: no such units");
  s.optional("fp4_peak", &M::fp4_flops_per_s, peak_rate().non_negative(), "peak dense rate in fp4; 0: no such units");
  s.required("multiprocessors", &M::multiprocessors, multiprocessor_count().positive(), "streaming multiprocessors");
  s.required("l2_cache", &M::l2_bytes, l2_size().positive(), "L2 cache");
  s.optional("architecture", &M::architecture, text(), "for example hopper");
  return s;
}

ObjectSchema<KernelProfile> profile_fields() {
  using P = KernelProfile;
  ObjectSchema<P> s("profile", "What real kernels reach of a GPU's peaks: t = t0 + max(bytes, FLOPs at their rates).");
  add_entry_fields(s);
  s.required("measured_on", &P::measured_on, text().non_empty(), "the GPU behind the figures; none: not measured");
  s.object("linear", linear_schema(), Presence::required, "linear layers");
  s.object("attention", attention_schema(), Presence::required, "attention");
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

}  // namespace kvsim::models
