// The search against trying everything.
#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "planner/closed_form/symbols.h"
#include "planner/infeasible.h"
#include "tests/planner/brute_force.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

constexpr std::int64_t kGB = 1'000'000'000;

/// A machine and requests of which at most some thirty fit; link and HBM bandwidths that bind in turn.
SymbolsProblem random_problem(TransferModel model) {
  // At full size from the first case on: rapidcheck would begin with the narrowest ranges.
  const auto pick = [](std::int64_t low, std::int64_t high) {
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
  };
  SymbolsProblem p;
  p.model = model;
  p.symbols.KV = pick(1, 8) * kGB / 2;
  p.symbols.M = pick(5, 60) * kGB;
  p.symbols.HBM = p.symbols.M + p.symbols.KV * pick(1, 16) / 2 + pick(0, kGB);
  p.symbols.BW_hbm = static_cast<double>(pick(5, 80)) * 1e11;
  p.symbols.BW_link = static_cast<double>(pick(1, 400)) * 1e9;
  p.least_draft_length = pick(1, 3);
  p.most_draft_length = p.least_draft_length + pick(0, 12);
  p.reload = pick(0, 3) == 0 ? models::ReloadContent::whole : models::ReloadContent::missing;
  double c = static_cast<double>(pick(1, 10)) / 20;
  for (std::int64_t n = pick(1, 5); n > 0 && c <= 1; --n) {
    p.keep_ratios.push_back(c);
    p.agreement.push_back({c, static_cast<double>(pick(50, 100)) / 100});
    c += static_cast<double>(pick(1, 4)) / 20;
  }
  return p;
}

void agrees_with_brute_force(TransferModel model) {
  const SymbolsProblem p = random_problem(model);
  const auto agreement = [&p](double c) {
    for (const auto& point : p.agreement) {
      if (point.keep_ratio == c) return point.value;
    }
    return std::nan("");
  };
  const std::optional<Candidate> expected = brute_force(p, agreement);
  if (!expected) {
    RC_ASSERT_THROWS_AS(plan(p), Infeasible);
    return;
  }
  const OperatingPoint found = plan(p).optimum;
  RC_ASSERT(std::abs(found.throughput_tokens_per_s - expected->value) <= 1e-11 * expected->value);
  RC_ASSERT(found.x == expected->x);
  RC_ASSERT(found.c == expected->c);
  RC_ASSERT(found.batch.B_c == expected->B_c);
  RC_ASSERT(found.batch.B_g == expected->B_g);
  RC_ASSERT(found.batch.l == expected->l);
}

// rapidcheck's own number of cases is 100: five of them make 500.
constexpr int kRepeats = 5;

RC_GTEST_PROP(SymbolsSearchProperty, PublishedEqualsBruteForce, ()) {
  for (int i = 0; i < kRepeats; ++i) agrees_with_brute_force(TransferModel::published);
}
RC_GTEST_PROP(SymbolsSearchProperty, ConservingEqualsBruteForce, ()) {
  for (int i = 0; i < kRepeats; ++i) agrees_with_brute_force(TransferModel::conserving);
}
RC_GTEST_PROP(SymbolsSearchProperty, RingsEqualsBruteForce, ()) {
  for (int i = 0; i < kRepeats; ++i) agrees_with_brute_force(TransferModel::rings);
}

RC_GTEST_PROP(SymbolsSearchProperty, IsNeverWorseThanTheFullKV, ()) {
  const SymbolsProblem p =
      random_problem(*rc::gen::element(TransferModel::published, TransferModel::conserving, TransferModel::rings));
  RC_PRE(p.symbols.HBM >= p.symbols.M + p.symbols.KV);
  const SymbolsPlan found = plan(p);
  RC_ASSERT(found.full_kv.has_value());
  RC_ASSERT(found.optimum.throughput_tokens_per_s >= found.full_kv->throughput_tokens_per_s * (1 - 1e-12));
}

/// More of anything is never slower. Except under `rings`, HBM bandwidth: with shorter iterations a reload spans more
/// of them, so that more reloads occupy HBM at once (docs/planner.md).
RC_GTEST_PROP(SymbolsSearchProperty, MoreOfAnyResourceIsNeverSlower, ()) {
  SymbolsProblem p =
      random_problem(*rc::gen::element(TransferModel::published, TransferModel::conserving, TransferModel::rings));
  RC_PRE(p.symbols.HBM >= p.symbols.M + p.symbols.KV);
  const double before = plan(p).optimum.throughput_tokens_per_s;
  switch (*rc::gen::inRange(p.model == TransferModel::rings ? 1 : 0, 4)) {
    case 0:
      p.symbols.BW_hbm *= 1.3;
      break;
    case 1:
      p.symbols.BW_link *= 1.3;
      break;
    case 2:
      p.symbols.HBM += 3 * kGB;
      break;
    default:
      for (auto& point : p.agreement) point.value = (point.value + 1) / 2;
  }
  RC_ASSERT(plan(p).optimum.throughput_tokens_per_s >= before * (1 - 1e-12));
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
