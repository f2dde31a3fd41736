#include "models/calibration/operator_fits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "models/schema/units.h"

namespace kvsim::models {
namespace {

struct DecodeValue {
  enum : std::size_t { kT0, kDoubling, kHead, kCold, kBandwidth, kL2, kL2Share, kL2Width };
};

}  // namespace

DecodeForm decode_form(NumberFormat kv, std::span<const double> values) {
  DecodeForm form;
  form.kv = kv;
  form.t0_s = values[DecodeValue::kT0] * kMicrosecond;
  form.per_doubling_s = values[DecodeValue::kDoubling] * kMicrosecond;
  form.per_head_s = values[DecodeValue::kHead] * kNanosecond;
  form.cold_s = values[DecodeValue::kCold] * kMicrosecond;
  form.stream = {values[DecodeValue::kBandwidth], rounded(values[DecodeValue::kBandwidth] * values[DecodeValue::kL2]),
                 values[DecodeValue::kL2Share], values[DecodeValue::kL2Width]};
  form.stream.l2_efficiency =
      std::max(form.stream.l2_efficiency, values[DecodeValue::kL2] > 0 ? values[DecodeValue::kBandwidth] : 0);
  return form;
}

FitProblem decode_problem(std::vector<DecodeSample> rows, const Machine& machine) {
  FitProblem problem;
  problem.parameters = {{"t0 (us)", 13, 0, 60},
                        {"per_doubling (us)", 1, 0, 20},
                        {"per_head (ns)", 1, 0, 100},
                        {"cold (us)", 5, 0, 60},
                        {"bandwidth_efficiency", 0.9, 0.3, 1.0},
                        {"l2_rate (of HBM's)", 2, 1, 30},
                        {"l2_share", 0.9, 0.3, 3},
                        {"l2_width", 0.1, 0.05, 3}};
  std::vector<double> start;
  for (const Parameter& p : problem.parameters) start.push_back(p.start);
  for (const auto& [share, cold] : {std::pair{0.3, 0.1}, {0.3, 8.0}, {0.9, 0.1}, {1.7, 15.0}}) {
    start[DecodeValue::kL2Share] = share;
    start[DecodeValue::kCold] = cold;
    problem.starts.push_back(start);
  }
  for (const DecodeSample& row : rows) {
    problem.measured.push_back(row.seconds);
    const bool fits = machine.l2_bytes > 0 && row.kv_bytes() < machine.l2_bytes;
    problem.labels.push_back({{row.shape.heads, row.shape.kv_heads}, fits ? "KV below L2" : "KV above L2"});
  }
  problem.predict = [rows = std::move(rows), machine](std::span<const double> values,
                                                      std::span<const std::size_t> which, std::span<double> seconds) {
    const DecodeForm form = decode_form(NumberFormat::bf16, values);
    for (std::size_t i = 0; i < which.size(); ++i) {
      const DecodeSample& row = rows[which[i]];
      const DecodeCall call{row.requests, row.shape.heads, row.kv_bytes(), row.kv_length, 0};
      seconds[i] = form.time(call, machine, true).seconds;
    }
  };
  return problem;
}

double uneven_share(const std::vector<SkewSample>& rows) {
  // Each row by its own share, as heavy as uneven lengths can matter in it; the weighted median takes no outliers.
  std::vector<std::pair<double, double>> shares;
  double total = 0;
  for (const SkewSample& row : rows) {
    const double range = row.longest_s - row.mean_s;
    if (range <= 0) continue;
    const double weight = range / row.mean_s;
    shares.emplace_back((row.uneven_s - row.mean_s) / range, weight);
    total += weight;
  }
  std::sort(shares.begin(), shares.end());
  double below = 0;
  for (const auto& [share, weight] : shares) {
    below += weight;
    if (below >= total / 2) return std::clamp(share, 0.0, 1.0);
  }
  return 0;
}

namespace {}  // namespace

ElementwiseForm elementwise_form(std::span<const double> values) {
  ElementwiseForm form;
  form.t0_s = values[0] * kMicrosecond;
  form.stream = {values[1], std::max(rounded(values[1] * values[2]), values[1]), values[3], values[4]};
  return form;
}

FitProblem elementwise_problem(std::vector<ElementwiseSample> rows, const Machine& machine) {
  FitProblem problem;
  problem.parameters = {{"t0 (us)", 2.5, 0, 20},
                        {"bandwidth_efficiency", 0.8, 0.2, 1.0},
                        {"l2_rate (of HBM's)", 2, 1, 30},
                        {"l2_share", 0.8, 0.1, 3},
                        {"l2_width", 0.3, 0.02, 3}};
  for (const ElementwiseSample& row : rows) {
    problem.measured.push_back(row.seconds);
    problem.labels.push_back({{row.bytes / row.tokens, 0}, row.layer});
  }
  problem.predict = [rows = std::move(rows), machine](std::span<const double> values,
                                                      std::span<const std::size_t> which, std::span<double> seconds) {
    const ElementwiseForm form = elementwise_form(values);
    for (std::size_t i = 0; i < which.size(); ++i) seconds[i] = form.seconds(rows[which[i]].bytes, machine);
  };
  return problem;
}

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

namespace {

struct TiledValue {
  enum : std::size_t {
    kT0,
    kEfficiency,
    kOverhead,
    kLongest,
    kWaves,
    kBlend,
    kIo,
    kEmpty,
    kDecodeOverhead,
    kBandwidth,
    kL2Share,
    kL2Width,
    kL2Efficiency
  };
};

std::string tiled_region(const TiledSample& row, bool mixed) {
  if (!mixed) {
    const double kv = row.before + row.tokens;
    return kv <= 1024 ? "up to 1k tokens" : kv <= 4096 ? "1k-4k tokens" : "over 4k tokens";
  }
  return row.decodes == 0 ? "chunk alone" : row.decodes <= 16 ? "1-16 decodes" : "over 16 decodes";
}

}  // namespace

TiledForm tiled_form(const TiledKind& kind, std::span<const double> values) {
  TiledForm form;
  form.kv = kind.kv;
  form.tile_rows = kind.tile_rows;
  form.t0_s = values[TiledValue::kT0] * kMicrosecond;
  form.efficiency = values[TiledValue::kEfficiency];
  form.overhead_tokens = values[TiledValue::kOverhead];
  form.longest_factor = values[TiledValue::kLongest];
  form.wave_quantisation = values[TiledValue::kWaves];
  form.blend_power = values[TiledValue::kBlend];
  form.io_efficiency = values[TiledValue::kIo];
  form.empty_tile_s = values[TiledValue::kEmpty] * kNanosecond;
  form.decode_overhead_tokens = values[TiledValue::kDecodeOverhead];
  form.stream.bandwidth_efficiency = values[TiledValue::kBandwidth];
  if (kind.mixed) {
    form.stream = {values[TiledValue::kBandwidth], values[TiledValue::kL2Efficiency], values[TiledValue::kL2Share],
                   values[TiledValue::kL2Width]};
  }
  return form;
}

FitProblem tiled_problem(std::vector<TiledSample> rows, const TiledKind& kind, const Machine& machine) {
  FitProblem problem;
  if (kind.mixed) {
    problem.parameters = {{"t0 (us)", 5, 0, 40},
                          {"efficiency", 0.6, 0.1, 1},
                          {"overhead_tokens", 190, 0, 2000},
                          {"longest_factor", 1, 0.2, 2},
                          {"wave_quantisation", 0.8, 0, 1},
                          {"blend_power", 6, 1.2, 20},
                          {"io_efficiency", 0.85, 0.3, 1.0},
                          {"empty_tile (ns)", 1.6, 0, 5},
                          {"decode_overhead_tokens", 0, -100, 300},
                          {"bandwidth_efficiency", 0.85, 0.4, 1.0},
                          {"l2_share", 0.8, 0.1, 3},
                          {"l2_width", 0.2, 0.02, 2},
                          {"l2_efficiency", 8, 1, 50}};
  } else {
    problem.parameters = {{"t0 (us)", 12, 0, 60},
                          {"efficiency", 0.65, 0.1, 1},
                          {"overhead_tokens", 200, 0, 2000},
                          {"longest_factor", 1, 0.2, 5},
                          {"wave_quantisation", 0, 0, 1},
                          {"blend_power", 3, 1, 30},
                          {"io_efficiency", 0.8, 0.2, 10},
                          {"empty_tile (ns)", 0, 0, 0},
                          {"decode_overhead_tokens", 0, 0, 0},
                          {"bandwidth_efficiency", 0.9, 0.9, 0.9},
                          {"l2_share", 1, 1, 1},
                          {"l2_width", 0.1, 0.1, 0.1},
                          {"l2_efficiency", 1, 1, 1}};
  }
  for (const TiledSample& row : rows) {
    problem.measured.push_back(row.seconds);
    // One model's mixed batches have one shape: folds are by what the batch is made of.
    problem.labels.push_back(
        {kind.mixed ? std::pair{row.tokens, row.before} : std::pair{row.shape.heads, row.shape.kv_heads},
         tiled_region(row, kind.mixed)});
  }
  problem.polish = rows.size() < 5000;
  if (!kind.mixed) problem.spread_starts = 8;
  problem.predict = [rows = std::move(rows), kind, machine](
                        std::span<const double> values, std::span<const std::size_t> which, std::span<double> seconds) {
    const TiledForm form = tiled_form(kind, values);
    for (std::size_t i = 0; i < which.size(); ++i) {
      const TiledSample& row = rows[which[i]];
      TiledCall call;
      for (double n = 0; n < row.chunks; ++n) form.add_chunk(call, row.tokens, row.before, row.shape);
      const double token_bytes = 2 * bytes_per_element(kind.kv) * row.shape.kv_heads * row.shape.head_dim;
      form.add_decodes(call, row.decodes, 1, row.decode_kv, row.decode_kv, token_bytes * row.decodes * row.decode_kv,
                       row.shape);
      seconds[i] = form.time(call, row.shape, machine).seconds;
    }
  };
  return problem;
}

}  // namespace kvsim::models
