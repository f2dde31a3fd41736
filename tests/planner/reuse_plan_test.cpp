// Plans for prompts made of chunks: decisions and where they change.
#include "planner/reuse/reuse_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/experiment.h"
#include "planner/infeasible.h"
#include "tests/planner/reuse_scenario.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

using schema::InputError;
using testing::one_prompt;

const MethodEstimate& of(const ContextEstimate& c, PromptMethod method) {
  return c.methods.at(static_cast<std::size_t>(method));
}

std::string message_of(const scenario::Scenario& s, const ReusePlanRequest& request) {
  try {
    static_cast<void>(plan_reuse(s, request));
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

bool said(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(BreakEven, ChangesAreFoundBetweenPointsOfTheGrid) {
  const std::vector<double> grid{1, 10, 100, 1000};
  const auto above = [](double x) { return x > 42; };
  const HoldsWhere where = holds_where(above, grid, BisectIn::logarithmic);
  EXPECT_FALSE(where.at_first);
  ASSERT_EQ(where.changes.size(), 1U);
  EXPECT_NEAR(where.changes[0], 42, 1e-6);
  EXPECT_EQ(holds_where(above, grid, BisectIn::whole).changes, std::vector<double>{43});
  EXPECT_NEAR(holds_where(above, grid, BisectIn::linear).changes.at(0), 42, 1e-6);
  EXPECT_TRUE(holds_where([](double) { return true; }, grid, BisectIn::linear).always());
  EXPECT_TRUE(holds_where([](double) { return false; }, grid, BisectIn::linear).never());
}

TEST(BreakEven, WordsSayWhereItHolds) {
  const auto print = [](double x) { return fmt::format("{}", x); };
  EXPECT_EQ(words_of(HoldsWhere{true, {}}, print), "always");
  EXPECT_EQ(words_of(HoldsWhere{false, {}}, print), "never");
  EXPECT_EQ(words_of(HoldsWhere{false, {3}}, print), "at least 3");
  EXPECT_EQ(words_of(HoldsWhere{true, {3}}, print), "below 3");
  EXPECT_EQ(words_of(HoldsWhere{false, {3, 5}}, print), "from 3 to below 5");
  EXPECT_EQ(words_of(HoldsWhere{true, {3, 5}}, print), "below 3 and at least 5");
  EXPECT_EQ(words_of(HoldsWhere{true, {3, 5, 7}}, print), "below 3 and from 5 to below 7");
}

TEST(ReusePlan, BreakEvenIsWhereTheTimesCross) {
  const scenario::Scenario s = one_prompt();
  for (const double hit_rate : {0.5, 1.0}) {
    ReusePlanRequest request;
    request.hit_rate = hit_rate;
    const ReusePlan plan = plan_reuse(s, request);
    const ContextEstimate& c = plan.contexts.at(0);
    std::size_t crossings = 0;
    for (const BreakEven& b : c.break_evens) {
      const FirstTokenModel own(s, b.method), other(s, b.against);
      const auto faster = [&](double bytes_per_s, double hits) {
        LoadPath path = plan.path;
        path.bytes_per_s = bytes_per_s;
        return own.at(c.prompt, hits).ttft_s(path) < other.at(c.prompt, hits).ttft_s(path);
      };
      for (const double at : b.bytes_per_s.changes) {
        crossings += 1;
        EXPECT_NE(faster(at * 0.999, hit_rate), faster(at * 1.001, hit_rate)) << name_of(b.method) << " " << at;
      }
      for (const double at : b.hit_rate.changes) {
        crossings += 1;
        EXPECT_NE(faster(plan.path.bytes_per_s, at - 0.1), faster(plan.path.bytes_per_s, at))  // of ten chunks
            << name_of(b.method) << " than " << name_of(b.against) << " " << at;
      }
    }
    EXPECT_GT(crossings, 4U);
  }
}

TEST(ReusePlan, TheCurveIsWhereTheTimesCross) {
  const scenario::Scenario s = one_prompt();
  const ReusePlan plan = plan_reuse(s);
  EXPECT_GT(plan.curve.size(), 8U);
  std::size_t known = 0;
  for (const BreakEvenPoint& p : plan.curve) {
    for (const PromptMethod method : prompt_methods()) {
      const auto& rate = p.bytes_per_s.at(static_cast<std::size_t>(method));
      if (!rate) continue;
      known += 1;
      LoadPath path = plan.path;
      path.bytes_per_s = *rate;
      EXPECT_NEAR(FirstTokenModel(s, method).at(p.prompt, 1).ttft_s(path) / p.recompute_s, 1, 1e-6)
          << name_of(method) << " " << p.prompt.context();
    }
  }
  EXPECT_GT(known, 30U);
}

TEST(ReusePlan, ContextBreakEvenIsTheFirstNumberOfChunks) {
  const scenario::Scenario s = one_prompt({"cluster.host.link={base: pcie4-x16, read: 2 GB/s}"});
  const ReusePlan plan = plan_reuse(s);
  for (const ContextBreakEven& b : plan.context_break_evens) {
    for (const double at : b.chunks.changes) {
      const auto chunks = static_cast<std::int64_t>(at);
      const FirstTokenModel own(s, b.method), other(s, b.against);
      const auto faster = [&](std::int64_t n) {
        const PromptShape prompt{n, 512, 64};
        return own.at(prompt, 1).ttft_s(plan.path) < other.at(prompt, 1).ttft_s(plan.path);
      };
      EXPECT_NE(faster(chunks - 1), faster(chunks)) << name_of(b.method) << " than " << name_of(b.against);
    }
  }
}

TEST(ReusePlan, TheFastestIsTheFastestAndAFloorOfQualityIsKept) {
  const scenario::Scenario s = one_prompt({"slo.quality_floor=0.85"});
  const ReusePlan plan = plan_reuse(s, {{1024, 5120, 20480}, 1, {}, "host"});
  ASSERT_EQ(plan.contexts.size(), 3U);
  for (const ContextEstimate& c : plan.contexts) {
    for (const MethodEstimate& m : c.methods) {
      EXPECT_GE(m.ttft_s * (1 + 1e-9), c.methods.at(*c.fastest).ttft_s);
      if (m.relative_score >= 0.85) {
        EXPECT_GE(m.ttft_s * (1 + 1e-9), c.methods.at(*c.good).ttft_s);
      }
    }
    EXPECT_GE(c.methods.at(*c.good).relative_score, 0.85);
    EXPECT_NE(c.methods.at(*c.without_load).method, PromptMethod::load);
    EXPECT_GE(c.methods.at(*c.without_load).relative_score, 0.85);
    EXPECT_EQ(of(c, PromptMethod::full_reuse).relative_score < 0.85, true);
  }
  EXPECT_FALSE(plan_reuse(one_prompt()).contexts.at(0).good);
}

TEST(ReusePlan, AFloorOfFunctionalCorrectnessLeavesWhatBlendsNothing) {
  const ReusePlan without = plan_reuse(one_prompt(), {{20480}, 1, {}, "host"});
  const ContextEstimate& any = without.contexts.at(0);
  EXPECT_LT(any.methods.at(*any.without_load).relative_score, 1);
  const ReusePlan plan = plan_reuse(one_prompt({"slo.functional_floor=0.5"}), {{20480}, 1, {}, "host"});
  const ContextEstimate& c = plan.contexts.at(0);
  EXPECT_EQ(c.methods.at(*c.good).relative_score, 1);
  EXPECT_EQ(c.methods.at(*c.without_load).method, PromptMethod::recompute);
}

TEST(ReusePlan, ContextsAreWholeChunksOnceEach) {
  const ReusePlan plan = plan_reuse(one_prompt(), {{1, 1000, 8000, 8100}, 1, {}, "host"});
  std::vector<std::int64_t> tokens;
  for (const ContextEstimate& c : plan.contexts) tokens.push_back(c.prompt.context());
  EXPECT_EQ(tokens, (std::vector<std::int64_t>{512, 1024, 8192}));
  EXPECT_EQ(plan.contexts.front().prompt.query, 64);
}

TEST(ReusePlan, WithoutHitsLoadingIsRecomputing) {
  ReusePlanRequest request;
  request.hit_rate = 0;
  const ReusePlan plan = plan_reuse(one_prompt({"slo.quality_floor=0.99"}), request);
  const ContextEstimate& c = plan.contexts.at(0);
  EXPECT_DOUBLE_EQ(of(c, PromptMethod::load).ttft_s, of(c, PromptMethod::recompute).ttft_s);
  EXPECT_EQ(c.methods.at(*c.good).method, PromptMethod::recompute);
  // Chunks that know nothing of each other have less to attend to.
  EXPECT_EQ(c.methods.at(*c.fastest).method, PromptMethod::full_reuse);
  for (const BreakEvenPoint& p : plan.curve) {
    EXPECT_FALSE(p.bytes_per_s.at(static_cast<std::size_t>(PromptMethod::load)));
  }
}

TEST(ReusePlan, ALinkIsOfTheCatalogueOrABandwidth) {
  const scenario::Scenario s = one_prompt();
  const auto path = [&](const char* link) { return plan_reuse(s, {{}, 1, link, "host"}).path; };
  EXPECT_DOUBLE_EQ(path("5 GB/s").bytes_per_s, 5e9);
  EXPECT_DOUBLE_EQ(path("5 GB/s").fixed_s, load_path(s.serving).fixed_s);
  EXPECT_GT(path("pcie5-x16").bytes_per_s, load_path(s.serving).bytes_per_s);
  EXPECT_EQ(path("pcie5-x16").link, "pcie5-x16");
  // Each GPU of a group has one.
  const scenario::Scenario two = one_prompt({"cluster.gpu.tensor_parallel=2"});
  EXPECT_DOUBLE_EQ(plan_reuse(two, {{}, 1, "5 GB/s", "host"}).path.bytes_per_s, 10e9);
}

TEST(ReusePlan, ATierIsReadAsFastAsTheNarrowestPartOfTheWay) {
  const scenario::Scenario s =
      one_prompt({"cluster.storage=[{name: ssd, capacity: 1 TB, read: 7 GB/s, latency: 1 ms}, "
                  "{name: far, read: 300 GB/s}]"});
  const LoadPath ssd = load_path(s.serving, "ssd"), far = load_path(s.serving, "far"), host = load_path(s.serving);
  EXPECT_DOUBLE_EQ(ssd.bytes_per_s, 7e9);
  EXPECT_TRUE(ssd.by_storage);
  EXPECT_NEAR(ssd.fixed_s, host.fixed_s + 1e-3, 1e-12);
  EXPECT_DOUBLE_EQ(far.bytes_per_s, host.bytes_per_s);
  EXPECT_FALSE(far.by_storage);
}

TEST(ReusePlan, RefusalsSayWhatWasExpected) {
  const scenario::Scenario s = one_prompt({"cluster.storage=[{name: ssd, read: 7 GB/s}]"});
  EXPECT_TRUE(said(message_of(s, {{}, 1.5, {}, "host"}), "--hit-rate 1.5: expected a share from 0 to 1"));
  EXPECT_TRUE(said(message_of(s, {{}, std::nan(""), {}, "host"}), "--hit-rate"));
  EXPECT_TRUE(said(message_of(s, {{}, 1, {}, "tape"}), "--tier tape: there is no such tier: expected host, ssd"));
  EXPECT_TRUE(said(message_of(s, {{}, 1, "pcie9", "host"}), "--link pcie9: neither a link"));
  EXPECT_TRUE(said(message_of(s, {{}, 1, "5 GB", "host"}), "--link 5 GB: "));
  EXPECT_TRUE(said(message_of(s, {{}, 1, "0 GB/s", "host"}), "above 0"));
  EXPECT_TRUE(
      said(message_of(s, {{64000}, 1, {}, "host"}), "the window of mistral-7b, 32768 tokens: expected at most"));
}

TEST(ReusePlan, WindowsAreThoseOfBothModels) {
  const scenario::Scenario s =
      one_prompt({"prefill.speculative={model: {base: llama-3.2-1b, max_context: 16k tokens}}"});
  EXPECT_TRUE(said(message_of(s, {{20480}, 1, {}, "host"}), "window of the speculative model"));
  EXPECT_EQ(message_of(s, {{10240}, 1, {}, "host"}), "");
}

TEST(ReusePlan, AContextWithoutMemoryIsInfeasible) {
  const scenario::Scenario s = one_prompt({"cluster.gpu.memory_fraction=0.413"});
  EXPECT_THROW(static_cast<void>(plan_reuse(s, {{30000}, 1, {}, "host"})), Infeasible);
  const ReusePlan plan = plan_reuse(s);
  EXPECT_FALSE(of(plan.contexts.at(0), PromptMethod::selective).problem.empty());
  EXPECT_LT(plan.curve.back().prompt.context(), 30000);
}

TEST(ReusePlan, IsForOrdinaryDecodingOnReplicas) {
  EXPECT_TRUE(plans_reuse(one_prompt()));
  EXPECT_TRUE(plans_reuse(one_prompt({"prefill=recompute"})));
}

TEST(ReusePlan, LeavesOutWhatTheSimulationRefuses) {
  // A scorer of 16.1 GB on a GPU of its own, which leaves its KV of 8,256 tokens less than they take up.
  const scenario::Scenario s =
      testing::one_prompt({"prefill.speculative={model: llama-3.1-8b, gpus: 1}", "cluster.gpu.memory_fraction=0.39",
                           "workload.chunks.count=20", "workload.chunks.per_request=16"});
  const ReusePlan plan = plan_reuse(s, {});
  const std::string problem = of(plan.contexts[0], PromptMethod::selective).problem;
  EXPECT_TRUE(problem.starts_with("needs 1082130432 bytes of KV memory on a GPU of llama-3.1-8b")) << problem;
  const ExperimentResult run = run_experiment(s);
  ASSERT_EQ(run.refusals.size(), 1U);
  EXPECT_NE(run.refusals[0].find(problem), std::string::npos) << run.refusals[0];
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
