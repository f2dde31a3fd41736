// Auxiliary drafters, sparse reads and verified prompts: times, memory and tokens that follow by hand, and relations
// that hold whatever the figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/kernels/step_time.h"
#include "planner/policy_words.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::Measurements;

constexpr std::int64_t kPrompt = 16000;

Sets alone(std::int64_t output, double agreement, std::int64_t drafted) {
  return {"workload.closed.concurrency=1", "workload.requests=1", fmt::format("workload.output={} tokens", output),
          fmt::format("decode.drafter={{type: eagle3-llama-3.1-8b, draft_length: {}, acceptance: {{model: constant, "
                      "agreement: {}}}}}",
                      drafted, agreement)};
}

Measurements with(const std::string& policy, const Sets& sets) {
  return measure(planner::with_policy(small_file(sets), policy));
}

double seconds(const models::StepTimer& timer, const models::StepWork& work) {
  return timer.time(work).total_s;
}

/// n passes of the drafter for one request of `context` tokens, of which it has not seen the last `unseen`.
double passes_s(const serving::ServingConfig& c, double context, double unseen, std::int64_t n) {
  const models::DrafterSpec& d = c.decode.drafter->spec;
  models::KernelProfile profile = c.cluster.groups.front().profile;
  profile.iteration_overhead_s.value = 0;
  profile.drafts.reset();
  const double overhead_s =
      c.cluster.groups.front().profile.drafts->pass_overhead_s(d.network.vocabulary, c.model.vocabulary);
  const models::StepTimer timer(c.cluster.groups.front().gpu, c.cluster.groups.front().peer_link, profile, d.network,
                                c.cluster.groups.front().parallel.tensor);
  const auto token = static_cast<double>(d.network.kv_bytes_per_token());
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    models::StepWork w;
    const double attended = context + static_cast<double>(i);
    if (i == 0) {
      w.verify = {unseen, context * token, unseen * (context - unseen) + unseen * (unseen + 1) / 2, 1, context};
    } else {
      w.decode = {1, attended * token, attended, 0, attended};
    }
    w.logit_tokens = 1;
    total += seconds(timer, w) + overhead_s;
  }
  return total;
}

/// The model's step over `context` tokens with n proposals.
double step_s(const serving::ServingConfig& c, double context, double n) {
  const models::StepTimer timer(c.cluster.groups.front().gpu, c.cluster.groups.front().peer_link,
                                c.cluster.groups.front().profile, c.model, c.cluster.groups.front().parallel.tensor);
  const auto token = static_cast<double>(c.model.kv_bytes_per_token());
  models::StepWork w;
  if (n > 0) {
    w.verify = {n + 1, (context + n) * token, (n + 1) * context + (n + 1) * (n + 2) / 2, 1, context + n};
  } else {
    w.decode = {1, context * token, context, 0, context};
  }
  w.logit_tokens = n + 1;
  return seconds(timer, w);
}

TEST(Drafter, OneRequestWhoseTokensAreAllAccepted) {
  constexpr std::int64_t kOutput = 40, kDrafted = 4;
  const scenario::Scenario s = planner::with_policy(small_file(alone(kOutput, 1.0, kDrafted)), "drafter");
  const Measurements m = measure(s);
  const serving::ServingConfig& c = s.serving;
  double steps = 0, unseen = 1;
  for (std::int64_t done = 0; done < kOutput;) {
    const std::int64_t n = std::min(kDrafted, kOutput - done - 1);
    const auto context = static_cast<double>(kPrompt + done);
    steps += step_s(c, context, static_cast<double>(n)) + passes_s(c, context, unseen, n);
    unseen = static_cast<double>(n) + 1;
    done += n + 1;
  }
  const std::int64_t stored =
      kPrompt * (c.model.kv_bytes_per_token() + c.decode.drafter->spec.network.kv_bytes_per_token());
  const auto& link = c.cluster.groups.front().host_link;
  const double load =
      static_cast<double>(stored) / link.read_bytes_per_s.value + link.latency_s.value + link.setup_s.value;
  EXPECT_NEAR(m.e2e_s.mean(), load + steps, 1e-6);
  EXPECT_EQ(m.rounds, 8U);  // of five tokens
  EXPECT_EQ(m.drafter.proposed_tokens, 8 * kDrafted);
  EXPECT_EQ(m.drafter.accepted_tokens, 8 * kDrafted);
}

TEST(Drafter, ReadsWhatItMissedBeforeItProposesAgain) {
  // No proposals for the first 200 tokens, then four at a time: its next pass reads all of them.
  constexpr std::int64_t kOutput = 240, kWithout = 200, kDrafted = 4;
  Sets sets = alone(kOutput, 1.0, kDrafted);
  sets.push_back(
      fmt::format("decode.draft_lengths={{policy: table, minimum: 0, table: [{{batch: 1, context: {} tokens, "
                  "draft_length: 0}}, {{batch: 1, context: 20k tokens, draft_length: {}}}]}}",
                  kPrompt + kWithout - 1, kDrafted));
  sets.insert(sets.end(), {"decode.drafter.type=llama-3.2-1b", "decode.policy=drafter", "schedule.policy=fcfs"});
  const scenario::Scenario s = small_scenario(sets);
  const serving::ServingConfig& c = s.serving;
  const Measurements m = measure(s);
  double steps = 0, unseen = 1;
  for (std::int64_t done = 0; done < kOutput;) {
    const std::int64_t n = done < kWithout ? 0 : std::min(kDrafted, kOutput - done - 1);
    const auto context = static_cast<double>(kPrompt + done);
    steps += step_s(c, context, static_cast<double>(n)) + passes_s(c, context, unseen, n);
    unseen = n > 0 ? static_cast<double>(n) + 1 : unseen + 1;
    done += n + 1;
  }
  const std::int64_t stored =
      kPrompt * (c.model.kv_bytes_per_token() + c.decode.drafter->spec.network.kv_bytes_per_token());
  const auto& link = c.cluster.groups.front().host_link;
  const double load =
      static_cast<double>(stored) / link.read_bytes_per_s.value + link.latency_s.value + link.setup_s.value;
  EXPECT_NEAR(m.e2e_s.mean(), load + steps, 1e-6);
  EXPECT_EQ(m.drafter.steps, 8U);
}

/// Scenario of one request whose tokens are all accepted, in eight rounds of four drafted ones.
Measurements eight_rounds(const std::string& policy, Sets more) {
  Sets sets = alone(40, 1.0, 4);
  sets.insert(sets.end(), more.begin(), more.end());
  return with(policy, sets);
}

TEST(Drafter, RoundsAndPassesTakeWhatTheProfileSaysBesideKernels) {
  const auto e2e_s = [](const std::string& drafts) {
    return eight_rounds("drafter", {"cluster.gpu.profile.drafts={" + drafts + "}"}).e2e_s.mean();
  };
  const double none = e2e_s("pass: 0 s");
  EXPECT_NEAR(e2e_s("pass: 1 ms") - none, 8 * 4 * 1e-3, 1e-9);
  EXPECT_NEAR(e2e_s("vocabulary: 1 ms") - none, 8 * 4 * 1e-3, 1e-9);  // the head has 32,000 of 128,256 tokens
  EXPECT_NEAR(e2e_s("round: 1 ms") - none, 8 * 1e-3, 1e-9);
  EXPECT_NEAR(e2e_s("request: 1 ms") - none, 8 * 1e-3, 1e-9);
  EXPECT_NEAR(e2e_s("layer: 10 us") - none, 8 * 32 * 10e-6, 1e-9);
}

TEST(Drafter, ItsOwnOverheadOfAPassGoesBeforeTheEngines) {
  const auto e2e_s = [](Sets more) { return eight_rounds("drafter", std::move(more)).e2e_s.mean(); };
  const std::string own = "decode.drafter.type.pass_overhead=1 ms";
  EXPECT_EQ(e2e_s({own, "cluster.gpu.profile.drafts={pass: 0 s}"}),
            e2e_s({own, "cluster.gpu.profile.drafts={pass: 9 ms}"}));
}

TEST(Drafter, VerificationsOfCompressedDraftsAreRoundsToo) {
  const auto run = [](const std::string& round) {
    return with("draft_verify:fcfs",
                {"workload.closed.concurrency=1", "workload.requests=1", "workload.output=60 tokens",
                 "cluster.gpu.profile.drafts={round: " + round + "}"});
  };
  const Measurements none = run("0 s"), some = run("1 ms");
  ASSERT_GT(none.rounds, 1U);
  EXPECT_NEAR(some.e2e_s.mean() - none.e2e_s.mean(), static_cast<double>(none.rounds) * 1e-3, 1e-9);
}

TEST(Drafter, ATreeIsVerifiedWholeAndOnePathOfItAccepted) {
  const Measurements chain = eight_rounds("drafter", {});
  const Measurements same = eight_rounds("drafter", {"decode.drafter.tree={top_k: 1, tokens: 5}"});
  EXPECT_EQ(chain.e2e_s.mean(), same.e2e_s.mean());
  const Sets wide = {"decode.drafter.tree={top_k: 1, tokens: 33}"};
  const Measurements tree = eight_rounds("drafter", wide);
  EXPECT_EQ(tree.drafter.proposed_tokens, chain.drafter.proposed_tokens);
  EXPECT_EQ(tree.rounds, chain.rounds);
  const scenario::Scenario s = planner::with_policy(small_file(alone(40, 1.0, 4)), "drafter");
  double longer = 0;
  for (std::int64_t done = 0; done < 40; done += 5) {
    const auto context = static_cast<double>(kPrompt + done);
    longer += step_s(s.serving, context, 32) - step_s(s.serving, context, 4);
  }
  EXPECT_NEAR(tree.e2e_s.mean() - chain.e2e_s.mean(), longer, 1e-6);
  EXPECT_GT(eight_rounds("drafter", {"decode.drafter.tree={top_k: 64, tokens: 33}"}).drafter.gpu_s, tree.drafter.gpu_s);
}

TEST(Drafter, ABlockComesFromOnePass) {
  const std::string pass = "cluster.gpu.profile.drafts={pass: 1 s}";
  const Measurements chain = eight_rounds("drafter", {pass});
  const Measurements block = eight_rounds("drafter", {pass, "decode.drafter.type.block=true"});
  EXPECT_NEAR(chain.drafter.gpu_s, 8 * 4 * 1.0, 0.1);
  EXPECT_NEAR(block.drafter.gpu_s, 8 * 1.0, 0.1);
  EXPECT_EQ(block.rounds, chain.rounds);
}

TEST(Drafter, ProposesNothingBeyondItsOwnWindow) {
  Sets sets = alone(100, 1.0, 4);
  sets.emplace_back(
      "decode.drafter.type={base: eagle3-llama-3.1-8b, network: {base: llama-3.2-1b, vocabulary: 32000, "
      "max_context: 16050 tokens}}");
  const Measurements m = with("drafter", sets);
  EXPECT_EQ(m.drafter.proposed_tokens, 40);  // ten steps of five tokens, then the window of 16,050 is full
  EXPECT_EQ(m.direct_tokens, 50);
  EXPECT_EQ(m.output_tokens, 100);
}

TEST(Drafter, ThatIsNeverRightCostsItsPassesAndNothingIsGained) {
  const Measurements with_it = with("drafter", alone(30, 1e-12, 3)), without = with("full_kv", alone(30, 1e-12, 3));
  EXPECT_EQ(with_it.drafter.accepted_tokens, 0);
  EXPECT_EQ(with_it.iteration_s.count(), without.iteration_s.count());
  EXPECT_GT(with_it.tpot_s.mean(), without.tpot_s.mean());
  const Measurements composed = with("draft_verify+drafter:fcfs", alone(30, 1e-12, 3));
  const Measurements plain = with("draft_verify:fcfs", alone(30, 1e-12, 3));
  EXPECT_EQ(composed.rounds, plain.rounds);
  EXPECT_EQ(composed.accepted_tokens, plain.accepted_tokens);  // the same draws: other streams are left alone
  EXPECT_GT(composed.e2e_s.mean(), plain.e2e_s.mean());
}

TEST(Drafter, TakesMemoryForItsWeightsAndItsKv) {
  const scenario::ScenarioFile s = small_file(alone(40, 0.7, 4));
  const serving::ServingConfig plain = planner::with_policy(s, "full_kv").serving;
  const serving::ServingConfig drafted = planner::with_policy(s, "drafter").serving;
  const models::DrafterSpec& d = drafted.decode.drafter->spec;
  const serving::KvCapacity a = serving::kv_capacity(plain, plain.cluster.groups.front()),
                            b = serving::kv_capacity(drafted, drafted.cluster.groups.front());
  EXPECT_EQ(b.weights_bytes, a.weights_bytes + d.own_weight_bytes());
  const double block = static_cast<double>(plain.model.kv_bytes_per_token() + d.network.kv_bytes_per_token()) * 16;
  EXPECT_EQ(b.blocks, static_cast<std::int64_t>(static_cast<double>(a.bytes - d.own_weight_bytes()) / block));
  const serving::KvGeometry g = serving::configured_geometry(drafted, drafted.cluster.groups.front()),
                            whole = serving::configured_geometry(plain, plain.cluster.groups.front());
  EXPECT_EQ(g.full_reservation(33) - whole.full_reservation(33), 3 * 16 * d.network.kv_bytes_per_token());
  EXPECT_EQ(g.stored_transfer(33) - whole.stored_transfer(33), 33 * d.network.kv_bytes_per_token());
  EXPECT_EQ(g.full_transfer(33), whole.full_transfer(33));
}

TEST(Drafter, MoreAcceptedIsNeverSlowerAtEqualSeed) {
  for (const char* policy : {"drafter", "draft_verify+drafter:fcfs", "sparse_self+drafter:fcfs", "lossy+drafter"}) {
    double before = 0;
    for (const double agreement : {0.2, 0.5, 0.8, 0.95}) {
      const Measurements m =
          with(policy, {"workload.requests=30",
                        "decode.resident=10",  // where the link binds, only the order of reloads would change
                        fmt::format("decode.drafter={{type: eagle3-llama-3.1-8b, draft_length: 4, "
                                    "acceptance: {{model: constant, agreement: {}}}}}",
                                    agreement)});
      const double rate = static_cast<double>(m.output_tokens) / m.measured_s;
      EXPECT_GT(rate, before) << policy << " at " << agreement;
      before = rate;
    }
  }
}

TEST(Drafter, TwoLevelsAgreePerToken) {
  // Findings 9: every drafted token is verified, whoever proposed it.
  const Measurements m = with(
      "draft_verify+drafter:fcfs",
      {"workload.output=2000 tokens", "decode.draft_length=40", "decode.draft_limit=40", "decode.resident=10",
       "decode.acceptance={model: constant, agreement: 0.95}",
       "decode.drafter={type: eagle3-llama-3.1-8b, draft_length: 3, acceptance: {model: constant, agreement: 0.7}}"});
  const double drafted = static_cast<double>(m.drafted_tokens) / static_cast<double>(m.rounds);
  const double accepted = static_cast<double>(m.accepted_tokens) / static_cast<double>(m.rounds);
  const double per_token = 0.95 * (1 - std::pow(0.95, drafted)) / 0.05;
  EXPECT_NEAR(drafted, 40, 1.5);  // the last rounds of requests are shorter
  EXPECT_NEAR(accepted, per_token, 0.05 * per_token);
  const double inner = 0.7 + 0.49 + 0.343;
  const double positions = drafted / (1 + inner);
  EXPECT_GT(0.95 * (1 - std::pow(0.95, positions)) / 0.05 * (1 + inner), 1.2 * accepted);
}

TEST(PinnedRequests, LeaveRoomForTheReloadsOfOthers) {
  // Some fifty pinned requests of differing lengths, three offloaded: whoever is let in takes no room that a reload
  // needs.
  const scenario::Scenario s = scenario::load_scenario(
      source_path("scenarios/baselines/llama-3.1-8b.yaml"),
      {"decode.policy=draft_verify", "schedule.policy=lock_step", "run.warmup=20 s", "run.duration=60 s"});
  const Measurements m = measure(s);
  EXPECT_GT(m.output_tokens, 40 * 1000);
  EXPECT_LT(m.preemptions, 500U);
}

TEST(Drafter, StaggeredReloadsComeWhenItsRoundsEnd) {
  // Five tokens a step: a round of 20 is drafted in four iterations, and its reload is placed for then.
  const Measurements m = with(
      "draft_verify+drafter:staggered",
      {"workload.closed.concurrency=3", "workload.requests=12", "workload.output=600 tokens", "decode.draft_length=20",
       "cluster.host.link.read=400 GB/s",
       "decode.drafter={type: eagle3-llama-3.1-8b, draft_length: 4, acceptance: {model: constant, agreement: 1}}"});
  EXPECT_LT(static_cast<double>(m.drafted_tokens) / static_cast<double>(m.rounds), 25);
}

TEST(SparseSelf, HoldsNoMoreRequestsThanFullKv) {
  const Sets sets = {"workload.closed.concurrency=40", "workload.requests=80"};
  const Measurements whole = with("full_kv", sets), sparse = with("sparse_self:fcfs", sets);
  const Measurements verified = with("draft_verify:fcfs", sets);
  const auto batch = [](const Measurements& m) {
    return static_cast<double>(m.drafting_request_iterations + m.verifying_request_iterations) /
           static_cast<double>(m.iteration_s.count());
  };
  EXPECT_LE(batch(sparse), batch(whole));
  EXPECT_EQ(sparse.links.at("gpu_to_host").bytes, 0);
  EXPECT_EQ(sparse.links.at("host_to_gpu").bytes, whole.links.at("host_to_gpu").bytes);  // first loads, no reloads
  EXPECT_GT(verified.links.at("host_to_gpu").bytes, whole.links.at("host_to_gpu").bytes / 2);
  EXPECT_EQ(sparse.late_reloads, 0U);
  EXPECT_GT(sparse.rounds, 0U);
}

TEST(SparseSelf, DraftsAsItsOwnBlockSays) {
  const Sets base = {"workload.requests=20", "decode.keep_ratio=0.5", "decode.draft_length=20"};
  Sets own = base;
  own.emplace_back("decode.sparse={selection: pillar-attention, keep_ratio: 0.05, draft_length: 8}");
  const Measurements a = with("sparse_self:fcfs", base), b = with("sparse_self:fcfs", own);
  EXPECT_NEAR(static_cast<double>(a.drafted_tokens) / static_cast<double>(a.rounds), 20, 2);
  EXPECT_NEAR(static_cast<double>(b.drafted_tokens) / static_cast<double>(b.rounds), 8, 0.5);
  // Others know nothing of it.
  EXPECT_EQ(with("draft_verify:fcfs", base).e2e_s.mean(), with("draft_verify:fcfs", own).e2e_s.mean());
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
