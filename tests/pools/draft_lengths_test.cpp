// Between pools, how long requests draft: what a policy sees there, what it brings, and the memory that it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/pools/pools_runs.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

serving::Measurements drafting(const std::string& path, const std::string& lengths) {
  return simulated(
      pools_scenario({"dispatch={policy: online, paths: [" + path + "]}", "workload.requests=100",
                      "decode.acceptance={model: heterogeneous, agreement: 0.9, concentration: 4}", lengths}));
}

double output_rate(const serving::Measurements& m) {
  return static_cast<double>(m.output_tokens) / m.measured_s;
}

TEST(PoolsDraftLengths, AdaptiveFindsTheLengthOfEachPathWhereEveryFixedOneIsWrongOnOne) {
  // Cached verifications cost a message and a pass, stateless ones wait for a link that all share.
  const std::vector<std::string> paths = {"P1_cached", "P1_stateless"};
  std::vector<double> adaptive;
  for (const std::string& path : paths) {
    const auto m = drafting(path, "decode.draft_lengths={policy: adaptive}");
    adaptive.push_back(output_rate(m));
    EXPECT_LT(1 - m.draft_lengths.expected_tokens / m.draft_lengths.best_tokens, 0.1) << path;
  }
  for (const char* x : {"2", "10", "40"}) {
    double gain = 0;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const double fixed = output_rate(drafting(paths[i], std::string("decode.draft_length=") + x));
      EXPECT_GT(adaptive[i], 0.9 * fixed) << paths[i] << ", x = " << x;
      gain = std::max(gain, adaptive[i] / fixed);
    }
    EXPECT_GT(gain, 1.2) << "x = " << x;
  }
}

TEST(PoolsDraftLengths, GoodputFollowsWhatRoundsTakeHere) {
  const auto cached = drafting("P1_cached", "decode.draft_lengths={policy: goodput}");
  const auto stateless = drafting("P1_stateless", "decode.draft_lengths={policy: goodput}");
  const auto mean = [](const serving::Measurements& m) {
    return static_cast<double>(m.drafted_tokens) / static_cast<double>(m.rounds);
  };
  EXPECT_GT(mean(stateless), 2 * mean(cached));
}

TEST(PoolsDraftLengths, ATableOfOneRowIsAFixedLength) {
  for (const char* path : {"P1_cached", "P1_stateless"}) {
    const auto fixed = drafting(path, "decode.draft_length=12");
    const auto table = drafting(path,
                                "decode={policy: draft_verify, compressor: kivi-4bit, draft_length: 12, acceptance: "
                                "{model: heterogeneous, agreement: 0.9, concentration: 4}, draft_lengths: {policy: "
                                "table, table: [{batch: 1, context: 1k tokens, draft_length: 12}]}}");
    EXPECT_EQ(table.drafted_tokens, fixed.drafted_tokens) << path;
    EXPECT_DOUBLE_EQ(output_rate(table), output_rate(fixed)) << path;
  }
}

TEST(PoolsDraftLengths, MemoryIsReservedForTheLongestThatMayBeChosen) {
  const auto peak = [](const std::string& maximum) {
    auto sets = alone_on("P1_cached", {"decode.draft_lengths={policy: adaptive, maximum: " + maximum + "}"});
    const scenario::Scenario s = pools_scenario(sets);
    const auto m = simulated(s);
    const std::int64_t tokens = 16'000 + 200 + std::stoll(maximum) + 1;
    EXPECT_EQ(m.pools.at("local").reserved_peak_bytes, Parts(s).geometry().full_reservation(tokens));
    return m.pools.at("local").reserved_peak_bytes;
  };
  EXPECT_GT(peak("1000"), peak("16"));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
