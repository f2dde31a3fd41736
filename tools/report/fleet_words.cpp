#include "tools/report/fleet_words.h"

#include <cmath>

#include <fmt/format.h>

#include "tools/report/tables.h"
#include "tools/results/numbers.h"

namespace kvsim::report {

std::string pooling(const Json& capacity, const Json& configuration) {
  const double rate = number_or_nan(capacity, {"rate_required"});
  const double alone = number_or_nan(configuration, {"rate_per_replica"});
  const double replicas = number_or_nan(configuration, {"fleet", "replicas"});
  if (!(rate > alone * replicas)) return {};
  return fmt::format(
      "\nThat is more than {} times the {} requests/s of a replica alone: in a fleet each request goes to the "
      "least loaded replica, so queues stay short at a higher load.",
      plain(replicas), results::figure(alone));
}

std::string at_least(double share) {
  constexpr double parts = 1e4;
  return std::isfinite(share) ? fmt::format("{:.2f} %", std::floor(share * parts + 1e-9) / parts * 100) : "-";
}

}  // namespace kvsim::report
