// Configurations that make no sense as a whole: the message, word for word, and where it points to.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "sim/serving/simulation.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing {
namespace {

using serving::ConfigurationError;

struct Refusal {
  const char* name;
  std::vector<std::pair<std::string, std::string>> edits;  ///< of the small scenario's text
  std::string message;

  friend std::ostream& operator<<(std::ostream& out, const Refusal& r) { return out << r.name; }
};

std::string edited(const Refusal& refusal) {
  std::string text = kSmallScenario;
  for (const auto& [from, to] : refusal.edits) {
    const auto at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("the small scenario has no \"" + from + "\"");
    text.replace(at, from.size(), to);
  }
  return text;
}

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithThisMessageAtThisPlace) {
  try {
    scenario::load_scenario_text(edited(GetParam()), "small.yaml");
    FAIL() << "accepted:\n" << edited(GetParam());
  } catch (const schema::InputError& e) {
    EXPECT_EQ(std::string(e.what()), GetParam().message);
  }
}

const std::string kKvzip = "compressor: kvzip, keep_ratio: 0.25";

INSTANTIATE_TEST_SUITE_P(
    Configurations, Refused,
    ::testing::Values(
        Refusal{
            "AScheduleOfVerificationsWithoutAny",
            {{"draft_verify", "lossy"}},
            "small.yaml:14:20: schedule.policy: schedule staggered orders verifications and decode policy lossy has "
            "none: use fcfs"},
        Refusal{"APolicyWithoutItsCompressor",
                {{kKvzip, "keep_ratio: 0.25"}},
                "small.yaml:13:9: decode: decode policy draft_verify needs a compressor"},
        Refusal{"ACompressorThatIsNotForDecoding",
                {{"kvzip", "duo-attention"}},
                "small.yaml:13:44: decode.compressor: compressor duo-attention cannot be used for decoding on one "
                "replica"},
        Refusal{"AnOfflineCompressorOfPromptsComputedHere",
                {{"prefill: stored", "prefill: recompute"}},
                "small.yaml:13:44: decode.compressor: compressor kvzip works offline, before a request arrives: use "
                "prefill {policy: stored}, or a compressor whose mode is online"},
        Refusal{
            "ACompressorOfUnknownAcceptance",
            {{"compressor: kvzip",
              "compressor: {name: mine, description: mine, kind: token_dropping, mode: online, "
              "scope: prompt, reload: missing}"}},
            "small.yaml:13:44: decode.compressor: compressor mine has no acceptance figures: give decode.acceptance "
            "explicitly"},
        Refusal{"ATokenBudgetBelowOneVerification",
                {{"policy: staggered", "policy: staggered, max_batched_tokens: 40"}},
                "small.yaml:14:51: schedule.max_batched_tokens: 40 tokens are less than one verification of up to 40 "
                "drafted "
                "tokens"},
        Refusal{
            "AModelThatDoesNotFit",
            {{"llama-3.1-8b", "llama-3.1-70b"}},
            "small.yaml:5:8: cluster.gpu: llama-3.1-70b does not fit: 141.1 GB of weights, 1 x h100-sxm leaves 42.8 "
            "GB at memory_fraction 0.5 with 0.0 GB of activations per GPU, and not one block of KV beside them"},
        Refusal{"AModelThatFitsWithoutRoomForKv",
                {{"model: llama-3.1-8b", "model: {base: llama-3.1-8b, weights: 42.76 GB}"}},
                "small.yaml:5:8: cluster.gpu: llama-3.1-8b (changed) does not fit: 42.8 GB of weights, 1 x h100-sxm "
                "leaves 42.8 GB at memory_fraction 0.5 with 0.0 GB of activations per GPU, and not one block of KV "
                "beside them"},
        Refusal{"AnEndlessRun",
                {{"  requests: 60\n", ""}},
                "small.yaml:2:1: run: an endless run: give run.duration, or workload.requests"},
        Refusal{"AWarmUpAsLongAsTheRun",
                {{"prefill: stored", "prefill: stored\nrun: {duration: 2 s, warmup: 2 s}"}},
                "small.yaml:13:30: run.warmup: must be shorter than run.duration"},
        Refusal{"MoreResidentRequestsThanRun",
                {{"keep_ratio", "resident: 300, keep_ratio"}},
                "small.yaml:13:61: decode.resident: must not exceed schedule.max_requests"}));

std::string key_blamed(const serving::ServingConfig& config) {
  try {
    serving::check_configuration(config);
  } catch (const ConfigurationError& e) {
    return e.key() + ": " + e.what();
  }
  return "none";
}

TEST(RefusedByTheSimulator, AreNamesThatNoTableHas) {
  // A scenario's field tables find these first; programs that fill in a configuration themselves come here.
  serving::ServingConfig c = small_scenario().serving;
  EXPECT_EQ(key_blamed(c), "none");
  c.decode.policy = "guess";
  EXPECT_EQ(key_blamed(c), "decode.policy: unknown decode policy guess");
  c = small_scenario().serving;
  c.schedule.policy = "random";
  EXPECT_EQ(key_blamed(c), "schedule.policy: unknown schedule policy random");
  c = small_scenario().serving;
  c.cluster.router = "random";
  EXPECT_EQ(key_blamed(c), "cluster.router: unknown router random");
}

std::string refused_run(const std::vector<std::string>& sets) {
  try {
    planner::run_experiment(small_scenario(sets));
  } catch (const ConfigurationError& e) {
    return e.key() + ": " + e.what();
  }
  return "none";
}

TEST(RefusedByTheSimulator, IsAWarmUpThatOutlastsTheRequests) {
  EXPECT_TRUE(refused_run({"run.warmup=1000 s"}).starts_with("run.warmup: the run ended at ")) << refused_run({});
}

TEST(RefusedByTheSimulator, IsAClosedLoopThatNobodyCanEnter) {
  EXPECT_EQ(
      refused_run({"workload.context=140k tokens", "workload.requests=2000"}),
      "workload: 1000 requests in a row were refused; the last request 2 (140000 + 200 tokens) needs a context of "
      "140200 tokens, llama-3.1-8b allows 131072");
}

}  // namespace
}  // namespace kvsim::testing
