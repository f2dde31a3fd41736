#include "models/kernels/forms.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

namespace kvsim::models {

Machine Machine::of(const GpuSpec& gpu) {
  Machine m;
  m.memory_bytes_per_s = gpu.memory_bytes_per_s.value;
  m.bf16_flops_per_s = gpu.bf16_flops_per_s.value;
  m.fp8_flops_per_s = gpu.fp8_flops_per_s.value;
  m.fp4_flops_per_s = gpu.fp4_flops_per_s.value;
  m.l2_bytes = static_cast<double>(gpu.l2_bytes.value);
  m.multiprocessors = static_cast<double>(gpu.multiprocessors.value);
  return m;
}

std::string words_of(const FormError& error) {
  return fmt::format("{} median {:.1f} %, p90 {:.1f} %", error.held_out ? "cross-validated" : "in sample",
                     100 * error.median, 100 * error.p90);
}

HeadShape absorbed_shape(const MlaShape& mla, double heads) {
  const auto keys = static_cast<double>(mla.kv_lora_rank + mla.qk_rope_head_dim);
  return {heads, 1, (keys + static_cast<double>(mla.kv_lora_rank)) / 2};
}

HeadShape expanded_shape(const MlaShape& mla, double heads) {
  const auto keys = static_cast<double>(mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  return {heads, heads, (keys + static_cast<double>(mla.v_head_dim)) / 2};
}

double blend(double a, double b, double p) {
  const double high = std::max(a, b);
  const double low = std::min(a, b);
  if (high <= 0) return 0;
  const double ratio = low / high;
  if (low <= 0 || (ratio < 0.05 && p > 3)) return high;  // what is left out is below 5e-5 of the result
  // Logarithms cost half of std::pow, and this is most of a query's time.
  return high * std::exp2(std::log2(1 + std::exp2(p * std::log2(ratio))) / p);
}

namespace {

/// The next whole number. Where a step is cut into shares, what would be one is so but for rounding.
double whole(double x) {
  constexpr double kRounding = 1e-12;
  return std::ceil(x * (1 - kRounding));
}

}  // namespace

double CachedStream::miss_share(double bytes, const Machine& machine) const {
  if (l2_efficiency <= 0 || machine.l2_bytes <= 0 || bytes <= 0) return 1;
  const double x = std::log(bytes / (l2_share * machine.l2_bytes)) / l2_width;
  return 1 / (1 + std::exp(-x));
}

double CachedStream::seconds(double bytes, const Machine& machine, bool cold) const {
  const double from_hbm = bytes / (bandwidth_efficiency * machine.memory_bytes_per_s);
  if (cold || l2_efficiency <= 0) return from_hbm;
  const double miss = miss_share(bytes, machine);
  return miss * from_hbm + (1 - miss) * bytes / (l2_efficiency * machine.memory_bytes_per_s);
}

double QuantiseForm::seconds(double m, double k, double written, const Machine& machine) const {
  if (bandwidth_efficiency <= 0) return 0;
  constexpr double kRead = 2;   // bf16
  constexpr double kPower = 3;  // a block a token, or all bytes: the slower
  const double moved_s = m * k * (kRead + written) / (bandwidth_efficiency * machine.memory_bytes_per_s);
  return t0_s + blend(per_token_s * m, moved_s, kPower);
}

double LinearForm::memory_s(double m, double n, double k, const Machine& machine, const LinearRun& run) const {
  constexpr double kOutputBytes = 2;  // bf16
  const double element = bytes_per_element(weights);
  const double bytes_per_s = bandwidth_efficiency * machine.memory_bytes_per_s;
  if (io_efficiency <= 0) return ((n + m) * k * element + m * n * kOutputBytes) / bytes_per_s;
  const double weight_bytes = n * k * element;
  double weights_s = weight_bytes / bytes_per_s;
  if (run.repeated > 0 && benchmark.l2_efficiency > 0) {
    const CachedStream repeated{bandwidth_efficiency, benchmark.l2_efficiency, benchmark.l2_share, benchmark.l2_width};
    weights_s = repeated.seconds(run.repeated * weight_bytes, machine, false) / run.repeated;
  }
  return weights_s + (m * k * element + m * n * kOutputBytes) / (io_efficiency * machine.memory_bytes_per_s);
}

namespace {

/// std::ceil() of what is not negative and below 2^53, without a call: it is most of what tabulating a form takes.
double rounded_up(double x) {
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole < x ? whole + 1 : whole;
}

}  // namespace

double LinearForm::compute_s(double m, double n, double k, const Machine& machine) const {
  constexpr double kPartialBytes = 4;  // fp32 sums of a split k
  // Eight twice: of an even number compilers work out two at once, and these loops are most of what a fit takes.
  constexpr std::array kSplits = {1.0, 2.0, 3.0, 4.0, 8.0, 8.0};
  using Ways = std::array<double, kSplits.size()>;  // something of each
  const double element = bytes_per_element(weights);
  const double bytes_per_s = bandwidth_efficiency * machine.memory_bytes_per_s;
  const double io_bytes_per_s = io_efficiency > 0 ? io_efficiency * machine.memory_bytes_per_s : bytes_per_s;
  const double rate = machine.flops_per_s(weights) / machine.multiprocessors;
  const double sm_bytes_per_s = sm_bandwidth * bytes_per_s / machine.multiprocessors;
  Ways part_k{}, reduce_s{};
  for (std::size_t i = 0; i < kSplits.size(); ++i) {
    part_k[i] = k / kSplits[i];
    reduce_s[i] = kSplits[i] > 1 ? m * n * kPartialBytes * kSplits[i] / io_bytes_per_s : 0;
  }
  double best_s = std::numeric_limits<double>::infinity();
  for (const GemmTile& tile : tiles) {
    const double count = rounded_up(m / tile.rows) * rounded_up(n / tile.columns);
    const double flops = 2 * tile.rows * tile.columns;
    const double tile_rate = tile.efficiency * rate;
    Ways even{}, tile_s{};
    for (std::size_t i = 0; i < kSplits.size(); ++i) {
      even[i] = count * kSplits[i] / machine.multiprocessors;
      tile_s[i] = flops * (part_k[i] + tile_overhead_k) / tile_rate;
    }
    if (sm_bandwidth > 0) {
      const double line_bytes = (std::min(tile.columns, n) + std::min(tile.rows, m)) * element;
      for (std::size_t i = 0; i < kSplits.size(); ++i) {
        tile_s[i] = std::max(tile_s[i], line_bytes * part_k[i] / sm_bytes_per_s);
      }
    }
    for (std::size_t i = 0; i < kSplits.size(); ++i) {
      const double waves = even[i] + wave_quantisation * (rounded_up(even[i]) - even[i]);
      best_s = std::min(best_s, waves * tile_s[i] + reduce_s[i]);
    }
  }
  constexpr double kLong = 1e-3;  // kernels shorter than this do not heat the GPU
  return best_s * (1 + power_droop * std::log2(1 + 2 * m * n * k / machine.flops_per_s(weights) / kLong));
}

FormTime LinearForm::time(double m, double n, double k, const Machine& machine, const LinearRun& run) const {
  constexpr double kFewTokens = 16;
  constexpr double kShortK = 1024;
  const double stream_s = memory_s(m, n, k, machine, run);
  const double tiles_s = compute_s(m, n, k, machine);
  const double extra_s = extra_input_bytes * m * k / (bandwidth_efficiency * machine.memory_bytes_per_s);
  double seconds = t0_s + blend(stream_s, tiles_s, blend_power) + extra_s;
  if (per_doubling_s > 0) seconds += per_doubling_s * std::log2(1 + k / kShortK);
  if (!run.quantised) seconds += quantise.seconds(m, k, bytes_per_element(weights), machine);
  if (machine.as_measured) seconds *= correction.at({m, n, k});
  if (run.launched) {
    constexpr double kPower = 8;
    const double launch_s = m <= kFewTokens && benchmark.launch_few_s > 0 ? benchmark.launch_few_s : benchmark.launch_s;
    seconds = blend(seconds, launch_s, kPower);
  }
  return {seconds, stream_s >= tiles_s};
}

/// The stream of all KV, or the multiprocessor that has most to walk through, and what splitting adds.
double DecodeForm::walked(double stream_s, const DecodeCall& call, const Machine& machine) const {
  constexpr double kRows = 16;  // of a tensor core's tile
  const double group = call.heads * call.queries / call.kv_heads;
  const double units = call.requests * call.kv_heads;
  const double keys = std::max(call.mean_kv, 1.0);
  const double fills = machine.multiprocessors / units;  // parts with which each multiprocessor has one
  const bool splits = (group > 1 || walk.splits_single_heads) && keys > walk.least_keys;
  const double parts = splits ? std::min(keys / walk.least_keys, std::max(1.0, fills)) : 1;
  const double even = parts == fills ? 1 : units * parts / machine.multiprocessors;  // not a wave more by rounding
  const double waves = even < 1 ? 1 : even + walk.wave_quantisation * (whole(even) - even);
  const double key_bytes = call.kv_bytes / (units * keys);  // fewer where the KV is held in few bits
  const double bytes_per_s = walk.sm_bandwidth * stream.bandwidth_efficiency * machine.memory_bytes_per_s;
  const double row_tiles = group > kRows ? whole(group / kRows) : 1;
  const double flops = 4 * kRows * row_tiles * call.head_dim;
  const double key_s =
      machine.multiprocessors * std::max(key_bytes / bytes_per_s, flops / (walk.efficiency * machine.bf16_flops_per_s));
  double seconds = blend(stream_s, waves * (keys / parts * key_s + walk.unit_s), walk.blend_power);
  if (parts > 1) {
    seconds += walk.join_s * even * group;
  } else if (splits) {  // too many walks to be split, and no sooner done than the most that are
    const double most_s = blend(stream_s * fills, keys * key_s + walk.unit_s, walk.blend_power);
    seconds = std::max(seconds, most_s + walk.join_s * group);
  }
  if (group > 1 && call.kv_heads > 1 && call.requests > 1) seconds += walk.regroup_s;
  return seconds;
}

FormTime DecodeForm::time(const DecodeCall& call, const Machine& machine, bool read_before) const {
  const bool warm = read_before || hits_in_serving;
  constexpr double kShortKv = 1024;
  const double tokens = call.requests * call.queries;
  double fixed_s = t0_s + per_doubling_s * std::log2(1 + call.mean_kv / kShortKv) + per_head_s * tokens * call.heads;
  if (per_request_doubling_s > 0) fixed_s += per_request_doubling_s * std::log2(std::max(call.requests, 1.0));
  fixed_s += per_token_s * tokens;
  const double miss = warm ? stream.miss_share(call.kv_bytes, machine) : 1;
  double stream_s = stream.seconds(call.kv_bytes, machine, !warm);
  if (walk.sm_bandwidth > 0) stream_s = walked(stream_s, call, machine);
  stream_s += miss * cold_s;
  stream_s += uneven_s(call, machine);
  double seconds = fixed_s + stream_s;
  if (!correction.empty() && machine.as_measured) {
    seconds *= correction.at(
        {call.requests * call.kv_heads, std::max(call.mean_kv, 1.0), call.head_dim, call.heads / call.kv_heads});
  }
  return {seconds, true};
}

double DecodeForm::uneven_s(const DecodeCall& call, const Machine& machine) const {
  if (call.longest_kv <= call.mean_kv || call.mean_kv <= 0) return 0;
  constexpr double kMeasured = 16;  // no batch was measured with a longer request than this many means
  const double longer = call.kv_bytes * (std::min(call.longest_kv / call.mean_kv, kMeasured) - 1);
  return uneven_share * longer / (stream.bandwidth_efficiency * machine.memory_bytes_per_s);
}

FormTime VerifyForm::time(const DecodeCall& call, double one_s, double least_s, const Machine& machine) const {
  const double rows = call.queries * call.heads / call.kv_heads;
  const double blocks = std::max(whole(rows / block_rows), 1.0);
  const double computed = blocks > 1 ? blocks * block_rows : rows;
  const double read_s = reading * (1 + further_blocks * (blocks - 1)) * std::max(one_s - least_s, 0.0);
  const double flops = 4 * call.head_dim * computed * call.requests * call.kv_heads * call.mean_kv;
  const double compute_s = flops / (efficiency * machine.bf16_flops_per_s);
  const double more_s = per_row_s * (call.queries - 1) * call.requests * call.heads;
  return {least_s + more_s + blend(read_s, compute_s, blend_power), read_s >= compute_s};
}

namespace {

constexpr double kActivationBytes = 2;  // bf16 queries and outputs

void add(TiledCall& call, double tiles, double mean, double longest, double shortest) {
  call.longest = std::max(call.longest, longest);
  auto at = call.tiles.begin();
  while (at != call.tiles.end() && at->shortest > shortest) ++at;
  if (at == call.tiles.end() || at->shortest < shortest) at = call.tiles.insert(at, TileLoad{0, 0, shortest});
  at->tiles += tiles;
  at->tokens += tiles * mean;
}

}  // namespace

void TiledForm::add_chunk(TiledCall& call, double tokens, double before, const HeadShape& shape, double chunks) const {
  const double group = packs_groups ? shape.heads / shape.kv_heads : 1;
  const double tile_tokens = tile_rows / group;
  const double rows = whole(tokens / tile_tokens);
  const double mean = before + (rows + 1) * tile_tokens / 2;  // causal: half of the chunk's own keys
  const double tiles = chunks * rows * shape.heads / group;
  add(call, tiles, mean, before + tokens, before + std::min(tile_tokens, tokens));
  call.chunk_walk += tiles * mean;
  call.prompts += chunks;
  call.tokens += chunks * tokens;
  call.written_bytes += chunks * 2 * bytes_per_element(kv) * tokens * shape.kv_heads * shape.head_dim;
  call.chunk_bytes += chunks * (2 * kActivationBytes * tokens * shape.heads * shape.head_dim +
                                2 * bytes_per_element(kv) * (before + tokens) * shape.kv_heads * shape.head_dim);
  call.widest_tiles = std::max(call.widest_tiles, rows);
}

void TiledForm::add_decodes(TiledCall& call, double requests, double query_tokens, double mean_kv, double longest,
                            double kv_bytes, const HeadShape& shape) const {
  if (requests <= 0) return;
  const double rows = whole(query_tokens / tile_rows);
  const double mean = std::max(mean_kv + decode_overhead_tokens, 0.0);
  add(call, requests * rows * shape.heads, mean, std::max(mean, longest + decode_overhead_tokens), mean);
  call.stream_bytes += kv_bytes;
  call.decodes += requests;
  call.widest_tiles = std::max(call.widest_tiles, rows);
}

/// Tokens that the busiest multiprocessor walks through, overheads included.
double TiledForm::walked(const TiledCall& call, double overhead, double multiprocessors) const {
  double tiles = 0, tokens = 0, most = 0;
  for (const TileLoad& load : call.tiles) {
    tiles += load.tiles;
    tokens += load.tokens;
    const double even = tiles / multiprocessors;
    const double average = (tokens + tiles * overhead) / multiprocessors;
    most = std::max(most, average + wave_quantisation * (whole(even) - even) * (load.shortest + overhead));
  }
  return most;
}

FormTime TiledForm::time(const TiledCall& call, const HeadShape& shape, const Machine& machine) const {
  constexpr double kMostEfficiency = 1.05;
  constexpr double kHeadDim = 128;
  double reached = efficiency;
  if (head_dim_power > 0) {
    reached = std::min(efficiency * std::pow(shape.head_dim / kHeadDim, head_dim_power), kMostEfficiency);
  }
  const double token_s =
      4 * tile_rows * shape.head_dim * machine.multiprocessors / (reached * machine.bf16_flops_per_s);
  const double overhead = overhead_tokens + tile_s / token_s;
  const double load = walked(call, overhead, machine.multiprocessors);
  const double longest = (call.longest + overhead) * longest_factor;
  double compute_s = token_s * blend(load, longest, blend_power);
  if (power_droop > 0) {
    constexpr double kLong = 1e-3;
    const double flops = 4 * tile_rows * shape.head_dim * call.chunk_walk;
    compute_s *= 1 + power_droop * std::log2(1 + flops / machine.bf16_flops_per_s / kLong);
  }
  if (uneven_group_share > 0 && shape.uneven_groups()) compute_s *= 1 + uneven_group_share;

  double stream_s = 0;
  if (call.stream_bytes > 0) {
    const double group = shape.heads / shape.kv_heads;
    const double passes = whole(std::max(group * call.decodes / machine.multiprocessors, 1.0));
    // Read once from HBM, and again by the heads of later waves, from L2 where one KV head of all requests fits.
    const double again = (std::min(passes, group) - 1) * stream.reread(call.stream_bytes / shape.kv_heads, machine);
    stream_s = stream.seconds(call.stream_bytes, machine, true) + again * shape.kv_heads;
  }
  const double io_s = call.chunk_bytes / (io_efficiency * machine.memory_bytes_per_s);
  const double empty_s = call.decodes * shape.heads * (call.widest_tiles - 1) * empty_tile_s;
  const double size_s = blend(compute_s, stream_s, blend_power) + io_s;
  double seconds = (t0_s + empty_s) + size_s;
  if (per_doubling_s > 0) {
    constexpr double kShortKv = 1024;
    seconds += per_doubling_s * std::log2(1 + call.longest / kShortKv);
  }
  seconds += per_token_s * call.tokens;
  if (write_efficiency > 0) seconds += call.written_bytes / (write_efficiency * machine.memory_bytes_per_s);
  seconds += call.tokens * write_block_s / machine.multiprocessors;
  if (machine.as_measured && call.prompts > 0) {
    seconds *= correction.at({call.prompts * shape.heads, call.longest, shape.head_dim, shape.heads / shape.kv_heads});
  }
  return {seconds, stream_s + io_s >= compute_s};
}

}  // namespace kvsim::models
