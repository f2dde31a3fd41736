#include "tests/cli/bad_input_cases.h"

namespace kvsim::test {
namespace {

constexpr const char* kDecode = "decode: {policy: draft_verify, compressor: kvzip, keep_ratio: 0.2, draft_length: 8}";

}  // namespace

std::vector<BadInput> malformed_scenarios() {
  return {
      {"UnknownKey",
       {{"draft_length", "draft_lenght"}},
       "s.yaml:11:68: decode: unknown key \"draft_lenght\" of decode; did you mean \"draft_length\"?"},
      {"UnknownKeyAtTheTop",
       {{"prefill: stored", "prefil: stored"}},
       "s.yaml:10:1: unknown key \"prefil\" of scenario; did you mean \"prefill\"?"},
      {"SeveralMistakes",
       {{"draft_length", "draft_lenght"}, {"prefill: stored", "prefil: stored"}, {"model: llama-3.1-8b\n", ""}},
       "s.yaml:9:1: unknown key \"prefil\" of scenario; did you mean \"prefill\"?\n"
       "kvsim: s.yaml:10:68: decode: unknown key \"draft_lenght\" of decode; did you mean \"draft_length\"?\n"
       "kvsim: s.yaml:1:1: missing key \"model\" of scenario, expected the name of a model or a map"},
      {"KeyOfAnEngine",
       {{"policy: staggered", "policy: staggered, max_num_seqs: 64"}},
       "s.yaml:12:31: schedule: unknown key \"max_num_seqs\" of schedule; vLLM's max_num_seqs is schedule.max_requests "
       "here"},
      {"NameInPlaceOfAMap",
       {{"gpu: {type: h100-sxm}", "gpu: h200"}},
       "s.yaml:4:8: cluster.gpu: expected a map with the keys of gpu, found \"h200\": give cluster.gpu.type"},
      {"NameThatDiffersInCase",
       {{"h100-sxm", "H200"}},
       "s.yaml:4:15: cluster.gpu.type: unknown gpu \"H200\"; did you mean \"h200\"? `kvsim list gpus` names them all"},
      {"NameOfAHub",
       {{"llama-3.1-8b", "Qwen/Qwen3-32B"}},
       "s.yaml:2:8: model: unknown model \"Qwen/Qwen3-32B\"; did you mean \"qwen3-32b\"? `kvsim list models` names "
       "them "
       "all"},
      {"UnitOfAnotherQuantity",
       {{"8k tokens", "8 GB"}},
       "s.yaml:8:19: workload.context.mean: expected a number of tokens such as \"32k tokens\", but \"8 GB\" is a size "
       "in bytes"},
      {"BareNumberWhereAUnitIsNeeded",
       {{"256 GiB", "256"}},
       "s.yaml:5:18: cluster.host.memory: expected a size in bytes with its unit (B, kB, MB, GB, TB, PB, KiB, MiB, "
       "GiB, "
       "TiB, PiB), found the bare number \"256\""},
      {"DuplicateKey",
       {{"prefill: stored", "prefill: stored\nprefill: recompute"}},
       "s.yaml:11:1: duplicate key \"prefill\", first given in line 10"},
      {"NegativeSize", {{"256 GiB", "-1 GiB"}}, "s.yaml:5:18: cluster.host.memory: must be >= 0 B, found -1 GiB"},
      {"KeepRatioAboveOne",
       {{"keep_ratio: 0.2", "keep_ratio: 1.2"}},
       "s.yaml:11:63: decode.keep_ratio: must be > 0 and <= 1, found 1.2"},
      {"KeepRatioZero",
       {{"keep_ratio: 0.2", "keep_ratio: 0"}},
       "s.yaml:11:63: decode.keep_ratio: must be > 0 and <= 1, found 0"},
      {"DraftLengthZero",
       {{"draft_length: 8", "draft_length: 0"}},
       "s.yaml:11:82: decode.draft_length: must be >= 1 and <= 4096, found 0"},
      {"ConcurrencyZero",
       {{"concurrency: 4", "concurrency: 0"}},
       "s.yaml:7:25: workload.closed.concurrency: must be >= 1 and <= 1000000, found 0"},
      {"ObjectiveZero",
       {{"run: {duration", "slo: {tpot_p99: 0 s}\nrun: {duration"}},
       "s.yaml:13:17: slo.tpot_p99: must be > 0 s, found 0 s"},
      {"MemoryFractionAboveOne",
       {{"{type: h100-sxm}", "{type: h100-sxm, memory_fraction: 1.5}"}},
       "s.yaml:4:42: cluster.gpu.memory_fraction: must be > 0 and <= 1, found 1.5"},
      {"FractionWhereAWholeNumberIsNeeded",
       {{"seed: 1", "seed: 1.5"}},
       "s.yaml:13:41: run.seed: expected a whole number, found \"1.5\""},
      {"NotANumber",
       {{"keep_ratio: 0.2", "keep_ratio: .nan"}},
       "s.yaml:11:63: decode.keep_ratio: expected a number such as \"0.2\", found \".nan\""},
      {"Infinity",
       {{"duration: 4 s", "duration: inf s"}},
       "s.yaml:13:17: run.duration: expected a time such as \"25 ms\", found \"inf s\""},
      {"OctalLookingNumber",
       {{"draft_length: 8", "draft_length: 010"}},
       "s.yaml:11:82: decode.draft_length: expected a whole number such as \"25\", found \"010\": write it without "
       "leading zeros"},
      {"HexadecimalNumber",
       {{"draft_length: 8", "draft_length: 0x10"}},
       "s.yaml:11:82: decode.draft_length: expected a whole number such as \"25\", found \"0x10\""},
      {"YesForTrue",
       {{"policy: staggered", "policy: staggered, asynchronous: yes"}},
       "s.yaml:12:45: schedule.asynchronous: expected true or false, found \"yes\""},
      {"SyntaxError",
       {{"{type: h100-sxm}", "{type: h100-sxm"}},
       "s.yaml:5:7: not valid YAML: end of map flow not found"},
      {"Tab", {{"  gpu:", "\tgpu:"}}, "s.yaml:4:5: not valid YAML: illegal map value"},
      {"MergeKey",
       {{"schedule: {policy: staggered}", "schedule: &s {policy: staggered}\nslo: {<<: *s}"}},
       "s.yaml:13:7: merge keys (<<) are not supported, expected the keys written out"},
      {"TwoDocuments",
       {{"prefill: stored", "prefill: stored\n---\nx: 1"}},
       "s.yaml:11:1: a second document begins here, expected one document per file"},
      {"KeyWithoutValue",
       {{"prefill: stored", "prefill:"}},
       "s.yaml:10:1: prefill: has no value, expected one of recompute, full_recompute, stored, prefix_cache, "
       "full_reuse, "
       "selective, cacheblend, epic, or a map"},
      {"MissingModel",
       {{"model: llama-3.1-8b\n", ""}},
       "s.yaml:1:1: missing key \"model\" of scenario, expected the name of a model or a map"},
      {"MissingDecode",
       {{std::string(kDecode) + "\n", ""}},
       "s.yaml:1:1: missing key \"decode\" of scenario, expected a map"},
      {"MissingGpu",
       {{"  gpu: {type: h100-sxm}\n", ""}},
       "s.yaml:4:3: cluster: missing key \"gpu\" of cluster, expected a map"},
  };
}

std::vector<BadInput> senseless_scenarios() {
  return {
      {"UnknownGpu",
       {{"h100-sxm", "h100-smx"}},
       "s.yaml:4:15: cluster.gpu.type: unknown gpu \"h100-smx\"; did you mean \"h100-sxm\"? `kvsim list gpus` names "
       "them all"},
      {"UnknownGpuUnlikeAny",
       {{"h100-sxm", "zzzzzzzz"}},
       "s.yaml:4:15: cluster.gpu.type: unknown gpu \"zzzzzzzz\"; `kvsim list gpus` names them all"},
      {"UnknownBase",
       {{"{type: h100-sxm}", "{type: {base: h100-smx}}"}},
       "s.yaml:4:22: cluster.gpu.type.base: unknown gpu \"h100-smx\"; did you mean \"h100-sxm\"? `kvsim list gpus` "
       "names them all"},
      {"UnknownModel",
       {{"llama-3.1-8b", "lama-3.1-8b"}},
       "s.yaml:2:8: model: unknown model \"lama-3.1-8b\"; did you mean \"llama-3.1-8b\"? `kvsim list models` names "
       "them all"},
      {"UnknownCompressor",
       {{"kvzip", "kvzpi"}},
       "s.yaml:11:44: decode.compressor: unknown compressor \"kvzpi\"; did you mean \"kvzip\"? `kvsim list "
       "compressors` "
       "names them all"},
      {"UnknownDecodePolicy",
       {{"draft_verify", "draft_verfy"}},
       "s.yaml:11:18: decode.policy: unknown value \"draft_verfy\"; did you mean \"draft_verify\"?"},
      {"UnknownSchedule",
       {{"policy: staggered", "policy: stagered"}},
       "s.yaml:12:20: schedule.policy: unknown value \"stagered\"; did you mean \"staggered\"?"},
      {"ModelThatDoesNotFit",
       {{"llama-3.1-8b", "llama-3.1-70b"}},
       "s.yaml:4:8: cluster.gpu: llama-3.1-70b does not fit: 141.1 GB of weights, 1 x h100-sxm leaves 75.5 GB at "
       "memory_fraction 0.9 with 1.0 GB of activations per GPU, and not one block of KV beside them"},
      {"OfflineCompressorWithPrefill",
       {{"prefill: stored", "prefill: recompute"}},
       "s.yaml:11:44: decode.compressor: compressor kvzip works offline, before a request arrives: use prefill "
       "{policy: "
       "stored}, or a compressor whose mode is online"},
      {"ScheduleWithoutVerification",
       {{kDecode, "decode: {policy: full_kv}"}},
       "s.yaml:12:20: schedule.policy: schedule staggered orders verifications and decode policy full_kv has none: use "
       "fcfs"},
      {"NoCompressor",
       {{"compressor: kvzip, keep_ratio: 0.2, ", ""}},
       "s.yaml:11:9: decode: decode policy draft_verify needs a compressor"},
      {"NoKeepRatio",
       {{"keep_ratio: 0.2, ", ""}},
       "s.yaml:11:9: decode: missing key \"keep_ratio\", which compressor kvzip needs"},
      {"KeepRatioOfAQuantiser",
       {{"kvzip", "kivi-2bit"}},
       "s.yaml:11:67: decode.keep_ratio: kivi-2bit keeps 0.1875 by its bits and groups: remove this key, or choose "
       "another compressor"},
      {"TwoKindsOfArrivals",
       {{"  closed: {concurrency: 4}", "  closed: {concurrency: 4}\n  arrivals: {rate: 1/s}"}},
       "s.yaml:8:3: workload: \"closed\" and \"arrivals\" exclude each other, expected exactly one of arrivals, "
       "closed, "
       "trace"},
      {"NoArrivals",
       {{"  closed: {concurrency: 4}\n", ""}},
       "s.yaml:7:3: workload: expected exactly one of arrivals, closed, trace"},
      {"TraceAndContext",
       {{"  closed: {concurrency: 4}", "  trace: {format: csv, path: t.csv}"}},
       "s.yaml:8:12: workload.context: the trace brings its own lengths: remove this key, or add "
       "trace.arrivals_only: true"},
      {"TraceAndPrefixes",
       {{"  closed: {concurrency: 4}",
         "  trace: {format: csv, path: t.csv}\n  prefixes: {count: 2, tokens: 1k tokens}"},
        {"  context: {mean: 8k tokens}\n", ""},
        {"  output: {mean: 64 tokens}\n", ""}},
       "s.yaml:8:13: workload.prefixes: the trace brings its own prompts: remove this key, or add "
       "trace.arrivals_only: true"},
      {"PrefixesWithoutLengths",
       {{"  closed: {concurrency: 4}", "  closed: {concurrency: 4}\n  prefixes: {count: 2}"}},
       "s.yaml:8:13: workload.prefixes: expected exactly one of tokens, datasets"},
      {"NoContext",
       {{"  context: {mean: 8k tokens}\n", ""}},
       "s.yaml:7:3: workload: missing key \"context\", expected prompt lengths such as {mean: 8k tokens}"},
      {"KeyWithoutEffect",
       {{"  closed: {concurrency: 4}", "  arrivals: {rate: 1/s}"}},
       "--set workload.arrivals.cv: no effect: gaps of this process have a spread of their own: use process: gamma",
       {"run", "s.yaml", "--set", "workload.arrivals.cv=2"}},
      {"WarmupLongerThanTheRun",
       {{"warmup: 1 s", "warmup: 5 s"}},
       "s.yaml:13:30: run.warmup: must be shorter than run.duration"},
      {"EndlessRun",
       {{"duration: 4 s, warmup: 1 s, ", ""}},
       "s.yaml:13:6: run: an endless run: give run.duration, or workload.requests"},
      {"MoreResidentsThanRequests",
       {{"draft_length: 8", "draft_length: 8, resident: 1000"}},
       "s.yaml:11:95: decode.resident: must not exceed schedule.max_requests"},
  };
}

std::vector<BadInput> implausible_scenarios() {
  const auto set = [](const std::string& assignment) {
    return std::vector<std::string>{"run", "s.yaml", "--set", assignment};
  };
  return {
      {"AForgottenPrefix",
       {},
       "--set cluster.gpu.type.bf16_peak: found 989 FLOP/s, expected 1 TFLOP/s or more",
       set("cluster.gpu.type.bf16_peak=989 FLOP/s")},
      {"AMemoryOfBytes",
       {},
       "--set cluster.gpu.type.memory: found 80 B, expected 1 GB or more",
       set("cluster.gpu.type.memory=80 B")},
      {"ALinkOfBytesPerSecond",
       {},
       "--set cluster.host.link.read: found 64 B/s, expected 100 kB/s or more",
       set("cluster.host.link.read=64 B/s")},
      {"KvOfNoBytes",
       {},
       "--set model.kv_bytes_per_element: found 1e-6, expected 0.1 or more",
       set("model.kv_bytes_per_element=1e-6")},
      {"LayersBeyondEveryType",
       {},
       "--set model.layers: found 4611686018427387904, expected 10000 or less",
       set("model.layers=4611686018427387904")},
      {"ActivationsBeyondEveryType",
       {},
       "--set cluster.gpu.activations: found 9223372036854775807 B, expected 10 TB or less",
       set("cluster.gpu.activations=9223372036854775807 B")},
      {"ATimeScaleOfAges",
       {},
       "--set workload: workload.trace.time_scale: must be >= 1e-06 and <= 1000000, found 1e18",
       set("workload={trace: {format: csv, path: t.csv, time_scale: 1e18}}")},
      {"PrefixesLongerThanAnyWindow",
       {},
       "--set workload.prefixes.scale: longbench_narrativeqa: mean is 108000000 tokens, expected 1 to 10000000",
       {"check", "s.yaml", "--set", "workload.prefixes={count: 4, datasets: [longbench_narrativeqa]}", "--set",
        "workload.prefixes.scale=1000"}},
      {"AnOverheadOfCenturies",
       {},
       "--set cluster.gpu.profile: cluster.gpu.profile.iteration_overhead: found 1e10 s, expected 2 s or less",
       set("cluster.gpu.profile={base: h100-vllm, iteration_overhead: 1e10 s}")},
      {"ASpreadOfFixedLengths",
       {},
       "--set workload.context.cv: no effect: this distribution has no spread of its own: use lognormal or gamma",
       set("workload.context.cv=0.5")},
      {"ASpreadOfFixedTimes",
       {},
       "--set workload.sessions: workload.sessions.think_time.cv: no effect: this distribution has no spread of its "
       "own: "
       "use lognormal or gamma",
       set("workload.sessions={turns: 2, growth: 10 tokens, think_time: {mean: 1 s, cv: 0.5}}")},
      {"ValuesOfFixedLengths",
       {},
       "--set workload.output: workload.output.values: no effect: this distribution draws no values: use empirical",
       set("workload.output={mean: 10 tokens, values: [5 tokens]}")},
      {"WeightsOfSixteenBitsInEight",
       {},
       "--set model.weight_format: fp8, but weight_bytes_per_parameter is the 2 of 16 bits: give "
       "weight_bytes_per_parameter: 1 with it, or what the checkpoint comes to",
       set("model.weight_format=fp8")},
      {"KernelsOfNobody",
       {},
       "--set cluster.gpu.profile: cluster.gpu.profile.engine_kernels: nobody's kernels are called \"trtlm\"; did you "
       "mean "
       "\"trtllm\"?",
       set("cluster.gpu.profile={base: h100-vllm, engine_kernels: trtlm}")},
      {"AProfileOfFewerMultiprocessors",
       {},
       "--set cluster.gpu.profile: cluster.gpu.profile.machine.multiprocessors: 100 for h100-sxm, whose catalogue "
       "entry "
       "has 132",
       set("cluster.gpu.profile={base: h100-vllm, machine: {multiprocessors: 100}}")},
      {"AProfileOfASmallerCache",
       {},
       "--set cluster.gpu.profile: cluster.gpu.profile.machine.l2_cache: 2e+07 for h100-sxm, whose catalogue entry has "
       "5.243e+07",
       set("cluster.gpu.profile={base: h100-vllm, machine: {l2_cache: 20 MB}}")},
      {"AProfileOfAnotherArchitecture",
       {},
       "--set cluster.gpu.profile: cluster.gpu.profile.machine.architecture: ampere for h100-sxm, whose catalogue "
       "entry "
       "has hopper",
       set("cluster.gpu.profile={base: h100-vllm, machine: {architecture: ampere}}")},
      {"ADatasheetOfNothing",
       {},
       "--set cluster.gpu.profile: cluster.gpu.profile.machine: the datasheet of the GPU that was measured, which "
       "measured_on says is none",
       set("cluster.gpu.profile={base: h100-vllm, measured_on: none}")},
      {"CollectivesOfNobody",
       {},
       "--set cluster.gpu.profile: cluster.gpu.profile.collective_library: \"gloo\" is no library that link nvlink4 "
       "has "
       "tables of, expected one of nccl, vllm",
       set("cluster.gpu.profile={base: h100-vllm, collective_library: gloo}")},
      {"DimensionsThatAreAbsurdTogether",
       {{"model: llama-3.1-8b", "model: {base: llama-3.1-8b, layers: 10000, hidden: 1000000, intermediate: 10000000}"}},
       "s.yaml:2:8: model: the dimensions make 3e+17 parameters, 6e+17 bytes of weights: expected 1 PB or less"},
      {"KvThatIsAbsurdTogether",
       {{"model: llama-3.1-8b", "model: {base: llama-3.1-8b, heads: 8192, kv_heads: 8192, head_dim: 1024}"}},
       "s.yaml:2:8: model: the dimensions make 1.07e+09 bytes of KV per token: expected 1 B to 64 MB"},
  };
}

}  // namespace kvsim::test
