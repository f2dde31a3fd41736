#include "tools/cli/capacity_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "models/schema/units.h"

namespace kvsim::cli {
namespace {

using schema::InputError;

}  // namespace

schema::Assignment objective_from_user(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) {
    throw InputError(fmt::format("--slo {}: expected an objective and its limit such as ttft_p99=2s", assignment));
  }
  const std::string name = assignment.substr(0, equals);
  const std::vector<std::string> names = objective_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw InputError(
        fmt::format("--slo {}: unknown objective \"{}\"; expected {}", assignment, name, serving::expected_slo_keys()));
  }
  try {
    const std::string limit = assignment.substr(equals + 1);
    if (!(schema::parse_time(limit) > 0)) throw schema::UnitError("a limit must be above 0 s");
    return {"slo." + name, limit, schema::Origin("--slo " + assignment)};
  } catch (const schema::UnitError& e) {
    throw InputError(fmt::format("--slo {}: {}", assignment, e.what()));
  }
}

std::vector<std::string> objective_names() {
  return serving::slo_keys();
}

double rate_from_user(const std::string& option, const std::string& text) {
  try {
    models::ArrivalSpec arrivals;
    arrivals.rate_per_s = schema::parse_rate(text);
    if (!(arrivals.rate_per_s > 0)) throw schema::UnitError("a rate must be above 0/s");
    if (const std::string problem = problem_with(arrivals); !problem.empty()) throw schema::UnitError(problem);
    return arrivals.rate_per_s;
  } catch (const schema::UnitError& e) {
    throw InputError(fmt::format("{} {}: {}", option, text, e.what()));
  }
}

double share_from_user(const std::string& option, const std::string& text) {
  try {
    const double share = schema::parse_number(text);
    if (share > 0 && share < 1) return share;
    throw schema::UnitError(
        fmt::format("expected a share above 0 and below 1 such as 0.99{}", schema::meant_share(share)));
  } catch (const schema::UnitError& e) {
    throw InputError(fmt::format("{} {}: {}", option, text, e.what()));
  }
}

planner::capacity::TierSizes sizes_from_user(const std::string& option, const std::string& tier,
                                             const std::string& list) {
  planner::capacity::TierSizes sizes{tier, {}};
  for (const std::string& item : names_from_user(option, list)) {
    try {
      const std::int64_t bytes = schema::parse_bytes(item);
      if (bytes <= 0) throw schema::UnitError("a size must be above 0 B");
      if (std::find(sizes.bytes.begin(), sizes.bytes.end(), bytes) != sizes.bytes.end()) {
        throw schema::UnitError(fmt::format("{} is there twice", item));
      }
      sizes.bytes.push_back(bytes);
    } catch (const schema::UnitError& e) {
      throw InputError(fmt::format("{} {}: {}", option, list, e.what()));
    }
  }
  return sizes;
}

planner::capacity::TierSizes storage_from_user(const std::string& option, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError(fmt::format("{} {}: expected a tier of cluster.storage and its capacities such as ssd=400GB,800GB",
                                 option, assignment));
  }
  const std::string tier = assignment.substr(0, equals);
  if (tier == planner::capacity::kHostTier) {
    throw InputError(fmt::format("{} {}: host memory is no storage: use --memory {}", option, assignment,
                                 assignment.substr(equals + 1)));
  }
  return sizes_from_user(fmt::format("{} {}", option, tier), tier, assignment.substr(equals + 1));
}

std::vector<std::string> names_from_user(const std::string& option, const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  for (auto item = items.begin(); item != items.end(); ++item) {
    if (item->empty()) throw InputError(fmt::format("{} {}: a name is empty", option, list));
    if (std::find(items.begin(), item, *item) != item) {
      throw InputError(fmt::format("{}: {} is there twice", option, *item));
    }
  }
  return items;
}

}  // namespace kvsim::cli
