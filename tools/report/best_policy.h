// Which of several policies a comparison speaks for, and by which figure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

/// Output with at least this task score, relative to the full KV's, is called nearly lossless.
inline constexpr double kNearlyLossless = 0.99;

using results::kMetByEnough;

/// Whether so many of a run's requests met the objectives that it may be recommended; true where there are none.
[[nodiscard]] bool meets_objectives(const Json& result);

/// Positions of the best by the criterion, of those that meet the objectives in a steady state; where nobody does, of
/// those in a steady state; where none is, of all. None: nobody has the figure.
struct Bests {
  std::optional<std::size_t> lossless;         ///< of those whose output is that of full-KV decoding
  std::optional<std::size_t> nearly_lossless;  ///< of those and the nearly lossless
  std::optional<std::size_t> all;
  std::optional<std::size_t> outside;  ///< the best lossless one if objectives did not count, where it misses them
};
[[nodiscard]] Bests bests_of(const Inputs::Compared& compared);

/// The best lossless policy; where that is the baseline, the best nearly lossless one. By goodput, which knows quality,
/// the best of all.
[[nodiscard]] std::size_t chosen_of(const Inputs::Compared& compared);

/// Speed-up of a policy by the criterion over the first.
[[nodiscard]] double gain_of(const Inputs::Compared& compared, std::size_t policy);

}  // namespace kvsim::report
