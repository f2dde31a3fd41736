#include "planner/traffic/traffic_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstddef>

#include "models/schema/units.h"

namespace kvsim::planner::traffic {
namespace {

RateOverTime rate_over_time(std::span<const std::int64_t> arrival_ns, double gap_cv) {
  constexpr std::size_t kMostWindows = 24, kRequestsEach = 50;
  constexpr double kByChance = 0.001;
  RateOverTime rate;
  const std::int64_t first = arrival_ns.front(), span = arrival_ns.back() - first;
  const std::size_t windows = std::min(kMostWindows, arrival_ns.size() / kRequestsEach);
  if (windows < 2 || span <= 0) return rate;
  std::vector<double> counts(windows);
  const double width = static_cast<double>(span) / static_cast<double>(windows);
  for (const std::int64_t at : arrival_ns) {
    const auto window = static_cast<std::size_t>(static_cast<double>(at - first) / width);
    ++counts[std::min(window, windows - 1)];
  }
  const auto n = static_cast<double>(windows);
  const double mean = static_cast<double>(arrival_ns.size()) / n;
  double squares = 0;
  for (std::size_t i = 0; i < windows; ++i) {
    squares += (counts[i] - mean) * (counts[i] - mean);
    const double from = width * static_cast<double>(i) / kNsPerSecond;
    rate.windows.push_back({from, from + width / kNsPerSecond, counts[i] / (width / kNsPerSecond)});
  }
  // Counts of a renewal process have a variance of cv^2 times their mean where windows hold many gaps (D. R. Cox,
  // Renewal Theory, 1962, 4.2).
  const double expected = std::max(gap_cv * gap_cv, 1e-6) * mean;
  rate.dispersion = squares / (n - 1) / expected;
  const boost::math::chi_squared law(n - 1);
  rate.beyond_chance = rate.dispersion * (n - 1) > boost::math::quantile(boost::math::complement(law, kByChance));
  return rate;
}

double next_correlation(std::span<const std::int64_t> gaps) {
  if (gaps.size() < 3) return 0;
  double mean = 0;
  for (const std::int64_t gap : gaps) mean += static_cast<double>(gap) / static_cast<double>(gaps.size());
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const double off = static_cast<double>(gaps[i]) - mean;
    squares += off * off;
    if (i > 0) products += off * (static_cast<double>(gaps[i - 1]) - mean);
  }
  return squares > 0 ? products / squares : 0;
}

std::optional<SessionFit> fit_sessions(const TrafficSample& sample) {
  const std::vector<std::int64_t> turns = sample.turns();
  if (turns.empty()) return std::nullopt;
  SessionFit fit;
  fit.sessions = turns.size();
  fit.turns = moments_of(turns);
  fit.first_prompt = moments_of(sample.first_prompts());
  if (!sample.growth().empty()) {
    std::vector<std::int64_t> growth(sample.growth().begin(), sample.growth().end());
    const auto shortened = std::count_if(growth.begin(), growth.end(), [](std::int64_t g) { return g < 0; });
    fit.shortened = static_cast<double>(shortened) / static_cast<double>(growth.size());
    for (std::int64_t& g : growth) g = std::max<std::int64_t>(g, 0);
    fit.growth = moments_of(growth);
    fit.turn_gap_ns = moments_of(sample.turn_gaps_ns());
  }
  if (!sample.think_ns().empty()) fit.think_ns = moments_of(sample.think_ns());
  return fit;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

constexpr double kWeak = 0.1;       // of correlations: less is not worth a word
constexpr double kNearReuse = 0.2;  // relative, of the reuse of a law that the fragment takes

std::vector<std::string> losses_of(const TrafficFit& fit) {
  std::vector<std::string> lost;
  const double by_chance = 3 / std::sqrt(static_cast<double>(std::max<std::uint64_t>(fit.requests, 1)));
  const double worth_saying = std::max(kWeak, by_chance);
  if (!fit.arrivals) {
    lost.emplace_back("arrivals: fewer than three requests, or no time between them: no rate");
  } else {
    if (fit.arrivals->distance > kNearLaw) {
      lost.push_back(fmt::format("the law of gaps: no law of kvsim's is nearer than {:.3f}; rate and cv are kept",
                                 fit.arrivals->distance));
    }
    if (std::abs(fit.gap_correlation) > worth_saying) {
      lost.push_back(fmt::format("the order of gaps: each correlates with the next by {:.2f}, in the law by 0",
                                 fit.gap_correlation));
    }
    if (fit.rate.beyond_chance) {
      const auto [least, most] =
          std::minmax_element(fit.rate.windows.begin(), fit.rate.windows.end(),
                              [](const RateWindow& a, const RateWindow& b) { return a.rate_per_s < b.rate_per_s; });
      lost.push_back(
          fmt::format("the rate over time: {:.3g}/s to {:.3g}/s over {} windows of {:.4g} s, {:.3g} times the variance "
                      "of a constant rate",
                      least->rate_per_s, most->rate_per_s, fit.rate.windows.size(),
                      fit.rate.windows.front().until_s - fit.rate.windows.front().from_s, fit.rate.dispersion));
    }
  }
  if (std::abs(fit.length_correlation) > worth_saying) {
    lost.push_back(
        fmt::format("prompts and outputs correlate by {:.2f} (ranks), in the laws by 0", fit.length_correlation));
  }
  if (fit.prefixes && !fit.with_prefixes) {
    lost.push_back(fmt::format(
        "shared prefixes: the trace reuses {} of its prompt tokens, of prompts of {:.0f} tokens on average; the "
        "nearest law of prefixes {}, of {:.0f} ({:.0f} to {:.0f}); left out",
        percent(fit.prefixes->token_reuse), fit.prompt.parameters.mean.value,
        percent(fit.prefixes->law_token_reuse.value), fit.prefixes->law_prompt_mean.value,
        fit.prefixes->law_prompt_mean.low, fit.prefixes->law_prompt_mean.high));
  }
  if (fit.prefixes && fit.with_prefixes) {
    lost.push_back(fmt::format(
        "which requests share which prefix: prefixes are drawn once a run, some of them long. Whole prompts have "
        "a mean of {:.0f} to {:.0f} tokens by draw where the trace's have {:.0f} (try several seeds: times to "
        "the first token change with it), and reuse {} of their tokens ({} to {}) where the trace reuses {}",
        fit.prefixes->law_prompt_mean.low, fit.prefixes->law_prompt_mean.high, fit.prompt.parameters.mean.value,
        percent(fit.prefixes->law_token_reuse.value), percent(fit.prefixes->law_token_reuse.low),
        percent(fit.prefixes->law_token_reuse.high), percent(fit.prefixes->token_reuse)));
  }
  if (fit.sessions) {
    lost.push_back(fmt::format("sessions: {} of {:.3g} turns on average; turns arrive as requests of their own",
                               fit.sessions->sessions, fit.sessions->turns.mean.value));
  }
  return lost;
}

}  // namespace

TrafficFit fit_traffic(const TrafficSample& sample) {
  TrafficFit fit;
  fit.requests = sample.size();
  const std::vector<std::int64_t> gaps = sample.gaps_ns();
  const bool timed = gaps.size() >= 2 && sample.arrival_ns().back() > sample.arrival_ns().front();
  if (timed) {
    fit.arrivals = fit_gaps(gaps);
    fit.rate = rate_over_time(sample.arrival_ns(), fit.arrivals->cv.value);
    fit.gap_correlation = next_correlation(gaps);
  }
  fit.prompt = fit_lengths(sample.prompts());
  fit.output = fit_lengths(sample.outputs());
  fit.length_correlation = rank_correlation(sample.prompts(), sample.outputs());
  fit.sessions = fit_sessions(sample);
  fit.prefixes = fit_prefixes(sample);
  if (fit.prefixes) {
    const PrefixFit& p = *fit.prefixes;
    const bool near = std::abs(p.law_token_reuse.value - p.token_reuse) <= kNearReuse * p.token_reuse;
    fit.with_prefixes = near && p.law_prompt_mean.holds(fit.prompt.parameters.mean.value);
  }
  fit.lost = losses_of(fit);
  return fit;
}

namespace {

using schema::ConfigNode;

/// Six digits: far finer than any interval here.
ConfigNode number(double value, const char* unit = "") {
  return ConfigNode::scalar(fmt::format("{:.6g}{}", value, unit));
}

constexpr const char* kTokens = " tokens";

ConfigNode length_node(const models::LengthSpec& law) {
  using models::Distribution;
  ConfigNode node = ConfigNode::map();
  const auto tokens = [](std::int64_t n) { return ConfigNode::scalar(std::to_string(n) + kTokens); };
  const auto word = [&](const char* name) { node.set("distribution", ConfigNode::scalar(name)); };
  switch (law.distribution) {
    case Distribution::fixed:
      node.set("mean", number(law.mean, kTokens));
      return node;
    case Distribution::empirical: {
      word("empirical");
      ConfigNode values = ConfigNode::sequence();
      for (const std::int64_t v : law.values) values.items().push_back(tokens(v));
      node.set("values", std::move(values));
      return node;
    }
    case Distribution::uniform:
      word("uniform");
      break;
    case Distribution::exponential:
      word("exponential");
      break;
    case Distribution::gamma:
      word("gamma");
      break;
    case Distribution::lognormal:
      word("lognormal");
      break;
  }
  if (law.distribution != Distribution::uniform) node.set("mean", number(law.mean, kTokens));
  if (law.distribution == Distribution::gamma || law.distribution == Distribution::lognormal) {
    node.set("cv", number(law.cv));
  }
  node.set("min", tokens(law.min));
  node.set("max", tokens(law.max));
  return node;
}

}  // namespace

schema::ConfigNode workload_fragment(const TrafficFit& fit) {
  ConfigNode workload = ConfigNode::map();
  if (fit.arrivals) {
    ConfigNode arrivals = ConfigNode::map();
    const models::ArrivalSpec& law = fit.arrivals->law;
    if (law.kind == models::ArrivalKind::gamma) arrivals.set("process", ConfigNode::scalar("gamma"));
    if (law.kind == models::ArrivalKind::poisson) arrivals.set("process", ConfigNode::scalar("poisson"));
    if (law.kind == models::ArrivalKind::constant) arrivals.set("process", ConfigNode::scalar("constant"));
    arrivals.set("rate", number(law.rate_per_s, "/s"));
    if (law.kind == models::ArrivalKind::gamma) arrivals.set("cv", number(law.cv));
    workload.set("arrivals", std::move(arrivals));
  } else {
    ConfigNode closed = ConfigNode::map();
    closed.set("concurrency", ConfigNode::scalar(std::to_string(std::min<std::uint64_t>(fit.requests, 1'000'000))));
    workload.set("closed", std::move(closed));
    workload.set("requests", ConfigNode::scalar(std::to_string(fit.requests)));
  }
  if (fit.with_prefixes) {
    ConfigNode prefixes = ConfigNode::map();
    prefixes.set("count", ConfigNode::scalar(std::to_string(fit.prefixes->law.count)));
    prefixes.set("popularity", number(fit.prefixes->law.popularity));
    prefixes.set("tokens", length_node(fit.prefixes->law.tokens));
    workload.set("prefixes", std::move(prefixes));
  }
  workload.set("context", length_node(fit.with_prefixes ? fit.prefixes->own.law : fit.prompt.law));
  workload.set("output", length_node(fit.output.law));
  ConfigNode whole = ConfigNode::map();
  whole.set("workload", std::move(workload));
  return whole;
}

}  // namespace kvsim::planner::traffic
