// How long requests draft: estimates, lookups, and what policies bring beside fixed lengths.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/draft_lengths/draft_lengths.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/draft_lengths/round_rate.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "tests/serving/length_figures.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::AgreementEvidence;
using serving::best_draft_length;
using serving::Measurements;

TEST(AgreementEvidence, CountsTheMismatchThatEndsARoundAndNothingBehindIt) {
  AgreementEvidence e;
  e.add_round(10, 4, 1.0);  // 4 of 5: what follows the fifth was never compared
  EXPECT_DOUBLE_EQ(e.trials, 5);
  e.add_round(5, 5, 1.0);  // no mismatch: 5 of 5
  EXPECT_DOUBLE_EQ(e.trials, 10);
  EXPECT_DOUBLE_EQ(e.accepted, 9);
}

TEST(AgreementEvidence, TheEstimateIsThatOfMaximumLikelihoodBesideThePrior) {
  AgreementEvidence e;
  EXPECT_DOUBLE_EQ(e.agreement(4, 0.8), 0.8);  // nothing seen: the prior
  e.add_round(10, 4, 0.9);
  // (4 + 4 x 0.8) / (5 + 4); without the prior 4 / 5.
  EXPECT_DOUBLE_EQ(e.agreement(4, 0.8), 7.2 / 9);
  EXPECT_NEAR(e.agreement(1e-9, 0.5), 0.8, 1e-9);
}

TEST(AgreementEvidence, OlderRoundsWeighLess) {
  AgreementEvidence e;
  e.add_round(4, 0, 0.5);
  e.add_round(8, 8, 0.5);
  // 0.5 x (0 of 1) + (8 of 8)
  EXPECT_NEAR(e.agreement(1e-12, 0.5), 8 / 8.5, 1e-9);
}

TEST(BestDraftLength, IsThatOfAnExhaustiveSearch) {
  for (const double a : {0.05, 0.5, 0.8, 0.95, 0.99, 1.0}) {
    for (const double v : {1.0, 1.3, 4.0, 50.0}) {
      const auto accepted = [a](std::int64_t x) { return serving::expected_accepted(a, x); };
      std::int64_t best = 2;
      const auto rate = [&](std::int64_t x) { return (1 + accepted(x)) / (static_cast<double>(x) + v); };
      for (std::int64_t x = 2; x <= 64; ++x) {
        if (rate(x) > rate(best) * (1 + 1e-12)) best = x;
      }
      EXPECT_EQ(best_draft_length(accepted, v, 2, 64), best) << a << " " << v;
    }
  }
}

TEST(BestDraftLength, OfMuchEvidenceIsThatOfItsMean) {
  AgreementEvidence e;
  e.accepted = 0.9e9;
  e.trials = 1e9;
  const auto accepted = [](std::int64_t x) { return serving::expected_accepted(0.9, x); };
  for (const double v : {1.0, 3.0, 20.0}) {
    EXPECT_EQ(best_draft_length(e, 4, 0.5, v, 1, 64), best_draft_length(accepted, v, 1, 64)) << v;
  }
}

TEST(BestDraftLength, OfLittleEvidenceIsLonger) {
  const auto accepted = [](std::int64_t x) { return serving::expected_accepted(0.8, x); };
  EXPECT_GT(best_draft_length(AgreementEvidence{}, 1.5, 0.8, 2.0, 1, 64), best_draft_length(accepted, 2.0, 1, 64));
}

TEST(BestDraftLength, GrowsWithWhatARoundCosts) {
  AgreementEvidence e;
  e.accepted = 90;
  e.trials = 100;
  std::int64_t before = 0;
  for (const double v : {1.0, 2.0, 5.0, 20.0}) {
    const std::int64_t x = best_draft_length(e, 4, 0.9, v, 1, 64);
    EXPECT_GT(x, before) << v;
    before = x;
  }
}

/// What policies are made of, for the small scenario.
class Policies {
 public:
  explicit Policies(const std::vector<std::string>& sets)
      : scenario_(small_scenario(sets)),
        config_(scenario_.serving),
        decode_(*serving::find_decode_policy(config_.decode.policy)),
        geometry_(serving::configured_geometry(config_, config_.cluster.groups.front())),
        timer_(config_.cluster.groups.front().gpu, config_.cluster.groups.front().peer_link,
               config_.cluster.groups.front().profile, config_.model, config_.cluster.groups.front().parallel.tensor),
        drafting_(config_, config_.cluster.groups.front(), decode_),
        acceptance_(decode_.proposes() ? drafting_.acceptance() : serving::acceptance_of(config_, 4096)) {}

  std::unique_ptr<serving::DraftLengthPolicy> make() const {
    return serving::find_draft_length_policy(config_.decode.draft_lengths.policy)
        ->make({config_, config_.cluster.groups.front(), decode_, geometry_, timer_, acceptance_, drafting_});
  }

  /// Tokens/s of so many requests of 16k tokens, predicted.
  serving::RoundRate predicted(double requests, std::int64_t x) const {
    serving::RoundBatch batch{requests, 16000, 100, x};
    batch.accepted = acceptance_.expected_accepted(x);
    return serving::predict_round(config_, config_.cluster.groups.front(), decode_, geometry_, timer_, drafting_,
                                  batch);
  }

 private:
  scenario::Scenario scenario_;
  const serving::ServingConfig& config_;
  const serving::DecodePolicy& decode_;
  serving::KvGeometry geometry_;
  models::StepTimer timer_;
  serving::Drafting drafting_;
  models::AcceptanceModel acceptance_;
};

/// Requests of this prompt length that all decode.
std::vector<serving::Request> requests(std::size_t count, std::int64_t prompt) {
  std::vector<serving::Request> all(count);
  for (serving::Request& r : all) r.prompt = prompt;
  return all;
}

std::int64_t next_length(serving::DraftLengthPolicy& policy, std::vector<serving::Request>& all) {
  std::vector<serving::Request*> decoding;
  for (serving::Request& r : all) decoding.push_back(&r);
  return policy.next(all.front(), {decoding, 1.0});
}

TEST(DraftTable, IsLookedUpAtTheNextLargerBatchAndContext) {
  const Policies parts(
      {"decode.draft_lengths={policy: table, table: [{batch: 4, context: 1k tokens, draft_length: 41}, "
       "{batch: 4, context: 8k tokens, draft_length: 48}, {batch: 16, context: 2k tokens, "
       "draft_length: 62}, {batch: 16, context: 4k tokens, draft_length: 64}]}"});
  const auto policy = parts.make();
  const auto at = [&](std::size_t batch, std::int64_t context) {
    auto all = requests(batch, context);
    return next_length(*policy, all);
  };
  EXPECT_EQ(at(1, 10), 41);
  EXPECT_EQ(at(4, 1000), 41);
  EXPECT_EQ(at(4, 1001), 48);
  EXPECT_EQ(at(4, 99000), 48);  // beyond the largest context: the largest
  EXPECT_EQ(at(5, 1000), 62);   // batch 5: rows of batch 16
  EXPECT_EQ(at(16, 2001), 64);
  EXPECT_EQ(at(40, 2000), 62);  // beyond the largest batch: the largest
}

Measurements run(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return measure(small_scenario(sets));
}

std::string fixed(std::int64_t x) {
  return fmt::format("decode.draft_length={}", x);
}

const std::string kAdaptive = "decode.draft_lengths.policy=adaptive";

/// Requests of 2000 tokens that agree with their drafts hardly or nearly always, 20 at a time, on one link.
std::vector<std::string> mixed(const std::string& schedule) {
  return {"decode.acceptance={model: heterogeneous, agreement: 0.8, concentration: 1.5}", "schedule.policy=" + schedule,
          "workload={closed: {concurrency: 20}, context: 2k tokens, output: 1000 tokens, requests: 100000}",
          "run={duration: 200 s, warmup: 20 s}"};
}

double best_fixed(const std::vector<std::string>& base) {
  double best = 0;
  for (const std::int64_t x : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
    best = std::max(best, tokens_per_s(run(base, {fixed(x)})));
  }
  return best;
}

TEST(AdaptiveDrafts, BeatEveryFixedLengthWhereEasyAndHardRequestsShareALink) {
  for (const char* schedule : {"fcfs", "staggered"}) {
    const double adaptive = tokens_per_s(run(mixed(schedule), {kAdaptive}));
    EXPECT_GT(adaptive, 1.03 * best_fixed(mixed(schedule))) << schedule;
  }
}

TEST(AdaptiveDrafts, StopWhereAnotherDraftCostsOthersMoreThanItsChance) {
  // Ten requests of 16k tokens wait for their turns on the link: who seldom agrees would draft on for nothing, and make
  // every iteration longer.
  std::vector<std::string> base = mixed("staggered");
  base.emplace_back("workload.context=16k tokens");
  base.emplace_back("workload.closed.concurrency=10");
  base.emplace_back("cluster.gpu.profile.drafts={round: 0 s}");
  EXPECT_GT(tokens_per_s(run(base, {kAdaptive})), best_fixed(base));
}

TEST(AdaptiveDrafts, AreAtLeastAsGoodWhereNothingIsReloaded) {
  std::vector<std::string> base = mixed("fcfs");
  base.emplace_back("decode.resident=20");
  EXPECT_GT(tokens_per_s(run(base, {kAdaptive})), 0.99 * best_fixed(base));
}

TEST(AdaptiveDrafts, OfOneRequestCountTheTokensDraftedWhileItsReloadIsUnderWay) {
  // The reload of 16k tokens takes about as long as four drafts, which are made anyway: a longer draft only adds to
  // them. Fixed lengths may draft up to twice their length, so that short ones stall.
  const std::vector<std::string> base = {
      "decode.acceptance={model: constant, agreement: 0.9}", "schedule.policy=fcfs",
      "workload={closed: {concurrency: 1}, context: 16k tokens, output: 400 tokens, requests: 100000}",
      "run={duration: 60 s, warmup: 10 s}"};
  const Measurements m = run(base, {kAdaptive});
  EXPECT_LT(mean_length(m), 2);
  EXPECT_GT(tokens_per_s(m), best_fixed(base));
}

TEST(Regret, IsNothingAtTheBestLengthOfAConstantAgreementAndMuchAtASillyOne) {
  // Two resident requests: 16k tokens of full KV cost little more to read than a quarter of them, and a verification
  // little more than a draft. v = 1 + 2 x 0.08 to 0.15: (1 + A(x)) / (x + v) is largest at x = 1.
  const std::vector<std::string> base = {"decode.acceptance={model: constant, agreement: 0.9}",
                                         "schedule.policy=fcfs",
                                         "decode.resident=2",
                                         "workload.closed.concurrency=2",
                                         "workload.output=400 tokens",
                                         "cluster.gpu.profile.drafts={round: 0 s}"};
  const Measurements best = run(base, {fixed(1)});
  EXPECT_NEAR(regret(best), 0, 1e-12);
  const Measurements silly = run(base, {fixed(40)});
  EXPECT_GT(regret(silly), 0.5);
  // It says what the run shows: tokens/s fall as the regret grows.
  EXPECT_NEAR(tokens_per_s(silly) / tokens_per_s(best), 1 - regret(silly), 0.1);
}

TEST(Regret, OfAdaptiveDraftsIsSmallerTheMoreIsKnownOfARequest) {
  std::vector<std::string> base = mixed("fcfs");
  base.emplace_back("decode.resident=20");
  const double forgetful = regret(run(base, {"decode.draft_lengths={policy: adaptive, forgetting: 0}"}));
  const double usual = regret(run(base, {kAdaptive}));
  EXPECT_LT(usual, forgetful);
  EXPECT_LT(usual, 0.05);
}

TEST(GoodputDrafts, FollowTheLoadAndAreAmongTheBetterHalfOfFixedLengths) {
  std::vector<double> lengths;
  for (const int concurrency : {1, 10}) {
    const std::vector<std::string> base = {
        "decode.acceptance={model: constant, agreement: 0.9}", "schedule.policy=fcfs",
        fmt::format("workload={{closed: {{concurrency: {}}}, context: 16k tokens, output: 400 tokens, requests: "
                    "100000}}",
                    concurrency),
        "run={duration: 60 s, warmup: 10 s}"};
    std::vector<double> rates;
    for (const std::int64_t x : {1, 2, 4, 8, 16, 24, 32, 48}) rates.push_back(tokens_per_s(run(base, {fixed(x)})));
    std::sort(rates.begin(), rates.end());
    const Measurements m = run(base, {"decode.draft_lengths.policy=goodput"});
    EXPECT_GE(tokens_per_s(m), rates[rates.size() / 2]) << concurrency;
    lengths.push_back(mean_length(m));
  }
  // Alone, a short draft; ten requests share the link, and rounds become longer.
  EXPECT_GT(lengths[1], 2 * lengths[0]);
}

TEST(RoundRate, IsThatOfTheSimulationInSteadyState) {
  // Four resident requests, x = 8: nothing but drafts and verifications, and agreement 1: 9 tokens a round each.
  const std::vector<std::string> sets = {"decode.acceptance={model: constant, agreement: 1}",
                                         "schedule.policy=fcfs",
                                         "decode.resident=4",
                                         "workload={closed: {concurrency: 4}, context: 16k tokens, output: 200 tokens, "
                                         "requests: 100000}",
                                         "run={duration: 60 s, warmup: 10 s}",
                                         fixed(8)};
  const double simulated = tokens_per_s(run(sets, {}));
  const double predicted = Policies(sets).predicted(4, 8).tokens_per_s;
  EXPECT_NEAR(predicted, simulated, 0.08 * simulated);
}

TEST(RoundRate, IsBoundByTheLinkWhereReloadsTakeLongerThanTheRound) {
  const Policies parts({"cluster.host.link.read=20 GB/s"});
  // 16,100 tokens x 131,072 B, of which kvzip at 0.25 leaves three quarters of the prompt to load, at 20 GB/s.
  const double reload_s = (16100 - 0.25 * 16000 - 100) * 131072 / 20e9;
  const serving::RoundRate short_rounds = parts.predicted(10, 2);
  EXPECT_NEAR(short_rounds.link_s, 10 * reload_s, 0.02 * short_rounds.link_s);
  EXPECT_DOUBLE_EQ(short_rounds.round_s, short_rounds.link_s);
  const serving::RoundRate long_rounds = parts.predicted(1, 60);
  EXPECT_DOUBLE_EQ(long_rounds.round_s, 61 * long_rounds.iteration_s);
}

TEST(DraftLengths, AreTheSameInEqualRuns) {
  for (const char* policy : {"adaptive", "goodput"}) {
    const std::string set = std::string("decode.draft_lengths.policy=") + policy;
    const Measurements a = run(mixed("staggered"), {set, "run.duration=40 s"});
    const Measurements b = run(mixed("staggered"), {set, "run.duration=40 s"});
    EXPECT_EQ(a.draft_lengths.rounds, b.draft_lengths.rounds) << policy;
    EXPECT_EQ(a.output_tokens, b.output_tokens) << policy;
    EXPECT_EQ(regret(a), regret(b)) << policy;
  }
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
