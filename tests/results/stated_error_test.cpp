// What pages say of how wrong their figures may be.
#include "tools/results/stated_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "tests/results/cases.h"
#include "tests/results/outcome_of.h"
#include "tools/results/metrics.h"
#include "tools/results/rivals.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::how_sure;
using results::not_measured;
using results::Outcome;
using Lines = std::vector<std::string>;

const Sets kPlain{"decode={policy: full_kv}", "schedule={}", "prefill=recompute"};

Outcome run_of(const Sets& sets, double tpot_s, double memory_short_s = 0) {
  serving::Measurements m;
  m.measured_s = m.capacity_s = 100;
  m.memory_short_s = memory_short_s;
  m.tpot_s.add(tpot_s);
  m.output_tokens = 1000;
  m.arrived = m.arrived_measured = m.completed = m.completed_measured = 1;
  Outcome o = outcome_of(small_scenario(together(kPlain, sets)), m);
  o.policy = sets.empty() ? "plain" : sets.front();
  return o;
}

bool any_has(const Lines& lines, std::string_view text) {
  return std::any_of(lines.begin(), lines.end(),
                     [text](const std::string& line) { return line.find(text) != line.npos; });
}

TEST(HowSure, NamesThePointsThatSpeak) {
  EXPECT_TRUE(any_has(how_sure({run_of({}, 0.01)}), "KV memory not full"));
  EXPECT_TRUE(any_has(how_sure({run_of({}, 0.01, 50)}), "KV memory full"));
  EXPECT_TRUE(any_has(how_sure({run_of({"schedule.engine=sglang"}, 0.01)}), "sglang, "));
  EXPECT_EQ(how_sure(run_of({}, 0.01).scenario).size(), 1U);
}

TEST(HowSure, SaysWhatNobodyMeasured) {
  EXPECT_EQ(not_measured(small_scenario(kPlain)), Lines{});
  EXPECT_EQ(not_measured(small_scenario(kStored)), Lines{"prompts that are stored"});
  EXPECT_EQ(not_measured(small_scenario({})).front(), "draft_verify");
  EXPECT_EQ(not_measured(small_scenario(kChunks)), Lines{"prompts put together from chunks"});
  EXPECT_EQ(not_measured(small_scenario(together(kPlain, {"model=gpt-oss-20b"}))),
            (Lines{"layers with a sliding window", "weights of this width"}));
  EXPECT_EQ(not_measured(small_scenario(together(kPlain, {"model=gemma-3-12b"}))),
            Lines{"layers with a sliding window"});
  EXPECT_TRUE(any_has(how_sure(small_scenario({})), "No such point has draft_verify"));
}

TEST(HowSure, GivesAnIntervalToKernelsOverQuantisedKv) {
  const Sets lossy = together(kPlain, {"decode={policy: lossy, compressor: kivi-2bit}", "schedule.policy=fcfs"});
  EXPECT_TRUE(any_has(how_sure(small_scenario(lossy)), "Nobody measured attention over the KV of kivi-2bit"));
  EXPECT_FALSE(any_has(how_sure(small_scenario(kPlain)), "over the KV of"));
  const Sets fit = together(lossy, {"decode.compressor=turboquant-k8v4", "schedule.engine=vllm"});
  EXPECT_TRUE(any_has(how_sure(small_scenario(fit)), "A fit says what attention takes over the KV of turboquant-k8v4"));
  // Half of each iteration is attention over it, which may take from nothing to twice as long.
  Outcome o = run_of({}, 0.01);
  o.scenario = small_scenario(together(lossy, {"cluster.gpu.profile.quantised={layer: 1 ms, low: 0, high: 2}"}));
  serving::Measurements& m = o.result.measured;
  m.iteration_s.add(2e-3 * static_cast<double>(o.scenario.serving.model.layers));
  m.drafting_request_iterations = 1;
  m.kv_reserved_mean_bytes = 1e6;
  EXPECT_TRUE(any_has(how_sure({o}), "0.5000 to 1.500 of the predicted mean iteration")) << how_sure({o}).back();
}

TEST(HowSure, CallsAlternativesEvenThatAreCloserThanTheErrorOfTheirRatio) {
  const double apart =
      even_below(planner::StatedErrors::built_in(), &planner::FigureErrors::tpot, results::kErrorConfidence);
  const auto says = [](double first, double second) {
    Outcome a = run_of({}, first), b = run_of({}, second);
    a.policy = "a", b.policy = "b";
    return any_has(how_sure({a, b}), "Even in mean time per output token, closer than");
  };
  EXPECT_TRUE(says(0.01, 0.0101));
  EXPECT_TRUE(says(0.01 * apart * 0.99, 0.01));
  EXPECT_FALSE(says(0.01 * apart * 1.01, 0.01));
}

// The best of what is not compared tells nothing apart, by the latency that a comparison prints.
TEST(HowSure, CallsEvenWhatIsComparedAlone) {
  const auto run = [](const char* name, double ttft_s, double slowest_s, std::uint64_t unfinished) {
    Outcome o = run_of({}, 0.01);
    o.policy = name;
    serving::Measurements& m = o.result.measured;
    m.arrived += unfinished;
    m.running = unfinished;
    for (int i = 0; i < 3; ++i) m.ttft_s.add(i < 2 ? ttft_s : slowest_s);
    return o;
  };
  const Lines lines = how_sure({run("a", 1, 1, 0), run("b", 1.01, 90, 0), run("quick", 1, 1, 9), run("c", 90, 90, 0)});
  EXPECT_TRUE(any_has(lines, "Even in median time to first token, closer than ")) << lines.back();
  EXPECT_TRUE(lines.back().ends_with(" to the best: a, b")) << lines.back();
}

TEST(HowSure, IsInTheFiguresOfARun) {
  const Outcome o = run_of({}, 0.01);
  const results::Figures f(o);
  const planner::StatedError e = results::error_of(o);
  EXPECT_EQ(f.at("details.model_error.tpot.low"), e.tpot.low);
  EXPECT_EQ(f.at("details.model_error.e2e.high"), e.e2e.high);
  EXPECT_EQ(f.at("details.model_error.confidence"), 0.9);
  EXPECT_LT(e.tpot.low, e.tpot.high);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
