#include "models/kernels/forms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace kvsim::models {

Machine Machine::of(const GpuSpec& gpu, double measured_bytes_per_s) {
  Machine m;
  m.memory_bytes_per_s = gpu.memory_bytes_per_s.value;
  m.bf16_flops_per_s = gpu.bf16_flops_per_s.value;
  m.fp8_flops_per_s = gpu.fp8_flops_per_s.value;
  m.l2_bytes = static_cast<double>(gpu.l2_bytes.value);
  m.multiprocessors = static_cast<double>(gpu.multiprocessors.value);
  if (measured_bytes_per_s > 0) m.latency_scale = measured_bytes_per_s / m.memory_bytes_per_s;
  return m;
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

namespace {

/// std::ceil() of what is not negative and below 2^53, without a call: it is most of what tabulating a form takes.
double rounded_up(double x) {
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole < x ? whole + 1 : whole;
}

}  // namespace

FormTime LinearForm::time(double m, double n, double k, const Machine& machine) const {
  constexpr double kOutputBytes = 2;   // bf16
  constexpr double kPartialBytes = 4;  // fp32 sums of a split k
  constexpr std::array kSplits = {1.0, 2.0, 3.0, 4.0, 8.0};
  const double element = bytes_per_element(weights);
  const double bytes_per_s = bandwidth_efficiency * machine.memory_bytes_per_s;
  const double memory_s = ((n + m) * k * element + m * n * kOutputBytes) / bytes_per_s;
  const double rate = machine.flops_per_s(weights) / machine.multiprocessors;
  double compute_s = std::numeric_limits<double>::infinity();
  for (const GemmTile& tile : tiles) {
    const double count = rounded_up(m / tile.rows) * rounded_up(n / tile.columns);
    for (const double split : kSplits) {
      const double even = count * split / machine.multiprocessors;
      const double waves = even + wave_quantisation * (rounded_up(even) - even);
      const double tile_s = 2 * tile.rows * tile.columns * (k / split + tile_overhead_k) / (tile.efficiency * rate);
      const double reduce_s = split > 1 ? m * n * kPartialBytes * split / bytes_per_s : 0;
      compute_s = std::min(compute_s, waves * tile_s + reduce_s);
    }
  }
  constexpr double kLong = 1e-3;  // kernels shorter than this do not heat the GPU
  compute_s *= 1 + power_droop * std::log2(1 + 2 * m * n * k / machine.flops_per_s(weights) / kLong);
  const double extra_s = extra_input_bytes * m * k / bytes_per_s;
  return {t0_s * machine.latency_scale + blend(memory_s, compute_s, blend_power) + extra_s, memory_s >= compute_s};
}

FormTime DecodeForm::time(const DecodeCall& call, const Machine& machine, bool read_before) const {
  const bool warm = read_before || hits_in_serving;
  constexpr double kShortKv = 1024;
  const double fixed_s =
      t0_s + per_doubling_s * std::log2(1 + call.mean_kv / kShortKv) + per_head_s * call.requests * call.heads;
  const double miss = warm ? stream.miss_share(call.kv_bytes, machine) : 1;
  double stream_s = stream.seconds(call.kv_bytes, machine, !warm) + miss * cold_s * machine.latency_scale;
  stream_s += uneven_s(call, machine);
  return {fixed_s * machine.latency_scale + stream_s, true};
}

double DecodeForm::uneven_s(const DecodeCall& call, const Machine& machine) const {
  if (call.longest_kv <= call.mean_kv || call.mean_kv <= 0) return 0;
  constexpr double kMeasured = 16;  // no batch was measured with a longer request than this many means
  const double longer = call.kv_bytes * (std::min(call.longest_kv / call.mean_kv, kMeasured) - 1);
  return uneven_share * longer / (stream.bandwidth_efficiency * machine.memory_bytes_per_s);
}

namespace {

constexpr double kActivationBytes = 2;  // bf16 queries and outputs

void add(TileLoad& load, double tiles, double mean, double longest, double shortest) {
  load.shortest = load.tiles > 0 ? std::min(load.shortest, shortest) : shortest;
  load.longest = std::max(load.longest, longest);
  load.tiles += tiles;
  load.tokens += tiles * mean;
}

}  // namespace

void TiledForm::add_chunk(TiledCall& call, double tokens, double before, const HeadShape& shape) const {
  const double rows = std::ceil(tokens / tile_rows);
  const double mean = before + (rows + 1) * tile_rows / 2;  // causal: half of the chunk's own keys
  add(call.chunks, rows * shape.heads, mean, before + tokens, before + std::min(tile_rows, tokens));
  call.chunk_bytes += 2 * kActivationBytes * tokens * shape.heads * shape.head_dim +
                      2 * bytes_per_element(kv) * (before + tokens) * shape.kv_heads * shape.head_dim;
  call.widest_tiles = std::max(call.widest_tiles, rows);
}

void TiledForm::add_decodes(TiledCall& call, double requests, double query_tokens, double mean_kv, double longest,
                            double kv_bytes, const HeadShape& shape) const {
  if (requests <= 0) return;
  const double rows = std::ceil(query_tokens / tile_rows);
  const double mean = std::max(mean_kv + decode_overhead_tokens, 0.0);
  add(call.requests, requests * rows * shape.heads, mean, std::max(mean, longest + decode_overhead_tokens), mean);
  call.stream_bytes += kv_bytes;
  call.decodes += requests;
  call.widest_tiles = std::max(call.widest_tiles, rows);
}

/// Tokens that the busiest multiprocessor walks through, overheads included.
double TiledForm::walked(const TileLoad& load, double multiprocessors) const {
  const double even = load.tiles / multiprocessors;
  const double average = (load.tokens + load.tiles * overhead_tokens) / multiprocessors;
  return average + wave_quantisation * (std::ceil(even) - even) * (load.shortest + overhead_tokens);
}

FormTime TiledForm::time(const TiledCall& call, const HeadShape& shape, const Machine& machine) const {
  const double token_s =
      4 * tile_rows * shape.head_dim * machine.multiprocessors / (efficiency * machine.bf16_flops_per_s);
  double load = 0;
  if (call.requests.tiles > 0 && call.chunks.tiles > 0) {
    const TileLoad both{call.chunks.tiles + call.requests.tiles, call.chunks.tokens + call.requests.tokens, 0,
                        std::min(call.chunks.shortest, call.requests.shortest)};
    load = walked(both, machine.multiprocessors);
  }
  // Tiles of one kind fill what the other's last wave leaves idle, but never shorten it.
  load = std::max({load, walked(call.chunks, machine.multiprocessors), walked(call.requests, machine.multiprocessors)});
  const double longest = (std::max(call.chunks.longest, call.requests.longest) + overhead_tokens) * longest_factor;
  const double compute_s = token_s * blend(load, longest, blend_power);

  double stream_s = 0;
  if (call.stream_bytes > 0) {
    const double group = shape.heads / shape.kv_heads;
    const double passes = std::ceil(std::max(group * call.decodes / machine.multiprocessors, 1.0));
    // Read once from HBM, and again by the heads of later waves, from L2 where one KV head of all requests fits.
    const double again = (std::min(passes, group) - 1) * stream.reread(call.stream_bytes / shape.kv_heads, machine);
    stream_s = stream.seconds(call.stream_bytes, machine, true) + again * shape.kv_heads;
  }
  const double io_s = call.chunk_bytes / (io_efficiency * machine.memory_bytes_per_s);
  const double empty_s = call.decodes * shape.heads * (call.widest_tiles - 1) * empty_tile_s;
  const double size_s = blend(compute_s, stream_s, blend_power) + io_s;
  return {(t0_s + empty_s) * machine.latency_scale + size_s, stream_s + io_s >= compute_s};
}

}  // namespace kvsim::models
