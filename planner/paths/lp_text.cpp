#include "planner/paths/lp_text.h"

#include <sstream>

#include <fmt/format.h>

namespace kvsim::planner {

std::string lp_text(const PathLp& lp, double tokens_per_request, const std::string& remarks) {
  std::string text;
  std::istringstream lines(remarks);
  for (std::string line; std::getline(lines, line);) text += fmt::format("\\ {}\n", line);
  const auto sum = [&lp](const auto& coefficient) {
    std::string terms;
    for (const Path path : kAllPaths) {
      const double value = coefficient(static_cast<std::size_t>(path));
      if (!lp.allowed[static_cast<std::size_t>(path)] || value == 0) continue;
      terms += fmt::format("{}{} {}", terms.empty() ? "" : " + ", value, path_name(path));
    }
    return terms;
  };
  text += fmt::format("Maximize\n tokens_per_s: {}\n", sum([&](std::size_t) { return tokens_per_request; }));
  text += "Subject To\n";
  for (const Resource resource : kAllResources) {
    const auto r = static_cast<std::size_t>(resource);
    const std::string terms = sum([&](std::size_t i) { return lp.costs[i][r]; });
    if (!terms.empty()) text += fmt::format(" {}: {} <= {}\n", resource_name(resource), terms, lp.limits[r]);
  }
  return text + "End\n";
}

}  // namespace kvsim::planner
