#include "planner/capacity/probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "planner/capacity/run_length.h"
#include "sim/serving/objectives.h"
#include "sim/serving/request.h"
#include "sim/serving/simulation.h"
#include "sim/systems/systems.h"
#include "tests/planner/capacity_scenario.h"
#include "tests/scenario/temporary_folder.h"
#include "tests/support/time_parts.h"

namespace kvsim::planner::capacity::KVSIM_FILE {
namespace {

using serving::Miss;
using testing::quick_chat;

serving::Measurements judged_run(const scenario::Scenario& scenario, double until_s, double end_s) {
  serving::ServingConfig config = scenario.serving;
  config.run.judge_until_s = until_s;
  config.run.duration_s = end_s;
  const auto feed = make_feed(scenario, config.run.seed);
  return systems::simulate(config, *feed).measured;
}

std::uint64_t count(const serving::Measurements& m, Miss miss) {
  return static_cast<std::uint64_t>(std::count_if(m.verdicts.begin(), m.verdicts.end(), [miss](serving::Verdict v) {
    return (v & serving::miss_bits(miss)) != 0;
  }));
}

// A TPOT objective alone, and room for 4 requests at a time: those that run are fast, the rest wait for ever. Of the
// finished ones all meet the objective; of all that arrived, hardly any.
TEST(Verdicts, ABacklogThatNeverFinishesIsMissed) {
  scenario::Scenario s = quick_chat({"schedule.max_requests=4", "workload.arrivals.rate=400/s"});
  s.serving.slo = {};
  s.serving.slo.limit(serving::SloMetric::tpot, 99) = 0.05;
  const serving::Measurements m = judged_run(s, 10, 12);
  ASSERT_GT(m.completed_measured, 0U);
  EXPECT_EQ(m.within_slo, m.completed_measured) << "the finished ones look good";
  EXPECT_GT(m.verdicts.size(), 3000U) << "8 s at 400/s";
  EXPECT_GT(count(m, Miss::unfinished), m.verdicts.size() * 8 / 10);
}

// With a TTFT objective the same backlog is known to miss it before it ever gets a token.
TEST(Verdicts, WhoStillWaitsHasMissedItsFirstToken) {
  const scenario::Scenario s = quick_chat({"schedule.max_requests=4", "workload.arrivals.rate=400/s"});
  const serving::Measurements m = judged_run(s, 10, 12);
  EXPECT_GT(count(m, Miss::ttft), m.verdicts.size() * 8 / 10);
  EXPECT_LT(count(m, Miss::unfinished), 20U);
}

TEST(Verdicts, EveryArrivalOfTheJudgedPartHasOneAndNoOther) {
  const scenario::Scenario s = quick_chat({"workload.arrivals={process: constant, rate: 10/s}"});
  const serving::Measurements m = judged_run(s, 7, 30);  // warm-up 2 s: arrivals at 2.0, 2.1, ..., 6.9 s
  EXPECT_EQ(m.verdicts.size(), 50U);
  EXPECT_EQ(std::accumulate(m.verdicts.begin(), m.verdicts.end(), serving::Verdict{0}), 0U)
      << "ten a second is next to nothing";
  EXPECT_LT(m.measured_s, 10) << "the run ends when the last judged request has finished";
}

TEST(Verdicts, TheRefusedAreMisses) {
  const scenario::Scenario s = quick_chat({"workload.context=200k tokens", "workload.arrivals.rate=1/s"});
  const serving::Measurements m = judged_run(s, 7, 20);
  EXPECT_GT(m.verdicts.size(), 0U);
  EXPECT_EQ(count(m, Miss::refused), m.verdicts.size());
}

TEST(MeanRequest, BeginsWithItsSharedPrefix) {
  const double without = mean_request(quick_chat()).prompt_tokens;
  EXPECT_EQ(mean_request(quick_chat({"workload.prefixes={count: 3, tokens: 700 tokens}"})).prompt_tokens,
            without + 700);
}

TEST(MeanRequest, BeginsWithItsChunks) {
  const double without = mean_request(quick_chat()).prompt_tokens;
  EXPECT_EQ(mean_request(quick_chat({"workload.chunks={count: 30, per_request: 7, tokens: 100 tokens}"})).prompt_tokens,
            without + 700);
}

TEST(Verdicts, NobodyIsJudgedWithoutBeingAsked) {
  const scenario::Scenario s = quick_chat();
  const auto feed = make_feed(s, 1);
  EXPECT_TRUE(systems::simulate(s.serving, *feed).measured.verdicts.empty());
}

TEST(Verdicts, WhatIsCertainOfAnUnfinishedRequest) {
  using serving::SloMetric;
  serving::SloConfig slo;
  slo.limit(SloMetric::ttft, 99) = 1;
  slo.limit(SloMetric::tpot, 99) = 0.1;
  serving::Request r;
  r.output = 11;
  const auto at = [&](double s) { return standing_of(slo, r, engine::SimTime{} + engine::from_seconds(s)); };
  const serving::Verdict undecided = serving::open_bit(3) | serving::miss_bits(Miss::unfinished);
  const serving::Verdict ttft = serving::limit_bit(0, 3), tpot = serving::limit_bit(1, 3);
  EXPECT_EQ(at(0.5).open, undecided) << "still may get its first token in time";
  EXPECT_EQ(at(0.5).missed, 0U);
  EXPECT_EQ(at(1.5).open, 0U);
  EXPECT_EQ(at(1.5).missed, ttft);
  r.generated = 1;
  r.record.edit().first_token = r.record.edit().last_token = engine::SimTime{} + engine::from_seconds(0.5);
  EXPECT_EQ(at(1.4).open, undecided) << "ten more tokens may come by 1.5 s";
  EXPECT_EQ(at(1.6).missed, tpot);
  slo.limit(SloMetric::tpot, 99).reset();
  EXPECT_EQ(at(1.6).missed | at(1.6).open, 0U) << "its only objective is met, whatever comes";
}

// A request that has missed the median's limit alone may still miss what is asked of 99 % of requests.
TEST(Verdicts, EveryPercentileIsDecidedByItsOwnLimits) {
  using serving::SloMetric;
  serving::SloConfig slo;
  slo.limit(SloMetric::ttft, 50) = 1;
  slo.limit(SloMetric::ttft, 99) = 3;
  slo.limit(SloMetric::tpot, 95) = 0.1;
  serving::Request r;
  r.output = 11;
  const auto at = [&](double s) { return standing_of(slo, r, engine::SimTime{} + engine::from_seconds(s)); };
  EXPECT_EQ(at(2).missed, serving::limit_bit(0, 0));
  EXPECT_EQ(at(2).open, serving::open_bit(2) | serving::open_bit(3) | serving::miss_bits(Miss::unfinished));
  r.generated = 1;
  r.record.edit().first_token = r.record.edit().last_token = engine::SimTime{} + engine::from_seconds(2);
  EXPECT_EQ(at(2.5).open, serving::open_bit(2) | serving::miss_bits(Miss::unfinished)) << "TTFT is decided";
  EXPECT_EQ(at(9).missed, serving::limit_bit(0, 0) | serving::limit_bit(1, 2));
  EXPECT_EQ(at(9).open, 0U);
  const serving::Verdict finished = missed_objectives(slo, {2, 0.2, 0, 9});
  EXPECT_EQ(finished, at(9).missed);
  EXPECT_NE(finished & serving::percentile_bits(0), 0U);
  EXPECT_EQ(finished & serving::percentile_bits(3), 0U) << "2 s are within 3 s";
}

// 40 % wait longer for the first token than the median may, 3 % longer than 95 % may: both percentiles are met, and the
// one that is asked of all objectives at once is not.
TEST(Attainment, IsOfEachPercentileByItsOwnLimits) {
  serving::SloConfig slo;
  slo.limit(serving::SloMetric::ttft, 50) = 1;
  slo.limit(serving::SloMetric::ttft, 95) = 2;
  Verdicts run;
  for (int i = 0; i < 10'000; ++i) run.push_back(missed_objectives(slo, {i % 100 < 3 ? 2.5 : i % 10 < 4 ? 1.5 : 0.5}));
  const std::vector<Verdicts> runs{run, run};
  const std::vector<Demand> own = demands_of(slo, {});
  ASSERT_EQ(own.size(), 2U);
  EXPECT_DOUBLE_EQ(own[0].share, 0.5);
  EXPECT_DOUBLE_EQ(attainment_of(runs, 0.95, own[0].misses).share, 0.6);
  EXPECT_DOUBLE_EQ(own[1].share, 0.95);
  EXPECT_DOUBLE_EQ(attainment_of(runs, 0.95, own[1].misses).share, 0.97);
  ProbeOptions joint;
  joint.target = 0.95;
  const std::vector<Demand> all = demands_of(slo, joint);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_DOUBLE_EQ(attainment_of(runs, 0.95, all[0].misses).share, 0.6);
}

// At a load at which some 95 % of requests get their first token in time, p95 passes where p99 fails.
TEST(Probe, IsJudgedByThePercentileOfItsObjectives) {
  ProbeOptions options = testing::quick_probe();
  options.target.reset();
  const auto probe = [&](const char* slo) { return probe_rate(quick_chat({slo}), 40, options); };
  const double p95 = probe("slo={ttft_p99: 500 ms}").ttft_p99_s;
  const std::string limit = fmt::format("{} s", p95 * 0.98);
  const Probe strict = probe(fmt::format("slo={{ttft_p99: {}}}", limit).c_str());
  const Probe loose = probe(fmt::format("slo={{ttft_p90: {}}}", limit).c_str());
  EXPECT_NEAR(strict.attainment.share, loose.attainment.share, 0.002) << "of the same requests, but for the last";
  EXPECT_FALSE(strict.passes);
  EXPECT_TRUE(loose.passes);
  EXPECT_EQ(strict.demands.front().demand.share, 0.99);
  const Probe both = probe(fmt::format("slo={{ttft_p90: {0}, ttft_p99: {0}}}", limit).c_str());
  EXPECT_FALSE(both.passes);
  EXPECT_EQ(both.tightest().demand.share, 0.99);
}

TEST(Probe, AtTwoRatesTheSameRequestsComeAtOtherTimes) {
  scenario::Scenario slow = quick_chat(), fast = quick_chat({"workload.arrivals.rate=20/s"});
  const auto a = make_feed(slow, 1), b = make_feed(fast, 1);
  for (int i = 0; i < 100; ++i) {
    const auto x = *a->next(), y = *b->next();
    EXPECT_EQ(x.prompt_tokens, y.prompt_tokens);
    EXPECT_EQ(x.output_tokens, y.output_tokens);
    EXPECT_NEAR(static_cast<double>(x.arrival_ns), 2.0 * static_cast<double>(y.arrival_ns), 200.0) << "rounded to ns";
  }
}

TEST(Probe, JudgesAsManyRequestsAsItsLengthSays) {
  const ProbeOptions options = testing::quick_probe();
  const Probe p =
      probe_rate(quick_chat({"workload.output={distribution: lognormal, mean: 40 tokens, cv: 0.5, max: 400 tokens}"}),
                 10, options);
  EXPECT_TRUE(p.passes);
  // 100 / (1 - 0.9) = 1,000 requests in 4 runs at 10/s are 25 s each; TTFT 0.5 s / 5 % = 10 s; the scenario's own 8 s.
  EXPECT_DOUBLE_EQ(p.length.judged_s, 25);
  EXPECT_DOUBLE_EQ(p.length.settle_s, 10);
  EXPECT_NEAR(static_cast<double>(p.attainment.requests), 1000, 100);
  // Own 2 s; a fifth of 10 s; twice 0.5 + 0.05 x 39 s = 4.9 s.
  EXPECT_DOUBLE_EQ(p.length.warmup_s, 4.9);
  EXPECT_NEAR(p.tokens_per_s, 400, 40);
  EXPECT_NEAR(testing::sum_of_shares(p.bound_by), 1, 1e-9);
  EXPECT_EQ(p.host_peak_bytes, 0) << "full_kv with prompts prefilled here keeps nothing in host memory";
}

TEST(Probe, SaysWhetherItsPercentilesAreOfMoreRequestsThanAreKept) {
  ProbeOptions options = testing::quick_probe();
  options.target = 0.98;  // 100 / (1 - 0.98) = 5,000 requests
  EXPECT_FALSE(probe_rate(quick_chat(), 10, options).sketched);
  options.target = 0.992;  // 12,500
  EXPECT_TRUE(probe_rate(quick_chat(), 10, options).sketched);
}

TEST(Probe, OverloadFailsAndSaysWhy) {
  Probe p = probe_rate(quick_chat(), 500, testing::quick_probe());
  EXPECT_FALSE(p.passes);
  EXPECT_LT(p.attainment.share, 0.5);
  EXPECT_GT(p.misses[Miss::ttft] + p.misses[Miss::tpot], p.attainment.misses / 2);
}

// Ten requests/s of 500 tokens at 100 us a token: half of the time.
TEST(Probe, SaysHowLongTheThreadThatTokenisesWasAtWork) {
  const auto busy = [](const char* tokenise) {
    const scenario::Scenario s = quick_chat({"schedule.engine=vllm", tokenise, "slo={ttft_p99: 10 s}"});
    return probe_rate(s, 10, testing::quick_probe()).tokeniser_busy;
  };
  EXPECT_NEAR(busy("schedule.engine.tokenise=100 us"), 0.5, 0.05);
  EXPECT_EQ(busy("schedule.engine.tokenise=0 s"), 0);
}

/// The quick chat's objectives and machine with a trace: `burst` requests at the same instant, `burst` seconds apart.
scenario::Scenario bursty_trace(const testing::TemporaryFolder& folder, int burst) {
  constexpr int requests = 600;
  std::string text = "arrival_s,prompt_tokens,output_tokens\n";
  for (int i = 0; i < requests; ++i) text += std::to_string(i / burst * burst) + ",400,20\n";
  const std::string path = folder.write("trace" + std::to_string(burst) + ".csv", text);
  std::string yaml = testing::kQuickChat;
  const std::size_t begin = yaml.find("  arrivals:"), end = yaml.find("prefill:");
  yaml.replace(begin, end - begin, "  trace: {format: csv, path: " + path + "}\n");
  return scenario::load_scenario_text(yaml, "trace.yaml");
}

/// A TPOT objective alone, which four requests at a time always meet: what waits is not seen by it.
const std::vector<std::string> kFourAtATime{"schedule.max_requests=4", "slo={tpot_p99: 50 ms}"};

// Four at a time get their tokens fast. At a rate a little above what is served everybody who came is answered by the
// end of the tail, and the queue has grown all the same.
TEST(Probe, OfAQueueThatGrowsFailsThoughItsObjectivesAreMet) {
  const Probe served = probe_rate(quick_chat(kFourAtATime), 20, testing::quick_probe());
  EXPECT_TRUE(served.passes);
  EXPECT_EQ(served.unsteady, "");
  const double most = testing::quick_rate(kFourAtATime);
  const Probe p = probe_rate(quick_chat(kFourAtATime), 1.15 * most, testing::quick_probe());
  EXPECT_TRUE(p.meets) << "attainment " << p.attainment.share;
  EXPECT_FALSE(p.passes);
  EXPECT_NE(p.unsteady.find("the queue grows"), std::string::npos) << p.unsteady;
  // With an objective that has the wait in it, that objective judges.
  const Probe waits = probe_rate(quick_chat({"schedule.max_requests=4", "slo={tpot_p99: 50 ms, e2e_p99: 1000 s}"}),
                                 1.15 * most, testing::quick_probe());
  EXPECT_TRUE(waits.passes);
  EXPECT_EQ(waits.unsteady, "");
}

// 600 requests as fast as they can be sent: with the trace's last arrival the queue begins to drain, and at the end
// nobody waits.
TEST(Probe, OfATraceLooksAtTheQueueWhenTheLastRequestCame) {
  const testing::TemporaryFolder folder;
  scenario::Scenario s = bursty_trace(folder, 1);
  s.serving.slo = {};
  s.serving.slo.limit(serving::SloMetric::tpot, 99) = 0.05;
  s.serving.schedule.max_requests = 4;
  const Probe few = probe_rate(s, 2, testing::quick_probe());
  EXPECT_TRUE(few.passes);
  EXPECT_NEAR(few.unseen, 0.05, 1e-9) << "a twentieth of 570";
  EXPECT_EQ(probe_rate(bursty_trace(folder, 1), 2, testing::quick_probe()).unseen, 0) << "its TTFT has the wait in it";
  const Probe p = probe_rate(s, 100, testing::quick_probe());
  EXPECT_TRUE(p.meets) << "attainment " << p.attainment.share;
  EXPECT_FALSE(p.passes);
  EXPECT_NE(p.unsteady.find("the queue grows"), std::string::npos) << p.unsteady;
}

TEST(Probe, WithMoreRequestsThanItsLimitFailsAndSaysSo) {
  const scenario::Scenario s = quick_chat({"schedule.max_requests=4", "run.most_in_flight=50"});
  const Probe one = probe_rate(s, 400, testing::quick_probe(), 1),
              three = probe_rate(s, 400, testing::quick_probe(), 3);
  EXPECT_FALSE(one.passes);
  EXPECT_TRUE(one.given_up);
  EXPECT_NE(one.unsteady.find("50 requests are in the system"), std::string::npos) << one.unsteady;
  EXPECT_EQ(one.unsteady, three.unsteady);
  EXPECT_TRUE(probe_rate(s, 5, testing::quick_probe()).passes);
}

TEST(Probe, HostMemoryIsWhatTheSimulationReserved) {
  const Probe p =
      probe_rate(quick_chat({"cluster.host={memory: 64 GiB}", "prefill=stored"}), 5, testing::quick_probe());
  // Contexts of 500 tokens at 131,072 bytes are 66 MB each, several at a time.
  EXPECT_GT(p.host_peak_bytes, 66'000'000);
  EXPECT_LT(p.host_peak_bytes, 10'000'000'000);
}

// Bursts of three, 3 s apart: 1 request/s. At 2/s they are 1.5 s apart and still three.
TEST(Probe, ATraceIsStretchedAndKeepsItsBursts) {
  const testing::TemporaryFolder folder;
  const scenario::Scenario s = bursty_trace(folder, 3);
  EXPECT_NEAR(trace_rate(s), 599.0 / 597.0, 1e-12);
  const Probe p = probe_rate(s, 2 * trace_rate(s), testing::quick_probe());
  EXPECT_NEAR(p.length.warmup_s + p.length.judged_s, 597.0 / 2, 1e-6);
  EXPECT_EQ(p.attainment.requests, 570U) << "without the 10 bursts of the first 5 % of the span";
  EXPECT_EQ(p.attainment.observations, kBatches);
  EXPECT_TRUE(p.passes);
  const scenario::Scenario single = bursty_trace(folder, 1);
  const Probe alone = probe_rate(single, 2 * trace_rate(single), testing::quick_probe());
  EXPECT_GT(p.ttft_p99_s, 1.5 * alone.ttft_p99_s) << "three prompts at once take longer than one";
}

}  // namespace
}  // namespace kvsim::planner::capacity::KVSIM_FILE
