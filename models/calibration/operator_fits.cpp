#include "models/calibration/operator_fits.h"

#include <algorithm>

#include "models/schema/units.h"

namespace kvsim::models {
namespace {

// `cold` is some round trips to HBM. Where few rows outgrow L2 a fit would spread what L2 saves over all sizes, and
// make a multiple of that of it, which a serving step would then pay at any length.
constexpr FittedMember<DecodeForm> kDecodeMembers[] = {
    {[](auto& f) -> double& { return f.t0_s; }, kMicrosecond, "t0 (us)", 8, 0, 60},
    {[](auto& f) -> double& { return f.per_doubling_s; }, kMicrosecond, "per_doubling (us)", 0.7, 0, 20},
    {[](auto& f) -> double& { return f.per_head_s; }, kNanosecond, "per_head (ns)", 0.5, 0, 100},
    {[](auto& f) -> double& { return f.cold_s; }, kMicrosecond, "cold (us)", 2, 0, 8},
    {[](auto& f) -> double& { return f.stream.bandwidth_efficiency; }, 1, "bandwidth_efficiency", 0.9, 0.3, 1.05},
    {[](auto& f) -> double& { return f.stream.l2_efficiency; }, 1, "l2_rate (of HBM's)", 2, 1, 30},
    {[](auto& f) -> double& { return f.stream.l2_share; }, 1, "l2_share", 0.9, 0.3, 3},
    {[](auto& f) -> double& { return f.stream.l2_width; }, 1, "l2_width", 0.1, 0.02, 3},
    {[](auto& f) -> double& { return f.walk.sm_bandwidth; }, 1, "sm_bandwidth", 3, 1, 30},
    {[](auto& f) -> double& { return f.walk.efficiency; }, 1, "walk_efficiency", 0.4, 0.02, 1},
    {[](auto& f) -> double& { return f.walk.wave_quantisation; }, 1, "wave_quantisation", 0.6, 0, 1},
    {[](auto& f) -> double& { return f.walk.unit_s; }, kMicrosecond, "unit (us)", 2, 0, 20},
    {[](auto& f) -> double& { return f.walk.least_keys; }, 1, "least_keys", 200, 16, 4096},
    {[](auto& f) -> double& { return f.walk.blend_power; }, 1, "walk_blend_power", 3, 1.2, 12},
    {[](auto& f) -> double& { return f.walk.join_s; }, kNanosecond, "join (ns)", 30, 0, 200},
    {[](auto& f) -> double& { return f.walk.regroup_s; }, kMicrosecond, "regroup (us)", 1, 0, 20},
    // Latents alone have these two.
    {[](auto& f) -> double& { return f.per_request_doubling_s; }, kMicrosecond, "per_request_doubling (us)", 2, 0, 20},
    {[](auto& f) -> double& { return f.per_token_s; }, kNanosecond, "per_token (ns)", 10, 0, 300}};
constexpr std::size_t kOfLatents = 2;

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
  set_members(form, kDecodeMembers, values);
  CachedStream& s = form.stream;
  const double l2_rate = s.l2_efficiency;
  s.l2_efficiency = std::max(rounded(s.bandwidth_efficiency * l2_rate), l2_rate > 0 ? s.bandwidth_efficiency : 0);
  form.walk.splits_single_heads = kind.splits_single_heads;
  return form;
}

FitProblem decode_problem(std::vector<DecodeSample> rows, const DecodeKind& kind, const Machine& machine) {
  FitProblem problem;
  for (const auto& member : kDecodeMembers) problem.parameters.push_back(member.parameter());
  if (kind.latent) {  // a block launches some ten kernels beside its linear layers
    parameter(problem, "t0 (us)") = {"t0 (us)", 40, 0, 300};
    parameter(problem, "per_head (ns)") = {"per_head (ns)", 2, 0, 300};
    parameter(problem, "regroup (us)") = {"regroup (us)", 0, 0, 0};
    parameter(problem, "cold (us)") = {"cold (us)", 0, 0, 0};  // it would make good what is none of L2
  } else {
    problem.parameters.resize(problem.parameters.size() - kOfLatents);
  }
  for (const auto& [share, cold] : {std::pair{0.3, 0.1}, {0.3, 8.0}, {0.9, 0.1}, {1.7, 15.0}}) {
    std::vector<double>& start = problem.starts.emplace_back();
    for (const Parameter& p : problem.parameters) {
      start.push_back(p.name == "l2_share" ? share : p.name == "cold (us)" && !kind.latent ? cold : p.start);
    }
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
  problem.predict = by_row([kind](std::span<const double> values) { return decode_form(kind, values); },
                           [rows = std::move(rows), machine](const DecodeForm& form, std::size_t i) {
                             return form.time(call_of(rows[i]), machine, true).seconds + rows[i].block.linear_s;
                           });
  return problem;
}

DecodeCall call_of(const DecodeSample& row) {
  return {row.requests,       row.shape.heads,    row.kv_bytes(), row.kv_length, 0,
          row.shape.kv_heads, row.shape.head_dim, row.queries};
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
  problem.predict =
      by_row(elementwise_form, [rows = std::move(rows), machine](const ElementwiseForm& form, std::size_t i) {
        return form.seconds(rows[i].bytes, machine);
      });
  return problem;
}

namespace {

/// `start` to `high` are of launches without decoding requests.
struct TiledMember : FittedMember<TiledForm> {
  struct {
    double start, low, high;
  } mixed;
};
constexpr TiledMember kTiledMembers[] = {
    {{[](auto& f) -> double& { return f.t0_s; }, kMicrosecond, "t0 (us)", 9, 0, 60}, {5, 0, 40}},
    {{[](auto& f) -> double& { return f.efficiency; }, 1, "efficiency", 0.65, 0.1, 1.05}, {0.6, 0.1, 1}},
    {{[](auto& f) -> double& { return f.overhead_tokens; }, 1, "overhead_tokens", 50, 0, 2000}, {190, 0, 2000}},
    {{[](auto& f) -> double& { return f.longest_factor; }, 1, "longest_factor", 1, 0.2, 5}, {1, 0.2, 2}},
    {{[](auto& f) -> double& { return f.wave_quantisation; }, 1, "wave_quantisation", 0.5, 0, 1}, {0.8, 0, 1}},
    {{[](auto& f) -> double& { return f.blend_power; }, 1, "blend_power", 2, 1, 30}, {6, 1.2, 20}},
    {{[](auto& f) -> double& { return f.io_efficiency; }, 1, "io_efficiency", 0.8, 0.2, 10}, {0.85, 0.3, 1.0}},
    {{[](auto& f) -> double& { return f.empty_tile_s; }, kNanosecond, "empty_tile (ns)", 0, 0, 0}, {1.6, 0, 5}},
    {{[](auto& f) -> double& { return f.decode_overhead_tokens; }, 1, "decode_overhead_tokens", 0, 0, 0},
     {0, -100, 300}},
    {{[](auto& f) -> double& { return f.stream.bandwidth_efficiency; }, 1, "bandwidth_efficiency", 0.9, 0.9, 0.9},
     {0.85, 0.4, 1.0}},
    {{[](auto& f) -> double& { return f.stream.l2_share; }, 1, "l2_share", 1, 1, 1}, {0.8, 0.1, 3}},
    {{[](auto& f) -> double& { return f.stream.l2_width; }, 1, "l2_width", 0.1, 0.1, 0.1}, {0.2, 0.02, 2}},
    {{[](auto& f) -> double& { return f.stream.l2_efficiency; }, 1, "l2_efficiency", 1, 1, 1}, {8, 1, 50}},
    {{[](auto& f) -> double& { return f.head_dim_power; }, 1, "head_dim_power", 0.3, 0, 2}, {0, 0, 0}},
    {{[](auto& f) -> double& { return f.tile_s; }, kMicrosecond, "tile (us)", 1, 0, 30}, {0, 0, 0}},
    {{[](auto& f) -> double& { return f.per_doubling_s; }, kMicrosecond, "per_doubling (us)", 0.5, 0, 10}, {0, 0, 0}},
    {{[](auto& f) -> double& { return f.write_efficiency; }, 1, "write_efficiency", 0.2, 0.02, 10}, {0, 0, 0}},
    {{[](auto& f) -> double& { return f.power_droop; }, 1, "power_droop", 0.02, 0, 0.3}, {0, 0, 0}},
    {{[](auto& f) -> double& { return f.per_token_s; }, kNanosecond, "per_token (ns)", 0, 0, 0},
     {0, 0, 0}},  // of latents alone
    {{[](auto& f) -> double& { return f.write_block_s; }, kNanosecond, "write_block (ns)", 200, 0, 5000}, {0, 0, 0}},
    {{[](auto& f) -> double& { return f.uneven_group_share; }, 1, "uneven_group_share", 0.03, 0, 0.5}, {0, 0, 0}}};

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
  form.packs_groups = kind.packs_groups;
  set_members(form, kTiledMembers, values);
  if (!kind.mixed) form.stream = {form.stream.bandwidth_efficiency};
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
  for (const TiledMember& member : kTiledMembers) {
    const auto& [start, low, high] = member.mixed;
    problem.parameters.push_back(kind.mixed ? Parameter{member.name, start, low, high} : member.parameter());
  }
  const auto any = [&rows](const auto& holds) { return std::any_of(rows.begin(), rows.end(), holds); };
  const auto leave_out = [&problem](const char* name) { parameter(problem, name) = {name, 0, 0, 0}; };
  // Layer profiles time attention alone, other tables the writing of new keys and values too.
  const bool written = any([](const TiledSample& row) { return !row.from.framework.empty(); });
  if (!written) leave_out("write_efficiency");
  if (!written || kind.latent) leave_out("write_block (ns)");  // per_token is that too
  if (!any([&rows](const TiledSample& row) { return row.shape.head_dim != rows.front().shape.head_dim; })) {
    leave_out("head_dim_power");
  }
  if (!any([](const TiledSample& row) { return row.shape.uneven_groups(); })) leave_out("uneven_group_share");
  if (kind.latent) {
    parameter(problem, "t0 (us)") = {"t0 (us)", 40, 0, 300};
    parameter(problem, "per_token (ns)") = {"per_token (ns)", 10, 0, 300};
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
  problem.predict = by_row([kind](std::span<const double> values) { return tiled_form(kind, values); },
                           [rows = std::move(rows), machine](const TiledForm& form, std::size_t i) {
                             return tiled_s(form, rows[i], machine) + rows[i].block.linear_s;
                           });
  return problem;
}

}  // namespace kvsim::models
