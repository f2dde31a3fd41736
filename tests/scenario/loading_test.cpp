// From a file to a scenario: --set into catalogue entries, files that are included, traces, keep ratios.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "models/schema/error.h"
#include "tests/scenario/summary.h"
#include "tests/scenario/temporary_folder.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

/// What loading this complains of.
std::string complaint(const Sets& sets) {
  try {
    small_scenario(sets);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "nothing";
}

/// Another working directory for the length of a test.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::string& path) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;
  ~WorkingDirectory() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

constexpr const char* kConfig = R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
  "max_position_embeddings": 131072, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "num_nextn_predict_layers": 1, "vocab_size": 128256})";

TEST(DefaultRouter, KeepsSessionsTogetherWhereThereAreSome) {
  const auto router = [](const Sets& more) {
    return small_scenario(with(full_kv(more), "prefill=recompute")).serving.cluster.router;
  };
  const std::string sessions =
      "workload={arrivals: {rate: 1/s}, context: 1k tokens, output: 10 tokens, sessions: {turns: 2, growth: 9 tokens, "
      "think_time: 1 s, count: 3}}";
  EXPECT_EQ(router({}), "least_loaded");
  EXPECT_EQ(router({sessions}), "session");
  EXPECT_EQ(router({sessions, "cluster.router=round_robin"}), "round_robin");
  const TemporaryFolder folder;
  const std::string trace =
      "workload={trace: {format: columns, path: " + folder.write("t.csv", "t,p,o,s\n0,100,5,a\n1,200,5,b\n4,300,5,a\n");
  const std::string columns = ", columns: {arrival: t, prompt: p, output: o, session: s, time: s}}}";
  EXPECT_EQ(router({trace + ", sessions: true" + columns}), "session");
  EXPECT_EQ(router({trace + columns}), "least_loaded");
}

TEST(ModelConfig, IsTheModelOfAScenarioUnderTheKeysBesideIt) {
  const TemporaryFolder folder;
  const std::string file = folder.write("config.json", kConfig);
  const auto s = small_scenario({"model={config: " + file + ", kv_bytes_per_element: 1}"});
  const auto known = small_scenario({"model.kv_bytes_per_element=1"});
  EXPECT_EQ(s.serving.model.parameters(), known.serving.model.parameters());
  EXPECT_EQ(s.serving.model.kv_bytes_per_token(), 65536);
  ASSERT_FALSE(s.assumptions.empty());
  EXPECT_EQ(s.assumptions.back(),
            "model: Multi-token prediction (num_nextn_predict_layers = 1) is neither held nor run.");
  EXPECT_EQ(resolved_yaml(s).find("config:"), std::string::npos);
}

TEST(ModelConfig, IsReadInAScenarioAloneAndBesideNoBase) {
  EXPECT_EQ(complaint({"model={base: llama-3.1-8b, config: config.json}"}),
            "--set model: model.config: given beside model.base: expected one of them");
  EXPECT_EQ(complaint({"model={config: no.json}"}), "--set model: model.config: there is no file \"no.json\"");
  EXPECT_EQ(complaint({"model={config: [1]}"}), "--set model: model.config: expected a file, found a list");
  const TemporaryFolder folder;
  const std::string file = folder.write("more.yaml", "models: {mine: {base: llama-3.1-8b, config: config.json}}\n");
  EXPECT_EQ(
      complaint({"include=[" + file + "]", "model=mine"}),
      file +
          ":1:45: models.mine.config: is read in a scenario's `model` alone: `kvsim model import` makes a catalogue "
          "entry of it");
}

/// Full KV on this GPU, and more.
Sets decoding(const std::string& gpu, const char* more, const char* last = "name=one") {
  return {"cluster.gpu.type=" + gpu, "decode={policy: full_kv}", "schedule.policy=fcfs", more, last};
}

/// Whose linear layers in bf16 a scenario has.
std::string linear_kernels(const scenario::Scenario& s) {
  return s.serving.cluster.groups.front().profile.fitted.linear.front().kernels;
}

TEST(Objectives, OfAnotherPercentileAreRefusedWithThoseThatThereAre) {
  EXPECT_EQ(small_scenario({"slo={ttft_p50: 1 s, e2e_p95: 9 s}"}).serving.slo.objectives().size(), 2U);
  const std::string said = complaint({"slo.ttft_p97=1 s"});
  EXPECT_NE(said.find("unknown key \"ttft_p97\" of slo; expected ttft, tpot, itl or e2e with _p50, _p90, _p95 or _p99, "
                      "such as ttft_p95, quality_floor, or functional_floor"),
            std::string::npos)
      << said;
}

TEST(EngineKernels, ServeWhereTheEngineIsNamedAndItsRowsWereMeasured) {
  const auto with = [&](const char* more) { return small_scenario(decoding("h100-sxm", more)); };
  EXPECT_EQ(linear_kernels(with("name=one")), "");
  EXPECT_EQ(linear_kernels(with("schedule.engine=vllm")), "");
  EXPECT_EQ(linear_kernels(with("schedule.engine=trtllm")), "trtllm");
  EXPECT_EQ(linear_kernels(with("schedule.engine=sglang")), "");  // measured, and no better
  EXPECT_EQ(linear_kernels(
                small_scenario(decoding("h100-sxm", "schedule.engine=sglang",
                                        "cluster.gpu.profile.by_engine=[{kernels: sglang, profile: h100-sglang}]"))),
            "sglang");
  EXPECT_EQ(linear_kernels(with("schedule.engine={base: sglang, kernels: trtllm}")), "trtllm");
  EXPECT_EQ(linear_kernels(with("cluster.gpu.profile.engine_kernels=trtllm")), "trtllm");
  EXPECT_EQ(linear_kernels(small_scenario(decoding("b200", "schedule.engine=trtllm"))), "");
}

TEST(EngineKernels, GiveWayToWhatTheScenarioSaysOfWhoseRunAndOfForms) {
  const Sets trtllm = decoding("h100-sxm", "schedule.engine=trtllm");
  Sets said = trtllm;
  said.emplace_back("cluster.gpu.profile.engine_kernels=vllm");
  EXPECT_EQ(linear_kernels(small_scenario(said)), "");
  said = trtllm;
  said.emplace_back("cluster.gpu.profile.fitted.elementwise.t0=9 us");
  EXPECT_EQ(linear_kernels(small_scenario(said)), "");
}

TEST(EngineKernels, AreThoseOfTheMachineThatIsTried) {
  const auto on = [](const scenario::Scenario& s, const char* gpu) { return on_machine(s, gpu, 1); };
  const auto s = small_scenario(decoding("b200", "schedule.engine=trtllm"));
  EXPECT_EQ(linear_kernels(on(s, "h100-sxm")), "trtllm");
  EXPECT_EQ(on(on(s, "h100-sxm"), "b200").serving.cluster.groups.front().profile.engine_kernels, "trtllm");
  EXPECT_EQ(linear_kernels(on(on(s, "h100-sxm"), "b200")), "");
}

TEST(EngineKernels, MeasuredOnAnotherGpuAreSaidAmongTheFallBacks) {
  const auto said = [](const char* gpu) {
    const auto s = small_scenario(decoding(gpu, "schedule.engine=trtllm"));
    const serving::ServingConfig& c = s.serving;
    const models::StepTimer timer(c.cluster.groups.front().gpu, c.cluster.groups.front().peer_link,
                                  c.cluster.groups.front().profile, c.model, c.cluster.groups.front().parallel);
    return timer.fallbacks();
  };
  const auto count = [&](const char* gpu) {
    const std::vector<std::string> all = said(gpu);
    return std::count_if(all.begin(), all.end(), [](const std::string& text) {
      return text.starts_with("trtllm's kernels, scaled by datasheet from h100-sxm: ");
    });
  };
  EXPECT_EQ(count("h200"), 3) << "linear layers, attention of decoding and of prompts";
  EXPECT_EQ(count("h100-sxm"), 0);
}

TEST(EngineKernels, OfAResolvedScenarioAreReadAsTheyStand) {
  const auto s = small_scenario(decoding("h200", "schedule.engine=trtllm"));
  const std::string resolved = resolved_yaml(s);
  const scenario::Scenario again = scenario::load_scenario_text(resolved, "again.yaml");
  EXPECT_EQ(linear_kernels(again), "trtllm");
  EXPECT_EQ(resolved_yaml(again), resolved);
}

TEST(Set, OfTheKeyThatAShortFormStandsForReplacesIt) {
  const auto s =
      small_scenario({"workload.context.mean=8k tokens", "prefill.policy=recompute", "decode.compressor=fast-kvzip"});
  EXPECT_EQ(s.workload.context->mean, 8000);
  EXPECT_EQ(s.serving.prefill, serving::PrefillKind::recompute);
}

TEST(Set, ChangesOneFigureOfACatalogueEntryAndNoOther) {
  const auto plain = small_scenario().serving;
  const auto changed = small_scenario({"cluster.gpu.type.memory=60 GB", "model.weights=20 GB",
                                       "cluster.host.link.read=12 GB/s", "decode.compressor.sink_tokens=4"})
                           .serving;
  EXPECT_EQ(changed.cluster.groups.front().gpu.memory_bytes.value, 60'000'000'000);
  EXPECT_EQ(changed.cluster.groups.front().gpu.memory_bytes_per_s.value,
            plain.cluster.groups.front().gpu.memory_bytes_per_s.value);
  EXPECT_EQ(changed.cluster.groups.front().gpu.name, "h100-sxm (changed)");
  EXPECT_EQ(changed.cluster.groups.front().profile.name, "h100-vllm");
  EXPECT_EQ(changed.model.weight_bytes(), 20'000'000'000);
  EXPECT_EQ(changed.model.layers, plain.model.layers);
  EXPECT_EQ(changed.cluster.groups.front().host_link.read_bytes_per_s.value, 12e9);
  EXPECT_EQ(changed.cluster.groups.front().host_link.write_bytes_per_s.value,
            plain.cluster.groups.front().host_link.write_bytes_per_s.value);
  EXPECT_EQ(changed.decode.compressor.sink_tokens, 4);
  EXPECT_EQ(changed.decode.compressor.agreement.size(), plain.decode.compressor.agreement.size());
}

TEST(Set, OfAPartChangesTheGpusOwnEntryWhereNoneIsNamed) {
  const auto plain = small_scenario();
  const auto changed = small_scenario({"cluster.gpu.profile.iteration_overhead=7 ms",
                                       "cluster.gpu.peer_link.latency=9 us", "cluster.host.link.read=33 GB/s"});
  const auto& before = plain.serving.cluster.groups.front();
  const auto& after = changed.serving.cluster.groups.front();
  EXPECT_DOUBLE_EQ(after.profile.iteration_overhead_s.value, 7e-3);
  EXPECT_DOUBLE_EQ(after.profile.linear_t0_s.value, before.profile.linear_t0_s.value);
  EXPECT_DOUBLE_EQ(after.peer_link.latency_s.value, 9e-6);
  EXPECT_DOUBLE_EQ(after.peer_link.read_bytes_per_s.value, before.peer_link.read_bytes_per_s.value);
  EXPECT_DOUBLE_EQ(after.host_link.read_bytes_per_s.value, 33e9);
}

TEST(Set, AFigureSetInPlaceLosesItsSource) {
  const auto gpu = small_scenario({"cluster.gpu.type.memory=60 GB"}).serving.cluster.groups.front().gpu;
  EXPECT_EQ(gpu.memory_bytes.source.kind, schema::SourceKind::scenario);
  EXPECT_EQ(gpu.memory_bytes_per_s.source.kind, schema::SourceKind::datasheet);
}

TEST(Set, ReachesListsByNumberAndAppendsAtTheEnd) {
  const Sets curve = {"decode.acceptance={model: curve, points: [{draft_length: 5, accepted: 4}]}",
                      "decode.acceptance.points.0.accepted=3",
                      "decode.acceptance.points.1={draft_length: 9, accepted: 5}"};
  const auto points = small_scenario(curve).serving.decode.acceptance.points;
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].accepted, 3);
  EXPECT_EQ(points[1].draft_length, 9);
}

TEST(Set, OnAShorthandKeepsWhatItSays) {
  const auto context = small_scenario({"workload.context.distribution=exponential"}).workload.context;
  EXPECT_EQ(context->mean, 16000);
  EXPECT_EQ(context->distribution, models::Distribution::exponential);
}

TEST(Set, LaterOnesWin) {
  EXPECT_EQ(small_scenario({"run.seed=4", "run.seed=5"}).serving.run.seed, 5U);
}

TEST(Include, AddsEntriesAndTheyCanBeBasesOfOthers) {
  const TemporaryFolder folder;
  folder.write("card.yaml", "gpus: {my-card: {base: h100-sxm, memory: 60 GB}}\n");
  folder.write("more.yaml", "gpus: {other-card: {base: my-card, memory_bandwidth: 1 TB/s}}\n");
  const auto s = small_scenario(
      {"include=[" + folder.path() + "/more.yaml, " + folder.path() + "/card.yaml]", "cluster.gpu.type=other-card"});
  EXPECT_EQ(s.serving.cluster.groups.front().gpu.name, "other-card");
  EXPECT_EQ(s.serving.cluster.groups.front().gpu.memory_bytes.value, 60'000'000'000);
  EXPECT_EQ(s.serving.cluster.groups.front().gpu.memory_bytes_per_s.value, 1e12);
}

TEST(Include, ChangesAnEntryThatNamesItselfAsItsBase) {
  const TemporaryFolder folder;
  const std::string file = folder.write("link.yaml", "links: {pcie5-x16: {base: pcie5-x16, read: 20 GB/s}}\n");
  const auto link = small_scenario({"include=[" + file + "]"}).serving.cluster.groups.front().host_link;
  EXPECT_EQ(link.read_bytes_per_s.value, 20e9);
  EXPECT_EQ(link.write_bytes_per_s.value, 57.2e9);
}

TEST(Include, ReplacesAnEntryOnlyWithOverride) {
  const TemporaryFolder folder;
  const std::string entry = "links: {pcie5-x16: {description: mine, kind: host, read: 20 GB/s, write: 20 GB/s}}\n";
  const std::string replacing = folder.write("replacing.yaml", "override: true\n" + entry);
  const auto link = small_scenario({"include=[" + replacing + "]"}).serving.cluster.groups.front().host_link;
  EXPECT_EQ(link.description, "mine");
  EXPECT_EQ(link.latency_s.value, 0);
  const std::string clashing = folder.write("clashing.yaml", entry);
  EXPECT_NE(complaint({"include=[" + clashing + "]"}).find("links.pcie5-x16: exists already"), std::string::npos);
}

TEST(Include, IsRelativeToTheScenariosFolder) {
  const TemporaryFolder folder, elsewhere;
  folder.write("cards/card.yaml", "gpus: {my-card: {base: h100-sxm, memory: 60 GB}}\n");
  const std::string file = folder.write("s.yaml", std::string(kSmallScenario) + "include: [cards/card.yaml]\n");
  const WorkingDirectory here(elsewhere.path());
  EXPECT_EQ(scenario::load_scenario(file, {"cluster.gpu.type=my-card"}).serving.cluster.groups.front().gpu.name,
            "my-card");
}

TEST(Trace, IsLookedForBesideTheScenarioThenInTheWorkingDirectory) {
  const TemporaryFolder folder, working;
  const std::string header = "arrival_s,prompt_tokens,output_tokens\n";
  const std::string file = folder.write("s.yaml", kSmallScenario);
  working.write("t.csv", header + "0,100,10\n");
  const WorkingDirectory here(working.path());
  const auto requests = [&] {
    return scenario::load_scenario(file, {"workload={trace: {format: csv, path: t.csv}}"}).trace->size();
  };
  EXPECT_EQ(requests(), 1U);
  folder.write("t.csv", header + "0,100,10\n1,100,10\n");
  EXPECT_EQ(requests(), 2U);
}

// One loader resolves all of these: a machine that is tried is the scenario as it would be written for it.
TEST(OnMachine, IsTheScenarioAsWrittenForThatGpu) {
  const auto s = small_scenario({"schedule.engine=vllm", "cluster.gpu.profile.fused.norms=false",
                                 "cluster.gpu.profile.launch.kernel=1 us", "cluster.node={gpus: 8, price: 20 USD/h}",
                                 "cluster.gpu.profile.fitted.elementwise.t0=9 us", "cluster.host.link=pcie3-x16"});
  const auto written = small_scenario({"schedule.engine=vllm", "cluster.node={gpus: 8}", "cluster.gpu.type=h200",
                                       "cluster.gpu.tensor_parallel=2", "cluster.gpu.profile.fused.norms=false",
                                       "cluster.gpu.profile.launch.kernel=1 us"});
  EXPECT_EQ(resolved_yaml(on_machine(s, "h200", 2)), resolved_yaml(written));
  EXPECT_EQ(resolved_yaml(on_machine(s, s.serving.cluster.groups.front().gpu.name, 1)), resolved_yaml(s));
  EXPECT_THROW((void)on_machine(s, "h1000", 1), schema::InputError);
}

TEST(OnMachine, GetsTheQuantisedKernelOfItsOwnProfile) {
  const auto s =
      small_scenario({"prefill=recompute", "schedule={policy: fcfs, engine: vllm}",
                      "decode={policy: lossy, compressor: kivi-2bit}", "cluster.gpu.profile=a6000-pytorch-eager"});
  EXPECT_FALSE(s.serving.cluster.groups.front().profile.quantised) << "measured with that profile";
  EXPECT_TRUE(on_machine(s, "h200", 1).serving.cluster.groups.front().profile.quantised);
}

TEST(With, ResolvesWhatIsWrittenAnewAndKeepsRemarks) {
  auto s = small_scenario({"decode.keep_ratio=0.5"});
  s.remarks = {"a remark"};
  const auto changed = scenario::with(s, {{"decode.keep_ratio", "0.3"}, {"run.seed", "7"}});
  EXPECT_EQ(changed.serving.decode.keep_ratio, 0.3);
  EXPECT_EQ(changed.serving.run.seed, 7U);
  EXPECT_EQ(changed.remarks, s.remarks);
  EXPECT_EQ(resolved_yaml(changed), resolved_yaml(small_scenario({"decode.keep_ratio=0.3", "run.seed=7"})));
  EXPECT_EQ(resolved_yaml(scenario::with(changed, {{"run.seed", "1"}})),
            resolved_yaml(small_scenario({"decode.keep_ratio=0.3", "run.seed=1"})))
      << "changes add up";
}

TEST(Nodes, ShareTheirMemoryAmongTheReplicasOnThem) {
  const Sets node{"cluster.host={link: pcie5-x16}", "cluster.node={gpus: 8, memory: 800 GB, price: 20 USD/h}"};
  const auto s = small_scenario(node);
  EXPECT_EQ(s.serving.cluster.groups.front().host_memory_bytes, 100'000'000'000) << "eight replicas of one GPU";
  const auto pairs = on_machine(s, "h100-sxm", 2);
  EXPECT_EQ(pairs.serving.cluster.groups.front().host_memory_bytes, 200'000'000'000);
  EXPECT_TRUE(pairs.serving.cluster.node->usd_per_hour) << "of the same node";
  EXPECT_FALSE(on_machine(s, "a100", 1).serving.cluster.node->usd_per_hour) << "of other GPUs it is another one";
  const auto again = scenario::load_scenario_text(resolved_yaml(s), "again.yaml");
  EXPECT_EQ(again.serving.cluster.groups.front().host_memory_bytes, 100'000'000'000);
  EXPECT_EQ(again.serving.cluster.node->usd_per_hour, 20);
  EXPECT_EQ(complaint({"cluster.node={gpus: 8, memory: 800 GB}"}),
            "small.yaml:6:18: cluster.host.memory: cluster.node.memory says it: remove one of the keys");
}

TEST(KeepRatio, OfTokenDroppingMustBeGiven) {
  EXPECT_EQ(complaint({"decode={policy: draft_verify, compressor: kvzip}"}),
            "--set decode: missing key \"keep_ratio\", which compressor kvzip needs");
  EXPECT_EQ(small_scenario({"decode.keep_ratio=0.3"}).serving.decode.keep_ratio, 0.3);
}

TEST(KeepRatio, OfAQuantiserFollowsFromItsBits) {
  // 2/16 + 2/32.
  EXPECT_EQ(small_scenario({"decode={policy: draft_verify, compressor: kivi-2bit}"}).serving.decode.keep_ratio, 0.1875);
  EXPECT_EQ(complaint({"decode={policy: draft_verify, compressor: kivi-2bit, keep_ratio: 0.1875}"}), "nothing");
  EXPECT_EQ(
      complaint({"decode={policy: draft_verify, compressor: kivi-2bit, keep_ratio: 0.2}"}),
      "--set decode: decode.keep_ratio: kivi-2bit keeps 0.1875 by its bits and groups: remove this key, or choose "
      "another compressor");
}

TEST(KeepRatio, OfAMethodThatDropsAndQuantisesIsOfItsTokens) {
  const Sets both = {"decode.compressor={base: kvzip, kind: both, bits_per_element: 8, reload: whole}"};
  EXPECT_EQ(small_scenario(both).serving.decode.keep_ratio, 0.25);
}

TEST(KeepRatio, IsNotNeededWithoutACompressor) {
  EXPECT_EQ(complaint({"decode={policy: full_kv}", "schedule.policy=fcfs"}), "nothing");
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
