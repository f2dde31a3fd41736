#include "planner/capacity/attainment.h"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/binomial.hpp>

#include "sim/engine/statistics.h"

namespace kvsim::planner::capacity {
namespace {

double met_share(std::span<const std::uint8_t> verdicts) {
  const auto met = std::count(verdicts.begin(), verdicts.end(), std::uint8_t{0});
  return static_cast<double>(met) / static_cast<double>(verdicts.size());
}

/// Attainments of equal batches of one run; a remainder at the start is dropped.
std::vector<double> batch_shares(std::span<const std::uint8_t> verdicts) {
  std::vector<double> shares;
  const std::size_t length = verdicts.size() / kBatches;
  if (length == 0) return shares;
  for (std::size_t i = 0; i < kBatches; ++i) {
    shares.push_back(met_share(verdicts.subspan(verdicts.size() - (kBatches - i) * length, length)));
  }
  return shares;
}

double student_lower_bound(std::span<const double> shares, double confidence) {
  engine::Sample sample;
  for (const double share : shares) sample.add(share);
  const auto n = static_cast<double>(shares.size());
  return sample.mean() -
         engine::student_t_quantile(confidence, n - 1) * std::sqrt(std::max(sample.variance(), 0.0) / n);
}

}  // namespace

Attainment attainment_of(std::span<const Verdicts> replications, double confidence) {
  Attainment a;
  std::vector<double> shares;
  for (const Verdicts& verdicts : replications) {
    if (verdicts.empty()) continue;
    a.requests += verdicts.size();
    a.misses += static_cast<std::uint64_t>(
        std::count_if(verdicts.begin(), verdicts.end(), [](std::uint8_t v) { return v != 0; }));
    shares.push_back(met_share(verdicts));
  }
  if (a.requests == 0) return a;
  const auto met = static_cast<double>(a.requests - a.misses);
  a.share = met / static_cast<double>(a.requests);
  if (shares.size() == 1) {
    for (const Verdicts& verdicts : replications) {
      if (!verdicts.empty()) shares = batch_shares(verdicts);
    }
  }
  a.observations = shares.size();
  if (shares.size() < 2) return a;
  const double binomial = boost::math::binomial_distribution<>::find_lower_bound_on_p(static_cast<double>(a.requests),
                                                                                      met, 1.0 - confidence);
  a.lower = std::clamp(std::min(binomial, student_lower_bound(shares, confidence)), 0.0, 1.0);
  return a;
}

}  // namespace kvsim::planner::capacity
