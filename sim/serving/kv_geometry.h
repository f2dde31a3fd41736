// Bytes of a request's KV in every form it takes: full, compressed, in flight; as reserved (whole blocks) and as moved.
#pragma once

#include <cstdint>
#include <optional>

#include "models/llm/llm_spec.h"
#include "sim/serving/compressed_context.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::serving {

class KvGeometry {
 public:
  /// `compressed`: what compressors leave of a context of this model.
  KvGeometry(const models::LlmSpec& model, std::int64_t tensor_parallel, const CompressedContext& compressed,
             std::int64_t block_tokens);

  /// Geometry in which full KV takes `factor` of its bytes in GPU memory (models::FrameworkMemory).
  [[nodiscard]] KvGeometry with_full_kv_factor(double factor) const;

  /// Geometry with an auxiliary drafter's KV of so many bytes a token in the whole group beside it, never compressed.
  [[nodiscard]] KvGeometry with_drafter(double token_bytes) const;

  /// In tokens, what compressors leave of a context.
  [[nodiscard]] const CompressedContext& compressed() const { return compressed_; }
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
  /// GPU memory that a step of `tokens` new tokens takes beyond what requests hold: in layers with a window they are
  /// written before the tokens are dropped that leave it. None where no context is longer than the window.
  [[nodiscard]] std::int64_t step_reservation(std::int64_t tokens) const;
  /// Bytes of a block of full KV, a drafter's included.
  [[nodiscard]] std::int64_t block_bytes() const { return block_bytes_ + drafter_block_bytes_; }
  /// Bytes of the blocks that the first so many tokens fill, and tokens of the blocks that so many bytes hold.
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

  /// Bytes moved over a link. Stored and compressed KV include a drafter's.
  [[nodiscard]] std::int64_t full_transfer(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t stored_transfer(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t compressed_transfer(std::int64_t prompt, std::int64_t generated) const;
  [[nodiscard]] std::int64_t reload_transfer(std::int64_t prompt, std::int64_t generated) const;

  // Amounts that attention reads of one request. A step's work is the sum over its requests. Sums of these are exact in
  // any order: bytes are whole, and so are tokens, except those of compressed KV, which are in 1024ths.
  /// Bytes of one copy over all layers (models/kernels shards them), outside of windows too: see leave_out() of
  /// models/kernels.
  [[nodiscard]] double full_read(std::int64_t tokens) const;
  /// Bytes read of the compressed KV; see CompressedContext::read().
  [[nodiscard]] double compressed_read(std::int64_t prompt, std::int64_t generated,
                                       double attention_time_factor = 1) const {
    return compressed_.read(prompt, generated, model_token_bytes_, attention_time_factor);
  }
  [[nodiscard]] std::optional<double> compressed_read_growth(std::int64_t prompt, std::int64_t generated,
                                                             double attention_time_factor) const {
    return compressed_.read_growth(prompt, generated, model_token_bytes_, attention_time_factor);
  }

  /// full_reservation() and compressed_reservation() grow by so much with every generated token, in units of a token;
  /// nothing where blocks do not come regularly.
  [[nodiscard]] std::optional<CompressedContext::TokenUnits> full_units() const;
  [[nodiscard]] std::optional<CompressedContext::TokenUnits> compressed_units() const;

 private:
  [[nodiscard]] std::int64_t blocks_for(double tokens) const;
  /// Bytes of the first so many blocks of a context.
  [[nodiscard]] std::int64_t bytes_of_blocks(std::int64_t blocks) const;
  /// Bytes that so many tokens no longer have in layers with a window.
  [[nodiscard]] double outside_window(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t drafter_reservation(std::int64_t tokens) const;

  CompressedContext compressed_;
  double full_kv_factor_ = 1;
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

/// Fetch of a step for a next one of so many proposals of an auxiliary drafter: one speculative token more for
/// each.
models::PrefetchSpec step_prefetch(const ServingConfig& config, std::int64_t proposals);

/// GPU memory that a decoding request holds which does not verify, whole blocks. `room`: draft_room() of the policy.
std::int64_t decoding_reservation(const DecodePolicy& decode, const KvGeometry& geometry, std::int64_t prompt,
                                  std::int64_t generated, std::int64_t room);

/// Host memory that a request holds from admission to end, where contexts are stored or the policy offloads.
std::int64_t host_reservation(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                              std::int64_t prompt, std::int64_t output);

}  // namespace kvsim::serving
