#include "models/workload/arrivals.h"

#include <fmt/format.h>

#include <cmath>

#include "models/schema/error.h"
#include "models/schema/si.h"
#include "models/workload/limits.h"

namespace kvsim::models {
namespace {}  // namespace

std::string problem_with(const ArrivalSpec& spec) {
  if (!(spec.rate_per_s >= 1e-6 && spec.rate_per_s <= 1e9)) {
    return fmt::format("rate is {} requests/s, expected 1e-06 to 1e+09", spec.rate_per_s);
  }
  if (spec.kind == ArrivalKind::gamma && !(spec.cv > 0 && spec.cv <= 100)) {
    return fmt::format("cv is {}, expected above 0, at most 100", spec.cv);
  }
  return {};
}

ArrivalProcess::ArrivalProcess(const ArrivalSpec& spec) : spec_(spec) {
  if (const std::string problem = problem_with(spec_); !problem.empty()) throw schema::InputError(problem);
}

std::int64_t ArrivalProcess::next(RandomSource& random) {
  ++count_;
  const double mean_ns = kNsPerSecond / spec_.rate_per_s;
  double next_ns = 0;
  switch (spec_.kind) {
    case ArrivalKind::poisson:
      next_ns = static_cast<double>(now_ns_) + std::round(random.exponential(mean_ns));
      break;
    case ArrivalKind::gamma:
      next_ns = static_cast<double>(now_ns_) + std::round(random.gamma(mean_ns, spec_.cv));
      break;
    case ArrivalKind::constant:  // from the count, so that rounding does not add up
      next_ns = std::round(static_cast<double>(count_) * mean_ns);
      break;
  }
  if (!(next_ns <= static_cast<double>(max_arrival_ns))) {
    throw schema::InputError(fmt::format("request {} arrives after a hundred years, expected a higher rate", count_));
  }
  now_ns_ = static_cast<std::int64_t>(next_ns);
  return now_ns_;
}

}  // namespace kvsim::models
