// kvsim workload info --curve: other policies, and times.
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

/// Four requests of two conversations, in blocks of 512 tokens.
constexpr const char* kTalks =
    "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [1, 2, 3]}\n"
    "{\"timestamp\": 1000, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [9, 8]}\n"
    "{\"timestamp\": 2000, \"input_length\": 1200, \"output_length\": 5, \"hash_ids\": [1, 2, 4]}\n"
    "{\"timestamp\": 3000, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [9, 8]}\n";

class WorkloadTest : public Workspace {
 protected:
  WorkloadTest() {
    write("talks.jsonl", kTalks);
    std::string round;
    for (const char block : std::string("12312311")) {
      round += std::string("{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 5, \"hash_ids\": [") + block +
               "]}\n";
    }
    write("round.jsonl", round);
  }

  CommandResult info(const std::string& trace, const Words& words) {
    Words all{"workload", "info", trace, "--format", "mooncake"};
    all.insert(all.end(), words.begin(), words.end());
    return run(all);
  }

  void expect_refused(const Words& words, const std::string& message) {
    const CommandResult r = info("talks.jsonl", words);
    EXPECT_EQ(r.status, 2);
    EXPECT_NE(r.err.find(message), std::string::npos) << r.err;
  }
};

// Blocks 1 2 3 1 2 3 1 1, one a request: stack distances 3 3 3 3 1, so the points are 1, 2 and 3 blocks. With two, LRU
// finds the last 1 alone; Belady keeps 1 at the first 3, finds it, keeps 3 at the second 2, finds it, and the last 1.
TEST_F(WorkloadTest, ACurveForEachPolicyAtTheSameCapacities) {
  const CommandResult r = info("round.jsonl", {"--curve", "--policies", "belady,lru", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json curves = Json::parse(r.out)["policy_curves"];
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0]["policy"], "belady");
  EXPECT_EQ(curves[1]["policy"], "lru");
  ASSERT_EQ(curves[0]["points"].size(), 3U);
  EXPECT_EQ(curves[0]["points"][1]["blocks"], 2);
  EXPECT_TRUE(curves[0]["points"][1]["bytes"].is_null());
  EXPECT_DOUBLE_EQ(curves[0]["points"][1]["hit_rate"], 3.0 / 8);
  EXPECT_DOUBLE_EQ(curves[1]["points"][1]["hit_rate"], 1.0 / 8);
  EXPECT_DOUBLE_EQ(curves[0]["points"][2]["hit_rate"], 5.0 / 8);
  EXPECT_DOUBLE_EQ(curves[1]["points"][2]["hit_rate"], 5.0 / 8);
}

// A token has 131,072 bytes of KV: 1 ms to load, 10 ms to prefill. Five blocks hold 1 2 of the third request, 1,024
// tokens, and 9 8 of the fourth, 600: (1,624 x 1 ms + 1,876 x 10 ms) / 4 requests.
TEST_F(WorkloadTest, TheTimeToTheFirstTokenIsLoadingWhatIsFoundAndPrefillingTheRest) {
  const CommandResult r = info(
      "talks.jsonl", {"--curve", "--model", "llama-3.1-8b", "--read", "131.072 MB/s", "--prefill", "100/s", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json doc = Json::parse(r.out);
  EXPECT_FALSE(doc.contains("policy_curves"));
  const Json curve = doc["latency_curve"];
  EXPECT_DOUBLE_EQ(curve["load_s_per_token"], 0.001);
  EXPECT_DOUBLE_EQ(curve["prefill_tokens_per_s"], 100);
  EXPECT_DOUBLE_EQ(curve["mean_ttft_s_without_cache"], 3500 * 0.01 / 4);
  const Json last = curve["points"].back();
  EXPECT_EQ(last["blocks"], 5);
  EXPECT_DOUBLE_EQ(last["bytes"], 5.0 * 512 * 131072);
  EXPECT_DOUBLE_EQ(last["found_tokens"], 1624.0 / 3500);
  EXPECT_NEAR(last["mean_ttft_s"], (1.624 + 18.76) / 4, 1e-12);
}

TEST_F(WorkloadTest, OptionsThatDoNotGoTogetherAreRefused) {
  expect_refused({"--policies", "lru"}, "--policies adds hit rates to the curve: add --curve");
  expect_refused({"--model", "llama-3.1-8b"}, "--model gives the curve's capacities in bytes: add --curve");
  expect_refused({"--read", "1 GB/s"}, "add --curve");
  expect_refused({"--prefill", "1/s"}, "add --curve");
  expect_refused({"--curve", "--policies", "lru,seive"}, "unknown policy \"seive\"; did you mean \"sieve\"?");
  expect_refused({"--curve", "--policies", "clock"}, "expected one of lru, lfu, arc, s3fifo, sieve, gdsf, belady");
  expect_refused({"--curve", "--policies", "lru,arc,lru"}, "\"lru\" is named twice");
  expect_refused({"--curve", "--read", "1 GB/s"}, "needs --prefill RATE too");
  expect_refused({"--curve", "--prefill", "1/s"}, "needs --read BANDWIDTH too");
  expect_refused({"--curve", "--read", "1 GB/s", "--prefill", "1/s"}, "add --model NAME");
  const Words model{"--curve", "--model", "llama-3.1-8b"};
  const auto with = [&model](const char* read, const char* prefill) {
    Words all = model;
    all.insert(all.end(), {"--read", read, "--prefill", prefill});
    return all;
  };
  expect_refused(with("20", "1/s"), "--read: expected a bandwidth with its unit");
  expect_refused(with("0 B/s", "1/s"), "--read: must be above 0, found \"0 B/s\"");
  expect_refused(with("1 GB/s", "10 ms"), "--prefill: ");
  expect_refused(with("1 GB/s", "0/s"), "--prefill: must be above 0");
}

TEST_F(WorkloadTest, HelpNamesThePolicies) {
  EXPECT_NE(run({"workload", "info", "--help"}).out.find("lru, lfu, arc, s3fifo, sieve, gdsf, belady"),
            std::string::npos);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
