// Bytes of a request's KV in every form it takes: full, compressed, in flight; as reserved (whole blocks) and as moved.
#pragma once

#include <cstdint>

#include "models/compression/compressor_spec.h"
#include "models/llm/llm_spec.h"

namespace kvsim::serving {

class KvGeometry {
 public:
  /// `keep_ratio` applies to token dropping (and to the dropping half of `both`); quantisers bring their own ratio.
  KvGeometry(const models::LlmSpec& model, std::int64_t tensor_parallel, const models::CompressorSpec& compressor,
             double keep_ratio, std::int64_t block_tokens);

  /// The same with a low-bit copy of every token, beside which the latest (the compressor's residual) and
  /// `fetched_tokens` more are held in 16 bit: resident_fraction() of models/prefetch.
  [[nodiscard]] KvGeometry with_low_bit_copy(std::int64_t fetched_tokens) const;
  /// The same where the GPU has room for `share` of every token's full KV, which is streamed through it.
  [[nodiscard]] KvGeometry with_streaming(double share) const;
  /// The same where full KV takes `factor` of its bytes in GPU memory (models::FrameworkMemory).
  [[nodiscard]] KvGeometry with_full_kv_factor(double factor) const;

  /// The same with an auxiliary drafter's KV of so many bytes a token in the whole group beside it, never compressed.
  [[nodiscard]] KvGeometry with_drafter(double token_bytes) const;

  /// c: compressed bytes / full bytes of what is compressed.
  [[nodiscard]] double ratio() const { return ratio_; }
  /// Bytes of one token's full KV in the whole tensor-parallel group, replicated heads counted as often as they exist.
  [[nodiscard]] double token_bytes() const { return token_bytes_; }
  /// Bytes of a block of full KV, a drafter's included.
  [[nodiscard]] std::int64_t block_bytes() const { return block_bytes_ + drafter_block_bytes_; }
  [[nodiscard]] std::int64_t block_tokens() const { return block_tokens_; }

  /// Reservation for `tokens` in full, rounded up to blocks. A drafter's KV is included here and in the compressed one.
  [[nodiscard]] std::int64_t full_reservation(std::int64_t tokens) const;
  /// Reservation for a compressed context with `whole` further tokens kept in full (drafts), rounded up to blocks.
  [[nodiscard]] std::int64_t compressed_reservation(std::int64_t prompt, std::int64_t generated,
                                                    std::int64_t whole) const;
  /// Reservation for the KV streaming in for a verification, rounded up to blocks.
  [[nodiscard]] std::int64_t reload_reservation(std::int64_t prompt, std::int64_t generated) const;
  /// The compressed copy that a verification makes redundant while the whole KV is there (0 where only the missing
  /// part is loaded), rounded down to blocks.
  [[nodiscard]] std::int64_t redundant_reservation(std::int64_t prompt, std::int64_t generated) const;

  /// Bytes moved over a link. What is stored and the compressed KV bring a drafter's with them.
  [[nodiscard]] std::int64_t full_transfer(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t stored_transfer(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t compressed_transfer(std::int64_t prompt, std::int64_t generated) const;
  [[nodiscard]] std::int64_t reload_transfer(std::int64_t prompt, std::int64_t generated) const;

  /// Bytes that attention reads, of one copy over all layers (models/kernels shards them).
  [[nodiscard]] double full_read(std::int64_t tokens) const;
  [[nodiscard]] double compressed_read(std::int64_t prompt, std::int64_t generated) const;
  /// Tokens that attention over the compressed KV attends to (dropped ones are gone, quantised ones are not).
  [[nodiscard]] double attended_compressed(std::int64_t prompt, std::int64_t generated) const;

 private:
  /// Tokens that the compressor acts on; the rest of the context is kept whole.
  [[nodiscard]] std::int64_t compressible(std::int64_t prompt, std::int64_t generated) const;
  /// Compressed context in units of full tokens.
  [[nodiscard]] double compressed_tokens(std::int64_t prompt, std::int64_t generated) const;
  /// A low-bit copy of `context` tokens with `whole` of them in 16 bit beside it, in units of full tokens.
  [[nodiscard]] double low_bit_tokens(std::int64_t context, std::int64_t whole) const;
  [[nodiscard]] std::int64_t blocks_for(double tokens) const;
  [[nodiscard]] std::int64_t drafter_reservation(std::int64_t tokens) const;

  models::CompressionScope scope_;
  models::ReloadContent reload_;
  std::int64_t sink_tokens_;
  std::int64_t residual_tokens_;
  std::int64_t fetched_tokens_ = 0;
  bool low_bit_copy_ = false;
  double full_kv_factor_ = 1;
  double ratio_;              // bytes
  double kept_;               // share of tokens attended to
  double token_bytes_;        // group
  double model_token_bytes_;  // one copy
  std::int64_t block_tokens_;
  std::int64_t block_bytes_;
  double drafter_token_bytes_ = 0;  // group
  std::int64_t drafter_block_bytes_ = 0;
};

/// The byte ratio of a compressor at a keep ratio: the keep ratio for token dropping, what bits and group metadata
/// imply for quantisation, their product for both.
double effective_ratio(const models::CompressorSpec& compressor, double keep_ratio);

}  // namespace kvsim::serving
