#include <cmath>

#include "models/calibration/operator_fits.h"
#include "models/schema/si.h"

namespace kvsim::models {
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
