#include "planner/sweep/base.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/infeasible.h"

namespace kvsim::planner::sweep {

scenario::Scenario load_point(const scenario::ScenarioFile& file, const Design& design, std::size_t point) {
  try {
    return file.load(design.changes(point));
  } catch (const scenario::UnworkableScenario&) {
    throw;
  } catch (const schema::InputError& error) {
    if (design.axes().size() < 2) throw;
    throw schema::InputError(fmt::format("{} (point {}: {})", error.what(), point, design.describe(point)));
  }
}

std::optional<scenario::Scenario> base_of(const scenario::ScenarioFile& file, const Design& design,
                                          const std::function<bool()>& proceed) {
  std::string problem;
  try {
    return file.load();
  } catch (const schema::InputError& error) {
    problem = error.what();
  }
  std::string reason;  // of the first point that cannot be simulated
  for (std::size_t point = 0; point < design.size(); ++point) {
    if (proceed && !proceed()) return std::nullopt;
    try {
      return load_point(file, design, point);
    } catch (const scenario::UnworkableScenario& error) {
      if (reason.empty()) reason = error.reason();
    } catch (const schema::InputError& error) {
      // What is wrong without any point's changes is not the point's fault.
      if (std::string_view(error.what()).starts_with(problem)) throw schema::InputError(problem);
      throw;
    }
  }
  throw Infeasible(fmt::format("no point of the sweep can be simulated; {}", reason));
}

}  // namespace kvsim::planner::sweep
