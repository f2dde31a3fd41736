#include "planner/closed_form/symbols.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/schema/si.h"
#include "models/schema/units.h"
#include "planner/infeasible.h"

namespace kvsim::planner {
namespace {

using models::AcceptanceModel;

/// A(n) for n that need not be whole: linear between whole numbers.
double accepted_of(const AcceptanceModel& model, double n) {
  const auto below = static_cast<std::int64_t>(std::floor(n));
  const double at = model.expected_accepted(below);
  const double share = n - static_cast<double>(below);
  return share > 0 ? at + share * (model.expected_accepted(below + 1) - at) : at;
}

AcceptanceModel acceptance_at(const SymbolsProblem& p, double c, std::int64_t most_tokens) {
  double agreement = 1;
  if (!p.agreement.empty()) {
    models::CompressorSpec given;
    given.agreement = p.agreement;
    agreement = given.agreement_at(c);
  }
  return {p.acceptance, agreement, most_tokens};
}

/// One cycle; all byte counts of one replica.
Cycle cycle_at(const SymbolsProblem& p, const AcceptanceModel& outer, const AcceptanceModel* inner, std::int64_t x,
               double c, std::int64_t d_e) {
  const Symbols& s = p.symbols;
  const auto M = static_cast<double>(s.M), KV = static_cast<double>(s.KV), HBM = static_cast<double>(s.HBM);
  const auto iterations = static_cast<double>(x + 1);
  const bool composed = p.drafter && d_e > 1;
  const double M_d = composed ? static_cast<double>(p.drafter->weights) : 0.0;
  const double KV_d = composed ? static_cast<double>(p.drafter->KV) : 0.0;
  const auto passes = static_cast<double>(d_e - 1);  // of the drafter, per drafting iteration
  const Composition composition = composed ? p.drafter->composition : Composition::published;

  Cycle cycle;
  cycle.x = x;
  cycle.c = c;
  cycle.d_e = d_e;
  cycle.tokens = (composed_acceptance(composition, outer, inner, x, d_e) + 1) / iterations;
  const double KV_avg = KV * (static_cast<double>(x) * c + 1) / iterations;
  // T_gpu = (M + B KV_avg) / BW_hbm, and the drafter's passes for the x of x + 1 requests that draft.
  cycle.gpu = GpuTime::linear((M + passes * M_d) / s.BW_hbm,
                              (KV_avg + passes * KV_d * static_cast<double>(x) / iterations) / s.BW_hbm);
  const bool whole = p.reload == models::ReloadContent::whole;
  cycle.streaming_bytes = whole ? KV : (1 - c) * KV;
  cycle.reload_s = cycle.streaming_bytes / s.BW_link;
  cycle.room_bytes = HBM - M - M_d;
  cycle.resident_bytes = KV + KV_d;
  cycle.average_bytes = KV_avg + KV_d;
  cycle.compressed_bytes = c * KV + KV_d;
  return cycle;
}

[[noreturn]] void nothing_fits(const SymbolsProblem& p, const std::vector<Cycle>& cycles) {
  double missing = static_cast<double>(p.symbols.KV) - static_cast<double>(p.symbols.HBM - p.symbols.M);
  double c = 1;
  for (const Cycle& cycle : cycles) {
    const double of_this = least_kv_bytes(p.model, cycle) - cycle.room_bytes;
    if (of_this < missing) {
      missing = of_this;
      c = cycle.c;
    }
  }
  const auto quantity = [](double bytes) { return schema::round_quantity(schema::Dimension::bytes, bytes); };
  // in MB, rounded up, so that what is named is enough
  throw Infeasible(fmt::format(
      "no plan under model {}: not even one request fits. M = {} leaves {} of HBM = {} for KV; the nearest miss, one "
      "request at keep ratio {:g}, needs {:.0f} MB more HBM",
      name_of(p.model), quantity(static_cast<double>(p.symbols.M)),
      quantity(std::max(0.0, static_cast<double>(p.symbols.HBM - p.symbols.M))),
      quantity(static_cast<double>(p.symbols.HBM)), c, std::max(1.0, std::ceil(missing / kMB))));
}

}  // namespace

double composed_acceptance(Composition composition, const AcceptanceModel& outer, const AcceptanceModel* drafter,
                           std::int64_t x, std::int64_t d_e) {
  if (!drafter || d_e <= 1) return outer.expected_accepted(x);
  // 1 + gamma_e(d_e) (d_e - 1), with gamma_e(d_e) (d_e - 1) = A_e(d_e - 1)
  const double factor = 1 + drafter->expected_accepted(d_e - 1);
  return composition == Composition::published ? outer.expected_accepted(x) * factor
                                               : accepted_of(outer, static_cast<double>(x) * factor);
}

Cycle full_kv_cycle(const Symbols& s) {
  Cycle cycle;
  cycle.gpu = GpuTime::linear(static_cast<double>(s.M) / s.BW_hbm, static_cast<double>(s.KV) / s.BW_hbm);
  cycle.room_bytes = static_cast<double>(s.HBM - s.M);
  cycle.resident_bytes = cycle.average_bytes = cycle.compressed_bytes = static_cast<double>(s.KV);
  return cycle;
}

std::vector<Cycle> cycles_of(const SymbolsProblem& p) {
  const std::int64_t least_d = p.drafter ? p.drafter->least : 1, most_d = p.drafter ? p.drafter->most : 1;
  std::optional<AcceptanceModel> inner;
  if (p.drafter) inner.emplace(p.drafter->acceptance, 1.0, most_d);
  std::vector<Cycle> cycles;
  for (const double c : p.keep_ratios) {
    const AcceptanceModel outer = acceptance_at(p, c, p.most_draft_length * most_d + 1);
    for (std::int64_t x = p.least_draft_length; x <= p.most_draft_length; ++x) {
      for (std::int64_t d_e = least_d; d_e <= most_d; ++d_e) {
        cycles.push_back(cycle_at(p, outer, inner ? &*inner : nullptr, x, c, d_e));
      }
    }
  }
  return cycles;
}

SymbolsPlan plan(const SymbolsProblem& p) {
  std::vector<Cycle> cycles = cycles_of(p);
  const std::vector<Cycle> baseline{full_kv_cycle(p.symbols)};
  cycles.push_back(baseline.front());
  const BatchLimits none;
  const SearchResult found = search(p.model, cycles, none);
  if (!found.optimum) nothing_fits(p, cycles);
  const SearchResult full = search(p.model, baseline, none);
  return {*found.optimum, full.optimum, found.evaluated + full.evaluated};
}

}  // namespace kvsim::planner
