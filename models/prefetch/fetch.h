// Bytes and rows that prefetching moves, and what stays on the GPU.
#pragma once

#include <cstdint>

#include "models/compression/compressor_spec.h"
#include "models/llm/llm_spec.h"
#include "models/prefetch/prefetch_spec.h"

namespace kvsim::models {

/// Expected size of the union of the top-k sets of `queries` consecutive query tokens, of which neighbours share the
/// fraction `overlap`: k (1 + (queries - 1)(1 - overlap)), at most `context`.
[[nodiscard]] double union_of_top_k(double k, double queries, double overlap, double context);

/// Tokens whose pairs the GPU holds in 16 bit for one request, per layer and KV head, because they were fetched: the
/// union over the step's query tokens in whole rows, at most `context`.
[[nodiscard]] std::int64_t fetched_tokens(const PrefetchSpec& spec, std::int64_t context);

/// What one request's fetch of one layer moves to one GPU.
struct LayerFetch {
  double rows = 0;
  double row_bytes = 0;
  [[nodiscard]] double bytes() const { return rows * row_bytes; }
};

/// Of `context` tokens to choose among (those kept in 16 bit left out): fetched tokens less those that are there
/// already, in rows of the model's KV heads on one of `tensor_parallel` GPUs:
/// ceil((1 - overlap) rows of tokens) per head, twice as many rows where keys and values lie apart. Rows move whole,
/// also the one that the context ends in. Throws std::invalid_argument for latent attention, which has no KV heads.
[[nodiscard]] LayerFetch layer_fetch(const PrefetchSpec& spec, const LlmSpec& model, std::int64_t tensor_parallel,
                                     std::int64_t context);

/// KV bytes on the GPU over those of a 16-bit cache: bits/16 + 2/g + kept/L (SpeCache; spec/speculative_prefetch). The
/// low-bit copy covers all L tokens, those kept in 16 bit too; kept, the residual and the fetched, is at most L.
[[nodiscard]] double resident_fraction(const CompressorSpec& quantiser, std::int64_t kept_tokens, std::int64_t context);

}  // namespace kvsim::models
