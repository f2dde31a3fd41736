// What policies and their parameters do to a run, on the smallest scenario that shows it.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "planner/policy_words.h"
#include "sim/engine/recording_trace.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/simulation.h"
#include "tests/scenario/temporary_folder.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::ConfigurationError;
using serving::Measurements;

double tokens_per_s(const Measurements& m) {
  return static_cast<double>(m.output_tokens) / m.measured_s;
}

Measurements run_policy(const std::string& policy, const std::vector<std::string>& sets = {}) {
  return measure(planner::with_policy(small_file(sets), policy));
}

TEST(Policies, EveryPolicyFinishesEveryRequestWithEveryToken) {
  for (const char* policy : {"full_kv", "lossy", "draft_verify:fcfs", "draft_verify:lock_step",
                             "draft_verify:sequential_verify", "draft_verify:staggered"}) {
    const Measurements m = run_policy(policy);
    EXPECT_EQ(m.completed, 60U) << policy;
    EXPECT_EQ(m.output_tokens, 60 * 200) << policy;
  }
}

TEST(Policies, AcceptedTokensAndCorrectionsAreTheOutputUnderDraftVerify) {
  for (const char* policy :
       {"draft_verify:fcfs", "draft_verify:lock_step", "draft_verify:sequential_verify", "draft_verify:staggered"}) {
    const Measurements m = run_policy(policy);
    EXPECT_EQ(m.accepted_tokens + m.corrections + m.direct_tokens, m.output_tokens) << policy;
    EXPECT_EQ(m.drafted_tokens, m.accepted_tokens + m.rejected_tokens) << policy;
    EXPECT_EQ(m.direct_tokens, 0) << policy;  // stored prompts: every token was verified
  }
}

TEST(Policies, ChangingThePolicyLeavesArrivalsAndLengthsUnchanged) {
  const std::vector<std::string> open = {
      "workload={arrivals: {rate: 2/s}, requests: 40, context: {distribution: lognormal, "
      "mean: 8k tokens, cv: 0.5}, output: {distribution: gamma, mean: 100 tokens, cv: 1}}"};
  const auto feed_of = [&](const std::string& policy) {
    const auto s = planner::with_policy(small_file(open), policy);
    const auto feed = make_feed(s, s.serving.run.seed);
    std::vector<std::int64_t> all;
    while (auto r = feed->next()) all.insert(all.end(), {r->arrival_ns, r->prompt_tokens, r->output_tokens});
    return all;
  };
  EXPECT_EQ(feed_of("full_kv"), feed_of("draft_verify:staggered"));
  EXPECT_EQ(run_policy("full_kv", open).output_tokens, run_policy("lossy", open).output_tokens);
}

TEST(Policies, ShortMemoryPreemptsAndStillFinishes) {
  // 0.25 x 80 GB leave room for about 30k tokens of full KV: two contexts that grow by 4000 tokens each.
  const Measurements m = run_policy("full_kv", {"cluster.gpu.memory_fraction=0.25", "workload.context=12k tokens",
                                                "workload.output=4000 tokens", "workload.requests=8"});
  EXPECT_GT(m.preemptions, 0U);
  EXPECT_EQ(m.completed, 8U);
  EXPECT_EQ(m.output_tokens, 8 * 4000);
}

TEST(Policies, MemoryIsNeverOverCommitted) {
  for (const char* policy : {"full_kv", "lossy", "draft_verify:lock_step", "draft_verify:staggered"}) {
    const auto s = planner::with_policy(small_file({"workload.closed.concurrency=60"}), policy);
    const planner::ExperimentResult r = planner::run_experiment(s);
    EXPECT_LE(r.measured.hbm_reserved_peak_bytes, r.capacities.front().bytes + r.capacities.front().weights_bytes)
        << policy;
    EXPECT_LE(r.measured.hbm_peak_bytes, r.measured.hbm_reserved_peak_bytes) << policy;
  }
}

TEST(Policies, ABudgetIsTheShareThatItIsOfContextsOfOneLength) {
  // 2,048 of 16,384 tokens, under policies that draft and under one that does not.
  for (const char* policy : {"policy: draft_verify, draft_length: 20", "policy: lossy"}) {
    const auto run = [&](const char* kept) {
      return measure(small_scenario({fmt::format("decode={{{}, compressor: kvzip, {}}}", policy, kept),
                                     "workload.context=16384 tokens", "schedule={policy: fcfs}"}));
    };
    const Measurements budget = run("budget: 2048 tokens"), share = run("keep_ratio: 0.125");
    EXPECT_EQ(budget.tpot_s.mean(), share.tpot_s.mean()) << policy;
    EXPECT_EQ(budget.accepted_tokens, share.accepted_tokens) << policy;
    EXPECT_EQ(budget.hbm_peak_bytes, share.hbm_peak_bytes) << policy;
    EXPECT_EQ(budget.quality, share.quality) << policy;
  }
}

TEST(Policies, ABudgetMakesLongContextsAsFastAsShortOnes) {
  const auto run = [](const char* context) {
    return measure(small_scenario({"decode={policy: lossy, compressor: kvzip, budget: 1024 tokens}",
                                   fmt::format("workload.context={} tokens", context), "schedule={policy: fcfs}",
                                   "workload.closed.concurrency=1"}));
  };
  const Measurements shorter = run("4096"), longer = run("65536");
  EXPECT_EQ(shorter.tpot_s.mean(), longer.tpot_s.mean());
  EXPECT_GT(shorter.quality, longer.quality) << "less is left of it";
}

TEST(Policies, ATaskWithoutAFigureAtThisShareIsNotForgotten) {
  // KVzip's code format is 0 at a quarter, and has no figure above it; calls have.
  const auto good = [](const char* kept) {
    return measure(small_scenario({fmt::format("decode={{policy: lossy, compressor: kvzip, keep_ratio: {}}}", kept),
                                   "schedule={policy: fcfs}", "slo={functional_floor: 0.05}"}))
        .good;
  };
  EXPECT_EQ(good("0.25"), 0U);
  EXPECT_EQ(good("0.26"), 0U);
  EXPECT_GT(good("1.0"), 0U);
}

TEST(Policies, ABudgetIsOfWholeTokensAndInPlaceOfAShare) {
  EXPECT_NE(small_refusal({"decode.budget=1024 tokens"}).find("decode.keep_ratio says what is kept"),
            std::string::npos);
  const std::string narrowed =
      small_refusal({"decode={policy: lossy, compressor: kivi-2bit, budget: 1024 tokens}", "schedule={policy: fcfs}"});
  EXPECT_NE(narrowed.find("a budget is of whole tokens"), std::string::npos) << narrowed;
  EXPECT_NE(small_refusal({"decode={policy: lossy, compressor: kvzip}", "schedule={policy: fcfs}"}).find("keep_ratio"),
            std::string::npos);
}

TEST(Policies, CapacityIsWhatMemoryWeightsAndBlocksLeave) {
  const auto s = small_scenario();
  const serving::KvCapacity k = serving::kv_capacity(s.serving, s.serving.cluster.groups.front());
  // 16 tokens x 131,072 B = 2 MiB a block.
  const auto usable =
      static_cast<std::int64_t>(static_cast<double>(s.serving.cluster.groups.front().gpu.memory_bytes.value) * 0.5);
  EXPECT_EQ(k.blocks, (usable - s.serving.model.weight_bytes()) / (16 * 131072));
  EXPECT_EQ(k.tokens, k.blocks * 16);
}

TEST(Policies, RequestsThatCouldNeverRunAreRefusedWithTheReason) {
  const auto s = planner::with_policy(
      small_file({"workload={arrivals: {rate: 10/s}, requests: 3, context: 140k tokens, output: 10 tokens}"}),
      "full_kv");
  const planner::ExperimentResult r = planner::run_experiment(s);
  EXPECT_EQ(r.measured.refused, 3U);
  EXPECT_EQ(r.measured.completed, 0U);
  ASSERT_FALSE(r.refusals.empty());
  EXPECT_NE(r.refusals.front().find("needs a context of 140010 tokens, llama-3.1-8b allows 131072"), std::string::npos)
      << r.refusals.front();
}

TEST(Policies, AClosedLoopOfRefusedRequestsEndsWithAnError) {
  EXPECT_THROW(run_policy("full_kv", {"workload.context=140k tokens", "workload.requests=5000"}), ConfigurationError);
}

TEST(Policies, SmallHostMemoryLimitsHowManyRequestsRun) {
  // 16,200 tokens x 131,072 B = 2.1 GB each: 5 GB hold two.
  const Measurements m = run_policy("draft_verify:staggered", {"cluster.host.memory=5 GB"});
  EXPECT_LE(m.tiers.at("host").bytes_peak, 5'000'000'000);
  EXPECT_EQ(m.completed, 60U);
  EXPECT_LT(tokens_per_s(m), tokens_per_s(run_policy("draft_verify:staggered")));
}

TEST(Policies, ResidentRequestsNeedNoReload) {
  const Measurements all = run_policy("draft_verify:staggered", {"workload.closed.concurrency=4", "decode.resident=4"});
  const Measurements none = run_policy("draft_verify:staggered", {"workload.closed.concurrency=4"});
  // First loads only: 60 full contexts. Without residents: 60 compressed ones and the reloads of every round.
  EXPECT_EQ(all.links.at("host_to_gpu").transfers, 60U);
  EXPECT_GT(none.links.at("host_to_gpu").transfers, 600U);
  EXPECT_EQ(all.late_reloads, 0U);
  EXPECT_EQ(all.completed, 60U);
}

TEST(Policies, OffloadedLimitsTheRequestsThatShareTheGpu) {
  engine::RecordingTrace trace;
  planner::ExperimentOptions options;
  options.trace = &trace;
  planner::run_experiment(small_scenario({"decode.offloaded=3"}), options);
  double most = 0;
  for (const engine::RecordedSlice& s : trace.track("/GPU")) most = std::max(most, s.value);
  EXPECT_EQ(most, 3);
}

TEST(Policies, ALateReloadIsCountedOncePerRound) {
  // Each is asked for an iteration too late and retried every iteration until it is there.
  const Measurements m = run_policy("draft_verify:staggered", {"schedule.arrival=whole", "schedule.arrival_slack=0",
                                                               "cluster.host.link.read=20 GB/s"});
  EXPECT_GT(m.late_reloads, m.rounds / 2);
  EXPECT_LE(m.late_reloads, m.rounds);
}

TEST(Policies, ThePublishedSpanIsAlwaysLateUnlessLayersArriveOneByOne) {
  // A reload that fills [d - S + 1, d] lands while iteration d runs.
  const Measurements published =
      run_policy("draft_verify:staggered", {"schedule.arrival=whole", "schedule.arrival_slack=0"});
  const Measurements shifted =
      run_policy("draft_verify:staggered", {"schedule.arrival=layerwise", "schedule.arrival_slack=0"});
  EXPECT_GT(static_cast<double>(published.late_reloads), 0.9 * static_cast<double>(published.rounds));
  EXPECT_LT(shifted.late_reloads, published.late_reloads);
}

TEST(Policies, AdaptiveDraftsFollowTheRequestsOwnAgreement) {
  const std::vector<std::string> adaptive = {"decode.draft_lengths={policy: adaptive, minimum: 2, maximum: 60}"};
  const auto mean_draft = [&](const char* agreement) {
    std::vector<std::string> sets = adaptive;
    sets.push_back(std::string("decode.acceptance={model: constant, agreement: ") + agreement + "}");
    sets.emplace_back("workload.output=2000 tokens");
    sets.emplace_back("workload.requests=20");
    sets.emplace_back("cluster.host.link.read=1000 GB/s");  // no drafting on while a reload is late
    const Measurements m = run_policy("draft_verify:fcfs", sets);
    return static_cast<double>(m.drafted_tokens) / static_cast<double>(m.rounds);
  };
  EXPECT_LT(mean_draft("0.8"), mean_draft("0.95"));
  EXPECT_LT(mean_draft("0.95"), mean_draft("0.99"));
}

TEST(Policies, AdaptiveDraftsKeepTheirBoundsFromTheFirstRoundOn) {
  const Measurements m =
      run_policy("draft_verify:fcfs",
                 {"decode.draft_lengths={policy: adaptive, minimum: 2, maximum: 10}", "decode.draft_length=100",
                  "workload.output=10 tokens", "cluster.host.link.read=1000 GB/s", "decode.draft_limit=100"});
  EXPECT_LE(m.drafted_tokens, 11 * static_cast<std::int64_t>(m.rounds));
}

TEST(Policies, ATinyWindowStillServesEveryone) {
  // Reloads longer than the whole ring are never admitted and must be asked for on demand.
  const Measurements m = run_policy("draft_verify:staggered", {"schedule.window=2", "cluster.host.link.read=5 GB/s"});
  EXPECT_EQ(m.completed, 60U);
}

TEST(Policies, AReloadThatNoWindowHoldsIsNotPutOffWhileOthersMove) {
  // One context whose reload takes longer than the whole window, among short ones that keep arriving for 30 s: waiting
  // until nobody else could move took 56 s for its 60 tokens.
  TemporaryFolder folder;
  std::string csv = "arrival_s,prompt_tokens,output_tokens\n0,60000,60\n";
  for (int i = 0; i < 150; ++i) csv += fmt::format("{:.1f},4000,100\n", i * 0.2);
  folder.write("long_among_short.csv", csv);
  const Measurements m = measure(scenario::load_scenario_text(R"(
name: one long context among short ones
model: llama-3.1-8b
cluster: {gpu: {type: h100-sxm, activations: 0 B}, host: {memory: 512 GiB, link: {base: pcie5-x16, read: 5 GB/s}}}
workload: {trace: {format: csv, path: )" + folder.path() + R"(/long_among_short.csv}}
prefill: stored
decode: {policy: draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20}
schedule: {policy: staggered, window: 30}
)",
                                                              "long_among_short.yaml"));
  EXPECT_EQ(m.completed, 151U);
  EXPECT_LT(m.e2e_s.max(), 40);
}

TEST(Policies, ARequestWithoutAPlaceForItsNextVerificationDraftsOnOrWaits) {
  // Sixteen windows of the link have room for the reloads of four or five requests, and ten are there.
  const Measurements drafts_on = run_policy("draft_verify:staggered", {"schedule.window=16"});
  const Measurements waits = run_policy("draft_verify:staggered", {"schedule.window=16", "schedule.unplaced=waits"});
  EXPECT_EQ(drafts_on.preemptions, 0U);
  EXPECT_GT(waits.preemptions, 60U);
  EXPECT_EQ(waits.completed, 60U);
  EXPECT_EQ(waits.output_tokens, drafts_on.output_tokens);
}

TEST(Policies, WhereNoWindowHoldsAnyReloadNobodyIsSentToWaitForOne) {
  const Measurements m = run_policy("draft_verify:staggered",
                                    {"schedule.window=2", "schedule.unplaced=waits", "cluster.host.link.read=5 GB/s"});
  EXPECT_EQ(m.completed, 60U);
  EXPECT_EQ(m.preemptions, 0U);
}

TEST(Policies, AWindowShorterThanThePrefillDoesNotHoldAnybodyUp) {
  // 16k tokens in chunks of 64 take 250 iterations, the window looks 32 ahead.
  const std::vector<std::string> sets = {"prefill=recompute", "decode.compressor=fast-kvzip", "schedule.window=32",
                                         "schedule.max_batched_tokens=64", "decode.draft_limit=20"};
  const double staggered = tokens_per_s(run_policy("draft_verify:staggered", sets));
  EXPECT_GT(staggered, 0.9 * tokens_per_s(run_policy("draft_verify:fcfs", sets)));
}

TEST(Policies, AReloadWithinOneIterationIsNotLate) {
  const Measurements m = run_policy("draft_verify:staggered", {"cluster.host.link.read=2000 GB/s"});
  EXPECT_LT(static_cast<double>(m.late_reloads), 0.05 * static_cast<double>(m.rounds));
}

TEST(Policies, OnDemandReloadsAreAllLate) {
  // They are asked for when they are needed.
  const Measurements m = run_policy("draft_verify:lock_step");
  EXPECT_EQ(m.late_reloads, m.rounds);
}

TEST(Policies, HeadsThatDoNotShardEvenlyAreRefused) {
  EXPECT_THROW(small_scenario({"cluster.gpu.tensor_parallel=3"}), schema::InputError);
}

TEST(Policies, AQuantiserOfSixteenBitsIsRefusedForEightBitKv) {
  EXPECT_THROW(small_scenario({"model={base: llama-3.1-8b, kv_bytes_per_element: 1}",
                               "decode={policy: draft_verify, compressor: kivi-4bit, acceptance: {model: constant, "
                               "agreement: 0.9}}"}),
               schema::InputError);
}

TEST(Policies, AYearOfQuietIsCheapAndMeasuredInBoundedSlices) {
  const Measurements m =
      run_policy("full_kv", {"workload={arrivals: {rate: 1/h}, requests: 5, context: 1k tokens, output: "
                             "10 tokens}",
                             "run.duration=8760 h"});
  EXPECT_EQ(m.completed, 5U);
  serving::TokenSlices slices;
  slices.add(1.0, 3);
  slices.add(1e7, 4);
  EXPECT_LE(slices.tokens.size(), serving::TokenSlices::kMost);
  EXPECT_DOUBLE_EQ(slices.tokens.front(), 3);
  EXPECT_DOUBLE_EQ(slices.tokens.back(), 4);
}

TEST(Policies, SeveralReplicasShareTheTraffic) {
  for (const char* router : {"least_loaded", "round_robin"}) {
    const std::string set = std::string("cluster.router=") + router;
    const Measurements one =
        run_policy("draft_verify:staggered", {"workload.closed.concurrency=40", "workload.requests=200", set});
    const Measurements four =
        run_policy("draft_verify:staggered",
                   {"workload.closed.concurrency=40", "workload.requests=200", "cluster.replicas=4", set});
    EXPECT_EQ(four.completed, 200U);
    EXPECT_GT(tokens_per_s(four), 1.5 * tokens_per_s(one)) << router;
  }
}

TEST(Policies, RecomputedPromptsLeaveTheGpuForHostMemoryAndAreVerifiedFromThere) {
  const Measurements m = run_policy("draft_verify:staggered", {"prefill=recompute", "decode.compressor=fast-kvzip"});
  EXPECT_EQ(m.completed, 60U);
  EXPECT_EQ(m.direct_tokens, 60);  // the first token comes with the prompt's last chunk, by the full KV
  EXPECT_EQ(m.tiers.at("host").misses, 60U);
  // Every prompt went to host memory once.
  EXPECT_GE(m.links.at("gpu_to_host").bytes, 60LL * 16000 * 131072);
}

struct Better {
  const char* name;
  const char* worse;
  const char* better;
};

class MoreIsNeverSlower : public ::testing::TestWithParam<Better> {};

TEST_P(MoreIsNeverSlower, AtEqualSeed) {
  // Fixed work: the time to finish 60 requests. Discrete schedules may shift by a round; 2 % allow for that.
  for (const char* policy : {"full_kv", "lossy", "draft_verify:fcfs", "draft_verify:lock_step",
                             "draft_verify:sequential_verify", "draft_verify:staggered"}) {
    const double worse = run_policy(policy, {GetParam().worse}).measured_s;
    const double better = run_policy(policy, {GetParam().better}).measured_s;
    EXPECT_LE(better, worse * 1.02) << policy;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Resources, MoreIsNeverSlower,
    ::testing::Values(Better{"memory_bandwidth", "cluster.gpu.type.memory_bandwidth=2000 GB/s",
                             "cluster.gpu.type.memory_bandwidth=4000 GB/s"},
                      Better{"compute", "cluster.gpu.type.bf16_peak=300 TFLOP/s",
                             "cluster.gpu.type.bf16_peak=900 TFLOP/s"},
                      Better{"link", "cluster.host.link.read=10 GB/s", "cluster.host.link.read=60 GB/s"},
                      Better{"memory", "cluster.gpu.memory_fraction=0.3", "cluster.gpu.memory_fraction=0.9"},
                      Better{"agreement", "decode.acceptance={model: constant, agreement: 0.8}",
                             "decode.acceptance={model: constant, agreement: 0.97}"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
