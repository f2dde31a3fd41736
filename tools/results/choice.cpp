#include "tools/results/choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/figure_rows.h"
#include "tools/results/functional.h"
#include "tools/results/metrics.h"

namespace kvsim::results {
namespace {

constexpr double kSamePrice = 1.01;
constexpr std::size_t kMostNamed = 8;
constexpr const char* kAtNearlyLossless = "at a task score of 0.99 or more";
static_assert(kNearlyLossless == 0.99);

const Json* at(const Json& result, const char* pointer) {
  const Json::json_pointer path(pointer);
  return result.contains(path) ? &result.at(path) : nullptr;
}

double number_at(const Json& result, const char* pointer, double none = kNone) {
  const Json* found = at(result, pointer);
  return found != nullptr && found->is_number() ? found->get<double>() : none;
}

std::int64_t count_at(const Json& result, const char* pointer) {
  constexpr double kMost = 1e15;
  return static_cast<std::int64_t>(std::clamp(number_at(result, pointer, 0), 0.0, kMost));
}

bool even(const Candidate& a, const Candidate& best, const Order& order) {
  const double apart = std::abs(a.value - best.value);
  return apart <= std::hypot(a.half_width, best.half_width) || a.printed == best.printed ||
         apart <= order.tie * std::abs(best.value);
}

/// "cheapest", "simplest".
const char* superlative(TieBreak by) {
  return by == TieBreak::cheaper ? "cheapest" : by == TieBreak::simpler ? "simplest" : "first";
}

/// "cheapest"; "first of the cheapest": what the chosen one is among those that are even; empty where nothing tells
/// them apart.
std::string among_even(const Best& best) {
  if (best.by == TieBreak::first && best.over_even != TieBreak::none) {
    return fmt::format("first of the {}", superlative(best.over_even));
  }
  const TieBreak is = best.by == TieBreak::none ? best.over_even : best.by;
  return is == TieBreak::none ? "" : superlative(is);
}

/// Leaves the cheapest of those that are even, where all have a price.
void keep_cheapest(const std::vector<Candidate>& all, std::vector<std::size_t>& tied) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t i : tied) {
    if (!std::isfinite(all[i].usd_per_hour)) return;
    least = std::min(least, all[i].usd_per_hour);
  }
  std::erase_if(tied, [&](std::size_t i) { return all[i].usd_per_hour > kSamePrice * least; });
}

/// The best of those that `may` be it.
template <class May>
std::optional<Best> best_where(const std::vector<Candidate>& all, const Order& order, May may) {
  std::optional<std::size_t> top;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (may(all[i]) && (!top || order.better(all[i].value, all[*top].value))) top = i;
  }
  if (!top) return std::nullopt;
  std::vector<std::size_t> tied;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (may(all[i]) && (i == *top || even(all[i], all[*top], order))) tied.push_back(i);
  }
  Best best;
  best.even = tied;
  best.with_interval = std::isfinite(all[*top].half_width);
  best.within = best.with_interval ? "within the 95 % intervals"
                : order.tie > 0    ? fmt::format("within {:g} %", order.tie * 100)
                                   : "as printed";
  keep_cheapest(all, tied);
  const auto simpler = [&all](std::size_t a, std::size_t b) { return all[a].complexity < all[b].complexity; };
  best.chosen = *std::min_element(tied.begin(), tied.end(), simpler);
  if (tied.size() < best.even.size()) {
    best.over_even = TieBreak::cheaper;
  } else if (std::any_of(tied.begin(), tied.end(), [&](std::size_t i) { return simpler(best.chosen, i); })) {
    best.over_even = TieBreak::simpler;
  }
  std::erase(best.even, best.chosen);
  if (best.chosen != *top) {
    const bool dearer = std::find(tied.begin(), tied.end(), *top) == tied.end();
    best.by = dearer ? TieBreak::cheaper : simpler(best.chosen, *top) ? TieBreak::simpler : TieBreak::first;
  }
  return best;
}

}  // namespace

OutputQuality quality_of(const Json& result) {
  OutputQuality quality;
  const Json* lossless = at(result, "/quality/lossless");
  quality.lossless = lossless == nullptr || !lossless->is_boolean() || lossless->get<bool>();
  quality.floors = floors_set(result);
  quality.floor = floor_words(result);
  if (quality.lossless) return quality;
  quality.score = number_at(result, "/quality/mean_score");
  quality.nats = number_at(result, "/quality/expected_kl_nats");
  quality.functional = functional_of(result);
  return quality;
}

std::string lossy_output_words(const std::string& what_is_known) {
  return fmt::format("its output differs from that of full-KV decoding{}{}", what_is_known.empty() ? "" : ": ",
                     what_is_known);
}

std::string output_words(const OutputQuality& q) {
  if (q.lossless) return "its output is that of full-KV decoding";
  std::string known = "by how much is not known";
  if (std::isfinite(q.score)) {
    known = fmt::format("task score {} of the full KV's", fidelity_text(false, q.score, q.nats));
  } else if (std::isfinite(q.nats)) {
    known = fmt::format("{} nats a request", figure(q.nats));
  }
  return fmt::format("{}{}; {}", lossy_output_words(known), q.floor, functional_words(q.functional));
}

Candidate candidate_of(const Json& result, Asked asked) {
  Candidate c;
  c.behind = shortfall_of(result, asked);
  c.missed = shortfall_of(result, {.objectives = true}).missed;
  c.quality = quality_of(result);
  c.usd_per_hour = number_at(result, "/cost/usd_per_hour");
  c.complexity = {!c.quality.lossless, count_at(result, "/complexity/mechanisms"),
                  count_at(result, "/complexity/tiers"), number_at(result, "/complexity/memory_bytes", 0)};
  return c;
}

void measure(Candidate& c, std::string_view metric, const std::function<double(std::string_view path)>& figure) {
  const auto half = [&figure](std::string_view of) { return figure(fmt::format("{}.{}", of, kHalfWidth)); };
  c.value = figure(metric);
  c.printed = printed_figure(metric, c.value);
  c.half_width = half(metric);
  const bool by_tokens =
      metric == "cost.usd_per_1m_output_tokens" || metric == "throughput.output_tokens_per_s_per_gpu";
  if (!std::isfinite(c.half_width) && by_tokens) c.half_width = half(kThroughput) / figure(kThroughput) * c.value;
}

Bests bests_of(const std::vector<Candidate>& all, const Order& order) {
  std::optional<Shortfall> least;
  double highest = -std::numeric_limits<double>::infinity();
  for (const Candidate& c : all) {
    if (std::isfinite(c.value) && (!least || c.behind < *least)) least = c.behind;
  }
  const auto printed = [](double score) { return std::round(score * 1000); };  // as fidelity_text()
  const auto competes = [&least](const Candidate& c) { return std::isfinite(c.value) && c.behind == *least; };
  for (const Candidate& c : all) {
    if (competes(c) && printed(c.quality.score) > highest) highest = printed(c.quality.score);
  }
  const auto best = [&](auto of_quality) {
    return best_where(all, order, [&](const Candidate& c) { return competes(c) && of_quality(c.quality); });
  };
  using Q = OutputQuality;
  return {best([](const Q& q) { return q.lossless; }), best([](const Q& q) { return q.nearly_lossless(); }),
          best([&](const Q& q) { return printed(q.score) == highest; }), best([](const Q&) { return true; })};
}

bool Order::by_quality(const std::vector<Candidate>& all) const {
  return quality_first &&
         std::none_of(all.begin(), all.end(), [](const Candidate& c) { return !c.quality.floors.empty(); });
}

std::vector<std::pair<std::string, std::size_t>> other_qualities(const std::vector<Candidate>& all,
                                                                 const Order& order) {
  std::vector<std::pair<std::string, std::size_t>> others;
  const std::optional<Choice> choice = choose(all, order);
  if (!choice || !order.by_quality(all)) return others;
  const Bests best = bests_of(all, order);
  const auto add = [&](const char* words, const std::optional<Best>& other) {
    const bool known =
        !other || other->chosen == choice->best.chosen ||
        std::any_of(others.begin(), others.end(), [&other](const auto& one) { return one.second == other->chosen; });
    if (!known) others.emplace_back(words, other->chosen);
  };
  add(kAtNearlyLossless, best.nearly_lossless);
  add("whatever the quality", best.all);
  return others;
}

std::optional<Choice> choose(const std::vector<Candidate>& all, const Order& order) {
  const Bests best = bests_of(all, order);
  if (!best.all) return std::nullopt;
  if (!order.by_quality(all)) return Choice{*best.all, ""};
  const std::string lossless = "with lossless output";
  if (best.lossless && !all[best.lossless->chosen].baseline) return Choice{*best.lossless, lossless};
  if (best.nearly_lossless) {
    if (all[best.nearly_lossless->chosen].quality.lossless) return Choice{*best.nearly_lossless, lossless};
    return Choice{*best.nearly_lossless, kAtNearlyLossless};
  }
  if (best.highest_score) return Choice{*best.highest_score, "with the highest task score"};
  return Choice{*best.all, ""};
}

std::vector<std::size_t> by_figure(const std::vector<Candidate>& all, const Order& order) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::isfinite(all[i].value)) rows.push_back(i);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    if (all[a].behind != all[b].behind) return all[a].behind < all[b].behind;
    return order.better(all[a].value, all[b].value);
  });
  return rows;
}

std::vector<std::size_t> ranked(const std::vector<Candidate>& all, const Order& order) {
  std::vector<std::size_t> rows = by_figure(all, order);
  if (const auto choice = choose(all, order)) {
    const auto chosen = std::find(rows.begin(), rows.end(), choice->best.chosen);
    std::rotate(rows.begin(), chosen, std::next(chosen));
  }
  return rows;
}

std::string rule_words(const Best& best) {
  if (best.by == TieBreak::none) return "best";
  return fmt::format("{} of {} even ones", among_even(best), best.even.size() + 1);
}

bool none_chosen(const Best& best, std::size_t candidates) {
  return candidates > 1 && best.even.size() + 1 == candidates && best.over_even == TieBreak::none;
}

std::string order_words(const std::vector<Candidate>& all, const Order& order, const std::vector<std::size_t>& listed,
                        std::string_view figure) {
  const std::vector<std::size_t> sorted = by_figure(all, order);
  std::string words = fmt::format("by the {} {}", order.less ? "lowest" : "highest", figure);
  if (!listed.empty() && listed.front() != sorted.front()) words = "the chosen one first, then " + words;
  const bool some_behind = !sorted.empty() && all[sorted.front()].behind != all[sorted.back()].behind;
  return words + (some_behind ? ", what misses more of what is asked for last" : "");
}

PassedOver passed_over(const std::vector<Candidate>& all, const Order& order, const Choice& choice) {
  const Candidate& chosen = all[choice.best.chosen];
  const Shortfall& own = chosen.behind;
  const std::vector<std::size_t>& even = choice.best.even;
  PassedOver passed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Shortfall& s = all[i].behind;
    const bool apart = std::find(even.begin(), even.end(), i) == even.end();
    if (!apart || !std::isfinite(all[i].value) || !order.better(all[i].value, chosen.value)) continue;
    passed.unsteady = passed.unsteady || (s.unsteady && !own.unsteady);
    passed.unfinished = passed.unfinished || (s.missed >= 1 && own.missed < 1);
    if (s.unsteady != own.unsteady) continue;
    passed.below_floor = passed.below_floor || (s.below_floor > 0 && own.below_floor <= 0);
    if (s.below_floor != own.below_floor) continue;
    passed.missed = passed.missed || (s.missed > 0 && own.missed <= 0);
    passed.lossy = passed.lossy || (s == own && !choice.quality.empty());
  }
  return passed;
}

std::string passed_over_words(const std::vector<Candidate>& all, const Order& order, const Choice& choice, bool asks) {
  const PassedOver passed = passed_over(all, order, choice);
  std::string words = passed.lossy ? " " + choice.quality : "";
  if (passed.below_floor) {
    words += fmt::format(" that reaches {}", fmt::join(all[choice.best.chosen].quality.floors, " and "));
  }
  const bool met = passed.missed && asks;
  if (met) words += fmt::format("{} meets the objectives", passed.below_floor ? " and" : " that");
  if (passed.unfinished && !met) words += " at which requests finished";
  return words + (passed.unsteady ? " in a steady state" : "");
}

std::string even_words(const Best& best, const std::string& even) {
  if (best.even.empty()) return {};
  std::string said = fmt::format("even with it, {}: {}", best.within, even);
  if (const std::string is = among_even(best); !is.empty()) said += fmt::format("; of these it is the {}", is);
  return said;
}

std::string point_numbers(std::vector<std::size_t> points) {
  std::sort(points.begin(), points.end());
  const std::size_t more = points.size() > kMostNamed ? points.size() - kMostNamed : 0;
  points.resize(points.size() - more);
  return fmt::format("point{} {}{}", points.size() + more == 1 ? "" : "s", fmt::join(points, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

bool is_policy(std::string_view path) {
  return path.ends_with(".policy");
}

void mark_baselines(std::vector<Candidate>& all, const std::vector<Json>& sets) {
  const auto policies = [](const Json& set) {
    std::string said;
    for (const auto& [path, value] : set.items()) {
      if (is_policy(path)) said += fmt::format("{}={};", path, value.dump());
    }
    return said;
  };
  std::optional<std::string> first;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!std::isfinite(all[i].value)) continue;
    const std::string own = policies(sets[i]);
    if (!first) first = own;
    all[i].baseline = !own.empty() && own == *first;
  }
}

}  // namespace kvsim::results
