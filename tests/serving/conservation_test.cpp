// Random small configurations: whatever the policy and however short memory and link are, every request finishes, every
// token is accounted for and nothing is over-committed. The runs check their own conservation laws and throw.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include "planner/policy_words.h"
#include "sim/serving/schedules/staggered.h"
#include "tests/support/small_scenario.h"
#include "tests/support/time_parts.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

RC_GTEST_PROP(Conservation, HoldsForRandomConfigurations, ()) {
  const auto policy = *rc::gen::element<std::string>(
      "full_kv", "lossy", "draft_verify:fcfs", "draft_verify:lock_step", "draft_verify:sequential_verify",
      "draft_verify:staggered", "drafter", "sparse_self:fcfs", "sparse_self:staggered", "lossy+drafter",
      "draft_verify+drafter:fcfs", "draft_verify+drafter:staggered", "draft_verify+drafter:lock_step",
      "sparse_self+drafter:fcfs", "full_offload+drafter");
  const bool stored = *rc::gen::arbitrary<bool>();
  const bool sparse = policy.starts_with("sparse_self");  // reads some tokens, as no quantiser does
  const bool quantised = stored && !sparse && *rc::gen::arbitrary<bool>();
  std::vector<std::string> sets = {
      fmt::format("cluster.gpu.memory_fraction={:.2f}", *rc::gen::inRange(24, 60) / 100.0),
      fmt::format("cluster.host.link.read={} GB/s", *rc::gen::inRange(1, 60)),
      fmt::format("cluster.host.link.write={} GB/s", *rc::gen::inRange(1, 60)),
      fmt::format("cluster.host.memory={} GB", *rc::gen::inRange(8, 64)),
      fmt::format("cluster.replicas={}", *rc::gen::inRange(1, 4)),
      fmt::format("prefill={}", stored ? "stored" : "recompute"),
      fmt::format("decode.draft_length={}", *rc::gen::inRange(1, 40)),
      fmt::format("decode.resident={}", *rc::gen::inRange(0, 3)),
      fmt::format("decode.drafter={{type: eagle3-llama-3.1-8b, draft_length: {}}}", *rc::gen::inRange(1, 12)),
      fmt::format("schedule.window={}", *rc::gen::inRange(2, 200)),
      fmt::format("schedule.arrival_slack={}", *rc::gen::inRange(0, 3)),
      fmt::format("schedule.max_requests={}", *rc::gen::inRange(3, 40)),
      fmt::format("schedule.max_batched_tokens={}", *rc::gen::inRange(100, 4096)),
      fmt::format("schedule.block_size={} tokens", *rc::gen::element(1, 16, 64)),
      fmt::format("run.seed={}", *rc::gen::inRange(1, 1000)),
      fmt::format("workload={{arrivals: {{process: gamma, rate: {}/s, cv: 3}}, requests: 30, context: {{distribution: "
                  "lognormal, mean: {} tokens, cv: 1, max: 40k tokens}}, output: {{distribution: exponential, mean: {} "
                  "tokens, max: 2k tokens}}}}",
                  *rc::gen::inRange(1, 50), *rc::gen::inRange(10, 20000), *rc::gen::inRange(1, 400)),
  };
  if (quantised) {
    sets.insert(sets.begin(),
                "decode={policy: draft_verify, compressor: kivi-2bit, acceptance: {model: constant, agreement: 0.9}}");
  } else if (!stored) {
    sets.emplace_back("decode.compressor=fast-kvzip");
  }
  if (*rc::gen::arbitrary<bool>()) sets.emplace_back("decode.draft_lengths={policy: adaptive}");
  const bool in_order = policy.starts_with("full_offload");  // layer after layer
  if (!in_order && *rc::gen::arbitrary<bool>()) sets.emplace_back("cluster.host.discipline=fair_share");
  sets.emplace_back("schedule.max_batched_tokens=4096");  // room for a verification of any draft above
  auto s = planner::with_policy(small_file(sets), policy);
  serving::ScheduleConfig& schedule = s.serving.schedule;
  const bool full = policy == "full_kv";
  if ((full || policy == "lossy") && *rc::gen::arbitrary<bool>()) {
    schedule.prefill_order = models::PrefillOrder::prefill_first;
  }
  if (full && *rc::gen::arbitrary<bool>()) schedule.reservation = models::KvReservation::prompt_and_output;
  // Few prefixes, so that they are found, and memory as above, so that some are gone.
  if (full && s.serving.prefill == serving::PrefillKind::recompute && *rc::gen::arbitrary<bool>()) {
    s.workload.prefixes = models::SharedPrefixSpec{.count = 3, .tokens = {.mean = 2000}};
    schedule.prefix_caching = true;
  }
  if (*rc::gen::arbitrary<bool>()) schedule.preempted = models::PreemptedKv::cached;
  if (*rc::gen::arbitrary<bool>()) {
    schedule.own.edit<serving::StaggeredKeys>().unplaced = serving::Unplaced::waits;
  }
  schedule.blocking_loads = (full || policy == "lossy") && *rc::gen::arbitrary<bool>();
  schedule.receive_interval = *rc::gen::element(1, 1, 5, 40);
  schedule.batch_wait.iterations = *rc::gen::element(0, 0, 4, 60);
  const planner::ExperimentResult r = planner::run_experiment(s);
  const serving::Measurements& m = r.measured;
  RC_ASSERT(m.arrived == 30U);
  RC_ASSERT(!schedule.reserves_output() || m.preemptions == 0U);
  RC_ASSERT(m.completed + m.refused == 30U);
  RC_ASSERT(m.accepted_tokens + m.corrections + m.direct_tokens == m.output_tokens);
  RC_ASSERT(m.hbm_reserved_peak_bytes <= r.capacities.front().bytes + r.capacities.front().weights_bytes);
  const double parts = m.busy_s + m.link_bound_s + m.front_end_s + m.idle_s;
  RC_ASSERT(std::abs(parts - m.capacity_s) < 1e-6 * (1 + m.capacity_s));
  RC_ASSERT(m.capacity_s == 0 || std::abs(testing::sum_of_shares(serving::bottleneck(m)) - 1) < 1e-6);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
