// Functional correctness: the share of answers that are right as a whole, where a soft task score gives partial credit.
#pragma once

#include <array>
#include <cmath>
#include <limits>

namespace kvsim::models {

/// A measure of functional correctness, as keys and pages name it.
struct FunctionalTask {
  const char* key;          ///< in scenarios and results
  const char* name;         ///< on pages
  const char* description;  ///< of the share
};

/// VeriCache (paper 000), figures 3, 16 and 17.
inline constexpr std::array<FunctionalTask, 3> kFunctionalTasks{
    {{"calls", "calls", "function calls whose name and arguments match exactly"},
     {"code_format", "code format", "code changes that are a valid git diff"},
     {"completion", "completion", "constraints of a long generation that are satisfied"}}};

/// By task of kFunctionalTasks, relative to the full KV's share; not a number: not known.
using FunctionalScores = std::array<double, kFunctionalTasks.size()>;

/// The scores of an output of which nothing is published.
[[nodiscard]] inline FunctionalScores functional_unknown() {
  FunctionalScores scores;
  scores.fill(std::numeric_limits<double>::quiet_NaN());
  return scores;
}

/// The scores of full-KV decoding.
[[nodiscard]] inline FunctionalScores functional_of_full_kv() {
  FunctionalScores scores;
  scores.fill(1.0);
  return scores;
}

/// The least of the scores that are known; not a number where none is.
[[nodiscard]] inline double least_functional(const FunctionalScores& scores) {
  double least = std::numeric_limits<double>::quiet_NaN();
  for (const double score : scores) least = std::fmin(least, score);
  return least;
}

}  // namespace kvsim::models
