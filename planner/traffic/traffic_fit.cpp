#include "planner/traffic/traffic_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "models/schema/error.h"
#include "models/schema/units.h"

namespace kvsim::planner::traffic {
namespace {

RateOverTime rate_over_time(const ArrivalTimes& arrivals, double gap_cv) {
  constexpr std::size_t kMostWindows = 24, kRequestsEach = 50;
  constexpr double kByChance = 0.001;
  RateOverTime rate;
  const std::int64_t span = arrivals.last_ns() - arrivals.first_ns();
  const std::size_t windows = std::min(kMostWindows, arrivals.count() / kRequestsEach);
  if (windows < 2 || span <= 0) return rate;
  const std::vector<double> counts = arrivals.counts(windows);
  const double width = static_cast<double>(span) / static_cast<double>(windows);
  const auto n = static_cast<double>(windows);
  const double mean = static_cast<double>(arrivals.count()) / n;
  double squares = 0;
  for (std::size_t i = 0; i < windows; ++i) {
    squares += (counts[i] - mean) * (counts[i] - mean);
    const double from = width * static_cast<double>(i) / kNsPerSecond;
    rate.windows.push_back({from, from + width / kNsPerSecond, counts[i] / (width / kNsPerSecond)});
  }
  // Counts of a renewal process have a variance of cv^2 times their mean where windows hold many gaps (D. R. Cox,
  // Renewal Theory, 1962, 4.2). Equal gaps leave one arrival more or less a window, for their ends: a quarter at most.
  constexpr double kOneMoreOrLess = 0.25;
  const double expected = std::max(gap_cv * gap_cv * mean, kOneMoreOrLess);
  rate.dispersion = squares / (n - 1) / expected;
  const boost::math::chi_squared law(n - 1);
  rate.beyond_chance = rate.dispersion * (n - 1) > boost::math::quantile(boost::math::complement(law, kByChance));
  return rate;
}

/// The arrivals on a clock that runs as fast as the rate is above its mean: what is left is the law of the gaps. ns.
std::vector<std::int64_t> gaps_at_one_rate(const ArrivalTimes& arrivals_of, const RateOverTime& rate) {
  const std::span<const std::int64_t> arrival_ns = arrivals_of.kept();
  const auto span_ns = static_cast<double>(arrivals_of.last_ns() - arrivals_of.first_ns());
  const double mean_per_s = static_cast<double>(arrivals_of.count()) / (span_ns / kNsPerSecond);
  std::vector<std::int64_t> gaps;
  gaps.reserve(arrival_ns.size());
  std::size_t window = 0;
  double before = 0;  // arrivals that the rate makes of the windows before
  std::int64_t last = 0;
  for (std::size_t i = 0; i < arrival_ns.size(); ++i) {
    const double at_s = static_cast<double>(arrival_ns[i] - arrivals_of.first_ns()) / kNsPerSecond;
    while (window + 1 < rate.windows.size() && at_s >= rate.windows[window].until_s) {
      const RateWindow& w = rate.windows[window++];
      before += w.rate_per_s * (w.until_s - w.from_s);
    }
    const RateWindow& w = rate.windows[window];
    const double arrivals = before + w.rate_per_s * (at_s - w.from_s);
    const auto then = static_cast<std::int64_t>(arrivals / mean_per_s * kNsPerSecond);
    if (i > 0 && arrivals_of.follows(i)) gaps.push_back(then - last);
    last = then;
  }
  return gaps;
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
  fit.sessions = sample.sessions();
  fit.alone = sample.alone();
  fit.sub_agents = sample.sub_agents();
  fit.followed = turns.size();
  fit.turns = moments_of(turns);
  fit.first_prompt = moments_of(sample.first_prompts());
  if (std::vector<std::int64_t> growth = sample.growth(); !growth.empty()) {
    const auto shortened = std::count_if(growth.begin(), growth.end(), [](std::int64_t g) { return g < 0; });
    fit.shortened = static_cast<double>(shortened) / static_cast<double>(growth.size());
    for (std::int64_t& g : growth) g = std::max<std::int64_t>(g, 0);
    fit.growth = moments_of(growth);
    fit.turn_gap_ns = moments_of(sample.turn_gaps_ns());
    fit.cut =
        static_cast<double>(sample.latest_within(fit.turn_gap_ns->mean.value)) / static_cast<double>(fit.followed);
  }
  fit.unlinked = static_cast<double>(sample.without_own_blocks()) / static_cast<double>(sample.size());
  if (const auto think_ns = sample.think_ns(); !think_ns.empty()) fit.think_ns = moments_of(think_ns);
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
    lost.push_back(fmt::format("arrivals: fewer than three {}, or no time between them: no rate",
                               fit.session_laws ? "sessions that begin" : "requests"));
  } else {
    if (fit.arrivals->distance > kNearLaw) {
      lost.push_back(fmt::format("the law of gaps: no law of kvsim's is nearer than {:.3f}; rate and cv are kept",
                                 fit.arrivals->distance));
    }
    const bool equal = fit.arrivals->law.kind == models::ArrivalKind::constant;  // what is left is a clock's
    if (!equal && std::abs(fit.gap_correlation) > worth_saying) {
      lost.push_back(fmt::format("the order of gaps: each correlates with the next by {:.2f}, in the law by 0",
                                 fit.gap_correlation));
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
  const bool drawn = fit.prefixes && fit.prefixes->law.tokens.distribution != models::Distribution::fixed;
  if (drawn && fit.with_prefixes && !fit.session_laws) {
    lost.push_back(fmt::format(
        "which requests share which prefix: prefixes are drawn once a run, some of them long. Whole prompts have "
        "a mean of {:.0f} to {:.0f} tokens by draw where the trace's have {:.0f} (try several seeds: times to "
        "the first token change with it), and reuse {} of their tokens ({} to {}) where the trace reuses {}",
        fit.prefixes->law_prompt_mean.low, fit.prefixes->law_prompt_mean.high, fit.prompt.parameters.mean.value,
        percent(fit.prefixes->law_token_reuse.value), percent(fit.prefixes->law_token_reuse.low),
        percent(fit.prefixes->law_token_reuse.high), percent(fit.prefixes->token_reuse)));
  }
  if (fit.sessions && fit.sessions->sub_agents > 0) {
    lost.push_back(
        fmt::format("sub-agents: {} of {} sessions were begun by turns of others, which waited for them; here {}",
                    fit.sessions->sub_agents, fit.sessions->sessions,
                    fit.session_laws ? "they are sessions like the others, and nobody waits" : "nobody waits"));
  }
  if (fit.session_laws) {
    if (fit.sessions->alone > 0) {
      lost.push_back(
          fmt::format("requests of no session: {} of {} ({}) are left out", fit.sessions->alone, fit.requests,
                      percent(static_cast<double>(fit.sessions->alone) / static_cast<double>(fit.requests))));
    }
    if (!fit.session_laws->thought) {
      lost.emplace_back(
          "think times: the trace does not say when answers ended, so they are from a turn's arrival to the next "
          "one's");
    }
    if (fit.sessions->shortened > 0.01) {
      lost.push_back(
          fmt::format("prompts that were shortened: {} of further turns have less than was there before, and "
                      "grow by a token in the law",
                      percent(fit.sessions->shortened)));
    }
    if (fit.sessions->cut > 0.01) {
      lost.push_back(fmt::format(
          "turns beyond the trace: {} of sessions had their latest turn less than the mean time between turns "
          "({:.4g} s) before its end, so turns are fewer than sessions have; a trace of the law that is as long is "
          "cut once more, and has fewer still",
          percent(fit.sessions->cut), fit.sessions->turn_gap_ns->mean.value / kNsPerSecond));
    }
    if (fit.sessions->unlinked > 0.01) {
      lost.push_back(fmt::format(
          "turns after short prompts: {} of prompts have no whole block of their own, and what goes on from them "
          "begins another conversation; in the law those that begin so have as many turns as others, and a fit to "
          "its trace finds fewer",
          percent(fit.sessions->unlinked)));
    }
    if (fit.prefixes && !fit.with_prefixes) {
      lost.emplace_back("shared prefixes: what prompts of different sessions share is left out");
    }
  } else if (fit.sessions) {
    lost.push_back(
        fmt::format("sessions: {} of {:.3g} turns on average; turns arrive as requests of their own (--sessions "
                    "keeps them)",
                    fit.sessions->sessions, fit.sessions->turns.mean.value));
  } else if (fit.conversations) {
    lost.emplace_back(
        "conversations: prompts begin with earlier ones and their answers, as turns of a session do; here they arrive "
        "as requests of their own (--sessions keeps them)");
  }
  return lost;
}

/// At least 1, as laws of lengths have it.
LengthFit fit_whole(std::span<const std::int64_t> values) {
  std::vector<std::int32_t> whole;
  whole.reserve(values.size());
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t v : values) whole.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(v, 1, kMost)));
  return fit_lengths(whole);
}

SessionLaws session_laws(const TrafficSample& sample) {
  if (sample.growth().empty()) {
    throw schema::InputError("--sessions: no session of the trace has a second turn, as far as it says");
  }
  SessionLaws laws;
  laws.turns = fit_whole(sample.turns());
  laws.first_prompt = fit_whole(sample.first_prompts());
  laws.growth = fit_whole(sample.growth());
  std::vector<std::int64_t> pauses = sample.think_ns();
  laws.thought = !pauses.empty();
  if (!laws.thought) pauses = sample.turn_gaps_ns();
  for (std::int64_t& pause : pauses) pause /= 1'000'000;
  laws.think_ms = fit_whole(pauses);
  return laws;
}

void fit_arrivals(const ArrivalTimes& arrivals, TrafficFit& fit) {
  std::vector<std::int64_t> gaps = arrivals.gaps_ns();
  if (gaps.size() < 2 || arrivals.last_ns() <= arrivals.first_ns()) return;
  fit.arrivals = fit_gaps(gaps);
  fit.rate = rate_over_time(arrivals, fit.arrivals->cv.value);
  if (fit.rate.beyond_chance) {
    gaps = gaps_at_one_rate(arrivals, fit.rate);
    fit.arrivals = fit_gaps(gaps);
  }
  fit.gap_correlation = next_correlation(gaps);
}

/// The requests as turns of sessions, if they are none yet and the trace says so by their blocks.
TrafficFit fit_turns(const TrafficSample& sample, bool with_sessions) {
  TrafficFit fit;
  fit.requests = sample.size();
  fit.kept = sample.kept();
  if (with_sessions) fit.session_laws = session_laws(sample);
  fit_arrivals(with_sessions ? sample.session_starts() : sample.arrivals(), fit);
  fit.prompt = fit_lengths(sample.prompts());
  fit.output = fit_lengths(sample.outputs());
  fit.length_correlation = rank_correlation(sample.prompts(), sample.outputs());
  fit.sessions = fit_sessions(sample);
  const bool openings = with_sessions && sample.block_tokens() > 0;
  fit.prefixes = openings ? fit_prefixes(sample.session_openings()) : fit_prefixes(sample);
  if (fit.prefixes) {
    const PrefixFit& p = *fit.prefixes;
    const Moments& whole = openings ? fit.session_laws->first_prompt.parameters : fit.prompt.parameters;
    const bool near = std::abs(p.law_token_reuse.value - p.token_reuse) <= kNearReuse * p.token_reuse;
    constexpr double kRounding = 1e-9;  // of intervals without a width
    const double mean = whole.mean.value;
    fit.with_prefixes =
        near && p.law_prompt_mean.low <= mean * (1 + kRounding) && p.law_prompt_mean.high >= mean * (1 - kRounding);
  }
  return fit;
}

}  // namespace

TrafficFit fit_traffic(const TrafficSample& sample, bool with_sessions) {
  const std::optional<TrafficSample> conversations = sample.conversations();
  TrafficFit fit = fit_turns(with_sessions && conversations ? *conversations : sample, with_sessions);
  fit.conversations = conversations.has_value();
  fit.lost = losses_of(fit);
  return fit;
}

namespace {

using schema::ConfigNode;

/// Six digits: far finer than any interval here.
ConfigNode number(double value, const char* unit = "") {
  return ConfigNode::scalar(fmt::format("{:.6g}{}", value, unit));
}

ConfigNode map_of(const std::vector<std::pair<const char*, ConfigNode>>& entries) {
  ConfigNode map = ConfigNode::map();
  for (const auto& [key, value] : entries) map.set(key, value);
  return map;
}

ConfigNode count_node(std::uint64_t count) {
  return ConfigNode::scalar(std::to_string(count));
}

constexpr const char* kTokens = " tokens";

/// `unit`: of whole numbers, tokens where they are none of requests.
ConfigNode length_node(const models::LengthSpec& law, const char* unit = kTokens) {
  using models::Distribution;
  ConfigNode node = ConfigNode::map();
  const auto tokens = [unit](std::int64_t n) {
    return ConfigNode::scalar(std::string_view(unit) == kTokens && n == 1 ? "1 token" : std::to_string(n) + unit);
  };
  if (law.distribution != Distribution::fixed) {
    node.set("distribution", ConfigNode::scalar(models::word(law.distribution)));
  }
  if (law.distribution == Distribution::empirical) {
    ConfigNode values = ConfigNode::sequence();
    for (const std::int64_t v : law.values) values.items().push_back(tokens(v));
    node.set("values", std::move(values));
    return node;
  }
  if (law.distribution != Distribution::uniform) node.set("mean", number(law.mean, unit));
  if (law.distribution == Distribution::fixed) return node;
  if (has_cv(law.distribution)) node.set("cv", number(law.cv));
  node.set("min", tokens(law.min));
  node.set("max", tokens(law.max));
  return node;
}

/// Pauses have no law of single values: log-normal with their mean and cv stands for them.
ConfigNode think_node(const LengthFit& ms) {
  models::LengthSpec law = ms.law;
  if (law.distribution == models::Distribution::empirical) {
    const auto [least, most] = std::minmax_element(law.values.begin(), law.values.end());
    law = {.distribution = models::Distribution::lognormal,
           .mean = ms.parameters.mean.value,
           .cv = ms.parameters.cv.value,
           .min = *least,
           .max = *most};
  }
  return length_node(law, " ms");
}

ConfigNode rate_table(const RateOverTime& rate) {
  ConfigNode table = ConfigNode::sequence();
  for (const RateWindow& window : rate.windows) {
    table.items().push_back(map_of({{"at", number(window.from_s, " s")}, {"rate", number(window.rate_per_s, "/s")}}));
  }
  return map_of({{"table", std::move(table)}});
}

/// Lengths of prompts: what follows a prefix, first turns of sessions, or whole prompts.
template <class Fit>
auto& prompt_law(Fit& fit) {
  return fit.with_prefixes  ? fit.prefixes->own.law
         : fit.session_laws ? fit.session_laws->first_prompt.law
                            : fit.prompt.law;
}

}  // namespace

std::optional<double> read_shorter(TrafficFit& fit) {
  std::vector<models::LengthSpec*> laws{&prompt_law(fit), &fit.output.law};
  if (fit.with_prefixes) laws.push_back(&fit.prefixes->law.tokens);
  if (fit.session_laws) laws.insert(laws.end(), {&fit.session_laws->turns.law, &fit.session_laws->growth.law});
  std::optional<double> most;
  for (models::LengthSpec* law : laws) {
    if (law->values.size() <= kFewValues) continue;
    const models::LengthSpec all = std::exchange(*law, with_few_values(*law));
    most = std::max(most.value_or(0), distance(all.values, *law));
  }
  return most;
}

schema::ConfigNode workload_fragment(const TrafficFit& fit) {
  ConfigNode workload = ConfigNode::map();
  if (fit.arrivals) {
    const models::ArrivalSpec& law = fit.arrivals->law;
    ConfigNode arrivals = map_of({{"process", ConfigNode::scalar(models::word(law.kind))}});
    if (!fit.rate.beyond_chance) arrivals.set("rate", number(law.rate_per_s, "/s"));
    if (law.kind == models::ArrivalKind::gamma) arrivals.set("cv", number(law.cv));
    if (fit.rate.beyond_chance) arrivals.set("over_time", rate_table(fit.rate));
    workload.set("arrivals", std::move(arrivals));
  } else {
    const std::uint64_t begin = fit.session_laws ? fit.sessions->sessions : fit.requests;
    workload.set("closed", map_of({{"concurrency", count_node(std::min<std::uint64_t>(begin, 1'000'000))}}));
    if (!fit.session_laws) workload.set("requests", count_node(fit.requests));
  }
  if (fit.with_prefixes) {
    const models::SharedPrefixSpec& law = fit.prefixes->law;
    workload.set("prefixes", map_of({{"count", count_node(static_cast<std::uint64_t>(law.count))},
                                     {"popularity", number(law.popularity)},
                                     {"tokens", length_node(law.tokens)}}));
  }
  workload.set("context", length_node(prompt_law(fit)));
  workload.set("output", length_node(fit.output.law));
  if (fit.session_laws) {
    ConfigNode sessions = map_of({{"turns", length_node(fit.session_laws->turns.law, "")},
                                  {"growth", length_node(fit.session_laws->growth.law)},
                                  {"think_time", think_node(fit.session_laws->think_ms)}});
    if (!fit.arrivals) sessions.set("count", count_node(fit.sessions->sessions));
    workload.set("sessions", std::move(sessions));
  }
  return map_of({{"workload", std::move(workload)}});
}

}  // namespace kvsim::planner::traffic
