// Properties of a machine on which an operator's time depends.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/gpu.h"
#include "models/kernels/correction.h"
#include "models/llm/llm_spec.h"
#include "models/llm/number_format.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

/// Peaks of one GPU.
struct Machine {
  double memory_bytes_per_s = 0;
  double bf16_flops_per_s = 0;
  double fp8_flops_per_s = 0;  ///< 0: no such units
  double fp4_flops_per_s = 0;  ///< 0: no such units
  double l2_bytes = 0;         ///< 0: not known
  double multiprocessors = 0;  ///< 0: not known
  bool as_measured = true;     ///< of the architecture that was measured: a form's correction holds

  /// Peak rate of products whose weights are in `f`; 16 bits where the GPU has no units for it.
  [[nodiscard]] double flops_per_s(NumberFormat f) const {
    const double narrow = f == NumberFormat::bf16 ? 0 : f == NumberFormat::nvfp4 ? fp4_flops_per_s : fp8_flops_per_s;
    return narrow > 0 ? narrow : bf16_flops_per_s;
  }

  bool operator==(const Machine&) const = default;

  /// The datasheet of `gpu`. Fixed times of a form carry over as they stand: a decode attention of one short request
  /// takes 8 to 12 us on all of A100, H100, H200, L40S, RTX PRO 6000 and B200.
  static Machine of(const GpuSpec& gpu);
};

/// How far a form is off, |predicted / measured - 1|.
struct FormError {
  double median = 0;
  double p90 = 0;
  bool held_out = false;  ///< of rows of shapes that a fit had not seen; else of the rows that were fitted
  // Errors over rows of all shapes of a model, by a fit to those of others; none: not known.
  std::optional<double> models_median{};
  std::optional<double> models_p90{};

  bool operator==(const FormError&) const = default;
};

/// "cross-validated median 3.7 %, p90 11.1 %", as reports say it.
[[nodiscard]] std::string words_of(const FormError& error);

// Result of every fitted form, and the two shapes all of them are made of: a blend of what overlaps, and a stream
// of bytes of which a part may hit the L2 cache.

/// Seconds of one kernel call, and which peak decides its size-dependent part.
struct FormTime {
  double seconds = 0;
  bool memory_bound = true;
};

/// (a^p + b^p)^(1/p): the larger of two times that overlap, rounded off where they are alike. p = 1 adds them, a large
/// p takes the maximum. a, b >= 0, p >= 1.
[[nodiscard]] double blend(double a, double b, double p);

/// Bytes read at one rate from HBM and at another from L2; which share hits L2 falls from one to none around
/// `l2_share` of the cache's size.
struct CachedStream {
  double bandwidth_efficiency = 1;  ///< of the peak memory bandwidth, for what comes from HBM
  double l2_efficiency = 0;         ///< rate of hits as a multiple of the peak memory bandwidth; 0: no hits
  double l2_share = 1;              ///< of the L2 size: where half of the bytes hit
  double l2_width = 0.1;            ///< width of that transition in ln(bytes)

  /// Share of the reads of a working set of `bytes` that go to HBM, 0 to 1; 1 when nothing is known of the cache.
  [[nodiscard]] double miss_share(double bytes, const Machine& machine) const;
  /// Seconds to read a working set of `bytes` again, a part of it from L2.
  [[nodiscard]] double reread(double bytes, const Machine& machine) const { return seconds(bytes, machine, false); }
  /// Seconds to read `bytes` that were read shortly before; cold: as if they never had been.
  [[nodiscard]] double seconds(double bytes, const Machine& machine, bool cold) const;
};

// One linear layer, m tokens through an n x k weight matrix: streaming of the weights against tiles in waves over the
// GPU's multiprocessors.

/// A block of the output that one multiprocessor computes at a time, as GEMM libraries choose among them.
struct GemmTile {
  double rows = 128;      ///< tokens
  double columns = 128;   ///< outputs
  double efficiency = 1;  ///< of one multiprocessor's share of the peak arithmetic rate
};

/// Quantising a layer's inputs before it: t0 + blend(per_token m, (read and written bytes) / (efficiency BW), 3).
struct QuantiseForm {
  double t0_s = 0;
  double per_token_s = 0;
  double bandwidth_efficiency = 0;  ///< of the peak memory bandwidth; 0: inputs are not quantised

  /// Seconds for m tokens of k inputs, two bytes read and `written` bytes written each.
  [[nodiscard]] double seconds(double m, double k, double written, const Machine& machine) const;
};

/// Effects in a benchmark's rows that steps of a model lack, which stream other layers' weights in between and replay
/// a graph: weights in L2 from the last repetition, and launches from Python that take longer than the kernels.
struct LinearBenchmark {
  double l2_efficiency = 0;  ///< rate of weights that hit L2, as a multiple of the peak memory bandwidth; 0: none do
  double l2_share = 1;       ///< of the L2 size: where half of what is repeated hits
  double l2_width = 0.1;     ///< width of that transition in ln(bytes)
  double launch_s = 0;       ///< no row took less
  double launch_few_s = 0;   ///< the same of up to 16 tokens, where a library has another kernel for them
};

/// How one row was measured.
struct LinearRun {
  double repeated = 0;     ///< layers of this size that the benchmark goes round; 0: the weights come from memory
  bool launched = false;   ///< each call launched, not replayed as a graph
  bool quantised = false;  ///< its inputs are already
};

/// t = t0 + blend(bytes / (eta BW), min over tiles and split-k of waves x time of a tile) + extra_input_bytes m k /
/// (eta BW). A tile takes 2 rows columns (k + k0) / (its efficiency x peak / multiprocessors); waves is tiles /
/// multiprocessors, of which the share `wave_quantisation` is rounded up. Splitting k over 2, 3, 4 or 8 tiles adds the
/// traffic of their partial sums. Where it is given, one multiprocessor reads no faster than `sm_bandwidth` times its
/// share of eta BW, which few tiles are bound by; inputs and outputs move at `io_efficiency`; launches lengthen by
/// `per_doubling` log2(1 + k / 1024); inputs are quantised first; and the correction is a factor on all. The form is
/// ours; the quantisation in waves is what GEMM libraries document and what the measured tables show (a 48 % dip of
/// A100 at 512 tokens and n = 7168, where 112 tiles fall on 108 multiprocessors).
struct LinearForm {
  NumberFormat weights = NumberFormat::bf16;
  std::string kernels;  ///< whose they are, as rows name the engine (trtllm); empty: vLLM's, or nobody said
  double t0_s = 0;
  double bandwidth_efficiency = 1;
  double extra_input_bytes = 0;  ///< further traffic per input element, for example quantising activations to fp8
  double tile_overhead_k = 0;    ///< k0: filling and draining a tile, as a length of k
  double wave_quantisation = 1;  ///< 0: tiles are spread evenly, 1: whole waves
  double blend_power = 4;
  double power_droop = 0;    ///< further share of arithmetic time per doubling of 1 + ideal time / 1 ms: clocks fall
  double io_efficiency = 0;  ///< of the peak memory bandwidth, inputs and outputs; 0: as the weights
  double per_doubling_s = 0;
  double sm_bandwidth = 0;  ///< 0: a multiprocessor reads as fast as it computes
  QuantiseForm quantise;
  Correction correction;  ///< tokens, n, k
  LinearBenchmark benchmark;
  std::vector<GemmTile> tiles;
  double valid_to = 0;  ///< largest size that was fitted, tokens; 0: not stated
  schema::Source source;
  std::optional<FormError> error{};

  /// Seconds of one call. m, n, k > 0; the machine's multiprocessors must be known.
  [[nodiscard]] FormTime time(double m, double n, double k, const Machine& machine, const LinearRun& run = {}) const;

 private:
  [[nodiscard]] double memory_s(double m, double n, double k, const Machine& machine, const LinearRun& run) const;
  [[nodiscard]] double compute_s(double m, double n, double k, const Machine& machine) const;
};

// Decode attention of one layer: one query token a request over its paged KV, split over the GPU (flash decoding).

/// One call on one GPU of a tensor-parallel group.
struct DecodeCall {
  double requests = 1;
  double heads = 1;       ///< query heads on this GPU
  double kv_bytes = 0;    ///< of all requests, this layer, this GPU
  double mean_kv = 0;     ///< tokens of KV a request attends to
  double longest_kv = 0;  ///< of the longest request; 0: all alike
  double kv_heads = 1;    ///< on this GPU
  double head_dim = 128;
  double queries = 1;  ///< query tokens a request, which share its walks
};

/// How decode attention is spread over the multiprocessors: one walks through the KV of one request and KV head, or
/// through one of the parts it is split into where there are fewer of them than multiprocessors. With U parts in all
/// and keys in each: waves(U / multiprocessors) x (unit_s + keys x the slower of reading and of arithmetic), blended
/// with the stream of all KV; parts are joined at `join_s` each and query head. Walks that are
/// too many to be split take no less than the most that are.
struct SplitWalk {
  double sm_bandwidth = 0;  ///< of one multiprocessor, as a multiple of its share of eta BW; 0: no such bound
  double efficiency = 1;    ///< of its share of the bf16 peak, query heads of a group in rows of 16
  double wave_quantisation = 1;
  double unit_s = 0;
  double least_keys = 128;  ///< of a part
  double blend_power = 4;
  double join_s = 0;
  double regroup_s = 0;             ///< more where several requests' groups of heads are laid out anew
  bool splits_single_heads = true;  ///< false: not where every query head has KV of its own (FlashAttention 2)
};

/// t = t0 + per_doubling log2(1 + kv / 1024) + per_request_doubling log2(requests) + per_token requests queries +
/// per_head requests queries heads + stream(bytes), the last with `cold_s` more where the KV comes from HBM. Uneven
/// lengths add `uneven_share` of what all requests being as long as the longest would add: kernels split long contexts
/// well, so that share is small. The correction is a factor on all.
struct DecodeForm {
  NumberFormat kv = NumberFormat::bf16;
  std::string kernels;  ///< as of linear layers
  double t0_s = 0;
  double per_doubling_s = 0;
  double per_head_s = 0;              ///< per query token and query head
  double per_request_doubling_s = 0;  ///< more per doubling of the requests
  double per_token_s = 0;             ///< per query token: what else a latent's block does to it
  double chunks_up_to = 0;            ///< chunks of at most so many tokens run here too (latents); 0: none
  double cold_s = 0;
  double uneven_share = 0;
  CachedStream stream;
  SplitWalk walk;
  Correction correction;         ///< requests x KV heads, KV length, head size, query heads per KV head
  bool hits_in_serving = false;  ///< measured with other layers' kernels in between: L2 helps as much in serving steps
  double valid_to = 0;           ///< largest size that was fitted, bytes of KV in a call; 0: not stated
  schema::Source source;
  std::optional<FormError> error{};

  /// `warm`: the KV was read just before (benchmarks that replay one buffer); a serving step streams its weights
  /// between two layers' KV, so there it is cold, unless hits_in_serving.
  [[nodiscard]] FormTime time(const DecodeCall& call, const Machine& machine, bool warm) const;
  /// Part of that time that is due to uneven lengths.
  [[nodiscard]] double uneven_s(const DecodeCall& call, const Machine& machine) const;

 private:
  [[nodiscard]] double walked(double stream_s, const DecodeCall& call, const Machine& machine) const;
};

// Attention of several query tokens a request over a long KV, as verifications have it: rows (query tokens times the
// query heads that share a KV head) are cut into blocks, and each block walks through the KV.

/// t = d(1) + per_row (queries - 1) requests heads + blend(reading (1 + further_blocks (blocks - 1)) (d(kv) - d(1)),
/// arithmetic, blend_power). d(n) is decode attention of one query token over n tokens of KV, by its own form or table;
/// blocks is rows / block_rows, rounded up. Arithmetic is 4 head_dim FLOPs a row and key at `efficiency` of the bf16
/// peak, over whole blocks where there are several. The form is ours: it is how tiled kernels share the KV among rows.
struct VerifyForm {
  NumberFormat kv = NumberFormat::bf16;
  double block_rows = 64;
  double reading = 1;         ///< of the first block, as a multiple of what decode attention takes to read as much
  double further_blocks = 0;  ///< of the first block's reading, what each further one adds: 0: L2 serves them
  double efficiency = 1;
  double per_row_s = 0;  ///< per query token beyond the first and query head
  double blend_power = 4;
  double valid_to = 0;  ///< most query tokens of a request that were fitted; 0: not stated
  schema::Source source;
  std::optional<FormError> error{};

  /// `call` has the query tokens of a request and the mean KV that they attend to; `one_s` and `least_s` are d(kv) and
  /// d(1) of as many requests.
  [[nodiscard]] FormTime time(const DecodeCall& call, double one_s, double least_s, const Machine& machine) const;
};

// Attention of many query tokens: prefill, chunks of it, and batches in which one launch serves chunks and decoding
// requests together. Queries are cut into tiles of rows, a tile of one head goes to one multiprocessor and walks
// through the keys it attends to.

/// Tiles within a launch.
struct TileLoad {
  double tiles = 0;
  double tokens = 0;    ///< sum over tiles of the KV tokens they walk through
  double shortest = 0;  ///< of any tile: what an idle multiprocessor could still have taken
};

/// Work of one launch on one GPU for one layer; filled by TiledForm::add_chunk and add_decodes.
struct TiledCall {
  boost::container::small_vector<TileLoad, 8> tiles;  ///< of chunks and requests, the longest `shortest` first
  double chunk_walk = 0;                              ///< KV tokens that the chunks' tiles walk through
  double longest = 0;                                 ///< of any tile, of requests with their overhead
  double chunk_bytes = 0;                             ///< queries, outputs and KV of chunks
  double stream_bytes = 0;                            ///< KV of decoding requests
  double decodes = 0;                                 ///< decoding requests in the launch
  double widest_tiles = 1;                            ///< tiles of the longest chunk: the grid every request gets
  double prompts = 0;                                 ///< chunks in the launch
  double tokens = 0;                                  ///< of the chunks, new ones
  double written_bytes = 0;  ///< keys and values of the chunks' own tokens, put into their pages
};

/// Shape of the attention on one GPU.
struct HeadShape {
  double heads = 1;
  double kv_heads = 1;
  double head_dim = 128;  ///< mean width of keys and values, which arithmetic goes by

  /// The query heads that share a KV head are no power of two.
  [[nodiscard]] bool uneven_groups() const {
    const double group = heads / kv_heads;
    return std::exp2(std::round(std::log2(group))) != group;
  }
};

// Latent attention (MLA) is the same two kernels in other shapes. Decoding absorbs the up projections into queries and
// outputs: all heads share one latent, whose r + rope elements are the keys and of which r are the values. Prefill
// expands the latent to keys and values of every head.

[[nodiscard]] HeadShape absorbed_shape(const MlaShape& mla, double heads);
[[nodiscard]] HeadShape expanded_shape(const MlaShape& mla, double heads);

/// Tiles that are short fill what the last wave of longer ones leaves idle, and never shorten it: of all tiles from a
/// length on, the load that is largest counts. With T tiles of rate r = efficiency x peak / multiprocessors each:
/// average load A = (tile_tokens + T w0) / multiprocessors, critical path C = (longest + w0) longest_factor, both in
/// tokens walked, 4 rows head_dim FLOPs each; t = t0 + blend(blend(A + quantised idle, C), KV of decodes) + chunk bytes
/// / (io BW) + empty tiles + written bytes / (write BW) + tokens write_block / multiprocessors: another kernel puts new
/// keys and values into pages, a block a token however few the bytes (vLLM's reshape_and_cache). The KV of decoding
/// requests is read once per `group` heads that run together; heads of a group that run at different times read it
/// again when a head's KV does not fit L2.
struct TiledForm {
  NumberFormat kv = NumberFormat::bf16;
  std::string kernels;  ///< as of linear layers
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
  double head_dim_power = 0;          ///< efficiency grows with (head size / 128) to this power, to 1.05 at most
  double tile_s = 0;                  ///< starting and ending a tile, beside overhead_tokens
  double per_token_s = 0;             ///< per new token: what else a latent's block does to it
  double per_doubling_s = 0;          ///< more per doubling of 1 + longest KV / 1024
  double write_efficiency = 0;    ///< of the peak memory bandwidth, putting new keys and values into pages; 0: no time
  double write_block_s = 0;       ///< of one multiprocessor: the block that puts one token's keys and values there
  double power_droop = 0;         ///< as of linear layers
  bool packs_groups = false;      ///< a tile has rows of all query heads that share a KV head
  double uneven_group_share = 0;  ///< more arithmetic time where those query heads are no power of two
  Correction correction;          ///< prompts x heads, longest KV, head size, query heads per KV head
  double valid_to =
      0;  ///< largest size that was fitted, tokens of KV that the longest tile walks through; 0: not stated
  schema::Source source;
  std::optional<FormError> error{};

  /// Adds `chunks` chunks of `tokens` new tokens each over `before` that are there already.
  void add_chunk(TiledCall& call, double tokens, double before, const HeadShape& shape, double chunks = 1) const;
  /// Adds `requests` requests with `query_tokens` tokens each (one: decoding) over `kv` tokens of KV of `kv_bytes`
  /// bytes in all.
  void add_decodes(TiledCall& call, double requests, double query_tokens, double mean_kv, double longest_kv,
                   double kv_bytes, const HeadShape& shape) const;

  [[nodiscard]] FormTime time(const TiledCall& call, const HeadShape& shape, const Machine& machine) const;

 private:
  [[nodiscard]] double walked(const TiledCall& call, double overhead, double multiprocessors) const;
};

// Kernels that pass over data once with hardly any arithmetic: norms, rotary embedding, activation, quantising.

/// t = t0 + stream(bytes), bytes read and written together; a kernel's input was mostly just written by the one before
/// it, so a part hits L2.
struct ElementwiseForm {
  double t0_s = 0;
  CachedStream stream;
  schema::Source source;

  [[nodiscard]] double seconds(double bytes, const Machine& machine) const {
    return t0_s + stream.seconds(bytes, machine, false);
  }
};

}  // namespace kvsim::models
