#include <array>
#include <cmath>
#include <limits>

#include "models/calibration/operator_fits.h"
#include "models/schema/si.h"

namespace kvsim::models {
namespace {

struct Tile {
  double rows;
  double columns;
  double start;  ///< efficiency
};
constexpr std::array kTiles{Tile{64, 64, 0.5},   Tile{128, 64, 0.6}, Tile{128, 128, 0.7}, Tile{256, 128, 0.8},
                            Tile{128, 256, 0.8}, Tile{64, 256, 0.7}, Tile{64, 128, 0.6}};

struct LinearValue {
  enum : std::size_t { kT0, kBandwidth, kExtra, kOverhead, kWaves, kBlend, kDroop, kFirstTile };
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
  form.extra_input_bytes = values[LinearValue::kExtra];
  form.tile_overhead_k = values[LinearValue::kOverhead];
  form.wave_quantisation = values[LinearValue::kWaves];
  form.blend_power = values[LinearValue::kBlend];
  form.power_droop = values[LinearValue::kDroop];
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    form.tiles.push_back({kTiles[i].rows, kTiles[i].columns, values[LinearValue::kFirstTile + i]});
  }
  return form;
}

FitProblem linear_problem(std::vector<LinearSample> rows, NumberFormat weights, const Machine& machine) {
  FitProblem problem;
  problem.parameters = {{"t0 (us)", 4, 0, 20},
                        {"bandwidth_efficiency", 0.85, 0.3, 1.0},
                        {"extra_input_bytes", 1, 0, 12},
                        {"tile_overhead_k", 50, 0, 1500},
                        {"wave_quantisation", 0.5, 0, 1},
                        {"blend_power", 4, 1.2, 12},
                        {"power_droop", 0.02, 0, 0.5}};
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
  }
  problem.scale = 0.015;  // libraries choose among kernels as by dice: a mode and outliers, no bell
  problem.spread_starts = 5;
  problem.predict = [rows = std::move(rows), weights, machine](
                        std::span<const double> values, std::span<const std::size_t> which, std::span<double> seconds) {
    const LinearForm form = linear_form(weights, values);
    for (std::size_t i = 0; i < which.size(); ++i) {
      const LinearSample& row = rows[which[i]];
      seconds[i] = form.time(row.m, row.n, row.k, machine).seconds;
    }
  };
  return problem;
}

}  // namespace kvsim::models
