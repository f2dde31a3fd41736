// Every key of a scenario does something. A new key without a row in key_rows*.cpp fails here, so that no key can be
// accepted and then ignored.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "sim/serving/simulation.h"
#include "tests/scenario/key_rows.h"
#include "tests/scenario/schema_keys.h"
#include "tests/scenario/summary.h"
#include "tests/scenario/temporary_folder.h"
#include "tests/support/pools_scenario.h"
#include "tests/support/small_scenario.h"
#include "tools/results/result_document.h"
#include "tools/results/run_page.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

constexpr std::string_view kGpu = "cluster.gpu.";
constexpr std::array<std::string_view, 2> kPoolGpus{"cluster.pools.local.gpu.", "cluster.pools.remote.gpu."};

/// The key of cluster.gpu in place of that of a pool's GPUs, which one table reads; any other key as it is.
std::string in_cluster(std::string key) {
  for (const std::string_view pool : kPoolGpus) {
    if (key.starts_with(pool)) key.replace(0, pool.size(), kGpu);
  }
  return key;
}

TEST(ScenarioKeys, EachHasARowThatShowsWhatItDoes) {
  std::multiset<std::string> rows;
  for (const KeyRow& row : key_rows()) rows.insert(row.key);
  std::set<std::string> keys;
  for (const ScenarioKey& key : scenario_keys()) keys.insert(key.path);
  for (const std::string& key : keys) {
    const bool has_own = rows.contains(key);  // of a pool's GPUs, beside that of cluster.gpu
    EXPECT_EQ(rows.count(has_own ? key : in_cluster(key)), 1U)
        << key << ": add a row to key_rows*.cpp that shows what this key changes";
  }
  for (const std::string& row : rows) EXPECT_TRUE(keys.contains(row)) << row << " is no key of a scenario";
}

/// The assignment with the GPUs of a pool in place of cluster.gpu; none where it is of something else.
std::optional<std::string> for_pool(const std::string& assignment, std::string_view pool) {
  if (!assignment.starts_with(kGpu)) return std::nullopt;
  return std::string(pool) + assignment.substr(kGpu.size());
}

/// GPUs at this key as the scenario resolves them.
std::string resolved_gpus(const std::vector<std::string>& sets, std::string_view key) try {
  const schema::ConfigNode all = schema::read_yaml(resolved_yaml(pools_file(sets).unjudged().load()), "");
  const schema::ConfigNode* found = all.find_path(key.substr(0, key.size() - 1));
  if (found == nullptr) return "none";
  schema::ConfigNode gpus = *found;
  if (gpus.find("kv_tokens") || gpus.find("kv_blocks") || gpus.find("kv_bytes")) {
    for (const char* unread : {"memory_fraction", "activations"}) gpus.erase(unread);  // a pool inherits neither then
  }
  return schema::to_yaml(gpus);
} catch (const schema::InputError&) {
  return "refused";
}

TEST(ScenarioKeys, OfAPoolsGpusDoWhatThoseOfTheClusterDo) {
  std::size_t compared = 0;
  for (const KeyRow& row : key_rows()) {
    if (!row.key.starts_with(kGpu)) continue;
    for (const auto& [value, pool] : {std::pair(row.a, kPoolGpus.front()), std::pair(row.b, kPoolGpus.back())}) {
      Sets all = row.base;
      all.push_back(value.find('=') == std::string::npos ? row.key + "=" + value : value);
      Sets cluster, own{std::string(pool) + "type=h100-sxm"};
      for (const std::string& set : all) {
        if (const auto moved = for_pool(set, pool)) {
          cluster.push_back(set);
          own.push_back(*moved);
        }
      }
      EXPECT_EQ(resolved_gpus(own, pool), resolved_gpus(cluster, kGpu)) << row.key << " = " << value;
      compared += 1;
    }
  }
  EXPECT_GT(compared, 200U);
}

TEST(ScenarioKeys, OnlyNamesAndDescriptionsAreMerelyShown) {
  for (const KeyRow& row : key_rows()) {
    if (row.effect != Effect::shown) continue;
    EXPECT_TRUE(row.key.ends_with("name") || row.key.ends_with("description")) << row.key;
  }
}

/// What a user can see of one value of a key.
struct Seen {
  bool refused = false;
  std::string unread;  ///< why nothing reads the key; empty: something does
  std::string message, measured, reported, resolved;
  std::string again;  ///< measured with the resolved scenario
};

class KeyEffect : public ::testing::TestWithParam<KeyRow> {
 protected:
  KeyEffect() {
    const std::string csv = "arrival_s,prompt_tokens,output_tokens\n0.0,4000,50\n0.1,5000,60\n";
    folder_.write("short.csv", csv);
    folder_.write("long.csv", csv + "0.2,6000,70\n");
    folder_.write("aborted.csv", csv + "0.2,6000,0\n");
    folder_.write("ended.csv", csv + "0.05,6000,70\n");
    folder_.write("blocks.jsonl", R"({"ts": 0, "in": 4000, "out": 9, "ids": [1, 2, 3], "others": [1, 4, 5]})"
                                  "\n"
                                  R"({"ts": 5, "in": 4000, "out": 9, "ids": [1, 2, 3], "others": [1, 6, 7]})"
                                  "\n");
    folder_.write("log.csv",
                  "ts,ts2,in,in2,out,out2,conv,end,by\n"
                  "0,0,4000,3000,50,40,a,1,\n100,300,5000,6000,60,70,a,400,\n200,500,5000,6000,60,70,b,700,a\n");
    const std::string chat = R"("parent_chat_id": -1, "type": "text", "turn": 1, "hash_ids": [1])";
    const std::string request = R"(, "input_length": 12, "output_length": 40, )" + chat + "}\n";
    folder_.write("both.jsonl",
                  R"({"chat_id": 1, "timestamp": 0)" + request + R"({"chat_id": 2, "timestamp": 3)" + request);
    const auto shared = [](int minute, const char* blocks) {
      return fmt::format(R"({{"timestamp": {}, "input_length": 4096, "output_length": 40, "hash_ids": [{}]}})",
                         minute * 60000, blocks) +
             "\n";
    };
    const char* const one = "1, 2, 3, 4, 5, 6, 7, 8";
    const char* const two = "11, 12, 13, 14, 15, 16, 17, 18";
    folder_.write("prefixes.jsonl", shared(0, one) + shared(1, two) + shared(2, one) + shared(3, two));
    folder_.write("good.csv", "context,method,keep_ratio,quality\n*,kvzip,0.25,0.9\n");
    folder_.write("bad.csv", "context,method,keep_ratio,quality\n*,kvzip,0.25,0.6\n");
    // Of 4 chunks of 512 tokens: the more important the later, and the other way round.
    std::string rising, falling;
    for (int token = 0; token < 2048; ++token) {
      rising += fmt::format("{}{}", token > 0 ? ", " : "", token);
      falling += fmt::format("{}{}", token > 0 ? ", " : "", 2048 - token);
    }
    folder_.write("scores.jsonl", "{\"importance\": [" + rising + "]}\n");
    folder_.write("falling_scores.jsonl", "{\"importance\": [" + falling + "]}\n");
    folder_.write("fast_link.yaml", "links: {pcie5-x16: {base: pcie5-x16, read: 50 GB/s}}\n");
    folder_.write("slow_link.yaml", "links: {pcie5-x16: {base: pcie5-x16, read: 20 GB/s}}\n");
  }

  /// `twice`: the resolved scenario is measured, too.
  Seen look(const std::string& value, bool twice) const {
    const KeyRow& row = GetParam();
    std::vector<std::string> sets = {"workload.requests=20"};
    sets.insert(sets.end(), row.base.begin(), row.base.end());
    sets.push_back(value.find('=') == std::string::npos ? row.key + "=" + value : value);
    for (std::string& set : sets) {
      for (auto at = set.find("$DIR"); at != std::string::npos; at = set.find("$DIR")) {
        set.replace(at, 4, folder_.path());
      }
    }
    Seen seen;
    try {
      const scenario::Scenario s = small_scenario(sets);
      seen.resolved = resolved_yaml(s);
      seen.unread = why_unread(s, row.key);
      planner::ExperimentOptions watched;
      watched.timeline = true;
      const results::Outcome outcome{s, planner::run_experiment(planner::with_best_planned_weights(s), watched), ""};
      seen.measured = summary(outcome.result.measured);
      results::Json document = results::result_document(outcome, false);
      document["details"].erase("resolved_scenario");  // which differs whatever the key does
      seen.reported = document.dump() + results::to_text(results::run_page(outcome, false));
      if (twice) seen.again = summary(measure(scenario::load_scenario_text(seen.resolved, "resolved.yaml")));
    } catch (const schema::InputError& e) {
      seen.refused = true;
      seen.message = e.what();
    }
    return seen;
  }

  TemporaryFolder folder_;
};

TEST_P(KeyEffect, IsSeenWhereItsRowSays) {
  const Seen a = look(GetParam().a, false), b = look(GetParam().b, true);
  if (GetParam().effect == Effect::refused) {
    EXPECT_FALSE(a.refused) << a.message;
    EXPECT_TRUE(b.refused);
    return;
  }
  ASSERT_FALSE(a.refused) << a.message;
  ASSERT_FALSE(b.refused) << b.message;
  EXPECT_NE(a.resolved, b.resolved);
  EXPECT_EQ(b.again, b.measured) << "the resolved scenario is another one";
  const bool seen = GetParam().effect == Effect::measured || GetParam().effect == Effect::reported;
  EXPECT_EQ(seen ? a.unread : "", "") << "the key has an effect, and a rule says that nothing reads it";
  switch (GetParam().effect) {
    case Effect::measured:
      EXPECT_NE(a.measured, b.measured) << a.measured;
      break;
    case Effect::reported:
      EXPECT_NE(a.reported, b.reported) << a.reported;
      break;
    case Effect::listed:
      EXPECT_NE(a.reported, b.reported) << a.reported;
      EXPECT_EQ(a.measured, b.measured) << "the key has an effect: say so in its row";
      break;
    default:
      EXPECT_EQ(a.reported, b.reported) << "the key has an effect: say so in its row";
      EXPECT_EQ(a.measured, b.measured) << "the key has an effect: say so in its row";
  }
}

/// A quarter of them under sanitizers, where four runs a row take minutes.
std::vector<KeyRow> rows() {
  std::vector<KeyRow> some;
  const std::vector<KeyRow> all = key_rows();
  for (std::size_t i = 0; i < all.size(); i += KVSIM_SANITIZED ? 10 : 1) some.push_back(all[i]);
  return some;
}

INSTANTIATE_TEST_SUITE_P(All, KeyEffect, ::testing::ValuesIn(rows()));

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
