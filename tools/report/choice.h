// Which of several policies a comparison speaks for, and by which figure.
#pragma once

#include <optional>
#include <string>

#include "tools/report/input.h"

namespace kvsim::report {

/// What policies are ranked by.
struct Criterion {
  std::string name;   ///< "output tokens/s"
  bool less = false;  ///< less is better
  double (*of)(const Json& result) = nullptr;
  std::string (*print)(double) = nullptr;
};

/// Mean TTFT where prompts are stored, goodput where answers have scores, else output tokens/s.
[[nodiscard]] Criterion criterion_of(const Inputs::Compared& compared);

/// Whether what a user reads is that of full-KV decoding.
[[nodiscard]] bool is_lossless(const Json& result);

/// Position of the best by the criterion: of all, or of those whose output is lossless. None: nobody has the figure.
[[nodiscard]] std::optional<std::size_t> best_of(const Inputs::Compared& compared, bool lossless_only);

/// The best lossless policy that is not the baseline, if it beats the baseline; else the best of all.
[[nodiscard]] std::size_t chosen_of(const Inputs::Compared& compared);

/// Speed-up of a policy by the criterion over the first.
[[nodiscard]] double gain_of(const Inputs::Compared& compared, std::size_t policy);

}  // namespace kvsim::report
