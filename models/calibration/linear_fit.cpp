#include <algorithm>
#include <array>

#include "models/calibration/latent_fit.h"
#include "models/calibration/operator_fits.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

struct Tile {
  double rows;
  double columns;
  double start;  ///< efficiency
};
constexpr std::array kTiles{Tile{64, 64, 0.5},   Tile{128, 64, 0.6}, Tile{128, 128, 0.7}, Tile{256, 128, 0.8},
                            Tile{128, 256, 0.8}, Tile{64, 256, 0.7}, Tile{64, 128, 0.6},  Tile{16, 64, 0.15}};

struct LinearValue {
  enum : std::size_t {
    kT0,
    kBandwidth,
    kOverhead,
    kWaves,
    kBlend,
    kDroop,
    kL2,
    kL2Share,
    kL2Width,
    kSmBandwidth,
    kIo,
    kDoubling,
    kQuantise,
    kQuantiseToken,
    kQuantiseBandwidth,
    kLaunch,
    kLaunchFew,
    kFirstTile
  };
};

std::string linear_region(double m) {
  return m <= 64 ? "1-64 tokens" : m <= 512 ? "65-512 tokens" : "over 512 tokens";
}

}  // namespace

LinearForm linear_form(NumberFormat weights, std::span<const double> values) {
  LinearForm form;
  form.weights = weights;
  form.t0_s = values[LinearValue::kT0] * kMicrosecond;
  form.bandwidth_efficiency = values[LinearValue::kBandwidth];
  form.tile_overhead_k = values[LinearValue::kOverhead];
  form.wave_quantisation = values[LinearValue::kWaves];
  form.blend_power = values[LinearValue::kBlend];
  form.power_droop = values[LinearValue::kDroop];
  form.io_efficiency = values[LinearValue::kIo];
  form.per_doubling_s = values[LinearValue::kDoubling] * kMicrosecond;
  form.sm_bandwidth = values[LinearValue::kSmBandwidth];
  if (weights != NumberFormat::bf16) {
    form.quantise = {values[LinearValue::kQuantise] * kMicrosecond, values[LinearValue::kQuantiseToken] * kNanosecond,
                     values[LinearValue::kQuantiseBandwidth]};
  }
  form.benchmark = {rounded(values[LinearValue::kBandwidth] * values[LinearValue::kL2]), values[LinearValue::kL2Share],
                    values[LinearValue::kL2Width], values[LinearValue::kLaunch] * kMicrosecond,
                    values[LinearValue::kLaunchFew] * kMicrosecond};
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    form.tiles.push_back({kTiles[i].rows, kTiles[i].columns, values[LinearValue::kFirstTile + i]});
  }
  return form;
}

FitProblem linear_problem(std::vector<LinearSample> rows, NumberFormat weights, const Machine& machine,
                          std::vector<LinearBlock> blocks) {
  FitProblem problem;
  const bool narrow = weights != NumberFormat::bf16;
  const auto any = [&rows](const auto& holds) { return std::any_of(rows.begin(), rows.end(), holds); };
  const bool repeated = any([](const LinearSample& row) { return row.run.repeated > 0; });
  const bool launched = any([](const LinearSample& row) { return row.run.launched; });
  // What no row says anything about stays where it has no effect.
  const auto where = [](bool said, Parameter p, double none) { return said ? p : Parameter{p.name, none, none, none}; };
  // Without blocks nothing is said about short kernels: bounds that other formats' fits keep to.
  const bool hidden = launched && blocks.empty();
  problem.parameters = {{"t0 (us)", 3, 0, hidden ? 6.0 : 20.0},
                        {"bandwidth_efficiency", 0.85, 0.3, 1.05},
                        {"tile_overhead_k", 200, 0, 3000},
                        {"wave_quantisation", 0.3, 0, 1},
                        {"blend_power", 4, 1.2, 12},
                        {"power_droop", 0.04, 0, 0.5},
                        where(repeated, {"l2_rate (of HBM's)", 3, 1, 30}, 0),
                        where(repeated, {"l2_share", 0.9, 0.2, 4}, 1),
                        where(repeated, {"l2_width", 0.2, 0.02, 2}, 0.1),
                        {"sm_bandwidth", 3, 1, 20},
                        {"io_efficiency", 1, 0.2, 10},
                        {"per_doubling (us)", 0.5, 0, hidden ? 2.0 : 10.0},
                        where(narrow, {"quantise (us)", 2, 0, 6}, 0),
                        where(narrow, {"quantise_token (ns)", 5, 0, 60}, 0),
                        where(narrow, {"quantise_bandwidth", 0.5, 0.02, 6}, 0),
                        where(launched, {"launch (us)", 100, 0, 1000}, 0),
                        where(launched, {"launch_few (us)", 60, 0, 1000}, 0)};
  for (const Tile& t : kTiles) {
    problem.parameters.push_back({"tile " + std::to_string(static_cast<int>(t.rows)) + "x" +
                                      std::to_string(static_cast<int>(t.columns)) + " efficiency",
                                  t.start, 0.05, 1.05});
  }
  std::vector<double> start;
  for (const Parameter& p : problem.parameters) start.push_back(p.start);
  for (const auto& [waves, overhead] : {std::pair{0.9, 50.0}, {0.5, 300.0}, {0.1, 50.0}}) {
    start[LinearValue::kWaves] = waves;
    start[LinearValue::kOverhead] = overhead;
    problem.starts.push_back(start);
  }
  for (const LinearSample& row : rows) {
    problem.measured.push_back(row.seconds);
    problem.labels.push_back({{row.n, row.k}, linear_region(row.m)});
    problem.sizes.push_back({row.m, row.n, row.k, 1});
  }
  problem.grid = grid_around({{{1, 16, 64, 256, 1024, 4096}, {256, 1024, 4096, 16384}, {256, 1024, 4096, 16384}, {}}},
                             problem.sizes);
  for (const LinearBlock& block : blocks) {
    problem.measured.push_back(block.seconds);
    problem.labels.push_back({{block.heads, 0}, "blocks over latents"});
    problem.sizes.push_back({});
  }
  problem.spread_starts = 10;
  problem.predict = [rows = std::move(rows), blocks = std::move(blocks), weights, machine](
                        std::span<const double> values, const Correction& correction,
                        std::span<const std::size_t> which, std::span<double> seconds) {
    LinearForm form = linear_form(weights, values);
    form.correction = correction;
    for (std::size_t i = 0; i < which.size(); ++i) {
      if (which[i] >= rows.size()) {
        const LinearBlock& block = blocks[which[i] - rows.size()];
        seconds[i] = block.beside_s + block_linear_s(form, block.heads, block.tokens, machine);
        continue;
      }
      const LinearSample& row = rows[which[i]];
      seconds[i] = form.time(row.m, row.n, row.k, machine, row.run).seconds;
    }
  };
  return problem;
}

}  // namespace kvsim::models
