// Which point of a sweep is the best, in words.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/functional.h"
#include "tools/results/metrics.h"
#include "tools/results/numbers.h"
#include "tools/results/scenario_words.h"
#include "tools/results/sweep.h"

namespace kvsim::results {
namespace {

/// The numbers of the points of these rows, as point_numbers() writes them.
std::string numbers_of(const Sweep& sweep, const std::vector<std::size_t>& rows) {
  std::vector<std::size_t> points;
  for (const std::size_t row : rows) points.push_back(sweep.points[row].point);
  return point_numbers(std::move(points));
}

/// Which points are no service, where one is asked for; that the best is none, where a figure was asked for.
std::vector<std::string> unsteady_words(const Sweep& sweep, const FigureTable& figures, const Ranking& ranking) {
  const std::size_t best = ranking.order.front();
  if (!figures.unsteady(best).empty()) {
    return {fmt::format("point {} is in no steady state: {}", sweep.points[best].point, figures.unsteady(best))};
  }
  std::vector<std::size_t> behind;
  for (std::size_t row = 0; sweep.steady_first && row < sweep.points.size(); ++row) {
    if (!figures.unsteady(row).empty()) behind.push_back(row);
  }
  if (behind.empty()) return {};
  const std::size_t named = *std::min_element(behind.begin(), behind.end(), [&](std::size_t a, std::size_t b) {
    return sweep.points[a].point < sweep.points[b].point;
  });
  return {fmt::format("in no steady state, and therefore behind all others: {}; of point {}: {}",
                      numbers_of(sweep, behind), sweep.points[named].point, figures.unsteady(named))};
}

/// Which points have outputs worse than is asked for, where the best has not.
std::vector<std::string> behind_for_quality(const Sweep& sweep, const FigureTable& figures, const Ranking& ranking) {
  if (figures.behind(ranking.order.front()).below_floor > 0) return {};
  std::vector<std::size_t> below, unknown;
  for (const std::size_t row : ranking.order) {
    const double by = figures.behind(row).below_floor;
    if (by > 0) (std::isinf(by) ? unknown : below).push_back(row);
  }
  std::vector<std::string> words;
  const auto say = [&](const char* why, const std::vector<std::size_t>& rows) {
    if (rows.empty()) return;
    words.push_back(fmt::format("{} {}, and therefore behind those that reach it: {}", why,
                                fmt::join(figures.quality(rows.front()).floors, " or "), numbers_of(sweep, rows)));
  };
  say("below", below);
  say("not known to reach", unknown);
  return words;
}

/// State of a point that is named beside the best.
std::string state_words(const FigureTable& figures, std::size_t row) {
  if (!figures.unsteady(row).empty()) return ", in no steady state";
  const double met = figures.at(row, "slo.attainment");
  return figures.candidates()[row].missed > 0 ? fmt::format(", {} of whose requests meet the objectives", percent(met))
                                              : std::string();
}

/// The rule that chose a point: "best", or "the cheapest of 4 even ones"; "first, as the cheapest of 4 even ones" of
/// one that is not called the best.
std::string chosen_as(const Best& best, const std::string& not_best) {
  const std::string rule = best.by == TieBreak::none ? "" : "the " + rule_words(best);
  if (not_best.empty()) return rule.empty() ? "best" : rule;
  return not_best + (rule.empty() ? "" : ", as " + rule);
}

}  // namespace

std::vector<std::string> best_words(const Sweep& sweep, const FigureTable& figures, const Ranking& ranking) {
  if (ranking.order.empty()) {
    std::vector<std::string> none{fmt::format("no point has a figure {}", sweep.metric)};
    for (std::size_t row = 0; row < sweep.points.size(); ++row) {
      if (figures.unsteady(row).empty()) continue;
      none.push_back(fmt::format("point {}: {}", sweep.points[row].point, figures.unsteady(row)));
      break;
    }
    return none;
  }
  const std::size_t best = ranking.order.front();
  const auto named = [&](std::size_t row) {
    const OutputQuality& quality = figures.quality(row);
    return fmt::format("point {} ({}) with {}{}", sweep.points[row].point,
                       sweep.plan.design.describe(sweep.points[row].point), figures.candidates()[row].printed,
                       quality.lossless ? "" : "; " + output_words(quality));
  };
  const std::string of_best = named(best);
  const std::string by = fmt::format("by the {} {}", less_is_better(sweep.metric) ? "lowest" : "highest", sweep.metric);
  std::vector<std::string> words, unsteady = unsteady_words(sweep, figures, ranking);
  const auto say_given = [&] {
    constexpr std::size_t most = 8;
    words.push_back("no point is best: " + given_words(ranking.given));
    for (std::size_t i = 0; i < std::min(most, ranking.at_given.size()); ++i) {
      const auto& [at, there] = ranking.at_given[i];
      const std::string even = even_words(there, numbers_of(sweep, there.even));
      words.push_back(fmt::format("at {}: {}{}{}{}{}{}", at, named(there.chosen), state_words(figures, there.chosen),
                                  there.why.empty() ? "" : "; the best", there.why, even.empty() ? "" : "; ", even));
    }
    if (ranking.at_given.size() > most) words.push_back(fmt::format("and {} more", ranking.at_given.size() - most));
  };
  const auto with_unsteady = [&] {
    if (ranking.lossless && ranking.given.empty()) {
      words.push_back(fmt::format("the first whose output is that of full-KV decoding: {}{}", named(*ranking.lossless),
                                  state_words(figures, *ranking.lossless)));
    }
    for (const auto& [quality, row] : ranking.others) {
      if (ranking.given.empty()) words.push_back(fmt::format("{}: {}", quality, named(row)));
    }
    for (std::string& said : behind_for_quality(sweep, figures, ranking)) words.push_back(std::move(said));
    words.insert(words.end(), unsteady.begin(), unsteady.end());
    return words;
  };
  if (ranking.none_steady) {
    words.push_back(fmt::format("no point is in a steady state, and none is the best; {}, {}: {}",
                                chosen_as(ranking.best, "first"), by, of_best));
    return with_unsteady();
  }
  const std::vector<std::string>& names = figures.names();
  constexpr std::string_view kPercentile = "slo.percentiles.";
  std::vector<std::string> percentiles;
  for (const std::string& name : names) {
    if (name.starts_with(kPercentile)) percentiles.push_back(name.substr(kPercentile.size()));
  }
  std::string asked_for = fmt::format("the objectives for {} of requests", needed_words(percentiles));
  for (const QualityFloor& floor : kQualityFloors) {
    const std::string figure = fmt::format("slo.{}", floor.below);
    if (std::find(names.begin(), names.end(), figure) != names.end()) {
      asked_for += fmt::format(" and {} in the mean", floor.key);
    }
  }
  const std::string even = even_words(ranking.best, numbers_of(sweep, ranking.best.even));
  if (ranking.meeting == std::size_t{0}) {
    const double met = figures.at(best, "slo.attainment");
    words.push_back(fmt::format("no point{} meets {}; {}, {}: {}", unsteady.empty() ? "" : " in a steady state",
                                asked_for, chosen_as(ranking.best, ranking.given.empty() ? "the nearest" : "first"),
                                std::isfinite(met) ? "for " + percent(met) : "where no request finished", of_best));
    if (!ranking.given.empty()) {
      say_given();
    } else if (!even.empty()) {
      words.push_back(even);
    }
    return with_unsteady();
  }
  const std::string among = ranking.meeting    ? fmt::format(", of {} that meet{} {}", *ranking.meeting,
                                                          *ranking.meeting == 1 ? "s" : "", asked_for)
                            : ranking.finished ? std::string(", of those at which requests finished")
                                               : std::string();
  const bool marked = !ranking.all_even() && ranking.given.empty();
  words.push_back(fmt::format("{}{}, {}{}: {}", chosen_as(ranking.best, marked ? "" : "first"),
                              ranking.quality.empty() ? "" : " " + ranking.quality, by, among, of_best));
  const bool with_interval = ranking.best.with_interval;
  const char* why = with_interval ? "the 95 % intervals tell" : "what is printed tells";
  if (!ranking.given.empty()) {
    say_given();
  } else if (ranking.all_even()) {
    words.push_back(fmt::format("no point is best: {} none from it", why));
  } else if (!even.empty()) {
    words.push_back(even);
  }
  if (marked && !with_interval && ranking.order.size() > 1) {
    words.emplace_back("of this figure no interval is known: a small lead may be chance");
  }
  return with_unsteady();
}

}  // namespace kvsim::results
