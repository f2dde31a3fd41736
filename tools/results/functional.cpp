#include "tools/results/functional.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kvsim::results {

std::string functional_words(const models::FunctionalScores& scores) {
  std::vector<std::string> known;
  for (std::size_t task = 0; task < scores.size(); ++task) {
    if (std::isfinite(scores[task])) {
      known.push_back(fmt::format("{} {:.3f}", models::kFunctionalTasks[task].name, scores[task]));
    }
  }
  if (known.empty()) return std::string(kFunctionalUnknown);
  return fmt::format("functional correctness: {}", fmt::join(known, ", "));
}

std::string functional_text(bool lossless, double least) {
  if (lossless) return "lossless";
  return std::isfinite(least) ? fmt::format("{:.3f}", least) : "not known";
}

models::FunctionalScores functional_of(const Json& result) {
  models::FunctionalScores scores = models::functional_unknown();
  for (std::size_t task = 0; task < scores.size(); ++task) {
    const Json::json_pointer path(fmt::format("/quality/functional/{}", models::kFunctionalTasks[task].key));
    if (result.contains(path) && result.at(path).is_number()) scores[task] = result.at(path).get<double>();
  }
  return scores;
}

std::string functional_note(std::string_view column) {
  std::vector<std::string> names;
  for (const models::FunctionalTask& task : models::kFunctionalTasks) names.emplace_back(task.name);
  return fmt::format(
      "{}: answers that are right as a whole over those of full KV, the least that is published of {}; where none is, "
      "{}",
      column, fmt::join(names, ", "), kFunctionalUnknown);
}

}  // namespace kvsim::results
