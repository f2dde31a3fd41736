// Token lengths of generated requests.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kvsim::models {

// Bounds that every workload obeys, whoever made it. They keep nonsense (a byte count read as a token count) out.

inline constexpr std::int64_t max_request_tokens = 10'000'000;
/// A hundred years: keeps sums of arrival times far from the end of the nanosecond clock.
inline constexpr std::int64_t max_arrival_ns = 3'155'760'000LL * 1'000'000'000LL;
/// The largest coefficient of variation of lengths, times and gaps.
inline constexpr double kMostCv = 100;
/// Limit of Zipf exponents: beyond it, all requests ask for the same thing.
inline constexpr double kSteepestPopularity = 10;

// Zipf's law as weights.

/// In proportion to the chance of what has this rank, from 1: 1/rank^exponent.
inline double zipf_weight(double rank, double exponent) {
  // The usual exponents, 0 and 1, do without pow(): the same on all platforms, to the last bit.
  if (exponent == 0) return 1;
  return exponent == 1 ? 1 / rank : std::pow(rank, -exponent);
}

// Where a workload's random numbers come from. models knows no engine, so it asks for draws through this interface; the
// engine's named streams satisfy it by RandomSourceOf.

class RandomSource {
 public:
  RandomSource() = default;
  RandomSource(const RandomSource&) = delete;
  RandomSource& operator=(const RandomSource&) = delete;
  virtual ~RandomSource() = default;

  virtual double uniform() = 0;                               ///< [0, 1)
  virtual double uniform_open() = 0;                          ///< (0, 1)
  virtual std::uint64_t below(std::uint64_t n) = 0;           ///< [0, n), n >= 1
  virtual double exponential(double mean) = 0;                ///< mean > 0
  virtual double normal() = 0;                                ///< mean 0, variance 1
  virtual double lognormal(double mean, double cv) = 0;       ///< of the values, not of their logarithms
  virtual double gamma(double mean, double cv) = 0;           ///< mean > 0, cv > 0
  virtual std::uint64_t zipf(std::uint64_t n, double s) = 0;  ///< rank in [0, n), P(k) proportional to 1/(k+1)^s
};

/// Any class with these members as a RandomSource; it owns its stream.
template <class Stream>
class RandomSourceOf final : public RandomSource {
 public:
  explicit RandomSourceOf(Stream stream) : stream_(std::move(stream)) {}

  double uniform() override { return stream_.uniform(); }
  double uniform_open() override { return stream_.uniform_open(); }
  std::uint64_t below(std::uint64_t n) override { return stream_.below(n); }
  double exponential(double mean) override { return stream_.exponential(mean); }
  double normal() override { return stream_.normal(); }
  double lognormal(double mean, double cv) override { return stream_.lognormal(mean, cv); }
  double gamma(double mean, double cv) override { return stream_.gamma(mean, cv); }
  std::uint64_t zipf(std::uint64_t n, double s) override { return stream_.zipf(n, s); }

 private:
  Stream stream_;
};

/// Laws of lengths and, but for the last, of times.
enum class Distribution { fixed, uniform, lognormal, exponential, gamma, empirical };

/// "fixed", ...: the word of a scenario's key.
[[nodiscard]] const char* word(Distribution distribution);
/// Whether its spread is a figure of its own.
[[nodiscard]] bool has_cv(Distribution distribution);

struct LengthSpec {
  Distribution distribution = Distribution::fixed;
  double mean = 1;                        ///< tokens; of fixed, lognormal, exponential, gamma before the bounds apply
  double cv = 1;                          ///< standard deviation / mean, of lognormal and gamma
  std::int64_t min = 1;                   ///< tokens, >= 1; the lower end of uniform
  std::int64_t max = max_request_tokens;  ///< tokens, >= min; the upper end of uniform (included)
  std::vector<std::int64_t> values{};     ///< of empirical: drawn with equal probability
};

/// Problem with the specification and what was expected; empty: none.
std::string problem_with(const LengthSpec& spec);

/// Draws lengths. A draw is rounded to whole tokens and clamped to [min, max]: clamping, unlike drawing again, takes
/// the same random numbers whatever the bounds, so that scenarios with other bounds stay comparable.
class LengthSampler {
 public:
  /// Throws schema::InputError with problem_with(spec).
  explicit LengthSampler(LengthSpec spec);

  /// A length in [max(1, min), max].
  std::int64_t sample(RandomSource& random) const;

  /// The expected length before clamping and rounding.
  [[nodiscard]] double mean() const;

  [[nodiscard]] const LengthSpec& spec() const { return spec_; }

 private:
  LengthSpec spec_;
};

// Times that somebody takes: a user who reads and writes, a tool that an agent waits for.

struct TimeSpec {
  Distribution distribution = Distribution::fixed;  ///< not empirical
  double mean_s = 0;                                ///< of all but uniform, before the bounds apply
  double cv = 1;                                    ///< standard deviation / mean, of lognormal and gamma
  double min_s = 0;                                 ///< shorter draws are raised to this; the lower end of uniform
  double max_s = 86400 * 30;                        ///< longer draws are cut to this; the upper end of uniform
};

/// Problem with the specification and what was expected; empty: none.
std::string problem_with(const TimeSpec& spec);

/// Draws times in whole nanoseconds.
class TimeSampler {
 public:
  /// Throws schema::InputError with problem_with(spec).
  explicit TimeSampler(const TimeSpec& spec);

  std::int64_t sample_ns(RandomSource& random) const;
  /// Mean of the law before the bounds apply, and within them, s.
  [[nodiscard]] double mean_s() const;

 private:
  TimeSpec spec_;
};

// Open-loop arrival processes. Times are whole nanoseconds, so that runs agree to the last bit across platforms.

enum class ArrivalKind {
  poisson,  ///< independent exponential gaps
  gamma,    ///< independent gamma gaps: bursty for cv > 1, regular for cv < 1
  constant  ///< equal gaps
};

/// "poisson", ...: the word of a scenario's key.
[[nodiscard]] const char* word(ArrivalKind kind);

/// A rate that changes, as a factor to its mean: by a table, or as a sine.
struct RateOverTime {
  struct Point {
    double at_s = 0;
    double rate_per_s = 0;
  };
  std::vector<Point> table{};  ///< in order of time, the first at 0; empty: a sine
  bool linear = false;         ///< between two points of the table the rate changes evenly; else in steps
  double period_s = 0;         ///< the table, or the sine, begins again; 0, of tables: the last rate stays
  double amplitude = 0;        ///< of a sine: 1 + amplitude sin(2 pi (t + phase) / period), in [0, 1]
  double phase_s = 0;          ///< of a sine

  /// Mean rate of the table over its period; of a table without one the rate of its last point, which lasts.
  /// Precondition: there is a table and nothing is wrong with it.
  [[nodiscard]] double mean_rate() const;
};

/// Problem with it and what was expected; empty: none.
std::string problem_with(const RateOverTime& rates);

struct ArrivalSpec {
  ArrivalKind kind = ArrivalKind::poisson;
  double rate_per_s = 1;                    ///< requests per second, > 0; with over_time: its mean
  double cv = 1;                            ///< of the gaps, of gamma; with over_time: where the rate is its mean
  std::optional<RateOverTime> over_time{};  ///< none: always the same
};

/// Problem with the specification and what was expected; empty: none.
std::string problem_with(const ArrivalSpec& spec);

/// The clock by which arrivals of a changing rate have the mean rate: it runs as fast as the rate is above its mean, so
/// that a process of that law with a constant rate, read on this clock, has the changing one. Where the rate is its
/// mean, the clock shows the time, to the nanosecond.
class RateClock {
 public:
  /// Throws schema::InputError with problem_with(rates).
  explicit RateClock(const RateOverTime& rates);

  /// When the clock shows `shown_ns`.
  [[nodiscard]] double time_ns(double shown_ns) const;

 private:
  [[nodiscard]] double within_period_ns(double shown_ns) const;
  [[nodiscard]] double sine_shown_ns(double time_ns) const;

  struct Piece {  // from one point of the table to the next
    double begin_ns = 0, shown_ns = 0;
    double factor = 1, factor_end = 1;  // rate over its mean, at both ends
    double length_ns = 0;               // infinite: the last one
  };
  RateOverTime rates_;
  std::vector<Piece> pieces_;  // of a table
};

/// Arrival times in order; the first comes one gap after time zero.
class ArrivalProcess {
 public:
  /// Throws schema::InputError with problem_with(spec).
  explicit ArrivalProcess(const ArrivalSpec& spec);

  /// The next arrival, in ns since the start. Throws schema::InputError past a hundred years.
  std::int64_t next(RandomSource& random);

 private:
  ArrivalSpec spec_;
  std::optional<RateClock> clock_;
  std::int64_t count_ = 0;
  std::int64_t now_ns_ = 0;  // on that clock
};

}  // namespace kvsim::models
