#include "tests/cli/bad_input_cases.h"

namespace kvsim::test {
namespace {

using Edits = std::vector<std::pair<std::string, std::string>>;

/// The scenario with a trace instead of a generated workload, named in line 7.
Edits with_trace(const std::string& format, const std::string& path) {
  return {{"  closed: {concurrency: 4}\n  context: {mean: 8k tokens}\n  output: {mean: 64 tokens}\n",
           "  trace: {format: " + format + ", path: " + path + "}\n"}};
}

Edits with_include(const std::string& path) {
  return {{"prefill: stored", "prefill: stored\ninclude: [" + path + "]"}};
}

}  // namespace

std::vector<BadInput> bad_files() {
  return {
      {"NoScenario", {}, "absent.yaml: there is no such file", {"run", "absent.yaml"}},
      {"FolderForAScenario", {}, "folder: is a directory, expected a YAML file", {"run", "folder"}, {{"folder/x", ""}}},
      {"EmptyScenario", {}, "e.yaml: is empty, expected a YAML document", {"run", "e.yaml"}, {{"e.yaml", ""}}},
      {"CommentsOnly", {}, "e.yaml: is empty, expected a YAML document", {"run", "e.yaml"}, {{"e.yaml", "# later\n"}}},
      {"ListForAScenario",
       {},
       "e.yaml:1:1: expected a map with the keys of scenario, found a list",
       {"run", "e.yaml"},
       {{"e.yaml", "- a\n- b\n"}}},
      {"ControlCharacter",
       {},
       "e.yaml:1:7: the control character 0x01 is not allowed, expected printable text",
       {"run", "e.yaml"},
       {{"e.yaml", "name: \x01\n"}}},
      {"NoTrace", with_trace("csv", "no.csv"),
       "no.csv: cannot be opened (No such file or directory), expected a csv trace (CSV: arrival_s, prompt_tokens, "
       "output_tokens)"},
      {"FolderForATrace",
       with_trace("csv", "folder"),
       "folder: is a directory, expected a csv trace (CSV: arrival_s, prompt_tokens, output_tokens)",
       {"run", "s.yaml"},
       {{"folder/x", ""}}},
      {"UnknownTraceFormat", with_trace("moncake", "t.jsonl"),
       "s.yaml:7:19: workload.trace.format: unknown value \"moncake\"; did you mean \"mooncake\"?"},
      {"EmptyTrace",
       with_trace("csv", "t.csv"),
       "t.csv: is empty, expected a header with the columns arrival_s, prompt_tokens, output_tokens",
       {"run", "s.yaml"},
       {{"t.csv", ""}}},
      {"TraceWithoutRequests",
       with_trace("csv", "t.csv"),
       "t.csv: has no requests, expected a csv trace (CSV: arrival_s, prompt_tokens, output_tokens)",
       {"run", "s.yaml"},
       {{"t.csv", "arrival_s,prompt_tokens,output_tokens\n"}}},
      {"TraceThatGoesBackInTime",
       with_trace("csv", "t.csv"),
       "t.csv:4:1: the request arrives 1 s after the start, 1 s before the one above it, expected requests in order of "
       "arrival, or --sort (sort: true)",
       {"run", "s.yaml"},
       {{"t.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,10\n2,100,10\n1,100,10\n"}}},
      {"TornTrace",
       with_trace("mooncake", "t.jsonl"),
       "t.jsonl:2:45: the line is not a complete JSON object, expected one request with timestamp, input_length, "
       "output_length and hash_ids (the last line has no line end: the file may be cut off)",
       {"run", "s.yaml"},
       {{"t.jsonl",
         "{\"timestamp\": 0, \"input_length\": 100, \"output_length\": 10, \"hash_ids\": [1]}\n"
         "{\"timestamp\": 10, \"input_length\": 100, \"outp"}}},
      {"NoInclude", with_include("more.yaml"), "more.yaml: there is no such file"},
      {"EntryThatExists",
       {{"prefill: stored", "prefill: stored\ninclude: [one.yaml, two.yaml]"}},
       "two.yaml:2:3: gpus.mine: exists already (one.yaml:2:3); give it another name, or change it with \"base: "
       "mine\", "
       "or write \"override: true\" at the top of the file",
       {"run", "s.yaml"},
       {{"one.yaml", "gpus:\n  mine: {base: a100}\n"}, {"two.yaml", "gpus:\n  mine: {base: h200}\n"}}},
      {"UnknownKindOfEntry",
       with_include("more.yaml"),
       "more.yaml:1:1: unknown catalogue \"gpu\"; did you mean \"gpus\"?",
       {"run", "s.yaml"},
       {{"more.yaml", "gpu:\n  mine: {base: a100}\n"}}},
      {"EntryOnNoBase",
       with_include("more.yaml"),
       "more.yaml:2:16: gpus.mine.base: unknown gpu \"a1000\"; did you mean \"a100\"? `kvsim list gpus` names them all",
       {"run", "s.yaml"},
       {{"more.yaml", "gpus:\n  mine: {base: a1000}\n"}}},
      {"EntryWithABareNumber",
       with_include("more.yaml"),
       "more.yaml:2:30: gpus.mine.memory: expected a size in bytes with its unit (B, kB, MB, GB, TB, PB, KiB, MiB, "
       "GiB, "
       "TiB, PiB), found the bare number \"80\"",
       {"run", "s.yaml"},
       {{"more.yaml", "gpus:\n  mine: {base: a100, memory: 80}\n"}}},
  };
}

std::vector<BadInput> bad_command_lines() {
  const auto set = [](const std::string& assignment) {
    return std::vector<std::string>{"run", "s.yaml", "--set", assignment};
  };
  const auto policies = [](const std::string& list) {
    return std::vector<std::string>{"compare", "s.yaml", "--policies", list};
  };
  return {
      {"SetWithoutValue", {}, "--set run.seed: expected key.key=value such as run.seed=7", set("run.seed")},
      {"SetOfAKeyThatNothingReads",
       {},
       "--set cluster.gpu.peer_link: no effect: a replica has one GPU, without peers: give "
       "cluster.gpu.tensor_parallel",
       set("cluster.gpu.peer_link=nvlink3")},
      {"VaryingAKeyThatNoPointReads",
       {},
       "--vary cluster.router: no effect: there is one replica, which gets every request: give cluster.replicas",
       {"sweep", "s.yaml", "--vary", "cluster.router=least_loaded,round_robin"}},
      {"RateThatCapacitySearches",
       {{"  closed: {concurrency: 4}\n", "  arrivals: {rate: 2/s}\n"}},
       "--set workload.arrivals.rate: no effect: capacity searches it: use --rate",
       {"capacity", "s.yaml", "--slo", "ttft_p99=9 s", "--set", "workload.arrivals.rate=3/s"}},
      {"DraftLengthThatPlanChooses",
       {},
       "--set decode.draft_length: no effect: plan chooses it: use --draft-length, or --simulate",
       {"plan", "s.yaml", "--set", "decode.draft_length=7"}},
      {"OptionOfAnEngine",
       {},
       "unknown option \"--tp\"; give --set cluster.gpu.tensor_parallel=VALUE (kvsim run --help says more)",
       {"run", "s.yaml", "--tp", "2"}},
      {"OptionThatIsAKey",
       {},
       "unknown option \"--rate\"; give --set workload.arrivals.rate=VALUE (kvsim run --help says more)",
       {"run", "s.yaml", "--rate", "2/s"}},
      {"OptionOfAnotherCommand",
       {},
       "unknown option \"--export\"; there is `kvsim plan --export` (kvsim compare --help says more)",
       {"compare", "s.yaml", "--export", "vllm"}},
      {"OptionOfOtherPrograms",
       {},
       "unknown option \"--dry-run\"; `kvsim check SCENARIO` reads a scenario and runs nothing (kvsim run --help says "
       "more)",
       {"run", "s.yaml", "--dry-run"}},
      {"CommandThatIsAnOption",
       {},
       "unknown command \"export\"; there is `kvsim plan --export` (kvsim --help says more)",
       {"export", "s.yaml"}},
      {"CommandBelowAnother",
       {},
       "unknown command \"import\"; there is `kvsim model import` (kvsim --help says more)",
       {"import", "config.json"}},
      {"CommandOfOtherPrograms",
       {},
       "unknown command \"init\"; copy one of the files in scenarios/; docs/tutorial.md writes one from nothing (kvsim "
       "--help says more)",
       {"init"}},
      {"ModelOfAnotherVersion",
       {},
       "--set model: unknown model \"deepseek-ai/DeepSeek-V4\"; deepseek-v4 is not modelled (docs/overview.md); the "
       "nearest entry is \"deepseek-v3.2\"; `kvsim list models` names them all",
       set("model=deepseek-ai/DeepSeek-V4")},
      {"ModelOfAnotherVersionToShow",
       {},
       "nothing is called \"Qwen/Qwen7-8B\"; there is no entry for qwen7; the nearest entry is \"qwen3-8b\"",
       {"show", "Qwen/Qwen7-8B"}},
      {"KeptShareAsAPercentage",
       {},
       "--set cluster.gpu.memory_fraction: must be > 0 and <= 1, found 90; did you mean 0.9?",
       set("cluster.gpu.memory_fraction=90")},
      {"RateWithoutItsUnit",
       {{"  closed: {concurrency: 4}\n", "  arrivals: {rate: 2/s}\n"}},
       "--set workload.arrivals.rate: expected a rate with its unit (/s, /min, /h, req/s, req/min, req/h, requests/s, "
       "requests/min, requests/h, sessions/s, sessions/min, sessions/h), found the bare number \"200\"; write "
       "\"200/s\"",
       set("workload.arrivals.rate=200")},
      {"PlacementPolicyWithoutStoredPrompts",
       {},
       "--policies: lru is a placement policy, and this scenario stores no prompts: give prefill: prefix_cache, and "
       "placement",
       policies("full_kv,lru")},
      {"ShareAsAPercentage",
       {},
       "--attainment 95: expected a share above 0 and below 1 such as 0.99; did you mean 0.95?",
       {"capacity", "s.yaml", "--slo", "ttft_p99=9 s", "--attainment", "95"}},
      {"SetToNothing", {}, "--set run.seed: there is no value after \"=\"", set("run.seed=")},
      {"SetWithoutKey", {}, "--set =3: expected key.key=value such as run.seed=7", set("=3")},
      {"SetOfAnUnknownKey",
       {},
       "--set run.sed: run: unknown key \"sed\" of run; did you mean \"seed\"?",
       set("run.sed=3")},
      {"SetToAnotherUnit",
       {},
       "--set run.duration: expected a time such as \"25 ms\", but \"5 GB\" is a size in bytes",
       set("run.duration=5 GB")},
      {"UnknownPolicy",
       {},
       "--policies: unknown decode policy \"losy\", expected lossy or another of full_kv, lossy, draft_verify, "
       "drafter, sparse_self, draft_verify+drafter, sparse_self+drafter, lossy+drafter, speculative_prefetch, "
       "speculative_prefetch+drafter, fetch_on_demand, quantised_only, full_offload, full_offload+drafter",
       policies("full_kv,losy")},
      {"UnknownScheduleOfAPolicy",
       {},
       "--policies draft_verify:stagered: schedule.policy: unknown value \"stagered\"; did you mean \"staggered\"?",
       policies("draft_verify:stagered")},
      {"ScheduleThatDoesNotGoWithThePolicy",
       {},
       "--policies full_kv:staggered: schedule staggered orders verifications and decode policy full_kv has none: use "
       "fcfs",
       policies("full_kv:staggered")},
      {"EmptyPolicy",
       {},
       "--policies full_kv,: a name is empty, expected a list such as full_kv,lossy",
       policies("full_kv,")},
      {"PolicyTwice", {}, "--policies: lossy is there twice", policies("lossy,lossy")},
      {"NegativeSeed",
       {},
       "--seed: expected a whole number of at least 0, found \"-1\" (kvsim run --help says more)",
       {"run", "s.yaml", "--seed", "-1"}},
      {"SeedThatIsNoNumber",
       {},
       "--seed: expected a whole number of at least 0, found \"x\" (kvsim run --help says more)",
       {"run", "s.yaml", "--seed", "x"}},
      {"NoJobs",
       {},
       "--jobs: expected a whole number from 1 to 1024, found \"0\" (kvsim run --help says more)",
       {"run", "s.yaml", "--jobs", "0"}},
      {"OptionWithoutValue",
       {},
       "--set: a value is missing (kvsim check --help says more)",
       {"check", "s.yaml", "--set"}},
      {"UnknownOption",
       {},
       "unknown option \"--jsn\"; did you mean \"--json\"? (kvsim run --help says more)",
       {"run", "s.yaml", "--jsn"}},
      {"UnknownCommand",
       {},
       "unknown command \"rnu\"; did you mean \"run\"? (kvsim --help says more)",
       {"rnu", "s.yaml"}},
      {"NoScenarioGiven", {}, "SCENARIO is required (kvsim check --help says more)", {"check"}},
      {"OneArgumentTooMany",
       {},
       "unexpected argument \"t.yaml\" (kvsim check --help says more)",
       {"check", "s.yaml", "t.yaml"}},
      {"NoNestedCommand",
       {},
       "a command is missing; expected one of info, fit, generate, compare (kvsim workload --help says more)",
       {"workload"}},
      {"UnknownKindToList", {}, "unknown kind \"modles\"; did you mean \"models\"?", {"list", "modles"}},
      {"UnknownNameToShow", {}, "nothing is called \"h100-smx\"; did you mean \"h100-sxm\"?", {"show", "h100-smx"}},
      {"RequestsThatAllDoNotFit",
       {},
       "s.yaml: workload: 1000 requests in a row were refused; the last request 2 (8000 + 64 tokens) needs 1056964608 "
       "bytes of host memory, a replica has 1000000000",
       set("cluster.host.memory=1 GB")},
  };
}

}  // namespace kvsim::test
