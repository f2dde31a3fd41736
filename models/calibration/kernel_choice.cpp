// Choices of a kernel, which are no figures: each is tried, and the one that fits the rows better is taken.
#include <algorithm>
#include <limits>

#include "models/calibration/device_fits.h"
#include "models/calibration/operator_fits.h"

namespace kvsim::models {
namespace {

/// The first of some kinds whose fit costs least; the first of all where rows are too few to tell.
template <class Kind, class Make>
Kind cheapest(const std::vector<Kind>& kinds, const Make& make, const std::function<void()>& before_step) {
  Kind best = kinds.front();
  double cost = std::numeric_limits<double>::infinity();
  for (const Kind& kind : kinds) {
    FitProblem problem = make(kind);
    problem.before_step = before_step;
    if (!enough_rows(problem, problem.measured.size())) return kinds.front();
    const double c = fit(problem, all_rows(problem)).cost;
    if (c >= cost) continue;
    cost = c;
    best = kind;
  }
  return best;
}

}  // namespace

DecodeKind best_split(const std::vector<DecodeSample>& rows, DecodeKind kind, const Machine& machine,
                      const std::function<void()>& before_step) {
  const auto make = [&](const DecodeKind& tried) { return decode_problem(rows, tried, machine); };
  std::vector<DecodeKind> kinds{kind, kind};
  kinds[0].splits_single_heads = true;
  kinds[1].splits_single_heads = false;
  return cheapest(kinds, make, before_step);
}

TiledKind best_tile(const std::vector<TiledSample>& rows, TiledKind kind, const Machine& machine,
                    const std::function<void()>& before_step) {
  // Only rows of groups tell whether these are packed; a mixed launch is of a kernel that does not.
  const bool groups = !kind.mixed && std::any_of(rows.begin(), rows.end(), [](const TiledSample& row) {
    return row.shape.heads > row.shape.kv_heads;
  });
  std::vector<TiledKind> kinds;
  for (const double tile_rows : {128.0, 64.0, 256.0}) {
    kind.tile_rows = tile_rows;
    for (const bool packs : {false, true}) {
      kind.packs_groups = packs;
      if (groups || !packs) kinds.push_back(kind);
    }
  }
  const auto make = [&](const TiledKind& tried) { return tiled_problem(rows, tried, machine); };
  return cheapest(kinds, make, before_step);
}

VerifyKind best_block(const std::vector<AttentionVariant>& rows, VerifyKind kind, const DecodeForm& decode,
                      const Machine& machine, const std::function<void()>& before_step) {
  std::vector<VerifyKind> kinds;
  for (const double block_rows : {64.0, 16.0, 32.0, 128.0}) {
    kind.block_rows = block_rows;
    kinds.push_back(kind);
  }
  const auto make = [&](const VerifyKind& tried) { return verify_problem(rows, tried, decode, machine); };
  return cheapest(kinds, make, before_step);
}

}  // namespace kvsim::models
