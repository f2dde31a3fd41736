// Whatever the curve, keeping more never loses more.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "models/catalogue/catalogue.h"
#include "models/compression/compressor_spec.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

double any_ratio() {
  return *rc::gen::inRange(1, 1001) / 1000.0;
}

/// Ascending in keep ratio, values descending or ascending with it.
std::vector<KeepRatioPoint> any_curve(bool descending) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 6);
  std::vector<int> ratios = *rc::gen::unique<std::vector<int>>(count, rc::gen::inRange(5, 1000));
  std::vector<int> values = *rc::gen::container<std::vector<int>>(count, rc::gen::inRange(1, 1000));
  std::sort(ratios.begin(), ratios.end());
  std::sort(values.begin(), values.end());
  if (descending) std::reverse(values.begin(), values.end());
  std::vector<KeepRatioPoint> points;
  for (std::size_t i = 0; i < count; ++i) points.push_back({ratios[i] / 1000.0, values[i] / 1000.0});
  return points;
}

RC_GTEST_PROP(CompressorProperty, LossFallsAndAgreementRisesWithTheKeepRatio, ()) {
  CompressorSpec c;
  c.step_kl_nats = any_curve(true);
  const double a = any_ratio(), b = any_ratio();
  const double less = std::min(a, b), more = std::max(a, b);
  RC_ASSERT(c.step_kl(less) >= c.step_kl(more) - 1e-12);
  RC_ASSERT(c.step_kl(more) >= 0);
  RC_ASSERT(c.agreement_at(less) <= c.agreement_at(more) + 1e-12);
  RC_ASSERT(c.agreement_at(more) <= 1);
}

RC_GTEST_PROP(CompressorProperty, PublishedAgreementRisesWithTheKeepRatio, ()) {
  CompressorSpec c;
  c.agreement = any_curve(false);
  const double a = any_ratio(), b = any_ratio();
  RC_ASSERT(c.agreement_at(std::min(a, b)) <= c.agreement_at(std::max(a, b)) + 1e-12);
  RC_ASSERT(c.agreement_at(a) >= 0 && c.agreement_at(a) <= 1);
}

RC_GTEST_PROP(CompressorProperty, QualityRisesWithTheKeepRatioAndStaysAScore, ()) {
  CompressorSpec c;
  c.quality = any_curve(false);
  const double a = any_ratio(), b = any_ratio();
  RC_ASSERT(c.quality_at(std::min(a, b)) <= c.quality_at(std::max(a, b)) + 1e-12);
  RC_ASSERT(c.quality_at(a) >= 0 && c.quality_at(a) <= 1);
}

RC_GTEST_PROP(CompressorProperty, EveryCurveMeetsItsPoints, ()) {
  CompressorSpec c;
  c.step_kl_nats = any_curve(true);
  c.quality = any_curve(false);
  for (const KeepRatioPoint& p : c.step_kl_nats) RC_ASSERT(std::abs(c.step_kl(p.keep_ratio) - p.value) < 1e-12);
  for (const KeepRatioPoint& p : c.quality) RC_ASSERT(std::abs(c.quality_at(p.keep_ratio) - p.value) < 1e-12);
}

RC_GTEST_PROP(CompressorProperty, EveryCompressorOfTheCatalogueIsMonotone, ()) {
  static const Catalogue catalogue = Catalogue::built_in();
  static const auto lines = catalogue.list(EntryKind::compressor);
  const CompressorSpec c = catalogue.compressor(lines[*rc::gen::inRange<std::size_t>(0, lines.size())].name);
  const double a = any_ratio(), b = any_ratio();
  RC_ASSERT(c.step_kl(std::min(a, b)) >= c.step_kl(std::max(a, b)) - 1e-12);
  RC_ASSERT(c.agreement_at(std::min(a, b)) <= c.agreement_at(std::max(a, b)) + 1e-12);
  if (c.reads_only && c.quality.empty()) return;  // it is for drafts alone
  RC_ASSERT(c.quality_at(std::min(a, b)) <= c.quality_at(std::max(a, b)) + 1e-12);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
