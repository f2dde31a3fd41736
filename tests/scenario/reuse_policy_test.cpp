// A scenario whose prompts are made of chunks under another prefill policy, for comparisons and sweeps.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "planner/policy_words.h"
#include "tests/scenario/key_rows.h"
#include "tests/scenario/summary.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using models::Granularity;
using planner::with_policy;
using scenario::Scenario;
using scenario::ScenarioFile;
using serving::PrefillKind;
ScenarioFile chunks(Sets more = {}) {
  return small_file(blended(std::move(more)));
}

std::string complaint(const ScenarioFile& s, const std::string& policy) {
  try {
    with_policy(s, policy);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "nothing";
}

void expect_like(const ScenarioFile& s, const std::string& policy, const Sets& written) {
  const Scenario changed = with_policy(s, policy), alone = chunks(written).load();
  EXPECT_EQ(resolved_yaml(changed), resolved_yaml(alone)) << policy;
  EXPECT_EQ(summary(measure(changed)), summary(measure(alone))) << policy;
}

TEST(ReusePolicy, RunsLikeAScenarioWrittenThatWay) {
  const ScenarioFile s = chunks();
  expect_like(s, "recompute", {"prefill=recompute"});
  expect_like(s, "full_recompute", {"prefill=full_recompute"});
  expect_like(s, "prefix_cache", {"prefill=prefix_cache"});
  expect_like(s, "full_reuse", {"prefill=full_reuse"});
  expect_like(s, "selective", {});
  expect_like(s, "selective:0.25", {"prefill.rho=0.25"});
  expect_like(s, "selective:0", {"prefill.rho=0"});
  expect_like(s, "selective:1", {"prefill.rho=1"});
  expect_like(s, "cacheblend", {"prefill=cacheblend"});
  expect_like(s, "cacheblend:0.3", {"prefill={policy: cacheblend, rho: 0.3}"});
  expect_like(s, "epic", {"prefill=epic"});
  expect_like(s, "epic:16", {"prefill={policy: epic, link_tokens: 16 tokens}"});
}

TEST(ReusePolicy, IsReachedFromEveryOther) {
  // Recomputing stores nothing, and a prefix cache stores blocks: neither may lose what the scenario says of tiers,
  // of the small model or of importances.
  for (const char* own : {"recompute", "prefix_cache", "full_reuse", "cacheblend", "epic"}) {
    const Sets with_scorer = {"workload.chunks={count: 200, per_request: 2, tokens: 2 tokens}",
                              "prefill={policy: selective, speculative: {gpus: 1}, importance: {source: file, path: " +
                                  source_path("tests/scenario/data/scores.jsonl") + "}}"};
    Sets sets = with_scorer;
    sets.emplace_back(std::string("prefill.policy=") + own);
    expect_like(chunks(sets), "selective", with_scorer);
  }
}

TEST(ReusePolicy, StoresWhatItFindsAgain) {
  const ScenarioFile s = chunks();
  EXPECT_EQ(with_policy(s, "epic").serving.placement->granularity, Granularity::chunks);
  EXPECT_EQ(with_policy(s, "prefix_cache").serving.placement->granularity, Granularity::blocks);
  EXPECT_FALSE(with_policy(s, "full_recompute").serving.placement);
}

TEST(ReusePolicy, CountsGpusThatScoreWhereSomethingIsScored) {
  const ScenarioFile s = chunks({"prefill.speculative.gpus=2", "cluster.replicas=3"});
  EXPECT_EQ(serving::gpus(s.load().serving.cluster), 9);
  for (const std::string policy : {"full_recompute", "prefix_cache", "full_reuse", "epic", "cacheblend"}) {
    EXPECT_EQ(serving::gpus(with_policy(s, policy).serving.cluster), 3) << policy;
    const ScenarioFile under = chunks({"prefill.speculative.gpus=2", "cluster.replicas=3", "prefill.policy=" + policy});
    EXPECT_EQ(serving::gpus(with_policy(under, "selective").serving.cluster), 9) << policy;
  }
}

TEST(ReusePolicy, PlacesUnderThePrefillPolicyOfTheScenario) {
  expect_like(chunks(), "lfu", {"placement.policy=lfu"});
  expect_like(chunks({"prefill.policy=epic"}), "none", {"prefill.policy=epic", "placement.policy=none"});
  expect_like(chunks(), "lru:kivi-4bit", {"placement={policy: lru, compressor: kivi-4bit}"});
  // The other way round: prefill policies keep the scenario's placement.
  expect_like(chunks({"placement.policy=lfu"}), "epic", {"placement.policy=lfu", "prefill=epic"});
}

TEST(ReusePolicy, ComparesByDefaultAllThatTheScenarioHasWhatItTakesFor) {
  EXPECT_EQ(planner::default_policies(chunks().load()),
            (Sets{"full_recompute", "prefix_cache", "full_reuse", "epic", "cacheblend", "selective"}));
  // Tiers are there, though recomputing does not use them.
  EXPECT_EQ(planner::default_policies(chunks({"prefill=recompute"}).load()).size(), 6U);
  const std::string without_tiers = "workload.chunks={count: 9, per_request: 4}";
  EXPECT_EQ(planner::default_policies(small_scenario({without_tiers, "decode.policy=full_kv", "schedule={}"})),
            Sets{"full_recompute"});
  // Under a decode policy of its own, computing under full KV comes first.
  EXPECT_EQ(planner::default_policies(small_scenario({without_tiers})),
            (Sets{"full_recompute/full_kv", "stored/draft_verify"}));
  for (const std::string& policy : planner::default_policies(chunks().load())) {
    EXPECT_EQ(measure(with_policy(chunks(), policy)).completed, 60U) << policy;
  }
}

TEST(ReusePolicy, IsCalledByItsName) {
  for (const char* policy : {"full_recompute", "prefix_cache", "full_reuse", "epic", "cacheblend", "selective"}) {
    EXPECT_EQ(planner::reuse_policy_name(with_policy(chunks(), policy).serving.prefill), policy);
  }
  EXPECT_EQ(planner::reuse_policy_name(PrefillKind::stored), "stored");
}

TEST(ReusePolicy, RefusesUnknownNamesWithTheNearest) {
  EXPECT_EQ(complaint(chunks(), "selectiv"),
            "--policies: unknown prefill policy \"selectiv\" of prompts made of chunks, expected selective or another "
            "of full_recompute, recompute, prefix_cache, full_reuse, selective, cacheblend, epic");
  EXPECT_EQ(complaint(chunks(), "epick:16"),
            "--policies: unknown prefill policy \"epick\" of prompts made of chunks, expected epic or another of "
            "full_recompute, recompute, prefix_cache, full_reuse, selective, cacheblend, epic");
  EXPECT_EQ(complaint(chunks(), "xyz"),
            "--policies: unknown prefill policy \"xyz\" of prompts made of chunks, expected one of full_recompute, "
            "recompute, prefix_cache, full_reuse, selective, cacheblend, epic");
  EXPECT_NE(complaint(chunks(), ""), "nothing");
  EXPECT_NE(complaint(chunks(), "stored"), "nothing");
}

TEST(ReusePolicy, RefusesNumbersOutOfTheirRange) {
  const auto expect = [](const std::string& policy, const std::string& problem) {
    EXPECT_EQ(complaint(chunks(), policy), "--policies " + policy + ": " + problem);
  };
  for (const std::string name : {"selective:", "cacheblend:"}) {
    for (const std::string number : {"1.01", "-0.1"}) {
      expect(name + number, "prefill.rho: must be >= 0 and <= 1, found " + number + ": it is a share of the tokens");
    }
    for (const std::string number : {"x", "0.2x", "nan"}) {
      expect(name + number, "prefill.rho: expected a number such as \"0.2\", found \"" + number + '"');
    }
    expect(name, "prefill.rho: there is no value");
    expect(name + "0.2:3", "too many values: " + name.substr(0, name.size() - 1) + " takes prefill.rho");
  }
  expect("epic:-1", "prefill.link_tokens: must be >= 0 tokens, found -1 tokens");
  expect("epic:1.5", "prefill.link_tokens: expected a whole number of tokens, found \"1.5 tokens\"");
  for (const std::string number : {"x", ""}) EXPECT_NE(complaint(chunks(), "epic:" + number), "nothing");
}

TEST(ReusePolicy, RefusesNumbersWhereNoneBelongs) {
  for (const std::string name : {"full_recompute", "recompute", "prefix_cache", "full_reuse"}) {
    EXPECT_EQ(complaint(chunks(), name + ":0.25"),
              "--policies " + name + ":0.25: too many values: " + name + " takes none");
  }
}

TEST(ReusePolicy, ChoosesWhatIsStoredAsOneWhateverIsWritten) {
  const ScenarioFile s = chunks({"placement.granularity=chunks"});
  EXPECT_EQ(with_policy(s, "prefix_cache").serving.placement->granularity, Granularity::blocks);
}

TEST(ReusePolicy, RefusesWhatTheScenarioHasNoMeansFor) {
  const ScenarioFile nothing_stored = small_file(
      {"workload.chunks={count: 9, per_request: 4}", "prefill=recompute", "decode={policy: full_kv}", "schedule={}"});
  EXPECT_EQ(complaint(nothing_stored, "full_recompute"), "nothing");
  EXPECT_EQ(complaint(nothing_stored, "selective"),
            "--policies selective: chunks are kept in tiers of memory: give placement (such as {policy: lru}) and "
            "cluster.host.memory, or use recompute");
  EXPECT_EQ(complaint(nothing_stored, "prefix_cache"),
            "--policies prefix_cache: prefix_cache is about what a storage node or tiers of memory hold: give "
            "placement (such as {policy: lru}) or cluster.pools, or use recompute or stored");
  EXPECT_EQ(complaint(chunks({"prefill.policy=epic", "cluster.gpu.tensor_parallel=4",
                              "prefill.speculative.model=qwen2.5-0.5b"}),
                      "selective"),
            "--policies selective: 14 attention heads of qwen2.5-0.5b cannot be sharded evenly over the replica's 4 "
            "GPUs: give it GPUs of its own (prefill.speculative.gpus)");
}

TEST(ReusePolicy, CanBeSweptOverFromRecomputingToReuse) {
  // The tiers stay written down where they are not used.
  const auto file =
      scenario::ScenarioFile::from_text(kSmallScenario, "sweep.yaml", blended({"placement.preload=true"}));
  const auto ttft = [&](const char* policy) {
    return measure(file.load({{"prefill.policy", policy, {}}})).ttft_s.mean();
  };
  const double all = ttft("recompute");
  EXPECT_EQ(ttft("full_recompute"), all);
  for (const char* policy : {"full_reuse", "epic", "selective"}) EXPECT_LT(ttft(policy), all) << policy;
  EXPECT_GT(ttft("prefix_cache"), 0);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
