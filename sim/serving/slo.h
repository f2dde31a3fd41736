// Latency objectives: limits of times by metric and percentile, and what a request has missed of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvsim::serving {

/// A time of a request that objectives limit.
enum class SloMetric : std::uint8_t { ttft, tpot, itl, e2e };

struct SloMetricEntry {
  SloMetric metric;
  const char* key;          ///< "ttft", of "ttft_p99"
  const char* name;         ///< "TTFT"
  const char* description;  ///< "time to first token"
};

/// All metrics that objectives may limit, by their numbers.
inline constexpr std::array<SloMetricEntry, 4> kSloMetrics{
    {{SloMetric::ttft, "ttft", "TTFT", "time to first token"},
     {SloMetric::tpot, "tpot", "TPOT", "time per output token, (E2E - TTFT)/(output tokens - 1)"},
     {SloMetric::itl, "itl", "ITL", "the request's largest gap between tokens"},
     {SloMetric::e2e, "e2e", "E2E", "arrival to last token"}}};

/// All percentiles that objectives may be of, ascending.
inline constexpr std::array<int, 4> kSloPercentiles{50, 90, 95, 99};

/// The share of requests that a percentile of kSloPercentiles asks for, by its number there: 0.95 of p95.
[[nodiscard]] constexpr double slo_share(std::size_t percentile) {
  constexpr double kPercent = 100;
  return kSloPercentiles.at(percentile) / kPercent;
}

/// "p95", of the percentile with this number in kSloPercentiles.
[[nodiscard]] std::string percentile_name(std::size_t percentile);

/// Which objectives a request missed: one bit for each limit, then the bits of Miss::refused and Miss::unfinished, then
/// one for each percentile that was not decided when the run ended. 0: the request met them all.
using Verdict = std::uint32_t;

/// Why a request does not meet its objectives; the first four by the numbers of SloMetric.
enum class Miss : std::uint8_t {
  ttft,
  tpot,
  itl,
  e2e,
  refused,    ///< could never run on this cluster
  unfinished  ///< the run ended before it did, and what it had experienced did not decide all
};

/// The bit of a limit, by metric and number in kSloPercentiles.
[[nodiscard]] constexpr Verdict limit_bit(std::size_t metric, std::size_t percentile) {
  return Verdict{1} << (metric * kSloPercentiles.size() + percentile);
}

inline constexpr std::size_t kSloLimits = kSloMetrics.size() * kSloPercentiles.size();

/// The bits of which one says that a request missed for this reason.
[[nodiscard]] constexpr Verdict miss_bits(Miss miss) {
  if (miss == Miss::refused) return Verdict{1} << kSloLimits;
  if (miss == Miss::unfinished) return Verdict{1} << (kSloLimits + 1);
  Verdict bits = 0;
  for (std::size_t p = 0; p < kSloPercentiles.size(); ++p) bits |= limit_bit(static_cast<std::size_t>(miss), p);
  return bits;
}

/// Set where a request that had not finished might still have missed limits of this percentile.
[[nodiscard]] constexpr Verdict open_bit(std::size_t percentile) {
  return Verdict{1} << (kSloLimits + 2 + percentile);
}

/// The bits of which one says that a request missed a percentile's limits, a number in kSloPercentiles.
[[nodiscard]] constexpr Verdict percentile_bits(std::size_t percentile) {
  Verdict bits = open_bit(percentile) | miss_bits(Miss::refused);
  for (std::size_t m = 0; m < kSloMetrics.size(); ++m) bits |= limit_bit(m, percentile);
  return bits;
}

/// The bits of which one says that a request missed any limit, or was not decided.
inline constexpr Verdict kAnyMiss = ~Verdict{0};

/// One limit: at least the percentile's share of requests stay within it.
struct SloObjective {
  SloMetric metric = SloMetric::ttft;
  std::size_t percentile = 0;  ///< number in kSloPercentiles
  double limit_s = 0;
};

/// Objectives of a service. A percentile asks that its share of requests stays within all of its limits at once.
struct SloConfig {
  /// Limits in seconds, by SloMetric, then by number in kSloPercentiles; none: not asked for.
  std::array<std::array<std::optional<double>, kSloPercentiles.size()>, kSloMetrics.size()> limits_s{};
  /// Least score of an answer / mean score with all of the prompt computed, for it to count as goodput.
  std::optional<double> quality_floor{};
  /// Least functional correctness relative to full KV, of the task that is known with the least, for an answer to count
  /// as goodput; an answer of which it is not known does not.
  std::optional<double> functional_floor{};

  /// The limit of a metric at a percentile of kSloPercentiles. Throws std::out_of_range for another percentile.
  [[nodiscard]] std::optional<double>& limit(SloMetric metric, int percentile);

  /// All limits, by metric, then by percentile.
  [[nodiscard]] std::vector<SloObjective> objectives() const;
  /// Whether any limit is set.
  [[nodiscard]] bool any() const;
  /// Whether a limit of this metric is set.
  [[nodiscard]] bool limits(SloMetric metric) const { return longest_s(metric).has_value(); }
  /// The longest limit of this metric, which the fewest requests may exceed; none where none is set.
  [[nodiscard]] std::optional<double> longest_s(SloMetric metric) const;
  /// Whether a limit of this percentile, a number in kSloPercentiles, is set.
  [[nodiscard]] bool asks(std::size_t percentile) const;
};

/// The key of a limit: "ttft_p99".
[[nodiscard]] std::string slo_key(SloMetric metric, std::size_t percentile);

/// The name of a limit on pages: "TTFT p99", with `between` its two parts.
[[nodiscard]] std::string slo_name(const SloObjective& objective, char between = ' ');

/// The keys of all limits, by metric, then by percentile.
[[nodiscard]] std::vector<std::string> slo_keys();

/// "ttft, tpot, itl or e2e with _p50, _p90, _p95 or _p99, such as ttft_p95": what a key of a limit is made of.
[[nodiscard]] std::string expected_slo_keys();

}  // namespace kvsim::serving
