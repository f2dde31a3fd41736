#include "planner/paths/expected_rounds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace kvsim::planner {
namespace {

constexpr std::int64_t kExact = 65536;
constexpr std::size_t kBeta = 64;  // agreements that stand for a Beta distribution,
constexpr double kSpreads = 8;     // within so many standard deviations

/// Requests of `tokens` output tokens, and their share of all.
struct OutputShare {
  std::int64_t tokens = 1;
  double share = 1;
};
using Outputs = std::vector<OutputShare>;  // ascending, none twice

/// `survives[i]`: the first i drafts are all accepted, 0 <= i <= x.
ExpectedRounds by_recursion(const std::vector<double>& survives, const Outputs& outputs) {
  const auto x = static_cast<std::int64_t>(survives.size()) - 1;
  const std::int64_t exact = std::min(outputs.back().tokens, kExact);
  std::vector<ExpectedRounds> by_left(static_cast<std::size_t>(exact) + 1);
  for (std::int64_t left = 1; left <= exact; ++left) {
    const std::int64_t drafts = std::min(x, left);
    ExpectedRounds& sum = by_left[static_cast<std::size_t>(left)];
    sum = {1, static_cast<double>(drafts)};
    for (std::int64_t accepted = 0; accepted <= drafts && left - accepted - 1 > 0; ++accepted) {
      const auto i = static_cast<std::size_t>(accepted);
      const double probability = accepted < drafts ? survives[i] - survives[i + 1] : survives[i];
      const ExpectedRounds& rest = by_left[static_cast<std::size_t>(left - accepted - 1)];
      sum.rounds += probability * rest.rounds;
      sum.drafts += probability * rest.drafts;
    }
  }
  double yield = 0;
  for (const double s : survives) yield += s;  // A(x) + 1
  ExpectedRounds mean;
  for (const auto& [tokens, share] : outputs) {
    const ExpectedRounds& known = by_left[static_cast<std::size_t>(std::min(tokens, exact))];
    const double more = static_cast<double>(tokens - std::min(tokens, exact)) / yield;
    mean.rounds += share * (known.rounds + more);
    mean.drafts += share * (known.drafts + more * static_cast<double>(x));
  }
  return mean;
}

std::vector<double> geometric(double agreement, std::int64_t x) {
  std::vector<double> survives{1};
  for (std::int64_t i = 0; i < x; ++i) survives.push_back(survives.back() * agreement);
  return survives;
}

/// A request keeps its agreement from round to round, so that its rounds are independent only for a given one.
ExpectedRounds over_beta(double p, double q, std::int64_t x, const Outputs& outputs) {
  const double mean = p / (p + q), spread = kSpreads * std::sqrt(mean * (1 - mean) / (p + q + 1));
  const double from = std::asin(std::sqrt(std::max(0.0, mean - spread)));
  const double to = std::asin(std::sqrt(std::min(1.0, mean + spread)));
  // Evenly in the angle, a = sin^2: dense towards 0 and 1, where the density may have its poles.
  const auto log_density = [p, q](double angle) {
    return (2 * p - 1) * std::log(std::sin(angle)) + (2 * q - 1) * std::log(std::cos(angle));
  };
  const double at_mean = log_density(std::asin(std::sqrt(mean)));  // so that it stays in range
  ExpectedRounds sum;
  double weights = 0;
  for (std::size_t i = 0; i < kBeta; ++i) {
    const double angle = from + (to - from) * (static_cast<double>(i) + 0.5) / kBeta;
    const double weight = std::exp(log_density(angle) - at_mean);
    const ExpectedRounds one = by_recursion(geometric(std::pow(std::sin(angle), 2), x), outputs);
    sum.rounds += weight * one.rounds;
    sum.drafts += weight * one.drafts;
    weights += weight;
  }
  return {sum.rounds / weights, sum.drafts / weights};
}

ExpectedRounds over(const models::AcceptanceModel& acceptance, std::int64_t x, const Outputs& outputs) {
  if (acceptance.heterogeneous()) return over_beta(acceptance.beta_a(), acceptance.beta_b(), x, outputs);
  std::vector<double> survives;
  for (std::int64_t i = 0; i <= x; ++i) survives.push_back(acceptance.survival(i));
  return by_recursion(survives, outputs);
}

}  // namespace

ExpectedRounds expected_rounds(const models::AcceptanceModel& acceptance, std::int64_t x, std::int64_t K) {
  return over(acceptance, x, {{K, 1}});
}

ExpectedRounds expected_rounds(const models::AcceptanceModel& acceptance, std::int64_t x,
                               const std::vector<double>& outputs) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const double tokens : outputs) counts[std::max<std::int64_t>(1, std::llround(tokens))] += 1;
  Outputs shares;
  for (const auto& [tokens, count] : counts) {
    shares.push_back({tokens, static_cast<double>(count) / static_cast<double>(outputs.size())});
  }
  return over(acceptance, x, shares);
}

}  // namespace kvsim::planner
