// Whatever the figures: survival functions are survival functions, and agreeing more never accepts less.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "models/acceptance/acceptance.h"
#include "tests/models/acceptance_kinds.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

double any_share(int from, int to) {
  return *rc::gen::inRange(from, to) / 1000.0;
}

RC_GTEST_PROP(AcceptanceProperty, AtTheSameDrawAHigherAgreementNeverAcceptsLess, ()) {
  const double a = any_share(1, 1001), b = any_share(1, 1001), u = any_share(0, 1000);
  const auto x = *rc::gen::inRange<std::int64_t>(0, 61);
  const AcceptanceModel low(testing::constant(std::min(a, b)), 1, 60);
  const AcceptanceModel high(testing::constant(std::max(a, b)), 1, 60);
  RC_ASSERT(low.accepted(x, u, {}) <= high.accepted(x, u, {}));
  const AcceptanceModel differ(testing::heterogeneous(0.5, 3), 1, 60);
  RC_ASSERT(differ.accepted(x, u, {std::min(a, b)}) <= differ.accepted(x, u, {std::max(a, b)}));
}

RC_GTEST_PROP(AcceptanceProperty, AtTheSameDrawALongerDraftNeverAcceptsLess, ()) {
  const auto kinds = testing::every_kind();
  const AcceptanceModel m(kinds[*rc::gen::inRange<std::size_t>(0, kinds.size())].spec, 0.9, 100);
  const double u = any_share(0, 1000);
  const RequestAcceptance request{any_share(1, 1001)};
  const auto x = *rc::gen::inRange<std::int64_t>(0, 100);
  RC_ASSERT(m.accepted(x, u, request) <= m.accepted(x + 1, u, request));
  RC_ASSERT(m.accepted(x, u, request) >= 0 && m.accepted(x, u, request) <= x);
}

RC_GTEST_PROP(AcceptanceProperty, ADifferingRequestAcceptsWhatAConstantOneOfItsAgreementDoes, ()) {
  const double a = any_share(1, 1001);
  // Off the grid of a^i, where one rounding decides.
  const double u = (*rc::gen::inRange(0, 1'000'000) + 0.5) / 1e6;
  const AcceptanceModel differ(testing::heterogeneous(0.5, 3), 1, 60);
  const AcceptanceModel alike(testing::constant(a), 1, 60);
  RC_ASSERT(differ.accepted(60, u, {a}) == alike.accepted(60, u, {}));
}

RC_GTEST_PROP(AcceptanceProperty, AnyCurveBecomesASurvivalFunction, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 6);
  auto lengths = *rc::gen::unique<std::vector<std::int64_t>>(count, rc::gen::inRange<std::int64_t>(1, 100));
  std::sort(lengths.begin(), lengths.end());
  std::vector<AcceptancePoint> points;
  for (const std::int64_t x : lengths) points.push_back({x, *rc::gen::inRange(0, 1200) / 10.0});
  const AcceptanceModel m(testing::curve(points), 1, 120);
  for (std::int64_t i = 1; i <= 120; ++i) {
    RC_ASSERT(m.survival(i) >= 0 && m.survival(i) <= m.survival(i - 1));
    RC_ASSERT(m.expected_accepted(i) <= static_cast<double>(i));
  }
}

RC_GTEST_PROP(AcceptanceProperty, AConcaveCurveIsMetAtItsPoints, ()) {
  // Falling slopes of at most 1 are a survival function already.
  std::vector<int> slopes = *rc::gen::container<std::vector<int>>(4, rc::gen::inRange(0, 1001));
  std::sort(slopes.rbegin(), slopes.rend());
  std::vector<AcceptancePoint> points;
  std::int64_t x = 0;
  double accepted = 0;
  for (const int slope : slopes) {
    const auto step = *rc::gen::inRange<std::int64_t>(1, 20);
    x += step;
    accepted += slope / 1000.0 * static_cast<double>(step);
    points.push_back({x, accepted});
  }
  const AcceptanceModel m(testing::curve(points), 1, 100);
  for (const AcceptancePoint& p : points) RC_ASSERT(std::abs(m.expected_accepted(p.draft_length) - p.accepted) < 1e-9);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
