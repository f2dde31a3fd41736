// The work of one forward pass of a batch, as a scheduler knows it, and its time cut into layers.
#pragma once

#include <algorithm>
#include <vector>

#include "models/llm/llm_spec.h"

namespace kvsim::models {

/// Attention of one kind within a step, summed over its requests. Bytes are the model's (one copy, all layers);
/// sharding is the timer's business. Layers with a window (WindowLayers) read and attend to what is left of it.
struct AttentionWork {
  double query_tokens = 0;
  double kv_bytes = 0;    ///< KV read, in bytes as stored (times the kernel-time factor where it is compressed)
  double pairs = 0;       ///< sum over query tokens of the KV tokens each attends to
  double requests = 0;    ///< 0: one query token each
  double longest_kv = 0;  ///< KV tokens of the longest request; 0: all alike
  double unread = 0;      ///< of the KV tokens, those that layers with a window do not read
  double unattended = 0;  ///< of the pairs, those that layers with a window leave out
  double quantised = 0;   ///< of the pairs, those over quantised KV (QuantisedKernel)

  /// Scales the work to that of `times` as many requests like these.
  AttentionWork& operator*=(double times) {
    for (double* part : {&query_tokens, &kv_bytes, &pairs, &requests, &unread, &unattended, &quantised}) *part *= times;
    return *this;
  }
  /// Adds that of requests beside these; longest_kv stays.
  void add(const AttentionWork& more, double times) {
    query_tokens += times * more.query_tokens;
    kv_bytes += times * more.kv_bytes;
    pairs += times * more.pairs;
    requests += times * more.requests;
    unread += times * more.unread;
    unattended += times * more.unattended;
    quantised += times * more.quantised;
  }
  /// Its requests, where their number is not given one for each query token.
  [[nodiscard]] double number_of_requests() const { return requests > 0 ? requests : query_tokens; }
  /// Query tokens of each request, at least one.
  [[nodiscard]] double queries_each() const {
    return requests > 0 && query_tokens > requests ? query_tokens / requests : 1;
  }
  /// KV bytes that a kernel moves which reads `further_share` of them again for each query token of a request beyond
  /// its first.
  [[nodiscard]] double bytes_read(double further_share) const {
    return kv_bytes * (1 + further_share * (queries_each() - 1));
  }
};

/// Takes out of `work` what layers with a window leave out of `queries` query tokens of one request behind `before`
/// others, of so many requests alike.
inline void leave_out(AttentionWork& work, const WindowLayers& window, double before, double queries,
                      double requests = 1) {
  work.unread += requests * window.unread(before, queries);
  work.unattended += requests * window.unattended(before, queries);
}

/// A part of a prompt: `tokens` new ones over `before` whose KV is there.
struct PrefillChunk {
  double tokens = 0;
  double before = 0;
  double alike = 1;       ///< so many of them
  bool selects = false;   ///< in layers that attend to selected tokens
  double unread = 0;      ///< of the KV tokens, those that such layers do not read
  double unattended = 0;  ///< of the pairs, those that they leave out
};

/// One forward pass of the batch.
struct StepWork {
  AttentionWork decode;              ///< decoding and drafting, commonly one query token a request
  AttentionWork verify;              ///< x + 1 query tokens over a full KV
  AttentionWork prefill;             ///< chunks of prompts
  double logit_tokens = 0;           ///< positions whose logits are computed (LM head)
  double sampled = 0;                ///< sequences that sample a token; 0: as many as logit_tokens
  double extra_gpu_s = 0;            ///< further kernels of this step, for example compression
  double extra_arithmetic_s = 0;     ///< of them, those that arithmetic decides; the others stream memory
  std::vector<PrefillChunk> chunks;  ///< the prefill's parts; none: all of it is one chunk

  [[nodiscard]] double tokens() const { return decode.query_tokens + verify.query_tokens + prefill.query_tokens; }
  [[nodiscard]] bool verifies() const { return verify.query_tokens > 0; }
  /// Calls each(PrefillChunk) of every kind of chunk; all of the prefill is one where `chunks` names none.
  template <class Each>
  void each_chunk(Each&& each) const {
    for (const PrefillChunk& c : chunks) each(c);
    if (!chunks.empty() || prefill.query_tokens <= 0) return;
    const double n = prefill.query_tokens;
    each(PrefillChunk{.tokens = n, .before = std::max(prefill.pairs / n - (n + 1) / 2, 0.0)});
  }
  /// Nothing to do; keeps the memory of `chunks`.
  void clear() {
    decode = verify = prefill = {};
    logit_tokens = sampled = extra_gpu_s = extra_arithmetic_s = 0;
    chunks.clear();
  }
};

/// layers (before_s + attention_s + after_s) + tail_s is the step's total.
struct LayerTime {
  double layers = 1;
  double before_s = 0;     ///< of a layer, until its queries, keys and values are there
  double attention_s = 0;  ///< of a layer
  double after_s = 0;  ///< of a layer, from the end of attention: output projection, feed-forward block, all-reduces
  double tail_s = 0;   ///< once, after the last layer: LM head, sampling, launch overhead of the iteration
};

}  // namespace kvsim::models
