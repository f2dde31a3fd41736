// Attention of many query tokens: prefill, chunks of it, and batches in which one launch serves chunks and decoding
// requests together. Queries are cut into tiles of rows, a tile of one head goes to one multiprocessor and walks
// through the keys it attends to.
#pragma once

#include "models/kernels/forms/form_time.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

/// Tiles of one kind within a launch.
struct TileLoad {
  double tiles = 0;
  double tokens = 0;    ///< sum over tiles of the KV tokens they walk through
  double longest = 0;   ///< of any tile
  double shortest = 0;  ///< of any tile: what an idle multiprocessor could still have taken
};

/// What one launch has to do on one GPU for one layer; filled by TiledForm::add_chunk and add_decodes.
struct TiledCall {
  TileLoad chunks;
  TileLoad requests;        ///< decoding and verifying
  double chunk_bytes = 0;   ///< queries, outputs and KV of chunks
  double stream_bytes = 0;  ///< KV of decoding requests
  double decodes = 0;       ///< decoding requests in the launch
  double widest_tiles = 1;  ///< tiles of the longest chunk: the grid every request gets
};

/// Shape of the attention on one GPU.
struct HeadShape {
  double heads = 1;
  double kv_heads = 1;
  double head_dim = 128;
};

/// With T tiles of rate r = efficiency x peak / multiprocessors each: average load A = (tile_tokens + T w0) /
/// multiprocessors, critical path C = (longest + w0) longest_factor, both in tokens walked, 4 rows head_dim FLOPs each;
/// t = t0 + blend(blend(A + quantised idle, C), KV of decodes) + chunk bytes / (io BW) + empty tiles. The KV of
/// decoding requests is read once per `group` heads that run together; heads of a group that run at different times
/// read it again when a head's KV does not fit L2.
struct TiledForm {
  NumberFormat kv = NumberFormat::bf16;
  double tile_rows = 128;
  double t0_s = 0;
  double efficiency = 1;         ///< of the bf16 peak
  double overhead_tokens = 0;    ///< w0: starting and ending a tile, as KV tokens walked
  double longest_factor = 1;     ///< how much longer than its share the longest tile takes
  double wave_quantisation = 0;  ///< 0: work is balanced, 1: whole waves of tiles
  double blend_power = 4;
  double io_efficiency = 1;  ///< of the peak memory bandwidth, for queries, outputs and KV of chunks
  double empty_tile_s = 0;   ///< a decoding request is given as many tiles as the longest chunk; all but one empty
  double decode_overhead_tokens = 0;  ///< added to w0 for a decoding request's tile; may be negative
  CachedStream stream;                ///< KV of decoding requests in the launch
  double valid_to =
      0;  ///< largest size that was fitted, tokens of KV that the longest tile walks through; 0: not stated
  schema::Source source;

  /// Adds a chunk of `tokens` new tokens over `before` that are there already.
  void add_chunk(TiledCall& call, double tokens, double before, const HeadShape& shape) const;
  /// Adds `requests` requests with `query_tokens` tokens each (one: decoding) over `kv` tokens of KV of `kv_bytes`
  /// bytes in all.
  void add_decodes(TiledCall& call, double requests, double query_tokens, double mean_kv, double longest_kv,
                   double kv_bytes, const HeadShape& shape) const;

  [[nodiscard]] FormTime time(const TiledCall& call, const HeadShape& shape, const Machine& machine) const;

 private:
  [[nodiscard]] double walked(const TileLoad& load, double multiprocessors) const;
};

}  // namespace kvsim::models
