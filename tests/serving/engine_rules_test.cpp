// How prompts and decoding share iterations, what is reserved at admission, and engines that say both.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/catalogue/catalogue.h"
#include "models/schema/error.h"
#include "planner/policy_words.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::Measurements;

/// Prompts of 16,000 tokens are computed here, in iterations of 4,096 tokens.
std::vector<std::string> plain(const std::vector<std::string>& more) {
  std::vector<std::string> all = {"prefill=recompute", "decode={policy: full_kv}", "schedule.policy=fcfs",
                                  "schedule.max_batched_tokens=4096"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Measurements two_requests(const std::string& order) {
  return measure_with(plain({"schedule.prefill_order=" + order, "workload.closed.concurrency=2", "workload.requests=2",
                             "workload.output=5 tokens"}));
}

TEST(PrefillFirst, DecodingWaitsUntilNoPromptIsLeft) {
  // 32,000 tokens of prompts fill eight iterations: the first request has its first token after four, the second after
  // eight, and then both decode their other four tokens together.
  const Measurements m = two_requests("prefill_first");
  EXPECT_EQ(m.iteration_s.count(), 12U);
  EXPECT_EQ(m.drafting_request_iterations, 8U);
  EXPECT_NEAR(m.e2e_s.max(), m.e2e_s.min(), 1e-9);
  // The largest gap of the first request is between its first two tokens, all else are decoding steps.
  EXPECT_NEAR(m.itl_s.max(), m.ttft_s.max() - m.ttft_s.min() + m.itl_s.min(), 1e-4);
}

TEST(PrefillFirst, IsNotWhatMixedDoes) {
  // Mixed, the first request decodes its four tokens beside the four iterations in which the second's prompt is
  // computed.
  const Measurements m = two_requests("mixed");
  EXPECT_EQ(m.iteration_s.count(), 12U);
  EXPECT_EQ(m.drafting_request_iterations, 8U);
  EXPECT_NEAR(m.e2e_s.min(), m.ttft_s.max(), 1e-9);
}

const std::string kDrafter =
    "decode={policy: drafter, drafter: {type: llama-3.2-1b, draft_length: 4, acceptance: {model: constant, agreement: "
    "1}}}";

TEST(PrefillFirst, DraftsWaitAsDecodingDoes) {
  // Eight iterations compute the prompts; then both requests' last four tokens are drafted and verified in one.
  const Measurements m =
      measure_with(plain({kDrafter, "schedule.prefill_order=prefill_first", "workload.closed.concurrency=2",
                          "workload.requests=2", "workload.output=5 tokens"}));
  EXPECT_EQ(m.iteration_s.count(), 9U);
  EXPECT_EQ(m.drafter.proposed_tokens, 2 * 3);
  EXPECT_NEAR(m.e2e_s.max(), m.e2e_s.min(), 1e-9);
}

/// 0.3 x 85.6 GB less 16.1 GB of weights hold about 73,000 tokens: four prompts, or three prompts with outputs.
Measurements short_of_memory(const std::vector<std::string>& more) {
  std::vector<std::string> all =
      plain({"cluster.gpu.memory_fraction=0.3", "workload.output=4k tokens", "workload.requests=20"});
  all.insert(all.end(), more.begin(), more.end());
  return measure_with(all);
}

TEST(Reservation, OfPromptsAloneEndsInPreemptions) {
  const Measurements m = short_of_memory({"schedule.reserve=prompt"});
  EXPECT_GT(m.preemptions, 0U);
  EXPECT_EQ(m.e2e_s.count(), 20U);
}

TEST(Reservation, OfOutputsPreemptsNobodyAndHoldsAllOfThemFromTheStart) {
  const auto s = small_scenario(plain({"schedule.reserve=prompt_and_output", "workload.closed.concurrency=1",
                                       "workload.requests=1", "workload.output=4k tokens"}));
  const Measurements alone = measure(s);
  // 16,000 + 4,000 tokens in blocks of 16, from admission to the end.
  EXPECT_EQ(alone.kv_reserved_peak_bytes, 20000 * s.serving.model.kv_bytes_per_token());
  EXPECT_NEAR(alone.kv_reserved_mean_bytes, 20000.0 * static_cast<double>(s.serving.model.kv_bytes_per_token()), 1.0);

  const Measurements m = short_of_memory({"schedule.reserve=prompt_and_output"});
  EXPECT_EQ(m.preemptions, 0U);
  EXPECT_EQ(m.e2e_s.count(), 20U);
  EXPECT_EQ(m.direct_tokens, 20 * 4000);
  EXPECT_EQ(m.prompt_tokens, 20 * 16000);
}

TEST(PreemptedKv, IsComputedAgainOnlyWhereItsRoomWasTaken) {
  // The fourth request is preempted when 4 x (16,000 + 2,250) tokens fill the memory. Until the other three end they
  // take 3 x 1,750 of its 18,250 tokens, from its end, so that the first 13,000 are still there.
  const auto run = [](const std::string& preempted) {
    return short_of_memory({"schedule.preempted=" + preempted, "workload.requests=4", "workload.closed.concurrency=4"});
  };
  const Measurements dropped = run("dropped"), cached = run("cached");
  ASSERT_EQ(dropped.preemptions, 1U);
  ASSERT_EQ(cached.preemptions, 1U);
  EXPECT_EQ(cached.direct_tokens, dropped.direct_tokens);
  EXPECT_EQ(cached.prompt_tokens, dropped.prompt_tokens);
  // In iterations of 4,096 tokens 18,250 take five, 5,250 two.
  EXPECT_EQ(dropped.iteration_s.count() - cached.iteration_s.count(), 3U);
  EXPECT_LT(cached.e2e_s.max(), dropped.e2e_s.max());
}

TEST(PreemptedKv, OfOtherThanFullKvInGpuMemoryIsDropped) {
  const auto run = [](const std::string& preempted) {
    return measure_with({"cluster.gpu.memory_fraction=0.25", "workload.output=4k tokens", "workload.requests=20",
                         "schedule.preempted=" + preempted});
  };
  const Measurements dropped = run("dropped"), cached = run("cached");
  EXPECT_GT(dropped.preemptions, 0U);
  EXPECT_EQ(dropped.e2e_s.mean(), cached.e2e_s.mean());
}

class EveryEngine : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryEngine, ServesEveryTokenOnceInStretchesAndStepByStep) {
  const auto run = [](const std::string& stretches) {
    return short_of_memory({"schedule.engine=" + GetParam(), "run.stretches=" + stretches});
  };
  const Measurements together = run("true"), alone = run("false");
  EXPECT_EQ(together.direct_tokens, 20 * 4000);
  EXPECT_EQ(together.prompt_tokens, 20 * 16000);
  EXPECT_EQ(together.e2e_s.mean(), alone.e2e_s.mean());
  EXPECT_EQ(together.ttft_s.mean(), alone.ttft_s.mean());
  EXPECT_EQ(together.itl_s.max(), alone.itl_s.max());
  EXPECT_EQ(together.preemptions, alone.preemptions);
  EXPECT_EQ(together.memory_short_s, alone.memory_short_s);
}

TEST_P(EveryEngine, ServesDraftedTokensOnce) {
  const Measurements m = measure_with(
      plain({kDrafter, "schedule.engine=" + GetParam(), "workload.requests=6", "workload.output=50 tokens"}));
  EXPECT_EQ(m.e2e_s.count(), 6U);
  EXPECT_EQ(m.direct_tokens + m.accepted_tokens + static_cast<std::int64_t>(m.rounds), 6 * 50);
  EXPECT_GT(m.drafter.accepted_tokens, 0);
}

TEST(HeldBack, InStretchesAsStepByStep) {
  for (const char* rule : {"schedule.receive_interval=7", "schedule.batch_wait={iterations: 5, requests: 2}"}) {
    for (const char* asynchronous : {"schedule.asynchronous=true", "schedule.asynchronous=false"}) {
      const auto run = [&](const std::string& stretches) {
        return short_of_memory({rule, asynchronous, "run.stretches=" + stretches});
      };
      const Measurements together = run("true"), alone = run("false");
      EXPECT_EQ(together.direct_tokens, 20 * 4000);
      EXPECT_EQ(together.e2e_s.mean(), alone.e2e_s.mean()) << rule;
      EXPECT_EQ(together.ttft_s.mean(), alone.ttft_s.mean()) << rule;
      EXPECT_EQ(together.itl_s.max(), alone.itl_s.max()) << rule;
      EXPECT_EQ(together.memory_short_s, alone.memory_short_s) << rule;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, EveryEngine, ::testing::Values("vllm", "vllm-0.19", "sglang", "trtllm"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
                           return name;
                         });

TEST(Engine, SaysWhatTheScheduleDoesNot) {
  const std::vector<std::string> base = {"prefill=recompute", "decode={policy: full_kv}", "schedule={policy: fcfs}"};
  const auto with = [&base](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return small_scenario(more).serving.schedule;
  };
  const auto engine = models::Catalogue::built_in().engine("trtllm");
  const serving::ScheduleConfig all = with({"schedule.engine=trtllm"});
  EXPECT_EQ(all.max_batched_tokens, engine.max_batched_tokens.value);
  EXPECT_EQ(all.block_tokens, engine.block_tokens.value);
  EXPECT_EQ(all.asynchronous, engine.asynchronous.value);
  EXPECT_TRUE(all.reserves_output());
  EXPECT_FALSE(all.prefill_first());
  EXPECT_FALSE(all.caches_preempted());
  EXPECT_TRUE(with({"schedule.engine=vllm"}).caches_preempted());
  EXPECT_FALSE(with({"schedule.engine=vllm", "schedule.preempted=dropped"}).caches_preempted());
  const serving::ScheduleConfig some =
      with({"schedule.engine=sglang", "schedule.max_batched_tokens=512", "schedule.prefill_order=mixed"});
  EXPECT_EQ(some.max_batched_tokens, 512);
  EXPECT_FALSE(some.prefill_first());
  EXPECT_EQ(some.block_tokens, 1);
  const serving::ScheduleConfig none = with({});
  EXPECT_FALSE(none.engine || none.prefill_order || none.reservation || none.preempted);
  EXPECT_EQ(none.max_batched_tokens, 2048);
}

TEST(Engine, FusesKernelsUnlessTheProfileIsSaidTo) {
  const auto fused = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"prefill=recompute", "decode={policy: full_kv}", "schedule={policy: fcfs}"});
    const models::FusedKernels f = small_scenario(more).serving.cluster.groups.front().profile.fused;
    return std::pair(f.norms, f.quantise);
  };
  EXPECT_EQ(fused({}), std::pair(false, false));
  EXPECT_EQ(fused({"schedule.engine=vllm"}), std::pair(false, false));
  EXPECT_EQ(fused({"schedule.engine=trtllm"}), std::pair(true, true));
  EXPECT_EQ(fused({"schedule.engine=trtllm", "cluster.gpu.profile.fused.norms=false"}), std::pair(false, true));
  EXPECT_EQ(fused({"cluster.gpu.profile.fused={norms: true}"}), std::pair(true, false));
  // Another machine serves with the same engine.
  const scenario::Scenario other = scenario::on_machine(
      small_scenario({"prefill=recompute", "decode={policy: full_kv}", "schedule={policy: fcfs, engine: trtllm}"}),
      "h200", 1);
  EXPECT_TRUE(other.serving.cluster.groups.front().profile.fused.quantise);
}

TEST(Engine, LaunchesKernelsUnlessTheProfileSaysHow) {
  const auto launch = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"prefill=recompute", "decode={policy: full_kv}", "schedule={policy: fcfs}"});
    const models::LaunchCosts l = small_scenario(more).serving.cluster.groups.front().profile.launch;
    return std::pair(l.kernel_s.value, l.chunks_captured);
  };
  EXPECT_EQ(launch({}), std::pair(0.0, true));
  EXPECT_EQ(launch({"schedule.engine=vllm"}), std::pair(40e-6, true));
  EXPECT_EQ(launch({"schedule.engine=trtllm"}), std::pair(80e-6, false));
  EXPECT_THROW(launch({"schedule.engine=vllm", "schedule.engine.kernel_launch=-1 us"}), schema::InputError);
  EXPECT_EQ(launch({"schedule.engine=trtllm", "cluster.gpu.profile.launch={kernel: 1 us, chunks_captured: true}"}),
            std::pair(1e-6, true));
  const scenario::Scenario other = scenario::on_machine(
      small_scenario({"prefill=recompute", "decode={policy: full_kv}", "schedule={policy: fcfs, engine: trtllm}"}),
      "h200", 1);
  EXPECT_EQ(other.serving.cluster.groups.front().profile.launch.kernel_s.value, 80e-6);
  EXPECT_FALSE(other.serving.cluster.groups.front().profile.launch.chunks_captured);
}

TEST(Engine, SaysWhatDraftingCostsUnlessTheProfileDoes) {
  const auto drafts = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"prefill=recompute", kDrafter, "schedule={policy: fcfs}"});
    return *small_scenario(more).serving.cluster.groups.front().profile.drafts;
  };
  const models::Catalogue catalogue = models::Catalogue::built_in();
  const models::DraftCosts vllm = *catalogue.engine("vllm").drafts, sglang = *catalogue.engine("sglang").drafts;
  EXPECT_EQ(drafts({"schedule.engine=sglang"}).layer_s.value, sglang.layer_s.value);
  EXPECT_EQ(drafts({"schedule.engine=sglang"}).layer_s.source.kind, schema::SourceKind::measurement);
  for (const char* other : {"schedule.policy=fcfs", "schedule.engine=trtllm"}) {  // measured with neither
    EXPECT_EQ(drafts({other}).round_s.value, vllm.round_s.value) << other;
    EXPECT_EQ(drafts({other}).round_s.source.kind, schema::SourceKind::assumption) << other;
  }
  EXPECT_EQ(drafts({"schedule.engine=vllm", "cluster.gpu.profile.drafts={round: 1 us}"}).round_s.value, 1e-6);
  const scenario::Scenario other = scenario::on_machine(
      small_scenario({"prefill=recompute", kDrafter, "schedule={policy: fcfs, engine: sglang}"}), "h200", 1);
  EXPECT_EQ(other.serving.cluster.groups.front().profile.drafts->layer_s.value, sglang.layer_s.value);
  EXPECT_TRUE(other.serving.cluster.groups.front().profile.launch.by_requests);
}

TEST(Engine, SaysWhatAttentionOverQuantisedKvTakesUnlessTheProfileDoes) {
  const auto profile = [](const char* compressor, std::vector<std::string> more) {
    more.insert(more.begin(), {"prefill=recompute", "schedule={policy: fcfs}",
                               fmt::format("decode={{policy: lossy, compressor: {}}}", compressor)});
    return small_scenario(more).serving.cluster.groups.front().profile;
  };
  using schema::SourceKind;
  const models::QuantisedKernel measured = *profile("turboquant-k8v4", {"schedule.engine=vllm"}).quantised;
  EXPECT_EQ(measured.compressor, "turboquant-k8v4");
  EXPECT_EQ(measured.layer_s.source.kind, SourceKind::measurement);
  const models::QuantisedKernel changed =
      *profile("{base: turboquant-k8v4, group_size: 64}", {"schedule.engine=vllm-0.16"}).quantised;
  EXPECT_EQ(changed.compressor, "turboquant-k8v4") << "its kernel is still that one";
  const models::QuantisedKernel elsewhere = *profile("turboquant-k8v4", {"schedule.engine=sglang"}).quantised;
  EXPECT_EQ(elsewhere.layer_s.value, measured.layer_s.value);
  EXPECT_EQ(elsewhere.layer_s.source.kind, SourceKind::assumption);
  const models::QuantisedKernel nobodys = *profile("kivi-2bit", {"schedule.engine=vllm"}).quantised;
  EXPECT_EQ(nobodys.compressor, "");
  EXPECT_EQ(nobodys.layer_s.source.kind, SourceKind::assumption);
  EXPECT_LT(nobodys.low, nobodys.high);
  EXPECT_FALSE(profile("fast-kvzip, keep_ratio: 0.5", {"schedule.engine=vllm"}).quantised) << "kept tokens are whole";
  EXPECT_FALSE(profile("kivi-2bit", {"cluster.gpu.profile=a6000-pytorch-eager"}).quantised) << "measured there";
  EXPECT_EQ(profile("kivi-2bit", {"cluster.gpu.profile.quantised={layer: 1 us}"}).quantised->layer_s.value, 1e-6);
}

TEST(Engine, ReadsFp8KvByFormsOfBf16WhereThereAreNoOthers) {
  const auto forms = [](const char* width) {
    return small_scenario({"prefill=recompute", "decode={policy: full_kv}", "schedule={policy: fcfs}",
                           "cluster.gpu.profile=rtx-4090-vllm", width})
        .serving.cluster.groups.front()
        .profile.fitted;
  };
  EXPECT_EQ(forms("model.kv_bytes_per_element=2").decode_attention.size(), 1U);
  const models::FittedForms fp8 = forms("model.kv_bytes_per_element=1");
  ASSERT_EQ(fp8.decode_attention.size(), 2U);
  EXPECT_EQ(fp8.decode_attention[1].kv, models::NumberFormat::fp8);
  EXPECT_EQ(fp8.decode_attention[1].source.kind, schema::SourceKind::assumption);
  EXPECT_LT(fp8.prefill_attention[1].efficiency, fp8.prefill_attention[0].efficiency);
}

/// Prompts of 16,000 tokens that take 160 s each to tokenise.
Measurements tokenised(const std::vector<std::string>& more) {
  std::vector<std::string> all =
      plain({"schedule.engine=vllm", "schedule.engine.tokenise=10 ms", "workload.closed.concurrency=2",
             "workload.requests=2", "workload.output=5 tokens"});
  all.insert(all.end(), more.begin(), more.end());
  return measure_with(all);
}

TEST(Tokenising, OnePromptAfterAnotherBeforeTheSchedulerSeesThem) {
  const double prefill_s = tokenised({"schedule.engine.tokenise=0 s", "workload.requests=1"}).ttft_s.max();
  const Measurements m = tokenised({});
  EXPECT_NEAR(m.ttft_s.min(), 160 + prefill_s, 1e-3);
  EXPECT_NEAR(m.ttft_s.max(), 320 + prefill_s, 1e-3);
  EXPECT_EQ(m.completed, 2U);
}

TEST(Tokenising, EveryReplicaHasAThreadForIt) {
  const Measurements m = tokenised({"cluster.replicas=2", "cluster.router=round_robin"});
  EXPECT_NEAR(m.ttft_s.max(), m.ttft_s.min(), 1e-3);
  EXPECT_LT(m.ttft_s.max(), 200);
}

TEST(Tokenising, AUserSendsTheNextPromptWhenTheLastIsAnswered) {
  const Measurements m = tokenised({"workload.closed.concurrency=1", "workload.requests=3"});
  EXPECT_EQ(m.completed, 3U);
  EXPECT_NEAR(m.ttft_s.max(), m.ttft_s.min(), 1e-3);
}

// One prompt in 160 s: of two that came, one waits for the thread when the run ends.
TEST(Tokenising, WhatWaitsForItHasArrivedAndIsNotServed) {
  const Measurements m = tokenised({"run.duration=200 s"});
  EXPECT_EQ(m.arrived, 2U);
  EXPECT_EQ(m.completed, 1U);
  EXPECT_EQ(m.running, 1U);
  EXPECT_EQ(m.waiting_after, 1U);
}

// Of 200 s it works on a prompt of 160 s and begins the next one; with a warm-up of 150 s, on the second alone.
TEST(Tokenising, HowLongItsThreadsWereAtWorkIsMeasured) {
  EXPECT_EQ(serving::tokeniser_busy(tokenised({"run.duration=200 s"})), 1);
  const Measurements alone = tokenised({"run.duration=200 s", "workload.requests=1", "workload.closed.concurrency=1"});
  EXPECT_NEAR(serving::tokeniser_busy(alone), 160.0 / 200, 1e-6);
  const Measurements two =
      tokenised({"run.duration=200 s", "cluster.replicas=2", "workload.requests=1", "workload.closed.concurrency=1"});
  EXPECT_NEAR(serving::tokeniser_busy(two), 160.0 / 400, 1e-6) << "the other replica's thread has nothing to do";
  const Measurements warmed =
      tokenised({"run.duration=200 s", "run.warmup=150 s", "workload.requests=1", "workload.closed.concurrency=1"});
  EXPECT_EQ(serving::tokeniser_busy(warmed), 0) << "its one prompt was begun in the warm-up";
  EXPECT_EQ(tokenised({"schedule.engine.tokenise=0 s"}).tokenisers_s, 0);
}

TEST(Engine, ComparesWhatItCanServe) {
  const auto compared = [](const std::string& engine) {
    return planner::default_policies(small_scenario(
        {"prefill=recompute", "decode={policy: full_kv}", "schedule={policy: fcfs, engine: " + engine + "}"}));
  };
  EXPECT_EQ(compared("sglang"), Sets{"full_kv"});
  EXPECT_EQ(compared("trtllm"), Sets{"full_kv"});
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
