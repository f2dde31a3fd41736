// Profiles that rest on few queries are off by as much as so few say, for each method; profiling again adds queries.
#include "sim/cache/context_quality.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/placement/pools.h"

namespace kvsim::cache::KVSIM_FILE {
namespace {

constexpr models::Sensitivity kHalf{0.5, 0};  // every context loses half, far from both bounds
constexpr std::size_t kContexts = 4000;

models::PlacementSpec spec_with(double noise, std::int64_t queries) {
  models::PlacementSpec spec;
  spec.quality.advantage = spec.quality.disadvantage = 1;
  spec.profiling.noise = noise;
  spec.profiling.queries = queries;
  return spec;
}

struct Errors {
  double mean = 0, deviation = 0, correlation = 0;  ///< of two methods' losses with a tenth kept
};

/// After so many further profiles of each context.
Errors errors(const models::PlacementSpec& spec, int further) {
  const models::OptionPool pool = models::pool_of({"knorm", "keydiff"}, {0.1});
  ContextQuality quality(spec, pool, {kHalf}, nullptr, 1);
  double sum = 0, squares = 0, products = 0;
  for (std::size_t i = 0; i < kContexts; ++i) {
    const models::CurveIndex curve = quality.curve(i);
    for (int k = 0; k < further; ++k) quality.profile(curve, engine::SimTime{});
    const double a = 0.5 - static_cast<double>(quality.profiled().quality(curve, 1));
    const double b = 0.5 - static_cast<double>(quality.profiled().quality(curve, 2));
    EXPECT_EQ(quality.profiled().quality(curve, 0), 1.0F);
    sum += a;
    squares += a * a;
    products += a * b;
  }
  const double n = static_cast<double>(kContexts);
  return {sum / n, std::sqrt(squares / n), products / squares};
}

TEST(ContextQuality, ProfilesOfFewQueriesAreOffByTheirNoise) {
  const Errors one = errors(spec_with(0.1, 1), 0);
  EXPECT_NEAR(one.mean, 0, 0.006);
  EXPECT_NEAR(one.deviation, 0.1, 0.004);
  EXPECT_NEAR(one.correlation, 0, 0.06);  // each method's own
  EXPECT_NEAR(errors(spec_with(0.1, 4), 0).deviation, 0.05, 0.002);
  EXPECT_NEAR(errors(spec_with(0.1, 1), 3).deviation, 0.05, 0.002);  // four queries in four profiles
}

TEST(ContextQuality, WithoutNoiseProfilesAreRight) {
  EXPECT_LT(errors(spec_with(0, 1), 0).deviation, 1e-6);
}

}  // namespace
}  // namespace kvsim::cache::KVSIM_FILE
