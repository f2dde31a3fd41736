// Bytes of a request's KV in every form it takes: full, compressed, in flight; as reserved (whole blocks) and as moved.
#pragma once

#include <cstdint>
#include <optional>

#include "models/compression/compressor_spec.h"
#include "models/llm/llm_spec.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"

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

  /// Geometry where a compressor leaves so many tokens, sinks and residual included, however long the context is: of
  /// the prompt, what is generated staying beside them, or of all. Precondition: it drops tokens and narrows none.
  [[nodiscard]] KvGeometry with_budget(std::int64_t tokens) const;

  /// The same with an auxiliary drafter's KV of so many bytes a token in the whole group beside it, never compressed.
  [[nodiscard]] KvGeometry with_drafter(double token_bytes) const;

  /// c: compressed bytes / full bytes of what is compressed, without a budget.
  [[nodiscard]] double ratio() const { return ratio_; }
  /// c of a request with this context: ratio(), or what a budget leaves; 1 where nothing is compressed.
  [[nodiscard]] double ratio_of(std::int64_t prompt, std::int64_t generated) const;
  /// The compressor leaves a number of tokens, not a share of them.
  [[nodiscard]] bool has_budget() const { return budget_tokens_ > 0; }
  /// Bytes of one token's full KV in the whole tensor-parallel group, replicated heads counted as often as they exist.
  [[nodiscard]] double token_bytes() const { return token_bytes_; }
  /// The model's layers that attend to a part of the tokens. Where they drop the others, a request keeps the KV of
  /// min(tokens, window) tokens there; as blocks, those that hold a window wherever in a block it begins. A chunk
  /// begins with a block where its length is one of whole blocks; its room is kept when the next one begins.
  [[nodiscard]] const models::WindowLayers& window() const { return window_; }
  /// Bytes of the states that a request keeps in layers without KV, in the whole group. They are there with its first
  /// token, are moved with its KV, and cannot be cut to fewer tokens than they were made of.
  [[nodiscard]] std::int64_t state_bytes() const { return state_bytes_; }
  /// The KV of so many first tokens can be continued at any of them: none were dropped, and there is no state.
  [[nodiscard]] bool continues_anywhere(std::int64_t tokens) const {
    return state_bytes_ == 0 && (!window_.drops() || tokens <= window_.tokens);
  }
  /// Every token takes as much as any other.
  [[nodiscard]] bool grows_evenly() const { return grows_evenly_; }
  /// GPU memory that a step of `tokens` new tokens takes beyond what requests hold: in layers with a window they are
  /// written before the tokens are dropped that leave it. None where no context is longer than the window.
  [[nodiscard]] std::int64_t step_reservation(std::int64_t tokens) const;
  /// Bytes of a block of full KV, a drafter's included.
  [[nodiscard]] std::int64_t block_bytes() const { return block_bytes_ + drafter_block_bytes_; }
  /// Of the blocks that the first so many tokens fill, and the tokens of those that so many bytes hold.
  [[nodiscard]] std::int64_t bytes_of_full_blocks(std::int64_t tokens) const {
    return bytes_of_blocks(tokens / block_tokens_);
  }
  [[nodiscard]] std::int64_t tokens_of_full_blocks(std::int64_t bytes) const;
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

  // What attention reads of one request. A step's work is the sum over its requests, and sums of these are exact in any
  // order: bytes are whole, and so are tokens but for what is compressed of them, which is in 1024ths.
  /// Bytes of one copy over all layers (models/kernels shards them), outside of windows too: see leave_out() of
  /// models/kernels.
  [[nodiscard]] double full_read(std::int64_t tokens) const;
  /// The same of the compressed KV, where a byte of what is compressed takes the time of `attention_time_factor` bytes
  /// (see models::CompressorSpec) and tokens kept whole beside it take that of their own.
  [[nodiscard]] double compressed_read(std::int64_t prompt, std::int64_t generated,
                                       double attention_time_factor = 1) const;
  /// Tokens that attention over the compressed KV attends to (dropped ones are gone, quantised ones are not).
  [[nodiscard]] double attended_compressed(std::int64_t prompt, std::int64_t generated) const;
  /// Tokens among these whose elements are quantised, in 1024ths.
  [[nodiscard]] double quantised(std::int64_t prompt, std::int64_t generated) const;

  // How these grow with every generated token, where that is the same for each from here on: so that requests that
  // generate in step can be counted together.
  /// What full_reservation() or compressed_reservation() grows by is so many units of a token for a token. Nothing
  /// where blocks do not come regularly.
  struct TokenUnits {
    std::int64_t of_token = 1;
    std::int64_t a_token_adds = 1;
  };
  [[nodiscard]] std::optional<TokenUnits> full_units() const;
  [[nodiscard]] std::optional<TokenUnits> compressed_units() const;
  /// What is reserved, in these units, before it is rounded up to blocks. Precondition: there are units.
  [[nodiscard]] std::optional<std::int64_t> compressed_held(std::int64_t prompt, std::int64_t generated) const;
  /// Bytes that compressed_read() grows by with a token, of which attention attends to one more.
  [[nodiscard]] std::optional<double> compressed_read_growth(std::int64_t prompt, std::int64_t generated,
                                                             double attention_time_factor) const;
  /// Tokens that quantised() grows by with a token, where there is compressed_read_growth().
  [[nodiscard]] double quantised_growth() const {
    return quantises_ && scope_ == models::CompressionScope::all ? 1 : 0;
  }

 private:
  /// Every generated token is kept whole, or every one leaves the residual window for one that is compressed.
  [[nodiscard]] bool grows_regularly(std::int64_t prompt, std::int64_t generated) const;
  /// Tokens that the compressor acts on; the rest of the context is kept whole.
  [[nodiscard]] std::int64_t compressible(std::int64_t prompt, std::int64_t generated) const;
  /// Bytes and tokens that are left of those that the compressor acts on, in units of full tokens.
  [[nodiscard]] double bytes_left(std::int64_t prompt, std::int64_t generated) const;
  [[nodiscard]] double tokens_left(std::int64_t prompt, std::int64_t generated) const;
  /// Tokens that a reload brings.
  [[nodiscard]] double reloaded_tokens(std::int64_t prompt, std::int64_t generated) const;
  /// Compressed context in units of full tokens.
  [[nodiscard]] double compressed_tokens(std::int64_t prompt, std::int64_t generated) const;
  /// A low-bit copy of `context` tokens with `whole` of them in 16 bit beside it, in units of full tokens; `factor`
  /// times as much of the copy.
  [[nodiscard]] double low_bit_tokens(std::int64_t context, std::int64_t whole, double factor = 1) const;
  [[nodiscard]] std::int64_t blocks_for(double tokens) const;
  /// Of the first so many blocks of a context.
  [[nodiscard]] std::int64_t bytes_of_blocks(std::int64_t blocks) const;
  /// Bytes that so many tokens no longer have in layers with a window.
  [[nodiscard]] double outside_window(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t state_transfer(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t drafter_reservation(std::int64_t tokens) const;

  models::CompressionScope scope_;
  models::ReloadContent reload_;
  std::int64_t sink_tokens_;
  std::int64_t residual_tokens_;
  std::int64_t budget_tokens_ = 0;  // 0: none
  std::int64_t fetched_tokens_ = 0;
  bool low_bit_copy_ = false;
  double full_kv_factor_ = 1;
  double ratio_;              // bytes
  bool quantises_;            // elements have fewer bits
  double kept_;               // share of tokens attended to
  double token_bytes_;        // group
  double model_token_bytes_;  // one copy
  std::int64_t block_tokens_;
  std::int64_t block_bytes_;
  models::WindowLayers window_;
  bool grows_evenly_;
  std::int64_t state_bytes_ = 0;
  std::int64_t window_blocks_ = 0;  // that a request holds at most there
  std::int64_t window_block_bytes_ = 0;
  double window_token_bytes_ = 0;   // group
  bool cuts_ = false;               // a context may be longer than the window
  double drafter_token_bytes_ = 0;  // group
  std::int64_t drafter_block_bytes_ = 0;
};

/// The byte ratio of a compressor at a keep ratio: the keep ratio for token dropping, what bits and group metadata
/// imply for quantisation, their product for both.
double effective_ratio(const models::CompressorSpec& compressor, double keep_ratio);

/// What a step fetches for a next one of so many proposals of an auxiliary drafter: one speculative token more for
/// each.
models::PrefetchSpec step_prefetch(const ServingConfig& config, std::int64_t proposals);

/// GPU memory that a decoding request holds which does not verify, whole blocks. `room`: draft_room() of the policy.
std::int64_t decoding_reservation(const DecodePolicy& decode, const KvGeometry& geometry, std::int64_t prompt,
                                  std::int64_t generated, std::int64_t room);

/// Host memory that a request holds from admission to end, where contexts are stored or the policy offloads.
std::int64_t host_reservation(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                              std::int64_t prompt, std::int64_t output);

}  // namespace kvsim::serving
