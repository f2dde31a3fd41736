#include "models/workload/distributions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>
#include <numeric>

#include "models/schema/error.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

bool has_mean(Distribution d) {
  return d != Distribution::uniform && d != Distribution::empirical;
}

/// Draw of a law with a mean, before bounds apply.
double drawn(Distribution d, double mean, double cv, RandomSource& random) {
  switch (d) {
    case Distribution::lognormal:
      return random.lognormal(mean, cv);
    case Distribution::exponential:
      return random.exponential(mean);
    case Distribution::gamma:
      return random.gamma(mean, cv);
    default:
      return mean;
  }
}

}  // namespace

const char* word(Distribution d) {
  constexpr std::array kWords{"fixed", "uniform", "lognormal", "exponential", "gamma", "empirical"};
  return kWords.at(static_cast<std::size_t>(d));
}

const char* word(ArrivalKind kind) {
  return kind == ArrivalKind::poisson ? "poisson" : kind == ArrivalKind::gamma ? "gamma" : "constant";
}

bool has_cv(Distribution d) {
  return d == Distribution::lognormal || d == Distribution::gamma;
}

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
  if (has_cv(spec.distribution) && !(spec.cv > 0 && spec.cv <= kMostCv)) {
    return fmt::format("cv is {}, expected above 0, at most {}", spec.cv, kMostCv);
  }
  if (spec.distribution == Distribution::empirical) {
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
  if (spec_.distribution == Distribution::uniform) {
    return spec_.min + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(spec_.max - spec_.min) + 1));
  }
  if (spec_.distribution == Distribution::empirical) {
    return std::clamp(spec_.values[random.below(spec_.values.size())], spec_.min, spec_.max);
  }
  const double tokens = drawn(spec_.distribution, spec_.mean, spec_.cv, random);
  // Clamped as a double first: a heavy tail may exceed 64 bits.
  const double bounded = std::clamp(tokens, static_cast<double>(spec_.min), static_cast<double>(spec_.max));
  return std::llround(bounded);
}

double LengthSampler::mean() const {
  switch (spec_.distribution) {
    case Distribution::uniform:
      return 0.5 * (static_cast<double>(spec_.min) + static_cast<double>(spec_.max));
    case Distribution::empirical:
      return std::accumulate(spec_.values.begin(), spec_.values.end(), 0.0) / static_cast<double>(spec_.values.size());
    default:
      return spec_.mean;
  }
}

std::string problem_with(const TimeSpec& spec) {
  if (spec.distribution == Distribution::empirical) return "empirical is a distribution of lengths alone";
  constexpr double most_s = 31'557'600;  // a year
  const bool uniform = spec.distribution == Distribution::uniform;
  if (!(spec.min_s >= 0 && spec.min_s <= most_s)) {
    return fmt::format("min is {} s, expected 0 to {}", spec.min_s, most_s);
  }
  if (!(spec.max_s >= spec.min_s && spec.max_s <= most_s)) {
    return fmt::format("max is {} s, expected {} (min) to {}", spec.max_s, spec.min_s, most_s);
  }
  const bool fixed = spec.distribution == Distribution::fixed;
  if (!uniform && !(spec.mean_s >= 0 && spec.mean_s <= most_s && (fixed || spec.mean_s > 0))) {
    return fmt::format("mean is {} s, expected {} to {}", spec.mean_s, fixed ? "0" : "above 0", most_s);
  }
  if (has_cv(spec.distribution) && !(spec.cv > 0 && spec.cv <= kMostCv)) {
    return fmt::format("cv is {}, expected above 0, at most {}", spec.cv, kMostCv);
  }
  return {};
}

TimeSampler::TimeSampler(const TimeSpec& spec) : spec_(spec) {
  if (const std::string problem = problem_with(spec_); !problem.empty()) throw schema::InputError(problem);
}

double TimeSampler::mean_s() const {
  const double mean_s = spec_.distribution == Distribution::uniform ? (spec_.min_s + spec_.max_s) / 2 : spec_.mean_s;
  return std::clamp(mean_s, spec_.min_s, spec_.max_s);
}

std::int64_t TimeSampler::sample_ns(RandomSource& random) const {
  const double time_s = spec_.distribution == Distribution::uniform
                            ? spec_.min_s + (spec_.max_s - spec_.min_s) * random.uniform()
                            : drawn(spec_.distribution, spec_.mean_s, spec_.cv, random);
  return std::llround(std::clamp(time_s, spec_.min_s, spec_.max_s) * kNsPerSecond);
}

namespace {

constexpr double kMostPeriod_s = 31'557'600;  // a year

std::string rate_text(double rate_per_s) {
  if (!std::isfinite(rate_per_s)) return fmt::format("{}/s", rate_per_s);
  return schema::format_real(schema::Dimension::rate, rate_per_s);
}

std::string problem_with_table(const RateOverTime& rates) {
  double before_s = -1;
  for (const RateOverTime::Point& point : rates.table) {
    if (before_s < 0 && point.at_s != 0) {
      return fmt::format("table begins at {} s, expected its first point at 0 s", point.at_s);
    }
    if (!(point.at_s > before_s && point.at_s <= kMostPeriod_s)) {
      return fmt::format("table has {} s after {} s, expected times that go up, to {} s", point.at_s, before_s,
                         kMostPeriod_s);
    }
    if (const double most = schema::usual_size(schema::Dimension::rate).most;
        !(point.rate_per_s >= 0 && point.rate_per_s <= most)) {
      return fmt::format("table has {}, expected {} to {}", rate_text(point.rate_per_s), rate_text(0), rate_text(most));
    }
    before_s = point.at_s;
  }
  if (rates.period_s != 0 && !(rates.period_s > before_s && rates.period_s <= kMostPeriod_s)) {
    return fmt::format("period is {} s, expected more than the {} s of the table's last point, to {}", rates.period_s,
                       before_s, kMostPeriod_s);
  }
  if (rates.period_s == 0 && rates.table.back().rate_per_s == 0) {
    return "table ends with a rate of 0, after which nothing would ever arrive: give period, or a last rate above 0";
  }
  if (!(rates.mean_rate() > 0)) return "the mean rate of the table is 0 over its period: expected arrivals in it";
  return {};
}

}  // namespace

std::string problem_with(const RateOverTime& rates) {
  if (!rates.table.empty()) {
    if (rates.amplitude != 0) return "amplitude belongs to a sine, and there is a table: remove one of them";
    if (rates.phase_s != 0) return "phase belongs to a sine, and there is a table: remove one of them";
    return problem_with_table(rates);
  }
  if (!(rates.amplitude > 0 && rates.amplitude <= 1)) {
    return fmt::format("amplitude is {}, expected above 0, at most 1 (or a table)", rates.amplitude);
  }
  if (rates.linear) return "linear belongs to a table, and there is none: remove it";
  if (!(rates.period_s > 0 && rates.period_s <= kMostPeriod_s)) {
    return fmt::format("period is {} s, expected above 0, at most {}", rates.period_s, kMostPeriod_s);
  }
  if (!(std::abs(rates.phase_s) <= kMostPeriod_s)) {
    return fmt::format("phase is {} s, expected -{} to {}", rates.phase_s, kMostPeriod_s, kMostPeriod_s);
  }
  return {};
}

double RateOverTime::mean_rate() const {
  if (period_s == 0) return table.back().rate_per_s;
  double least = table.front().rate_per_s, most = least, area = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double rate = table[i].rate_per_s;
    least = std::min(least, rate);
    most = std::max(most, rate);
    const bool last = i + 1 == table.size();
    // A period ends where it begins.
    const double next = last ? table.front().rate_per_s : table[i + 1].rate_per_s;
    const double length = (last ? period_s : table[i + 1].at_s) - table[i].at_s;
    area += length * (linear ? 0.5 * (rate + next) : rate);
  }
  return least == most ? least : area / period_s;  // to the last bit where it never changes
}

RateClock::RateClock(const RateOverTime& rates) : rates_(rates) {
  if (const std::string problem = problem_with(rates_); !problem.empty()) throw schema::InputError(problem);
  if (rates_.table.empty()) return;
  const double mean = rates_.mean_rate();
  double shown_ns = 0;
  for (std::size_t i = 0; i < rates_.table.size(); ++i) {
    const RateOverTime::Point& point = rates_.table[i];
    const bool last = i + 1 == rates_.table.size();
    Piece piece;
    piece.begin_ns = point.at_s * kNsPerSecond;
    piece.shown_ns = shown_ns;
    piece.factor = piece.factor_end = point.rate_per_s / mean;
    const double next = last ? rates_.table.front().rate_per_s : rates_.table[i + 1].rate_per_s;
    if (last && rates_.period_s == 0) {
      piece.length_ns = std::numeric_limits<double>::infinity();
    } else {
      piece.length_ns = (last ? rates_.period_s : rates_.table[i + 1].at_s) * kNsPerSecond - piece.begin_ns;
      if (rates_.linear) piece.factor_end = next / mean;
      shown_ns += piece.length_ns * 0.5 * (piece.factor + piece.factor_end);
    }
    pieces_.push_back(piece);
  }
}

double RateClock::time_ns(double shown_ns) const {
  if (rates_.period_s == 0) return within_period_ns(shown_ns);
  // In a period the clock goes on by a period.
  const double period_ns = rates_.period_s * kNsPerSecond;
  const double periods = std::floor(shown_ns / period_ns);
  return periods * period_ns + within_period_ns(shown_ns - periods * period_ns);
}

double RateClock::sine_shown_ns(double time_ns) const {
  const double period_ns = rates_.period_s * kNsPerSecond;
  const double per_ns = 2 * std::numbers::pi / period_ns;
  const double phase = per_ns * rates_.phase_s * kNsPerSecond;
  return time_ns + rates_.amplitude / per_ns * (std::cos(phase) - std::cos(per_ns * time_ns + phase));
}

double RateClock::within_period_ns(double shown_ns) const {
  if (pieces_.empty()) {  // it never goes back, and is never further from the time than this
    const double furthest = rates_.amplitude * rates_.period_s * kNsPerSecond / std::numbers::pi;
    double low = std::floor(shown_ns - furthest) - 1, high = std::ceil(shown_ns + furthest) + 1;
    while (high - low > 1) {
      const double middle = std::floor((low + high) / 2);
      (sine_shown_ns(middle) < shown_ns ? low : high) = middle;
    }
    return high;
  }
  const auto after = std::find_if(pieces_.begin() + 1, pieces_.end(),
                                  [shown_ns](const Piece& piece) { return shown_ns <= piece.shown_ns; });
  const Piece& piece = *(after - 1);
  const double more_ns = shown_ns - piece.shown_ns;
  if (more_ns <= 0) return piece.begin_ns;
  if (piece.factor == piece.factor_end) return piece.begin_ns + std::min(piece.length_ns, more_ns / piece.factor);
  // more = f t + slope t^2 / 2, solved so that nothing cancels.
  const double slope = (piece.factor_end - piece.factor) / piece.length_ns;
  const double root = std::sqrt(std::max(0.0, piece.factor * piece.factor + 2 * slope * more_ns));
  return piece.begin_ns + std::min(piece.length_ns, 2 * more_ns / (piece.factor + root));
}

std::string problem_with(const ArrivalSpec& spec) {
  const schema::UsualSize sizes = schema::usual_size(schema::Dimension::rate);
  if (!(spec.rate_per_s >= sizes.least && spec.rate_per_s <= sizes.most)) {
    return fmt::format("rate is {}, expected {} to {}", rate_text(spec.rate_per_s), rate_text(sizes.least),
                       rate_text(sizes.most));
  }
  if (spec.kind == ArrivalKind::gamma && !(spec.cv > 0 && spec.cv <= kMostCv)) {
    return fmt::format("cv is {}, expected above 0, at most {}", spec.cv, kMostCv);
  }
  if (!spec.over_time) return {};
  const std::string problem = problem_with(*spec.over_time);
  return problem.empty() ? problem : "over_time: " + problem;
}

ArrivalProcess::ArrivalProcess(const ArrivalSpec& spec) : spec_(spec) {
  if (const std::string problem = problem_with(spec_); !problem.empty()) throw schema::InputError(problem);
  if (spec_.over_time) clock_.emplace(*spec_.over_time);
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
  return clock_ ? std::llround(clock_->time_ns(next_ns)) : now_ns_;
}

}  // namespace kvsim::models
