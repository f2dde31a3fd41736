// How long requests draft: estimates, lookups, and what policies bring beside fixed lengths.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "sim/serving/acceptance_draws.h"
#include "sim/serving/capacity.h"
#include "sim/serving/draft_lengths/draft_lengths.h"
#include "sim/serving/draft_lengths/round_value.h"
#include "sim/serving/round_rate.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing {
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
  EXPECT_DOUBLE_EQ(e.agreement(1e-12, 0.5), 8 / 8.5);
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
        geometry_(serving::replica_geometry(config_)),
        timer_(config_.cluster.gpu, config_.cluster.peer_link, config_.cluster.profile, config_.model,
               config_.cluster.tensor_parallel),
        acceptance_(serving::acceptance_of(config_, 4096)) {}

  std::unique_ptr<serving::DraftLengthPolicy> make() const {
    return serving::find_draft_length_policy(config_.decode.draft_lengths.policy)
        ->make({config_, decode_, geometry_, timer_, acceptance_});
  }

  /// Tokens/s of so many requests of 16k tokens, predicted.
  serving::RoundRate predicted(double requests, std::int64_t x) const {
    serving::RoundBatch batch{requests, 16000, 100, x};
    batch.accepted = acceptance_.expected_accepted(x);
    return serving::predict_round(config_, decode_, geometry_, timer_, batch);
  }

 private:
  scenario::Scenario scenario_;
  const serving::ServingConfig& config_;
  const serving::DecodePolicy& decode_;
  serving::KvGeometry geometry_;
  models::StepTimer timer_;
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

double tokens_per_s(const Measurements& m) {
  return static_cast<double>(m.output_tokens) / m.measured_s;
}

double regret(const Measurements& m) {
  return 1 - m.draft_lengths.expected_tokens / m.draft_lengths.best_tokens;
}

double mean_length(const Measurements& m) {
  double sum = 0, count = 0;
  for (std::size_t x = 0; x < m.draft_lengths.rounds.size(); ++x) {
    sum += static_cast<double>(x) * static_cast<double>(m.draft_lengths.rounds[x]);
    count += static_cast<double>(m.draft_lengths.rounds[x]);
  }
  return sum / count;
}

Measurements run(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return measure(small_scenario(sets));
}

std::string fixed(std::int64_t x) {
  return fmt::format("decode.draft_length={}", x);
}

const std::string kAdaptive = "decode.draft_lengths.policy=adaptive";

}  // namespace
}  // namespace kvsim::testing
