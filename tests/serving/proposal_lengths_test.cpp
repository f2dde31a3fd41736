// How many tokens an auxiliary drafter proposes for a step: the best lengths of a batch, and what policies bring.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/draft_lengths/round_rate.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "tests/serving/length_figures.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::best_proposals;
using serving::Measurements;
using serving::proposal_rate;
using serving::ProposalCosts;

/// S(1..most) of constant agreements, a row for each.
std::vector<double> survival(const std::vector<double>& agreements, std::int64_t most) {
  std::vector<double> s;
  for (const double a : agreements) {
    for (std::int64_t i = 1; i <= most; ++i) s.push_back(std::pow(a, static_cast<double>(i)));
  }
  return s;
}

TEST(BestProposals, AreThoseOfAnExhaustiveSearch) {
  constexpr std::int64_t kMost = 7;
  const std::vector<double> s = survival({0.1, 0.6, 0.95}, kMost);
  for (const ProposalCosts& costs : {ProposalCosts{10, 1, 0.01}, ProposalCosts{10, 1, 1}, ProposalCosts{10, 0.1, 3},
                                     ProposalCosts{1, 5, 5}, ProposalCosts{10, 2, 0}}) {
    for (const std::int64_t least : {0, 1}) {
      double best = 0;
      for (std::int64_t a = least; a <= kMost; ++a) {
        for (std::int64_t b = least; b <= kMost; ++b) {
          for (std::int64_t c = least; c <= kMost; ++c) {
            const std::vector<std::int64_t> lengths{a, b, c};
            best = std::max(best, proposal_rate(s, kMost, costs, lengths));
          }
        }
      }
      std::vector<std::int64_t> lengths(3);
      EXPECT_NEAR(best_proposals(s, least, kMost, costs, lengths), best, 1e-9 * best) << costs.pass_s << " " << least;
      EXPECT_GE(*std::min_element(lengths.begin(), lengths.end()), least);
    }
  }
}

TEST(BestProposals, OfRequestsThatRarelyAgreeAreAsLongAsTheOthersWhereAPassIsAllTheyCost) {
  const std::vector<double> s = survival({0.1, 0.95}, 16);
  std::vector<std::int64_t> lengths(2);
  best_proposals(s, 0, 16, {10, 1, 0}, lengths);
  EXPECT_EQ(lengths[0], lengths[1]);  // the passes are made anyway
  best_proposals(s, 0, 16, {10, 1, 0.5}, lengths);
  EXPECT_LT(lengths[0], lengths[1]);
}

TEST(BestProposals, AreNoneWhereVerifyingATokenTakesAsLongAsDecodingIt) {
  // Ten requests in 10 s: a token costs 1 s decoded, and 1 s proposed and verified, which only a share survives.
  const std::vector<double> s = survival(std::vector<double>(10, 0.9), 8);
  std::vector<std::int64_t> lengths(10);
  best_proposals(s, 0, 8, {10, 0.1, 1}, lengths);
  EXPECT_EQ(*std::max_element(lengths.begin(), lengths.end()), 0);
}

/// So many requests at a time, with an EAGLE head.
std::vector<std::string> drafter(int concurrency, const std::string& acceptance,
                                 const std::string& policy = "drafter") {
  return {"decode.policy=" + policy,
          "schedule.policy=fcfs",
          fmt::format("decode.drafter={{type: eagle3-llama-3.1-8b, acceptance: {}}}", acceptance),
          "cluster.gpu.memory_fraction=0.9",
          fmt::format("workload={{closed: {{concurrency: {}}}, context: 2k tokens, output: 400 tokens, requests: "
                      "1000000}}",
                      concurrency),
          "run={duration: 60 s, warmup: 10 s}"};
}

const std::string kMixed = "{model: heterogeneous, agreement: 0.6, concentration: 1.5}";
const std::string kUsual = "{model: constant, agreement: 0.7}";

Measurements run(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return measure(small_scenario(sets));
}

std::string fixed(int n) {
  return fmt::format("decode.drafter.draft_length={}", n);
}

std::string by(const std::string& policy, int minimum = 0) {
  return fmt::format("decode.draft_lengths={{policy: {}, minimum: {}, maximum: 16}}", policy, minimum);
}

/// Drafting costs next to nothing beside kernels: lengths are decided by what steps compute and fetch.
const std::string kKernelsAlone = "cluster.gpu.profile.drafts={pass: 50 us}";

TEST(AdaptiveProposals, BeatEveryFixedLengthOnAMixOfEasyAndHardRequests) {
  for (const int concurrency : {1, 4}) {
    const std::vector<std::string> base = drafter(concurrency, kMixed);
    const double adaptive = tokens_per_s(run(base, {by("adaptive")}));
    for (const int n : {1, 2, 3, 5, 8}) EXPECT_GE(adaptive, tokens_per_s(run(base, {fixed(n)}))) << concurrency << n;
  }
}

TEST(AdaptiveProposals, HaveLessRegretThanFixedOnes) {
  const std::vector<std::string> base = drafter(4, kMixed);
  const double adaptive = regret(run(base, {by("adaptive")}));
  EXPECT_LT(adaptive, 0.06);
  for (const int n : {1, 3, 8}) EXPECT_LT(adaptive, regret(run(base, {fixed(n)}))) << n;
}

TEST(AdaptiveProposals, AreAtLeastAsGoodAsFixedOnesWhateverStepsWaitFor) {
  // full_offload: proposals ride on the link's time for free. speculative_prefetch: each has pairs of its own fetched.
  for (const char* policy : {"lossy+drafter", "full_offload+drafter", "speculative_prefetch+drafter"}) {
    std::vector<std::string> base = drafter(8, kUsual, policy);
    if (policy == std::string("speculative_prefetch+drafter")) {
      base.front() =
          "decode={policy: speculative_prefetch+drafter, compressor: specache-2bit, acceptance: {model: "
          "constant, agreement: 0.9}}";
    }
    base.back() = "run={duration: 30 s, warmup: 10 s}";
    base.push_back(kKernelsAlone);
    if (policy != std::string("full_offload+drafter")) base.emplace_back("cluster.gpu.profile.quantised={layer: 0 us}");
    const double adaptive = tokens_per_s(run(base, {by("adaptive")}));
    for (const int n : {1, 3, 8}) EXPECT_GE(adaptive, 0.98 * tokens_per_s(run(base, {fixed(n)}))) << policy << n;
  }
}

TEST(AdaptiveDrafts, OfTwoLevelsAreAmongTheBestFixedLengths) {
  std::vector<std::string> base = drafter(10, kUsual, "draft_verify+drafter");
  base.back() = "run={duration: 30 s, warmup: 10 s}";
  base.emplace_back("workload.context=16k tokens");
  base.emplace_back("decode.acceptance={model: constant, agreement: 0.95}");
  const double adaptive = tokens_per_s(run(base, {"decode.draft_lengths.policy=adaptive"}));
  double best = 0;
  for (const int x : {5, 10, 20, 40}) {
    best = std::max(best, tokens_per_s(run(base, {fmt::format("decode.draft_length={}", x)})));
  }
  EXPECT_GT(adaptive, 0.95 * best);
}

TEST(GoodputProposals, AreFewerInALargeBatch) {
  const double small = mean_length(run(drafter(1, kUsual), {by("goodput"), kKernelsAlone}));
  const double large =
      mean_length(run(drafter(128, kUsual), {by("goodput"), kKernelsAlone, "run={duration: 20 s, warmup: 5 s}"}));
  EXPECT_GT(small, large + 1);
}

TEST(Proposals, AreNoneWhereTheyDoNotPay) {
  // A drafter that is hardly ever right: what is accepted is less than a pass costs.
  const std::vector<std::string> base = drafter(128, "{model: constant, agreement: 0.02}");
  const std::vector<std::string> brief = {"run={duration: 20 s, warmup: 5 s}"};
  for (const char* policy : {"adaptive", "goodput"}) {
    std::vector<std::string> none = brief, one = brief;
    none.push_back(by(policy));
    one.push_back(by(policy, 1));
    const Measurements m = run(base, none);
    EXPECT_LT(mean_length(m), 0.1) << policy;
    EXPECT_GT(tokens_per_s(m), tokens_per_s(run(base, one))) << policy;
  }
  const std::vector<std::string> table = {
      "decode.draft_lengths={policy: table, table: [{batch: 1, context: 1 tokens, "
      "draft_length: 0}]}",
      brief.front()};
  EXPECT_EQ(run(base, table).drafter.proposed_tokens, 0);
}

TEST(Proposals, OfNoneAreRefusedWhereRoundsAreDrafted) {
  const auto refused = [](const std::string& set) {
    try {
      small_scenario({set});
    } catch (const schema::InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(refused("decode.draft_lengths={policy: adaptive, minimum: 0}").find("at least 1"), std::string::npos);
  EXPECT_NE(refused("decode.draft_lengths={policy: table, table: [{batch: 1, context: 1 tokens, draft_length: 0}]}")
                .find("at least 1"),
            std::string::npos);
}

TEST(Proposals, HaveRoomInMemoryForTheLongestThatThePolicyMayChoose) {
  const auto room = [](const std::vector<std::string>& more) {
    std::vector<std::string> sets = drafter(1, kUsual);
    sets.insert(sets.end(), more.begin(), more.end());
    const serving::DecodeConfig decode = small_scenario(sets).serving.decode;
    return serving::draft_room(decode, *serving::find_decode_policy(decode.policy));
  };
  EXPECT_EQ(room({}), 1 + 3);
  EXPECT_EQ(room({fixed(5)}), 1 + 5);
  EXPECT_EQ(room({by("adaptive")}), 1 + 16);
}

/// Tokens/s simulated over those predicted of a batch of this prompt at half its output.
double simulated_over_predicted(const std::vector<std::string>& sets, double requests, std::int64_t x) {
  const scenario::Scenario scenario = small_scenario(sets);
  serving::ServingConfig config = scenario.serving;
  config.decode = serving::own_drafts(config.decode);
  const serving::DecodePolicy& decode = *serving::find_decode_policy(config.decode.policy);
  const models::StepTimer timer(config.cluster.groups.front().gpu, config.cluster.groups.front().peer_link,
                                config.cluster.groups.front().profile, config.model,
                                config.cluster.groups.front().parallel.tensor);
  const serving::Drafting drafting(config, config.cluster.groups.front(), decode);
  const double accepted =
      decode.proposes() ? drafting.acceptance().expected_accepted(x) : static_cast<double>(x);  // else agreement 1
  const serving::RoundRate rate =
      serving::predict_round(config, config.cluster.groups.front(), decode,
                             serving::configured_geometry(config, config.cluster.groups.front()), timer, drafting,
                             {requests, 2000, 200, x, accepted});
  return tokens_per_s(measure(scenario)) / rate.tokens_per_s;
}

TEST(RoundRate, OfPoliciesWithADrafterIsThatOfTheSimulation) {
  for (const char* policy : {"drafter", "lossy+drafter", "full_offload+drafter"}) {
    std::vector<std::string> sets = drafter(4, kUsual, policy);
    sets.push_back(fixed(3));
    EXPECT_NEAR(simulated_over_predicted(sets, 4, 3), 1, 0.08) << policy;
  }
}

TEST(RoundRate, OfSparseDraftsAndOfTwoLevelsIsThatOfTheSimulation) {
  for (const char* policy : {"sparse_self", "sparse_self+drafter"}) {
    std::vector<std::string> sets = drafter(4, kUsual, policy);
    if (policy == std::string("sparse_self")) sets.erase(sets.begin() + 2);
    sets.insert(sets.end(), {"decode.compressor=pillar-attention", "decode.draft_length=8",
                             "decode.acceptance={model: constant, agreement: 1}"});
    EXPECT_NEAR(simulated_over_predicted(sets, 4, 8), 1, 0.08) << policy;
  }
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
