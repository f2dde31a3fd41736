// Routed experts as a fit problem.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/calibration/operator_fits.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

struct ExpertTile {
  double rows;
  double columns;
  double start;  ///< efficiency
};
constexpr std::array kExpertTiles{ExpertTile{16, 128, 0.2}, ExpertTile{32, 128, 0.3}, ExpertTile{64, 128, 0.5},
                                  ExpertTile{128, 128, 0.6}, ExpertTile{128, 256, 0.6}};

constexpr FittedMember<MoeForm> kMoeMembers[] = {
    {[](auto& f) -> double& { return f.t0_s; }, kMicrosecond, "t0 (us)", 20, 0, 200},
    {[](auto& f) -> double& { return f.per_expert_s; }, kNanosecond, "per_expert (ns)", 10, 0, 500},
    {[](auto& f) -> double& { return f.per_doubling_s; }, kMicrosecond, "per_doubling (us)", 1, 0, 50},
    {[](auto& f) -> double& { return f.foreign_share; }, 1, "foreign_share", 0.5, 0, 1},
    {[](auto& f) -> double& { return f.tile_overhead_k; }, 1, "tile_overhead_k", 200, 0, 5000},
    {[](auto& f) -> double& { return f.wave_quantisation; }, 1, "wave_quantisation", 0.3, 0, 1},
    {[](auto& f) -> double& { return f.blend_power; }, 1, "blend_power", 3, 1, 30},
    {[](auto& f) -> double& { return f.io_efficiency; }, 1, "io_efficiency", 0.8, 0.05, 20},
    {[](auto& f) -> double& { return f.stream.bandwidth_efficiency; }, 1, "bandwidth_efficiency", 0.85, 0.2, 0.97},
    {[](auto& f) -> double& { return f.stream.l2_efficiency; }, 1, "l2_rate (of HBM's)", 2, 1, 10},
    {[](auto& f) -> double& { return f.stream.l2_share; }, 1, "l2_share", 0.8, 0.2, 3},
    {[](auto& f) -> double& { return f.stream.l2_width; }, 1, "l2_width", 0.2, 0.05, 1}};

}  // namespace

MoeForm moe_form(NumberFormat weights, std::span<const double> values) {
  MoeForm form;
  form.weights = weights;
  set_members(form, kMoeMembers, values);
  CachedStream& s = form.stream;
  s.l2_efficiency = std::max(rounded(s.bandwidth_efficiency * s.l2_efficiency), s.bandwidth_efficiency);
  for (std::size_t i = 0; i < kExpertTiles.size(); ++i) {
    form.tiles.push_back({kExpertTiles[i].rows, kExpertTiles[i].columns, values[std::size(kMoeMembers) + i]});
  }
  return form;
}

FitProblem moe_problem(std::vector<MoeSample> rows, NumberFormat weights, const Machine& machine) {
  FitProblem problem;
  for (const auto& member : kMoeMembers) problem.parameters.push_back(member.parameter());
  for (const ExpertTile& tile : kExpertTiles) {
    problem.parameters.push_back(
        {fmt::format("efficiency of {:.0f} x {:.0f}", tile.rows, tile.columns), tile.start, 0.005, 1.0});
  }
  problem.scale = 0.05;
  std::vector<MoeCall> calls;
  std::vector<bool> warm;
  for (const MoeSample& row : rows) {
    problem.measured.push_back(row.seconds);
    MoeCall call{
        row.layer, row.tokens,
        row.alpha > 0 ? routed_by_power_law(row.layer, row.tokens, row.alpha) : routed_evenly(row.layer, row.tokens)};
    const double mean = call.pairs() / call.reached();
    constexpr double kFew = 16;
    constexpr double kMany = 256;
    problem.labels.push_back({{row.layer.hidden, row.layer.intermediate},
                              fmt::format("{} tokens an expert{}",
                                          mean < kFew    ? "below 16"
                                          : mean < kMany ? "16 to 256"
                                                         : "above 256",
                                          row.alpha > 0 ? ", power law" : "")});
    calls.push_back(std::move(call));
    warm.push_back(row.warm);
  }
  problem.predict =
      by_row([weights](std::span<const double> values) { return moe_form(weights, values); },
             [calls = std::move(calls), warm = std::move(warm), machine](const MoeForm& form, std::size_t i) {
               return form.time(calls[i], machine, warm[i]).seconds;
             });
  return problem;
}

}  // namespace kvsim::models
