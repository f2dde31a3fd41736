// The long-context plan by trying everything, written from the printed formulas and nothing else: what the search must
// agree with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "planner/closed_form/symbols.h"

namespace kvsim::planner {

struct Candidate {
  std::int64_t x = 0;
  double c = 1;
  std::int64_t B_c = 0, B_g = 0, l = 1;
  double value = 0;
};

/// A(x, c) = a + a^2 + ... + a^x.
inline double geometric_acceptance(double a, std::int64_t x) {
  double sum = 0, power = 1;
  for (std::int64_t i = 0; i < x; ++i) sum += power *= a;
  return sum;
}

/// Every candidate of the problem that fits, with constant agreement a(c) = agreement(c).
template <class Agreement, class Visit>
void each_candidate(const SymbolsProblem& p, Agreement&& agreement, Visit&& visit) {
  const auto M = static_cast<double>(p.symbols.M), KV = static_cast<double>(p.symbols.KV);
  const auto HBM = static_cast<double>(p.symbols.HBM);
  const double BW = p.symbols.BW_hbm, link = p.symbols.BW_link;
  const auto fits = [HBM](double bytes) { return bytes <= HBM * (1 + 1e-12); };
  for (std::int64_t B = 1; fits(M + static_cast<double>(B) * KV); ++B) {
    const auto n = static_cast<double>(B);
    visit(Candidate{0, 1.0, 0, B, 1, n / ((M + n * KV) / BW)});
  }
  for (const double c : p.keep_ratios) {
    for (std::int64_t x = p.least_draft_length; x <= p.most_draft_length; ++x) {
      const auto steps = static_cast<double>(x + 1);
      const double tokens = (geometric_acceptance(agreement(c), x) + 1) / steps;
      const double average = KV * (static_cast<double>(x) * c + 1) / steps;
      const double moved = p.reload == models::ReloadContent::whole ? KV : (1 - c) * KV;
      for (std::int64_t B_c = 0;; ++B_c) {
        const auto offloaded = static_cast<double>(B_c);
        if (!fits(M + offloaded * std::min(average, c * KV))) break;
        for (std::int64_t B_g = B_c == 0 ? 1 : 0; fits(M + static_cast<double>(B_g) * KV); ++B_g) {
          const auto B = static_cast<double>(B_c + B_g);
          const double T_gpu = (M + B * average) / BW;
          const std::int64_t l_most = p.model == TransferModel::published && B_c > 0 ? (x + 1) / B_c : 1;
          for (std::int64_t l = 1; l <= l_most; ++l) {
            double T_xfer = offloaded * moved / (steps * link);
            if (p.model == TransferModel::published) T_xfer /= static_cast<double>(l);
            const double T = std::max(T_gpu, T_xfer);
            double each = average;
            if (p.model == TransferModel::rings) {
              each = c * KV + moved * std::max(1.0, moved / (link * T)) / steps;
            }
            if (!fits(M + static_cast<double>(B_g) * KV + offloaded * each)) continue;
            const std::int64_t span =
                p.model == TransferModel::published
                    ? l
                    : std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(moved / (link * T) * (1 - 1e-12))));
            visit(Candidate{x, c, B_c, B_g, span, B * tokens / T});
          }
        }
      }
    }
  }
}

/// The optimum: among all that reach the best value but for rounding, the smaller x, the larger c, the smaller B_c,
/// B_g, l.
template <class Agreement>
std::optional<Candidate> brute_force(const SymbolsProblem& p, Agreement&& agreement) {
  double best = 0;
  each_candidate(p, agreement, [&](const Candidate& one) { best = std::max(best, one.value); });
  std::optional<Candidate> optimum;
  const auto key = [](const Candidate& one) { return std::make_tuple(one.x, -one.c, one.B_c, one.B_g, one.l); };
  each_candidate(p, agreement, [&](const Candidate& one) {
    if (one.value < best * (1 - 1e-12)) return;
    if (!optimum || key(one) < key(*optimum)) optimum = one;
  });
  return optimum;
}

}  // namespace kvsim::planner
