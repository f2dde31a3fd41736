// Keys that nothing reads: the rules are true under every policy, and what is written against them is refused or
// remarked.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "sim/scenario/keys_without_effect.h"
#include "tests/scenario/key_rows.h"
#include "tests/scenario/summary.h"
#include "tests/support/small_scenario.h"
#include "tools/results/result_document.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

/// A scenario of some policy, small enough to run many times.
struct Base {
  std::string name;
  Sets sets;

  friend std::ostream& operator<<(std::ostream& out, const Base& base) { return out << base.name; }
};

std::vector<Base> bases() {
  const std::string few = "workload.requests=8", fcfs = "schedule.policy=fcfs";
  std::vector<Base> all;
  const auto decode = [&](const char* name, const std::string& keys, const std::string& schedule) {
    all.push_back({name, {few, "decode={" + keys + "}", schedule}});
  };
  const std::string kept = ", compressor: fast-kvzip, keep_ratio: 0.25", drafter = ", drafter: {type: llama-3.2-1b}";
  const std::string low_bit = ", compressor: specache-2bit";
  decode("full_kv", "policy: full_kv", fcfs);
  decode("lossy", "policy: lossy" + kept, fcfs);
  decode("draft_verify", "policy: draft_verify" + kept, "schedule.policy=staggered");
  decode("lock_step", "policy: draft_verify" + kept, "schedule.policy=lock_step");
  decode("adaptive", "policy: draft_verify, draft_lengths: {policy: adaptive}" + kept, "schedule.policy=staggered");
  decode("drafter", "policy: drafter" + drafter, fcfs);
  decode("sparse_self", "policy: sparse_self" + kept, fcfs);
  decode("sparse_of_its_own",
         "policy: sparse_self, sparse: {selection: pillar-attention, keep_ratio: 0.05, draft_length: 8, acceptance: "
         "{model: constant, agreement: 0.9}}",
         fcfs);
  decode("draft_verify_drafter", "policy: draft_verify+drafter" + kept + drafter, "schedule.policy=staggered");
  decode("sparse_self_drafter", "policy: sparse_self+drafter" + kept + drafter, fcfs);
  decode("lossy_drafter", "policy: lossy+drafter" + kept + drafter, fcfs);
  decode("speculative_prefetch", "policy: speculative_prefetch" + low_bit, fcfs);
  decode("fetch_on_demand", "policy: fetch_on_demand" + low_bit, fcfs);
  decode("quantised_only", "policy: quantised_only" + low_bit, fcfs);
  decode("full_offload", "policy: full_offload", fcfs);
  all.push_back({"recompute", recomputed({few})});
  all.push_back({"placed", placed({few})});
  all.push_back({"drafts_on_stored", placed({few, "decode={policy: draft_verify}",
                                             "placement={policy: lru, compressor: keydiff, keep_ratio: 0.3}"})});
  all.push_back({"pools", with_pools({few})});
  all.push_back({"pools_full_kv", with_pools({few, "decode={policy: full_kv}"})});
  for (const char* prefill : {"selective", "epic", "cacheblend", "full_reuse", "recompute", "prefix_cache"}) {
    all.push_back({std::string("chunks_") + prefill, blended({few, std::string("prefill={policy: ") + prefill + "}"})});
  }
  return all;
}

/// All that results say but what is configured; empty where the scenario is refused.
std::string results_of(const scenario::ScenarioFile& file, const std::vector<schema::Assignment>& changes = {}) {
  try {
    const scenario::Scenario s = file.load(changes);
    const results::Outcome outcome{s, planner::run_experiment(s), ""};
    results::Json document = results::result_document(outcome, false);
    document["details"].erase("resolved_scenario");
    document["details"].erase("policies");
    return summary(outcome.result.measured) + document.dump();
  } catch (const schema::InputError&) {
    return {};
  }
}

class UnreadRules : public ::testing::TestWithParam<Base> {};

/// A key that is said to be unread changes nothing: of every rule one key is changed.
TEST_P(UnreadRules, NameKeysThatChangeNothing) {
  static const std::vector<KeyRow> rows = key_rows();
  const scenario::ScenarioFile file = small_file(GetParam().sets);
  const std::string unchanged = results_of(file);
  std::size_t compared = 0;
  for (const schema::UnreadKey& rule : scenario::scenario_schema().unread_keys(written_out(file.load()))) {
    for (const KeyRow& row : rows) {
      if (row.key != rule.path && !row.key.starts_with(rule.path + ".")) continue;
      const std::string set = row.b.find('=') == std::string::npos ? row.key + "=" + row.b : row.b;
      if (set.find('$') != std::string::npos) continue;
      const std::size_t equals = set.find('=');
      const std::string changed = results_of(file, {{set.substr(0, equals), set.substr(equals + 1)}});
      if (changed.empty()) continue;  // refused, which is more than a remark
      EXPECT_TRUE(changed == unchanged) << row.key << " is said to have no effect: " << rule.why;
      ++compared;
      break;
    }
  }
  EXPECT_GT(compared, 0U);
}

std::string name_of(const ::testing::TestParamInfo<Base>& info) {
  return info.param.name;
}

std::vector<Base> some_bases() {
  std::vector<Base> all = bases(), some;
  for (std::size_t i = 0; i < all.size(); i += KVSIM_SANITIZED ? 8 : 1) some.push_back(all[i]);
  return some;
}
INSTANTIATE_TEST_SUITE_P(All, UnreadRules, ::testing::ValuesIn(some_bases()), name_of);

/// The keys that are refused, or else remarked on, in scenarios that differ in these settings.
std::string said_of(const std::vector<Sets>& scenarios) {
  scenario::UnreadByAll unread;
  for (const Sets& sets : scenarios) unread.add(small_scenario(sets));
  try {
    unread.refuse();
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return fmt::format("{}", fmt::join(unread.remarks(), "\n"));
}

const Sets kDrafter = {"decode={policy: drafter, drafter: {type: llama-3.2-1b}}", "schedule={policy: fcfs}"};

TEST(KeysWithoutEffect, OfACommandLineAreRefusedWithTheKeyThatHasOne) {
  EXPECT_EQ(said_of({with(kDrafter, "decode.draft_length=7")}),
            "--set decode.draft_length: no effect: decode policy drafter drafts with its drafter: use "
            "decode.drafter.draft_length");
  EXPECT_EQ(said_of({with(kDrafter, "decode.drafter.draft_length=2")}), "");
  EXPECT_EQ(said_of({{"decode.draft_length=7"}}), "");
}

/// Keys of another policy, or of another source of figures, in scenarios that differ in nothing else.
TEST(KeysWithoutEffect, OfOtherPoliciesAreRefusedOnACommandLineAndChangeNothing) {
  const Sets lru = placed(), none;
  const Sets utility = placed({"placement.policy=utility"}), chunks = blended();
  const std::vector<std::tuple<Sets, std::string, std::string, std::string>> all{
      {lru, "placement.utility.alpha", "1 s", "only policy utility looks at it: use policy: utility"},
      {lru, "placement.options.combine", "false",
       "only policy utility chooses among options: use compressor, or policy: utility"},
      {lru, "placement.profiling.online", "true", "only policy utility looks at profiles: use policy: utility"},
      {lru, "placement.importance.share", "0.5",
       "only policy importance_chunks looks at it: use policy: importance_chunks"},
      {utility, "placement.utility.half_life", "5 s", "accesses are counted: use frequency: decayed"},
      {utility, "placement.profiling.queries", "3",
       "nothing is profiled again, and profiles are right: use online: true, or noise"},
      {lru, "placement.drift.every", "20 s", "nothing is compressed: use compressor, or policy: utility"},
      {utility, "placement.drift.magnitude", "0.2", "quality never changes: give every, such as every: 60 s"},
      {utility, "placement.quality.path", "x.csv", "curves are generated: use source: file"},
      {lru, "placement.worker_rate", "3 GB/s", "nothing is compressed: use compressor, or policy: utility"},
      {lru, "placement.quality.shape", "3", "nothing is compressed: use compressor, or policy: utility"},
      {chunks, "prefill.importance.path", "x.jsonl", "importances are generated: use source: file"},
      {none, "decode.acceptance.agreement", "0.9",
       "this acceptance model does not read it: use model: constant, or heterogeneous"},
      {none, "decode.draft_lengths.forgetting", "0.5",
       "draft length policy fixed estimates nothing: use adaptive or goodput"},
      {none, "decode.draft_lengths.table", "[{batch: 4, context: 2k tokens, draft_length: 9}]",
       "draft length policy fixed has no table: use table"},
      {none, "workload.output.values", "[5 tokens]", "this distribution draws no values: use empirical"},
      {with(none, "schedule.policy=lock_step"), "schedule.unplaced", "waits",
       "schedule policy lock_step does not look ahead: use staggered"},
      {recomputed({"decode={policy: full_kv}", "schedule.policy=fcfs"}), "cluster.host.link.read", "20 GB/s",
       "KV stays on the GPU: give placement, prefill: stored, or a decode policy with KV in host memory"}};
  for (const auto& [base, key, value, why] : all) {
    EXPECT_EQ(said_of({with(base, key + "=" + value)}), fmt::format("--set {}: no effect: {}", key, why));
    const Sets few = with(base, "workload.requests=8");
    EXPECT_EQ(results_of(small_file(with(few, key + "=" + value))), results_of(small_file(few))) << key;
  }
}

/// A comparison has the keys of each of its policies in one file.
TEST(KeysWithoutEffect, AreNoneOfPoliciesThatAreComparedWithOneThatReadsThem) {
  const Sets both = placed({"placement.utility.alpha=1 s"});
  EXPECT_EQ(said_of({both, with(both, "placement.policy=utility")}), "");
}

TEST(KeysWithoutEffect, WithinAMapOfACommandLineAreRefusedToo) {
  EXPECT_EQ(said_of({{"decode={policy: full_kv, draft_length: 7}", "schedule={policy: fcfs}"}}),
            "--set decode: decode.draft_length: no effect: decode policy full_kv drafts nothing: use draft_verify");
}

TEST(KeysWithoutEffect, OfAFileAreRemarked) {
  EXPECT_EQ(
      said_of({{"decode.policy=full_kv", "schedule.policy=fcfs"}}),
      "small.yaml:13:44: decode.compressor, decode.keep_ratio: no effect: decode policy full_kv reads no compressed "
      "KV: use another, such as lossy or draft_verify\n"
      "small.yaml:13:83: decode.draft_length: no effect: decode policy full_kv drafts nothing: use draft_verify");
}

TEST(KeysWithoutEffect, AreThoseThatNoneOfSeveralScenariosReads) {
  const Sets full = {"decode.policy=full_kv", "schedule.policy=fcfs", "decode.draft_length=7"};
  const Sets drafting = {"decode.draft_length=7"};
  EXPECT_NE(said_of({full, full}), "");
  EXPECT_EQ(said_of({full, drafting}), "");
  EXPECT_EQ(said_of({drafting, full}), "");
}

/// In whatever order scenarios are looked at, as threads of a sweep do.
TEST(KeysWithoutEffect, DoNotDependOnTheOrderOfScenarios) {
  const Sets full = {"decode.policy=full_kv", "schedule.policy=fcfs"};
  const Sets lossy = {"decode.policy=lossy", "schedule.policy=fcfs"};
  EXPECT_EQ(said_of({full, lossy}), said_of({lossy, full}));
  EXPECT_NE(said_of({full, lossy}), "");
}

// Resolved scenarios have the defaults of all keys.
TEST(KeysWithoutEffect, WithTheirDefaultsInAFileAreNotRemarked) {
  for (const Base& base : bases()) {
    scenario::Scenario own = small_scenario(base.sets);
    own.document.reset();  // what was written may be without effect
    const std::string resolved = resolved_yaml(own);
    scenario::UnreadByAll unread;
    unread.add(scenario::load_scenario_text(resolved, "resolved.yaml"));
    EXPECT_EQ(unread.remarks(), std::vector<std::string>{}) << base << "\n" << resolved;
  }
}

TEST(KeysWithoutEffect, OfAFileStayInTheResolvedScenario) {
  const std::string written =
      resolved_yaml(small_scenario({"decode={policy: full_kv, draft_length: 9}", "schedule={policy: fcfs}"}));
  EXPECT_NE(written.find("draft_length: 9"), std::string::npos) << written;
}

TEST(ScenarioName, IsTheFilesUnlessItIsGiven) {
  const std::string text = kSmallScenario;
  const std::string unnamed = text.substr(text.find("model:"));
  EXPECT_EQ(scenario::load_scenario_text(unnamed, "some/where/chat.yaml").name, "chat");
  EXPECT_EQ(small_scenario().name, "small");
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
