#include "models/calibration/operator_fits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/schema/units.h"

namespace kvsim::models {
namespace {

struct DecodeValue {
  enum : std::size_t {
    kT0,
    kDoubling,
    kHead,
    kCold,
    kBandwidth,
    kL2,
    kL2Share,
    kL2Width,
    kSmBandwidth,
    kEfficiency,
    kWaves,
    kUnit,
    kLeastKeys,
    kBlend,
    kJoin,
    kRegroup,
    kRequestDoubling,  // and what follows: of latents alone
    kToken
  };
};

constexpr double kUsualHeadDim = 128;

/// Heads of other widths than most models have are corrected by themselves where the rows are few.
Correction by_head_dim(const Correction& grid) {
  constexpr std::size_t kHeadDimAxis = 2;
  const std::vector<double>& dims = grid.axes[kHeadDimAxis];
  return dims == std::vector<double>{kUsualHeadDim} ? Correction{} : along(grid, kHeadDimAxis);
}

}  // namespace

DecodeForm decode_form(const DecodeKind& kind, std::span<const double> values) {
  DecodeForm form;
  form.kv = kind.kv;
  form.t0_s = values[DecodeValue::kT0] * kMicrosecond;
  form.per_doubling_s = values[DecodeValue::kDoubling] * kMicrosecond;
  form.per_head_s = values[DecodeValue::kHead] * kNanosecond;
  form.cold_s = values[DecodeValue::kCold] * kMicrosecond;
  form.stream = {values[DecodeValue::kBandwidth], rounded(values[DecodeValue::kBandwidth] * values[DecodeValue::kL2]),
                 values[DecodeValue::kL2Share], values[DecodeValue::kL2Width]};
  form.stream.l2_efficiency =
      std::max(form.stream.l2_efficiency, values[DecodeValue::kL2] > 0 ? values[DecodeValue::kBandwidth] : 0);
  form.walk.sm_bandwidth = values[DecodeValue::kSmBandwidth];
  form.walk.efficiency = values[DecodeValue::kEfficiency];
  form.walk.wave_quantisation = values[DecodeValue::kWaves];
  form.walk.unit_s = values[DecodeValue::kUnit] * kMicrosecond;
  form.walk.least_keys = values[DecodeValue::kLeastKeys];
  form.walk.blend_power = values[DecodeValue::kBlend];
  form.walk.join_s = values[DecodeValue::kJoin] * kNanosecond;
  form.walk.regroup_s = values[DecodeValue::kRegroup] * kMicrosecond;
  if (kind.latent) {
    form.per_request_doubling_s = values[DecodeValue::kRequestDoubling] * kMicrosecond;
    form.per_token_s = values[DecodeValue::kToken] * kNanosecond;
  }
  form.walk.splits_single_heads = kind.splits_single_heads;
  return form;
}

FitProblem decode_problem(std::vector<DecodeSample> rows, const DecodeKind& kind, const Machine& machine) {
  FitProblem problem;
  // `cold` is some round trips to HBM. Where few rows outgrow L2 a fit would spread what L2 saves over all sizes, and
  // make a multiple of that of it, which a serving step would then pay at any length.
  problem.parameters = {{"t0 (us)", 8, 0, 60},
                        {"per_doubling (us)", 0.7, 0, 20},
                        {"per_head (ns)", 0.5, 0, 100},
                        {"cold (us)", 2, 0, 8},
                        {"bandwidth_efficiency", 0.9, 0.3, 1.05},
                        {"l2_rate (of HBM's)", 2, 1, 30},
                        {"l2_share", 0.9, 0.3, 3},
                        {"l2_width", 0.1, 0.02, 3},
                        {"sm_bandwidth", 3, 1, 30},
                        {"walk_efficiency", 0.4, 0.02, 1},
                        {"wave_quantisation", 0.6, 0, 1},
                        {"unit (us)", 2, 0, 20},
                        {"least_keys", 200, 16, 4096},
                        {"walk_blend_power", 3, 1.2, 12},
                        {"join (ns)", 30, 0, 200},
                        {"regroup (us)", 1, 0, 20}};
  if (kind.latent) {  // a block launches some ten kernels beside its linear layers
    problem.parameters[DecodeValue::kT0] = {"t0 (us)", 40, 0, 300};
    problem.parameters[DecodeValue::kHead] = {"per_head (ns)", 2, 0, 300};
    problem.parameters[DecodeValue::kRegroup] = {"regroup (us)", 0, 0, 0};
    problem.parameters[DecodeValue::kCold] = {"cold (us)", 0, 0, 0};  // it would make good what is none of L2
    problem.parameters.push_back({"per_request_doubling (us)", 2, 0, 20});
    problem.parameters.push_back({"per_token (ns)", 10, 0, 300});
  }
  std::vector<double> start;
  for (const Parameter& p : problem.parameters) start.push_back(p.start);
  for (const auto& [share, cold] : {std::pair{0.3, 0.1}, {0.3, 8.0}, {0.9, 0.1}, {1.7, 15.0}}) {
    start[DecodeValue::kL2Share] = share;
    start[DecodeValue::kCold] = kind.latent ? 0 : cold;
    problem.starts.push_back(start);
  }
  problem.rising_axes = 1;  // more requests never take less
  problem.spread_starts = 8;
  for (const DecodeSample& row : rows) {
    problem.measured.push_back(row.seconds);
    const bool fits = machine.l2_bytes > 0 && row.kv_bytes() < machine.l2_bytes;
    problem.labels.push_back({{row.shape.heads * kHeadDimLabel + row.shape.head_dim, row.shape.kv_heads},
                              row.queries > 1 ? "short prompts"
                              : fits          ? "KV below L2"
                                              : "KV above L2"});
    problem.sizes.push_back(
        {row.requests * row.shape.kv_heads, row.kv_length, row.shape.head_dim, row.shape.heads / row.shape.kv_heads});
  }
  if (!kind.latent) {
    problem.grid = grid_around({{{1, 16, 128, 2048}, {16, 128, 1024, 8192, 65536}, {64, 128, 256, 512}, {1, 4, 32}}},
                               problem.sizes);
    problem.sparse_grid = by_head_dim(problem.grid);
  }
  problem.predict = [rows = std::move(rows), kind, machine](
                        std::span<const double> values, const Correction& correction,
                        std::span<const std::size_t> which, std::span<double> seconds) {
    DecodeForm form = decode_form(kind, values);
    form.correction = correction;
    for (std::size_t i = 0; i < which.size(); ++i) {
      const DecodeSample& row = rows[which[i]];
      seconds[i] = form.time(call_of(row), machine, true).seconds + row.block.linear_s;
    }
  };
  return problem;
}

DecodeCall call_of(const DecodeSample& row) {
  DecodeCall call;
  call.requests = row.requests;
  call.heads = row.shape.heads;
  call.kv_bytes = row.kv_bytes();
  call.mean_kv = row.kv_length;
  call.kv_heads = row.shape.kv_heads;
  call.head_dim = row.shape.head_dim;
  call.queries = row.queries;
  return call;
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
  problem.spread_starts = 8;
  problem.predict = [rows = std::move(rows), machine](std::span<const double> values, const Correction& /*none*/,
                                                      std::span<const std::size_t> which, std::span<double> seconds) {
    const ElementwiseForm form = elementwise_form(values);
    for (std::size_t i = 0; i < which.size(); ++i) seconds[i] = form.seconds(rows[which[i]].bytes, machine);
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
    kL2Efficiency,
    kHeadDimPower,
    kTile,
    kDoubling,
    kWrite,
    kDroop,
    kToken,  // of latents alone
    kWriteBlock,
    kUnevenGroup
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
  form.head_dim_power = values[TiledValue::kHeadDimPower];
  form.tile_s = values[TiledValue::kTile] * kMicrosecond;
  form.per_doubling_s = values[TiledValue::kDoubling] * kMicrosecond;
  form.write_efficiency = values[TiledValue::kWrite];
  form.power_droop = values[TiledValue::kDroop];
  form.per_token_s = values[TiledValue::kToken] * kNanosecond;
  form.write_block_s = values[TiledValue::kWriteBlock] * kNanosecond;
  form.uneven_group_share = values[TiledValue::kUnevenGroup];
  form.packs_groups = kind.packs_groups;
  if (kind.mixed) {
    form.stream = {values[TiledValue::kBandwidth], values[TiledValue::kL2Efficiency], values[TiledValue::kL2Share],
                   values[TiledValue::kL2Width]};
  }
  return form;
}

double tiled_s(const TiledForm& form, const TiledSample& row, const Machine& machine) {
  TiledCall call;
  if (row.chunks > 0) form.add_chunk(call, row.tokens, row.before, row.shape, row.chunks);
  const double token_bytes = 2 * bytes_per_element(row.kv) * row.shape.kv_heads * row.shape.head_dim;
  form.add_decodes(call, row.decodes, 1, row.decode_kv, row.decode_kv, token_bytes * row.decodes * row.decode_kv,
                   row.shape);
  return form.time(call, row.shape, machine).seconds;
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
                          {"l2_efficiency", 8, 1, 50},
                          {"head_dim_power", 0, 0, 0},
                          {"tile (us)", 0, 0, 0},
                          {"per_doubling (us)", 0, 0, 0},
                          {"write_efficiency", 0, 0, 0},
                          {"power_droop", 0, 0, 0},
                          {"per_token (ns)", 0, 0, 0},
                          {"write_block (ns)", 0, 0, 0},
                          {"uneven_group_share", 0, 0, 0}};
  } else {
    const auto any = [&rows](const auto& holds) { return std::any_of(rows.begin(), rows.end(), holds); };
    // Layer profiles time attention alone, other tables the writing of new keys and values too.
    const bool written = any([](const TiledSample& row) { return !row.from.framework.empty(); });
    const bool dims =
        any([&rows](const TiledSample& row) { return row.shape.head_dim != rows.front().shape.head_dim; });
    const bool uneven = any([](const TiledSample& row) { return row.shape.uneven_groups(); });
    problem.parameters = {{"t0 (us)", 9, 0, 60},
                          {"efficiency", 0.65, 0.1, 1.05},
                          {"overhead_tokens", 50, 0, 2000},
                          {"longest_factor", 1, 0.2, 5},
                          {"wave_quantisation", 0.5, 0, 1},
                          {"blend_power", 2, 1, 30},
                          {"io_efficiency", 0.8, 0.2, 10},
                          {"empty_tile (ns)", 0, 0, 0},
                          {"decode_overhead_tokens", 0, 0, 0},
                          {"bandwidth_efficiency", 0.9, 0.9, 0.9},
                          {"l2_share", 1, 1, 1},
                          {"l2_width", 0.1, 0.1, 0.1},
                          {"l2_efficiency", 1, 1, 1},
                          {"head_dim_power", dims ? 0.3 : 0, 0, dims ? 2.0 : 0},
                          {"tile (us)", 1, 0, 30},
                          {"per_doubling (us)", 0.5, 0, 10},
                          {"write_efficiency", written ? 0.2 : 0, written ? 0.02 : 0, written ? 10.0 : 0},
                          {"power_droop", 0.02, 0, 0.3},
                          {"per_token (ns)", 0, 0, 0},
                          {"write_block (ns)", written ? 200.0 : 0, 0, written ? 5000.0 : 0},
                          {"uneven_group_share", uneven ? 0.03 : 0, 0, uneven ? 0.5 : 0}};
    if (kind.latent) {
      problem.parameters[TiledValue::kT0] = {"t0 (us)", 40, 0, 300};
      problem.parameters[TiledValue::kToken] = {"per_token (ns)", 10, 0, 300};
      problem.parameters[TiledValue::kWriteBlock] = {"write_block (ns)", 0, 0, 0};  // per_token is that too
    }
  }
  for (const TiledSample& row : rows) {
    problem.measured.push_back(row.seconds);
    // One model's mixed batches have one shape: folds are by what the batch is made of.
    problem.labels.push_back({kind.mixed
                                  ? std::pair{row.tokens, row.before}
                                  : std::pair{row.shape.heads * kHeadDimLabel + row.shape.head_dim, row.shape.kv_heads},
                              tiled_region(row, kind.mixed)});
    problem.sizes.push_back({row.chunks * row.shape.heads, row.before + row.tokens, row.shape.head_dim,
                             row.shape.heads / row.shape.kv_heads});
  }
  if (!kind.mixed && !kind.latent) {
    problem.grid =
        grid_around({{{1, 16, 128, 2048}, {16, 128, 512, 2048, 8192}, {64, 128, 256, 512}, {1, 4, 32}}}, problem.sizes);
    problem.sparse_grid = by_head_dim(problem.grid);
  }
  problem.rising_axes = 1;  // more prompts never take less
  problem.spread_starts = 8;
  problem.predict = [rows = std::move(rows), kind, machine](
                        std::span<const double> values, const Correction& correction,
                        std::span<const std::size_t> which, std::span<double> seconds) {
    TiledForm form = tiled_form(kind, values);
    form.correction = correction;
    for (std::size_t i = 0; i < which.size(); ++i) {
      const TiledSample& row = rows[which[i]];
      seconds[i] = tiled_s(form, row, machine) + row.block.linear_s;
    }
  };
  return problem;
}

}  // namespace kvsim::models
