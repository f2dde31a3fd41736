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

constexpr FittedMember<LinearForm> kLinearMembers[] = {
    {[](auto& f) -> double& { return f.t0_s; }, kMicrosecond, "t0 (us)", 3, 0, 20},
    {[](auto& f) -> double& { return f.bandwidth_efficiency; }, 1, "bandwidth_efficiency", 0.85, 0.3, 1.05},
    {[](auto& f) -> double& { return f.tile_overhead_k; }, 1, "tile_overhead_k", 200, 0, 3000},
    {[](auto& f) -> double& { return f.wave_quantisation; }, 1, "wave_quantisation", 0.3, 0, 1},
    {[](auto& f) -> double& { return f.blend_power; }, 1, "blend_power", 4, 1.2, 12},
    {[](auto& f) -> double& { return f.power_droop; }, 1, "power_droop", 0.04, 0, 0.5},
    {[](auto& f) -> double& { return f.benchmark.l2_efficiency; }, 1, "l2_rate (of HBM's)", 3, 1, 30},
    {[](auto& f) -> double& { return f.benchmark.l2_share; }, 1, "l2_share", 0.9, 0.2, 4},
    {[](auto& f) -> double& { return f.benchmark.l2_width; }, 1, "l2_width", 0.2, 0.02, 2},
    {[](auto& f) -> double& { return f.sm_bandwidth; }, 1, "sm_bandwidth", 3, 1, 20},
    {[](auto& f) -> double& { return f.io_efficiency; }, 1, "io_efficiency", 1, 0.2, 10},
    {[](auto& f) -> double& { return f.per_doubling_s; }, kMicrosecond, "per_doubling (us)", 0.5, 0, 10},
    {[](auto& f) -> double& { return f.quantise.t0_s; }, kMicrosecond, "quantise (us)", 2, 0, 6},
    {[](auto& f) -> double& { return f.quantise.per_token_s; }, kNanosecond, "quantise_token (ns)", 5, 0, 60},
    {[](auto& f) -> double& { return f.quantise.bandwidth_efficiency; }, 1, "quantise_bandwidth", 0.5, 0.02, 6},
    {[](auto& f) -> double& { return f.benchmark.launch_s; }, kMicrosecond, "launch (us)", 100, 0, 1000},
    {[](auto& f) -> double& { return f.benchmark.launch_few_s; }, kMicrosecond, "launch_few (us)", 60, 0, 1000}};

std::string linear_region(double m) {
  return m <= 64 ? "1-64 tokens" : m <= 512 ? "65-512 tokens" : "over 512 tokens";
}

}  // namespace

LinearForm linear_form(NumberFormat weights, std::span<const double> values) {
  LinearForm form;
  form.weights = weights;
  set_members(form, kLinearMembers, values);
  form.benchmark.l2_efficiency = rounded(form.bandwidth_efficiency * form.benchmark.l2_efficiency);
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    form.tiles.push_back({kTiles[i].rows, kTiles[i].columns, values[std::size(kLinearMembers) + i]});
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
  for (const auto& member : kLinearMembers) problem.parameters.push_back(member.parameter());
  // A parameter of which no row says anything stays where it has no effect.
  const auto leave_out = [&problem](const char* name, double none) {
    parameter(problem, name) = {name, none, none, none};
  };
  if (!repeated) {
    leave_out("l2_rate (of HBM's)", 0);
    leave_out("l2_share", 1);
    leave_out("l2_width", 0.1);
  }
  if (!narrow) {
    for (const char* name : {"quantise (us)", "quantise_token (ns)", "quantise_bandwidth"}) leave_out(name, 0);
  }
  if (!launched) {
    for (const char* name : {"launch (us)", "launch_few (us)"}) leave_out(name, 0);
  }
  if (launched && blocks.empty()) {  // nothing is said about short kernels: bounds that other formats' fits keep to
    parameter(problem, "t0 (us)").high = 6;
    parameter(problem, "per_doubling (us)").high = 2;
  }
  for (const Tile& t : kTiles) {
    problem.parameters.push_back({"tile " + std::to_string(static_cast<int>(t.rows)) + "x" +
                                      std::to_string(static_cast<int>(t.columns)) + " efficiency",
                                  t.start, 0.05, 1.05});
  }
  for (const auto& [waves, overhead] : {std::pair{0.9, 50.0}, {0.5, 300.0}, {0.1, 50.0}}) {
    std::vector<double>& start = problem.starts.emplace_back();
    for (const Parameter& p : problem.parameters) {
      start.push_back(p.name == "wave_quantisation" ? waves : p.name == "tile_overhead_k" ? overhead : p.start);
    }
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
  problem.predict =
      by_row([weights](std::span<const double> values) { return linear_form(weights, values); },
             [rows = std::move(rows), blocks = std::move(blocks), machine](const LinearForm& form, std::size_t i) {
               if (i < rows.size()) return form.time(rows[i].m, rows[i].n, rows[i].k, machine, rows[i].run).seconds;
               const LinearBlock& block = blocks[i - rows.size()];
               return block.beside_s + block_linear_s(form, block.heads, block.tokens, machine);
             });
  return problem;
}

}  // namespace kvsim::models
