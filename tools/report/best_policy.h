// Which of several policies a comparison speaks for, and by which figure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/report/documents.h"
#include "tools/results/sweep.h"

namespace kvsim::report {

/// What policies are ranked by.
struct Criterion {
  std::string name;   ///< "output tokens/s"
  bool less = false;  ///< less is better
  double (*of)(const Json& result) = nullptr;
  std::string (*print)(double) = nullptr;
  std::string_view interval{};  ///< whose interval in `confidence` is its own; empty: none
  bool knows_quality = false;   ///< it counts good answers alone
};

/// Mean TTFT where prompts are stored, goodput where answers have scores, else output tokens/s.
[[nodiscard]] Criterion criterion_of(const Inputs::Compared& compared);

/// Whether what a user reads is that of full-KV decoding.
[[nodiscard]] bool is_lossless(const Json& result);

/// Its task score relative to the full KV's; not a number where it is not known.
[[nodiscard]] double score_of(const Json& result);

/// Output with at least this task score, relative to the full KV's, is called nearly lossless.
inline constexpr double kNearlyLossless = 0.99;

using results::kMetByEnough;

/// Whether so many of a run's requests met the objectives that it may be recommended; true where there are none.
[[nodiscard]] bool meets_objectives(const Json& result);

/// How far a run is behind others by what was asked for; by a value that counts good answers alone the floor of quality
/// does not count.
[[nodiscard]] results::Shortfall behind(const Json& result, bool asks_for_service, bool knows_quality);

/// One of those that are chosen among: a run of a comparison, or a point of a sweep.
struct Candidate {
  const Json* result = nullptr;
  double value = 0;           ///< by which they are ranked; not a number: it has no such figure
  results::Shortfall behind;  ///< by what was asked for, whatever its figure; those with the least compete
  bool baseline = false;      ///< what the others are compared with: no choice where another is as good an output
};

/// How the values of candidates are ordered.
struct Order {
  bool less = false;           ///< less is better
  bool knows_quality = false;  ///< the value counts good answers alone
  double tie = 0;              ///< a later one has to be better by more than this share

  [[nodiscard]] bool better(double a, double b) const { return less ? a < b : a > b; }
};

/// Positions of the best of those that compete. None: nobody has the figure.
struct Bests {
  std::optional<std::size_t> lossless;         ///< of those whose output is that of full-KV decoding
  std::optional<std::size_t> nearly_lossless;  ///< of those and the nearly lossless
  std::optional<std::size_t> highest_score;    ///< of those with the highest task score
  std::optional<std::size_t> all;
};
[[nodiscard]] Bests bests_of(const std::vector<Candidate>& candidates, const Order& order);

/// The best lossless one; where that is a baseline, the best nearly lossless one; where nobody is that, the best of
/// those with the highest task score, so that nobody else is better in both. By what knows quality, the best of all.
/// None: nobody has the figure.
[[nodiscard]] std::optional<std::size_t> chosen_of(const std::vector<Candidate>& candidates, const Order& order);

/// Which rule of the above chose it: "with lossless output", "at a task score of 0.99 or more", "with the highest task
/// score"; empty where it is the best whatever the quality.
[[nodiscard]] std::string quality_words(const std::vector<Candidate>& candidates, const Order& order,
                                        std::size_t chosen);

/// The policies of a comparison; the first is the baseline.
[[nodiscard]] std::vector<Candidate> candidates_of(const Inputs::Compared& compared);
[[nodiscard]] Order order_of(const Inputs::Compared& compared);

/// By the rule above; the baseline where nobody has the figure.
[[nodiscard]] std::size_t chosen_of(const Inputs::Compared& compared);

/// The best lossless policy if objectives did not count, where it misses them and is better than the chosen one; by a
/// value that knows quality the best of all.
[[nodiscard]] std::optional<std::size_t> outside_objectives(const Inputs::Compared& compared);

/// Speed-up of a policy by the criterion over the first.
[[nodiscard]] double gain_of(const Inputs::Compared& compared, std::size_t policy);

}  // namespace kvsim::report
