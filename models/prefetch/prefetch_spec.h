// Fetching the KV pairs a token attends to most from host memory, beside a copy of few bits on the GPU (SpeCache,
// arXiv:2503.16163): what is fetched, and how well that stands in for the full KV. Data, no behaviour.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/compression/compressor_spec.h"
#include "models/llm/llm_spec.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

/// The catalogue entry that stands for `attention` where a scenario leaves it out; looking it up is the scenario's.
inline constexpr const char* default_attention_profile = "specache-published";

/// One point of a curve.
struct CurvePoint {
  double at = 0;
  double value = 0;
};

/// How concentrated attention is, and what covering a part of it is worth. Curves are linear between their points (in
/// log(at) for coverage) and do not fall; coverage_at() and its like have what they are outside the points.
struct AttentionProfile {
  std::string name;
  std::string description;
  std::vector<CurvePoint> coverage;  ///< at: share of the keys, the most attended first; value: attention mass
  schema::Source coverage_source;
  std::vector<CurvePoint> hit_rate;  ///< at: bits of the low-bit copy; value: of the mass that the next token's own
                                     ///< top-k covers, what the speculative token's top-k covers
  schema::Source hit_rate_source;
  std::vector<CurvePoint> recovery;  ///< at: attention mass covered; value: of the score that quantising lost, what
                                     ///< comes back
  schema::Source recovery_source;
};

enum class RowLayout {
  separate,    ///< keys and values in memories of their own: two rows a pair
  interleaved  ///< a token's key beside its value: one row a pair
};

/// How attention reads the low-bit copy.
enum class Dequantisation {
  fused,   ///< in the attention kernel: the profile's low_bit, else its quantised kernel
  unfused  ///< to 16 bit in GPU memory first, then read from there
};

struct PrefetchSpec {
  std::int64_t top_k = 64;        ///< KV pairs a query token's scores choose, per layer and KV head
  double overlap = 0;             ///< share of a token's top-k that the next token's holds too: not fetched again
  std::int64_t query_tokens = 1;  ///< speculative tokens a step whose top-k sets are fetched together
  std::int64_t row_tokens = 1;    ///< neighbouring tokens that are chosen and fetched together
  RowLayout layout = RowLayout::separate;
  Dequantisation dequantisation = Dequantisation::fused;
  bool attends_again = false;        ///< fetch_on_demand: a whole attention chooses, and is recomputed with the pairs
  std::string copies = "best";       ///< GatherMethod of the link
  std::int64_t buffered_layers = 2;  ///< full_offload: layers whose KV the GPU has room for
  AttentionProfile attention;
};

// The curves of an attention profile, read at any point. They do not fall and stay within [0, 1].

/// Attention mass on the most attended `share` of the keys: linear in log(share) between the points, proportional to
/// the share below the first, and 1 at share 1, which is the last point's right-hand neighbour.
[[nodiscard]] double coverage_at(const AttentionProfile& profile, double share);

/// Share of the mass under the next token's own top-k that the speculative token's covers with a copy of `bits` bits
/// an element: linear in bits between the points, from (0, 0) to the first and from the last to (16, 1), where the copy
/// is the KV itself.
[[nodiscard]] double hit_rate_at(const AttentionProfile& profile, double bits);

/// Share of the score lost by quantising that returns where pairs of this attention mass are whole: linear in the mass
/// between the points, from (0, 0) to the first and from the last to (1, 1).
[[nodiscard]] double recovery_at(const AttentionProfile& profile, double mass);

// Bytes and rows that prefetching moves, and what stays on the GPU.

/// Expected size of the union of the top-k sets of `queries` consecutive query tokens, of which neighbours share the
/// fraction `overlap`: k (1 + (queries - 1)(1 - overlap)), at most `context`.
[[nodiscard]] double union_of_top_k(double k, double queries, double overlap, double context);

/// Tokens whose pairs the GPU holds in 16 bit for one request, per layer and KV head, because they were fetched: the
/// union over the step's query tokens in whole rows, at most `context`.
[[nodiscard]] std::int64_t fetched_tokens(const PrefetchSpec& spec, std::int64_t context);

/// Amount that one request's fetch of one layer moves to one GPU.
struct LayerFetch {
  double rows = 0;
  double row_bytes = 0;
  [[nodiscard]] double bytes() const { return rows * row_bytes; }
};

/// Fetch from `context` tokens to choose among (those kept in 16 bit left out): fetched tokens less those there
/// already, in rows of the model's KV heads on one of `tensor_parallel` GPUs:
/// ceil((1 - overlap) rows of tokens) per head, twice as many rows where keys and values lie apart. Rows move whole,
/// also the one that the context ends in. Throws std::invalid_argument for latent attention, which has no KV heads.
[[nodiscard]] LayerFetch layer_fetch(const PrefetchSpec& spec, const LlmSpec& model, std::int64_t tensor_parallel,
                                     std::int64_t context);

/// KV bytes on the GPU over those of a 16-bit cache: bits/16 + 2/g + kept/L (SpeCache, section 3.4). The
/// low-bit copy covers all L tokens, those kept in 16 bit too; kept, the residual and the fetched, is at most L.
[[nodiscard]] double resident_fraction(const CompressorSpec& quantiser, std::int64_t kept_tokens, std::int64_t context);

// Score that prefetched pairs give back of what quantising the KV cost.

struct PrefetchQuality {
  double share_of_keys = 0;  ///< fetched pairs / context
  double mass = 0;       ///< attention mass that a token's own top-k covers, in rows: no less than its most attended
                         ///< keys, one a row, and than as many keys taken blindly. Pairs that are fetched beside it
                         ///< for other query tokens do not count
  double hit_rate = 1;   ///< of it, what the speculative token's choice covers, no less than a blind one; 1 where
                         ///< the token's own scores choose
  double covered = 0;    ///< mass x hit_rate
  double recovered = 0;  ///< of what quantising lost, what comes back
  double score = 1;      ///< task score relative to full KV: q + (1 - q) recovered, q the quantiser's own
  double step_kl = 0;    ///< nats a step: the quantiser's own x (1 - recovered), an assumption
};

/// `speculative`: the pairs were chosen by the step before. NaN where the quantiser has no such figure. A context of at
/// least one token; the residual tokens, whole too, are not counted as covered.
[[nodiscard]] PrefetchQuality prefetch_quality(const PrefetchSpec& spec, const CompressorSpec& quantiser,
                                               std::int64_t context, bool speculative);

}  // namespace kvsim::models
