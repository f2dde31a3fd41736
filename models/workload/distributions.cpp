#include "models/workload/distributions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/schema/error.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

bool has_mean(LengthDistribution d) {
  return d != LengthDistribution::uniform && d != LengthDistribution::empirical;
}

bool has_cv(LengthDistribution d) {
  return d == LengthDistribution::lognormal || d == LengthDistribution::gamma;
}

}  // namespace

std::string problem_with(const LengthSpec& spec) {
  if (spec.min < 1 || spec.min > max_request_tokens) {
    return fmt::format("min is {} tokens, expected 1 to {}", spec.min, max_request_tokens);
  }
  if (spec.max < spec.min || spec.max > max_request_tokens) {
    return fmt::format("max is {} tokens, expected {} (min) to {}", spec.max, spec.min, max_request_tokens);
  }
  if (has_mean(spec.distribution) && !(spec.mean >= 1 && spec.mean <= static_cast<double>(max_request_tokens))) {
    return fmt::format("mean is {} tokens, expected 1 to {}", spec.mean, max_request_tokens);
  }
  if (has_cv(spec.distribution) && !(spec.cv > 0 && spec.cv <= 100)) {
    return fmt::format("cv is {}, expected above 0, at most 100", spec.cv);
  }
  if (spec.distribution == LengthDistribution::empirical) {
    if (spec.values.empty()) return "values is empty, expected at least one length";
    for (const std::int64_t v : spec.values) {
      if (v < 1 || v > max_request_tokens) {
        return fmt::format("values has {} tokens, expected 1 to {}", v, max_request_tokens);
      }
    }
  }
  return {};
}

LengthSampler::LengthSampler(LengthSpec spec) : spec_(std::move(spec)) {
  if (const std::string problem = problem_with(spec_); !problem.empty()) throw schema::InputError(problem);
}

std::int64_t LengthSampler::sample(RandomSource& random) const {
  double tokens = spec_.mean;
  switch (spec_.distribution) {
    case LengthDistribution::fixed:
      break;
    case LengthDistribution::uniform:
      return spec_.min + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(spec_.max - spec_.min) + 1));
    case LengthDistribution::lognormal:
      tokens = random.lognormal(spec_.mean, spec_.cv);
      break;
    case LengthDistribution::exponential:
      tokens = random.exponential(spec_.mean);
      break;
    case LengthDistribution::gamma:
      tokens = random.gamma(spec_.mean, spec_.cv);
      break;
    case LengthDistribution::empirical:
      return std::clamp(spec_.values[random.below(spec_.values.size())], spec_.min, spec_.max);
  }
  // Clamped as a double first: a heavy tail may exceed 64 bits.
  const double bounded = std::clamp(tokens, static_cast<double>(spec_.min), static_cast<double>(spec_.max));
  return std::llround(bounded);
}

double LengthSampler::mean() const {
  switch (spec_.distribution) {
    case LengthDistribution::uniform:
      return 0.5 * (static_cast<double>(spec_.min) + static_cast<double>(spec_.max));
    case LengthDistribution::empirical:
      return std::accumulate(spec_.values.begin(), spec_.values.end(), 0.0) / static_cast<double>(spec_.values.size());
    default:
      return spec_.mean;
  }
}

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
