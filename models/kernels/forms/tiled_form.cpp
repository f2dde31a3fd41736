#include "models/kernels/forms/tiled_form.h"

#include <algorithm>
#include <cmath>

namespace kvsim::models {
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
