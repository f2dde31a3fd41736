#include "planner/traffic/traffic_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "planner/experiment.h"
#include "planner/traffic/traffic_comparison.h"
#include "tests/traffic/traffic_support.h"

namespace kvsim::planner::traffic::KVSIM_FILE {
namespace {

bool loses(const TrafficFit& fit, std::string_view what) {
  return std::any_of(fit.lost.begin(), fit.lost.end(), [&](const std::string& s) { return s.starts_with(what); });
}

constexpr const char* kChat =
    "workload:\n  arrivals: {process: gamma, rate: 8/s, cv: 1.6}\n"
    "  context: {distribution: lognormal, mean: 1200 tokens, cv: 0.9}\n  output: {distribution: gamma, mean: 180 "
    "tokens, cv: 0.7}\n";

TEST(TrafficFit, FindsTheWorkloadThatATraceWasMadeOf) {
  const TrafficFit fit = fit_traffic(sample_of("csv", trace_of(scenario_with(kChat), "csv", 20'000)));
  EXPECT_EQ(fit.requests, 20'000U);
  ASSERT_TRUE(fit.arrivals);
  EXPECT_EQ(fit.arrivals->law.kind, models::ArrivalKind::gamma);
  EXPECT_TRUE(fit.arrivals->rate_per_s.holds(8)) << fit.arrivals->rate_per_s.value;
  EXPECT_TRUE(fit.arrivals->cv.holds(1.6)) << fit.arrivals->cv.value;
  EXPECT_EQ(fit.prompt.law.distribution, models::Distribution::lognormal);
  EXPECT_TRUE(fit.prompt.parameters.mean.holds(1200)) << fit.prompt.law.mean;
  EXPECT_EQ(fit.output.law.distribution, models::Distribution::gamma);
  EXPECT_TRUE(fit.output.parameters.mean.holds(180)) << fit.output.law.mean;
  EXPECT_FALSE(fit.rate.beyond_chance);
  EXPECT_FALSE(fit.prefixes);
  EXPECT_FALSE(fit.sessions);
  EXPECT_TRUE(fit.lost.empty()) << fit.lost.front();
}

// The law, and everything that has to do with it, from the fragment that is printed.
TEST(TrafficFit, ItsFragmentIsAWorkloadOfAScenario) {
  const TrafficFit fit = fit_traffic(sample_of("csv", trace_of(scenario_with(kChat), "csv", 2'000)));
  const scenario::Scenario s = scenario::load_scenario_text(with_fit(fit), "fitted.yaml");
  EXPECT_EQ(s.workload.arrivals->kind, models::ArrivalKind::gamma);
  EXPECT_NEAR(s.workload.arrivals->rate_per_s, fit.arrivals->law.rate_per_s, 1e-4);
  EXPECT_NEAR(s.workload.context->mean, fit.prompt.law.mean, 1e-9);
  EXPECT_NEAR(s.workload.output->cv, fit.output.law.cv, 1e-5);
  EXPECT_EQ(s.workload.output->max, fit.output.law.max);
}

// Requests that all come at once have no rate: as many users, who ask once each.
TEST(TrafficFit, WithoutTimeThereIsNoRate) {
  const TrafficFit fit =
      fit_traffic(sample_of("csv", "arrival_s,prompt_tokens,output_tokens\n1,100,5\n1,200,6\n1,300,7\n"));
  EXPECT_FALSE(fit.arrivals);
  EXPECT_TRUE(loses(fit, "arrivals: fewer than three requests, or no time"));
  const scenario::Scenario s = scenario::load_scenario_text(with_fit(fit), "fitted.yaml");
  EXPECT_EQ(s.workload.closed->concurrency, 3);
  EXPECT_EQ(s.workload.requests, 3);
}

// 5/s for ten minutes, then 15/s for ten; and prompts as long as outputs.
TEST(TrafficFit, SaysWhatTheLawsLose) {
  models::ArrivalProcess slow(models::ArrivalSpec{models::ArrivalKind::poisson, 5, 1});
  models::ArrivalProcess fast(models::ArrivalSpec{models::ArrivalKind::poisson, 15, 1});
  const auto random = stream("arrivals"), lengths = stream("lengths");
  TrafficSample sample(0);
  constexpr std::int64_t half_ns = 600'000'000'000;
  const auto add = [&](std::int64_t at_ns) {
    const auto tokens = static_cast<std::int64_t>(lengths->below(1'000)) + 1;
    sample.add({.arrival_ns = at_ns, .prompt_tokens = tokens, .output_tokens = tokens, .prefix_blocks = {}});
  };
  for (std::int64_t at = slow.next(*random); at < half_ns; at = slow.next(*random)) add(at);
  for (std::int64_t at = fast.next(*random); at < half_ns; at = fast.next(*random)) add(half_ns + at);
  const TrafficFit fit = fit_traffic(sample);
  EXPECT_TRUE(fit.rate.beyond_chance);
  EXPECT_EQ(fit.rate.windows.size(), 24U);
  EXPECT_NEAR(fit.rate.windows.front().rate_per_s, 5, 1.5);
  EXPECT_NEAR(fit.rate.windows.back().rate_per_s, 15, 3);
  ASSERT_TRUE(fit.arrivals);
  EXPECT_EQ(fit.arrivals->law.kind, models::ArrivalKind::poisson) << "on the clock of the rate";
  const scenario::Scenario s = scenario::load_scenario_text(with_fit(fit), "fitted.yaml");
  ASSERT_TRUE(s.workload.arrivals->over_time);
  ASSERT_EQ(s.workload.arrivals->over_time->table.size(), 24U);
  EXPECT_NEAR(s.workload.arrivals->over_time->table.back().rate_per_s, 15, 3);
  EXPECT_NEAR(fit.length_correlation, 1, 1e-9);
  EXPECT_TRUE(loses(fit, "prompts and outputs correlate by 1.00"));
}

// A request every 100 ms, of a clock that rounds to 1 ms, is one: neither the order of its gaps nor its rate changes.
TEST(TrafficFit, EqualGapsLoseNothing) {
  TrafficSample sample(0);
  const auto random = stream("jitter");
  for (std::int64_t i = 0; i < 5'000; ++i) {
    const std::int64_t off = static_cast<std::int64_t>(random->below(3)) - 1;
    sample.add({.arrival_ns = i * 100'000'000 + (off + 1) * 500'000,
                .prompt_tokens = 100 + i % 7,
                .output_tokens = 10,
                .prefix_blocks = {}});
  }
  const TrafficFit fit = fit_traffic(sample);
  EXPECT_EQ(fit.arrivals->law.kind, models::ArrivalKind::constant);
  EXPECT_EQ(fit.lost, std::vector<std::string>{});
}

// 400 sessions of two turns, one a second; prompts of 1,000, 50 new tokens and a pause of 20 s.
TEST(TrafficFit, ASessionsLawsAreThoseOfItsTurns) {
  const auto sample_of_sessions = [](std::int64_t pause_ns) {
    std::vector<models::RequestSpec> all;
    for (std::int32_t i = 0; i < 400; ++i) {
      for (std::int32_t turn = 1; turn <= 2; ++turn) {
        models::RequestSpec r{.arrival_ns = i * 1'000'000'000LL + (turn - 1) * 25'000'000'000LL,
                              .prompt_tokens = turn == 1 ? 1'000 : 1'060,
                              .output_tokens = 10,
                              .prefix_blocks = {}};
        r.session = i;
        r.turn = turn;
        r.think_ns = turn == 1 ? -1 : pause_ns;
        all.push_back(r);
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.arrival_ns < b.arrival_ns; });
    TrafficSample sample(0);
    for (const models::RequestSpec& r : all) sample.add(r);
    return sample;
  };
  const TrafficFit fit = fit_traffic(sample_of_sessions(20'000'000'000), true);
  const scenario::Scenario s = scenario::load_scenario_text(with_fit(fit), "fitted.yaml");
  ASSERT_TRUE(s.workload.sessions);
  EXPECT_EQ(s.workload.arrivals->kind, models::ArrivalKind::constant);
  EXPECT_NEAR(s.workload.arrivals->rate_per_s, 1, 1e-9) << "sessions, not requests";
  EXPECT_EQ(s.workload.context->mean, 1'000);
  EXPECT_EQ(s.workload.sessions->spec.turns.mean, 2);
  EXPECT_EQ(s.workload.sessions->spec.growth.mean, 50);
  EXPECT_EQ(s.workload.sessions->spec.think_time.mean_s, 20);
  const TrafficFit unsaid = fit_traffic(sample_of_sessions(-1), true);
  EXPECT_TRUE(loses(unsaid, "think times"));
  EXPECT_EQ(unsaid.session_laws->think_ms.law.mean, 25'000);
  EXPECT_THROW(fit_traffic(sample_of("csv", "arrival_s,prompt_tokens,output_tokens\n0,1,1\n1,1,1\n"), true),
               schema::InputError);
}

// Outputs of 100 and 1,000 tokens are values; prompts of one length and of sessions' first turns are none.
TEST(TrafficFit, ValuesAreShortenedForPeopleAndTheDifferenceIsKnown) {
  TrafficSample sample(0);
  for (int i = 0; i < 400; ++i) {
    models::RequestSpec r;
    r.arrival_ns = i * std::int64_t{1'000'000'000};
    r.prompt_tokens = 500;
    r.output_tokens = i % 2 == 0 ? 100 : 1'000;
    sample.add(r);
  }
  TrafficFit fit = fit_traffic(sample);
  ASSERT_EQ(fit.output.law.values.size(), kFitValues);
  const std::optional<double> distance = read_shorter(fit);
  EXPECT_EQ(fit.output.law.values.size(), kFewValues);
  EXPECT_EQ(distance, 0) << "ten of each";
  EXPECT_EQ(read_shorter(fit), std::nullopt) << "nothing is left to shorten";
}

// Two sessions: turns 3 and 1; second prompts go 100 and 40 tokens beyond what was there, the third is shorter.
TEST(TrafficFit, SessionsByHand) {
  TrafficSample sample(0);
  const auto add = [&](double at_s, std::int64_t prompt, std::int32_t session, std::int32_t turn, double think_s) {
    models::RequestSpec r{.arrival_ns = static_cast<std::int64_t>(at_s * 1e9),
                          .prompt_tokens = prompt,
                          .output_tokens = 10,
                          .prefix_blocks = {}};
    r.session = session;
    r.turn = turn;
    if (think_s >= 0) r.think_ns = static_cast<std::int64_t>(think_s * 1e9);
    sample.add(r);
  };
  add(0, 200, 0, 1, -1);
  add(1, 500, 1, 1, -1);
  add(4, 310, 0, 2, 3);
  add(10, 300, 0, 3, 5);
  const TrafficFit fit = fit_traffic(sample);
  ASSERT_TRUE(fit.sessions);
  EXPECT_EQ(fit.sessions->sessions, 2U);
  EXPECT_DOUBLE_EQ(fit.sessions->turns.mean.value, 2);
  EXPECT_DOUBLE_EQ(fit.sessions->first_prompt.mean.value, 350);
  EXPECT_DOUBLE_EQ(fit.sessions->growth->mean.value, 50);
  EXPECT_DOUBLE_EQ(fit.sessions->shortened, 0.5);
  EXPECT_DOUBLE_EQ(fit.sessions->think_ns->mean.value, 4e9);
  EXPECT_DOUBLE_EQ(fit.sessions->turn_gap_ns->mean.value, 5e9);
  EXPECT_TRUE(loses(fit, "sessions: 2 of 2 turns"));
}

// Two agents that begin together, a sub-agent of the first, and two requests of nobody.
TEST(TrafficFit, SaysWhatBelongsToNoSessionAndWhoHasSubAgents) {
  TrafficSample sample(0);
  const auto add = [&](double at_s, std::int32_t session, std::int32_t parent) {
    models::RequestSpec r{.arrival_ns = static_cast<std::int64_t>(at_s * 1e9),
                          .prompt_tokens = 500,
                          .output_tokens = 10,
                          .prefix_blocks = {}};
    r.session = session;
    r.parent = parent;
    sample.add(r);
  };
  add(0, 0, -1);
  add(0, 1, -1);
  add(0, -1, -1);
  add(0, 2, 0);
  for (int i = 1; i < 3; ++i) add(i, 0, -1);
  for (int i = 1; i < 3; ++i) add(i, 1, -1);
  add(3, -1, -1);
  const TrafficFit fit = fit_traffic(sample, true);
  EXPECT_TRUE(loses(fit, "requests of no session: 2 of 9 (22.2 %) are left out"));
  EXPECT_TRUE(loses(fit, "sub-agents: 1 of 3 sessions were begun by turns of others, which waited for them"));
  EXPECT_TRUE(loses(fit, "arrivals: fewer than three sessions that begin, or no time between them"));
  const schema::ConfigNode fragment = workload_fragment(fit);
  EXPECT_EQ(fragment.find_path("workload.closed.concurrency")->text(), "3");
  EXPECT_EQ(fragment.find_path("workload.sessions.count")->text(), "3");
  EXPECT_EQ(fragment.find_path("workload.requests"), nullptr);
}

constexpr const char* kShared =
    "workload:\n  arrivals: {process: poisson, rate: 5/s}\n"
    "  prefixes: {count: 300, popularity: 0.8, tokens: {distribution: lognormal, mean: 3000 tokens, cv: 0.4}}\n"
    "  context: {distribution: lognormal, mean: 500 tokens, cv: 0.8}\n  output: {distribution: gamma, mean: 180 "
    "tokens, cv: 0.7}\n";

// Prompts share whole blocks of 256 tokens of their prefix; what is left of it, 128 tokens on average, counts as their
// own.
TEST(TrafficFit, FindsTheLawOfSharedPrefixes) {
  const TrafficFit fit = fit_traffic(sample_of("bailian", trace_of(scenario_with(kShared), "bailian", 4'000)));
  ASSERT_TRUE(fit.prefixes);
  EXPECT_NEAR(static_cast<double>(fit.prefixes->law.count), 300, 15);
  EXPECT_NEAR(fit.prefixes->law.popularity, 0.8, 0.05);
  EXPECT_NEAR(drawn_by(fit.prefixes->law.tokens).mean, 3000 - 128, 250);
  EXPECT_NEAR(drawn_by(fit.prefixes->own.law).mean, 500 + 128, 30);
  EXPECT_TRUE(fit.with_prefixes);
  EXPECT_TRUE(fit.prefixes->law_token_reuse.holds(fit.prefixes->token_reuse));
}

/// Parameters of a fit, of the trace that is made of it, within the intervals of the first.
void expect_it_comes_back(std::string_view format, const TrafficFit& first, std::size_t n) {
  const TrafficSample made = sample_of(format, trace_of(with_fit(first), format, n));
  const TrafficFit again = fit_traffic(made);
  ASSERT_TRUE(again.arrivals);
  const auto within = [](const char* what, const Estimate& stated, const Estimate& found) {
    EXPECT_TRUE(stated.holds(found.value))
        << what << " " << stated.value << " (" << stated.low << " to " << stated.high << "), then " << found.value;
  };
  within("rate", first.arrivals->rate_per_s, again.arrivals->rate_per_s);
  within("cv of gaps", first.arrivals->cv, again.arrivals->cv);
  const bool shared = first.with_prefixes;
  within("mean prompt", shared ? first.prefixes->law_prompt_mean : first.prompt.parameters.mean,
         again.prompt.parameters.mean);
  within("cv of prompts", shared ? first.prefixes->law_prompt_cv : first.prompt.parameters.cv,
         again.prompt.parameters.cv);
  within("mean output", first.output.parameters.mean, again.output.parameters.mean);
  within("cv of outputs", first.output.parameters.cv, again.output.parameters.cv);
  if (!first.with_prefixes) return;
  ASSERT_TRUE(again.prefixes);
  within("reuse", first.prefixes->law_token_reuse, {again.prefixes->token_reuse, 0, 0});
}

std::string shared_trace(const std::string& name) {
  const char* const folder = std::getenv("KVSIM_SHARED");  // NOLINT(concurrency-mt-unsafe): read before any thread
  return std::string(folder != nullptr ? folder : KVSIM_SHARED_DEFAULT) + "/traces/" + name;
}

#define SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << (path) << "; set KVSIM_SHARED to the folder that has it"

TEST(TrafficRoundTrip, BailianForm) {
  const TrafficSample sample = sample_of("bailian", trace_of(scenario_with(kShared), "bailian", 4'000));
  expect_it_comes_back("bailian", fit_traffic(sample), sample.size());
}

TEST(TrafficRoundTrip, AzureConversation) {
  const std::string path = shared_trace("azure_conv_2023.csv");
  SKIP_WITHOUT(path);
  const TrafficSample sample = read_sample(models::find_trace_format("azure"), path, {});
  expect_it_comes_back("azure", fit_traffic(sample), sample.size());
}

TEST(TrafficRoundTrip, MooncakeConversation) {
  const std::string path = shared_trace("mooncake_conversation.jsonl");
  SKIP_WITHOUT(path);
  const TrafficSample sample = read_sample(models::find_trace_format("mooncake"), path, {});
  const TrafficFit fit = fit_traffic(sample);
  EXPECT_TRUE(loses(fit, "the law of gaps"));  // they come in batches
  expect_it_comes_back("mooncake", fit, sample.size());
}

double mean_ttft_s(const std::string& workload) {
  const scenario::Scenario s = scenario::load_scenario_text(scenario_with(workload), "s.yaml", {"run.duration=50 min"});
  return run_experiment(s).measured.ttft_s.mean();
}

// The same requests in number, simulated as recorded and as the fit makes them; where they differ by over a tenth the
// fit has said why.
TEST(TrafficRoundTrip, TheTimeToTheFirstTokenIsThatOfTheTraceOrTheFitSaysWhatItLost) {
  const std::string path = shared_trace("azure_conv_2023.csv");
  SKIP_WITHOUT(path);
  const TrafficFit fit = fit_traffic(read_sample(models::find_trace_format("azure"), path, {}));
  const double recorded = mean_ttft_s("workload: {trace: {format: azure, path: " + path + "}}\n");
  const double made = mean_ttft_s(schema::to_yaml(workload_fragment(fit)));
  if (std::abs(made / recorded - 1) > 0.1) {
    EXPECT_FALSE(fit.lost.empty()) << recorded << " s, then " << made << " s";
  }
}

// Twice the rate and the same lengths: gaps are apart beyond chance, lengths are not.
TEST(TrafficComparison, TellsWhatDiffersFromWhatDoesNot) {
  const std::string twice =
      "workload:\n  arrivals: {process: gamma, rate: 16/s, cv: 1.6}\n"
      "  context: {distribution: lognormal, mean: 1200 tokens, cv: 0.9}\n  output: {distribution: gamma, mean: 180 "
      "tokens, cv: "
      "0.7}\n";
  const TrafficComparison c = compare_traffic(sample_of("csv", trace_of(scenario_with(kChat), "csv", 3'000)),
                                              sample_of("csv", trace_of(scenario_with(twice), "csv", 2'000)));
  EXPECT_EQ(c.a.requests, 3'000U);
  EXPECT_EQ(c.b.requests, 2'000U);
  EXPECT_TRUE(c.gaps.beyond_chance()) << c.gaps.distance;
  EXPECT_FALSE(c.prompts.beyond_chance()) << c.prompts.distance;
  EXPECT_FALSE(c.outputs.beyond_chance()) << c.outputs.distance;
}

}  // namespace
}  // namespace kvsim::planner::traffic::KVSIM_FILE
