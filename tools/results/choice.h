// Which of several results is chosen: the one rule by which sweeps, comparisons and reports name a best one, and which
// others chance or the digits printed do not tell from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/compression/functional.h"
#include "planner/complexity.h"
#include "tools/results/numbers.h"
#include "tools/results/section.h"
#include "tools/results/shortfall.h"

namespace kvsim::results {

/// Figures by which results are ranked unless another one is asked for (ranked_as_asked() in sweep.h).
inline constexpr std::string_view kThroughput = "throughput.output_tokens_per_s";
inline constexpr std::string_view kMeanTtft = "latency_s.ttft.mean";

/// Output with at least this task score, relative to the full KV's, is called nearly lossless.
inline constexpr double kNearlyLossless = 0.99;

/// How near an output is to that of full-KV decoding, by a run's document.
struct OutputQuality {
  bool lossless = true;
  double score = 1;  ///< task score relative to the full KV's; not a number: not known
  double nats = 0;   ///< divergence of a request; not a number: not known
  /// Functional correctness relative to the full KV's.
  models::FunctionalScores functional = models::functional_of_full_kv();
  std::string floor{};              ///< floor_words()
  std::vector<std::string> floors;  ///< floors_set()

  [[nodiscard]] bool nearly_lossless() const { return lossless || score >= kNearlyLossless; }
};
/// Reads a run's document; one without a quality is taken for lossless.
[[nodiscard]] OutputQuality quality_of(const Json& result);

/// "its output is that of full-KV decoding", or "its output differs from that of full-KV decoding: task score 0.985 of
/// the full KV's, 0.005 below slo.quality_floor; functional correctness: calls 0.100".
[[nodiscard]] std::string output_words(const OutputQuality& quality);
/// The sentence of an output that differs, with what is known of it, if anything.
[[nodiscard]] std::string lossy_output_words(const std::string& what_is_known);

/// One of those that are chosen among: a run of a comparison, or a point of a sweep.
struct Candidate {
  double value = kNone;       ///< by which they are ranked; not a number: it has no such figure
  double half_width = kNone;  ///< of its 95 % interval; not a number: none is known
  std::string printed;        ///< the value as pages have it
  Shortfall behind;           ///< by what was asked for, whatever its figure; those with the least compete
  double missed = 0;          ///< Shortfall::missed, whether or not objectives count among the candidates
  OutputQuality quality;
  bool baseline = false;  ///< what the others are compared with: no choice where another is as good an output
  double usd_per_hour = kNone;
  planner::Complexity complexity;
};

/// Makes a candidate, without a value, of a run's document.
[[nodiscard]] Candidate candidate_of(const Json& result, Asked asked);

/// Gives it the figure `metric`, which `figure` has by its path, with its interval: METRIC.half_width_95. What is
/// divided by tokens/s, or proportional to them, is as far off as they are.
void measure(Candidate& candidate, std::string_view metric, const std::function<double(std::string_view path)>& figure);

/// How candidates are ordered.
struct Order {
  bool less = false;  ///< less is better
  /// Outputs of full-KV decoding come first, then nearly lossless ones. Where slo.quality_floor or
  /// slo.functional_floor says which quality is enough, those that reach it are alike.
  bool quality_first = true;
  double tie = 0;  ///< values within this share of the best are even with it

  [[nodiscard]] bool better(double a, double b) const { return less ? a < b : a > b; }
  /// Whether quality comes first among these.
  [[nodiscard]] bool by_quality(const std::vector<Candidate>& candidates) const;
};

/// The property that decided among those that are even; first: they are as cheap and as simple, and it comes first.
enum class TieBreak : std::uint8_t { none, cheaper, simpler, first };

/// The best of some candidates.
struct Best {
  std::size_t chosen = 0;
  std::vector<std::size_t> even;        ///< the others that are not told from the best of them, ascending
  TieBreak by = TieBreak::none;         ///< why it goes before the best value; none: it has that itself
  TieBreak over_even = TieBreak::none;  ///< cheaper or simpler: what it is, other than some that are even with it
  bool with_interval = false;           ///< of the best value
  std::string within{};                 ///< what does not tell them apart: "within the 95 % intervals"
};

/// The best of those that compete, by which quality is asked for. None: nobody has the figure.
struct Bests {
  std::optional<Best> lossless;         ///< of those whose output is that of full-KV decoding
  std::optional<Best> nearly_lossless;  ///< of those and the nearly lossless
  std::optional<Best> highest_score;    ///< of those with the highest task score
  std::optional<Best> all;
};
/// Even with the best value is what its 95 % interval does not tell from it, where both have one, what prints alike,
/// and what lies within Order::tie. Of these the cheapest by the hour is chosen; of those within 1 % of its price,
/// beyond which memory in use tells prices apart, the simplest (planner::Complexity); of equal ones the first, so that
/// the first values of axes go before others. A price that one of them lacks decides nothing.
[[nodiscard]] Bests bests_of(const std::vector<Candidate>& candidates, const Order& order);

struct Choice {
  Best best;
  std::string quality;  ///< "with lossless output", "at a task score of 0.99 or more", "with the highest task score";
                        ///< empty: the best whatever the quality
};
/// The best lossless one; where that is a baseline, the best nearly lossless one; where nobody is that, the best of
/// those with the highest task score, so that nobody else is better in both. Where quality does not come first, the
/// best of all. None: nobody has the figure.
[[nodiscard]] std::optional<Choice> choose(const std::vector<Candidate>& candidates, const Order& order);

/// Candidates that are better than the chosen one where less quality is enough: words and position. The words are "at a
/// task score of 0.99 or more" and "whatever the quality". Empty where quality does not come first.
[[nodiscard]] std::vector<std::pair<std::string, std::size_t>> other_qualities(const std::vector<Candidate>& candidates,
                                                                               const Order& order);

/// All that have the figure, by how far they are behind, then by their figure.
[[nodiscard]] std::vector<std::size_t> by_figure(const std::vector<Candidate>& candidates, const Order& order);

/// The chosen one, then the others in the order of by_figure().
[[nodiscard]] std::vector<std::size_t> ranked(const std::vector<Candidate>& candidates, const Order& order);

/// How a list is ordered: "the chosen one first, then by the highest output tokens/s" of ranked(), where by_figure()
/// has another first, else "by the highest output tokens/s". `figure`: the name of the value.
[[nodiscard]] std::string order_words(const std::vector<Candidate>& candidates, const Order& order,
                                      const std::vector<std::size_t>& listed, std::string_view figure);

/// The rule that chose: "best", "cheapest of 4 even ones", "simplest of 4 even ones", "first of 4 even ones".
[[nodiscard]] std::string rule_words(const Best& best);

/// Whether nothing was chosen: all of so many candidates are even, and none is cheaper or simpler than another.
[[nodiscard]] bool none_chosen(const Best& best, std::size_t candidates);

/// Why candidates with a better figure than the chosen one's, which are not even with it, were passed over.
struct PassedOver {
  bool unsteady = false;     ///< some are in no steady state
  bool below_floor = false;  ///< some are below a floor of quality, or not known to reach it
  bool missed = false;       ///< some miss the objectives that the chosen one meets
  bool unfinished = false;   ///< of some no request finished
  bool lossy = false;        ///< the outputs of some lose more
};
[[nodiscard]] PassedOver passed_over(const std::vector<Candidate>& candidates, const Order& order,
                                     const Choice& choice);

/// " with lossless output that meets the objectives in a steady state": what sets the chosen one apart from those that
/// were passed over; empty where none was. `asks`: whether there are objectives.
[[nodiscard]] std::string passed_over_words(const std::vector<Candidate>& candidates, const Order& order,
                                            const Choice& choice, bool asks);

/// "even with it, within the 95 % intervals: points 4, 10; of these it is the cheapest"; empty where nothing is.
/// `even`: their names as one text.
[[nodiscard]] std::string even_words(const Best& best, const std::string& even);

/// "points 1, 2 and 4 more", "point 3": of a sweep, by number.
[[nodiscard]] std::string point_numbers(std::vector<std::size_t> points);

/// Whether an axis is over policies.
[[nodiscard]] bool is_policy(std::string_view path);

/// The points of a sweep with the policies of the first of them are its baselines. `sets`: what each point sets.
void mark_baselines(std::vector<Candidate>& candidates, const std::vector<Json>& sets);

}  // namespace kvsim::results
