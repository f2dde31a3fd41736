// The long-context plan from raw symbols (`kvsim plan --symbols FILE`): bytes over peak bandwidths, homogeneous
// requests in a steady state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "models/compression/compressor_spec.h"
#include "planner/closed_form/search.h"

namespace kvsim::planner {

/// Symbols of one replica: bytes, and bytes per second.
struct Symbols {
  std::int64_t M = 0;    ///< weights
  std::int64_t KV = 0;   ///< of one request, in full
  std::int64_t HBM = 0;  ///< for weights and KV
  double BW_hbm = 0;
  double BW_link = 0;
};

/// How the acceptance of two levels of speculation combines.
enum class Composition {
  published,  ///< gamma(x, c) x [1 + gamma_e(d_e) (d_e - 1)]: the compressed KV's agreement counts per draft position
  per_token   ///< A(x [1 + gamma_e(d_e) (d_e - 1)], c): it counts per drafted token
};

/// An auxiliary drafter under the compressed-KV drafter: d_e - 1 further tokens per draft position.
struct Drafter {
  std::int64_t weights = 0;  ///< bytes
  std::int64_t KV = 0;       ///< bytes of one request
  std::int64_t least = 1;    ///< d_e; 1: the drafter is not used
  std::int64_t most = 1;
  models::AcceptanceSpec acceptance;  ///< A_e(n) = gamma_e(n + 1) n: of n tokens that it drafts
  Composition composition = Composition::published;
};

struct SymbolsProblem {
  Symbols symbols;
  TransferModel model = TransferModel::rings;
  std::int64_t least_draft_length = 1;
  std::int64_t most_draft_length = 60;
  std::vector<double> keep_ratios;
  models::AcceptanceSpec acceptance;
  std::vector<models::KeepRatioPoint> agreement;  ///< a(c) where it is given by keep ratio
  models::ReloadContent reload = models::ReloadContent::missing;
  std::optional<Drafter> drafter;
};

/// Reads `symbols`, `model`, `draft_length`, `keep_ratio`, `acceptance`, `reload`, `drafter`. Throws schema::InputError
/// with file, line and column.
SymbolsProblem read_symbols_problem(const std::string& path);
SymbolsProblem read_symbols_text(std::string_view text, const std::string& name);

/// The full-KV baseline: x = 0, c = 1.
Cycle full_kv_cycle(const Symbols& symbols);

/// Every (x, c) of the problem, with every d_e where there is a drafter; without the baseline.
std::vector<Cycle> cycles_of(const SymbolsProblem& problem);

/// Expected accepted tokens of a draft of x positions with d_e tokens each.
double composed_acceptance(Composition composition, const models::AcceptanceModel& outer,
                           const models::AcceptanceModel* drafter, std::int64_t x, std::int64_t d_e);

struct SymbolsPlan {
  OperatingPoint optimum;
  std::optional<OperatingPoint> full_kv;  ///< none: not even one full KV fits
  std::uint64_t evaluated = 0;
};

/// The exact optimum; full_kv is among the candidates. Throws Infeasible where nothing fits.
SymbolsPlan plan(const SymbolsProblem& problem);

}  // namespace kvsim::planner
