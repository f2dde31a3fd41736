#include "sim/serving/kv_geometry.h"

#include <algorithm>
#include <cmath>

#include "models/prefetch/prefetch_spec.h"

namespace kvsim::serving {

KvGeometry::KvGeometry(const models::LlmSpec& model, std::int64_t tensor_parallel, const CompressedContext& compressed,
                       std::int64_t block_tokens)
    : compressed_(compressed),
      token_bytes_(static_cast<double>(model.kv_bytes_per_token()) * model.kv_copies(tensor_parallel)),
      model_token_bytes_(static_cast<double>(model.kv_bytes_per_token())),
      block_tokens_(block_tokens),
      block_bytes_(std::llround(std::ceil(token_bytes_ * static_cast<double>(block_tokens)))),
      window_(model.window),
      grows_evenly_(model.grows_evenly()),
      state_bytes_(std::llround(model.state.bytes())) {
  if (!window_.drops()) return;
  const models::LlmSpec part = model.window_part();
  const bool aligned = window_.kind == models::WindowKind::chunked && window_.tokens % block_tokens == 0;
  window_blocks_ = aligned ? window_.tokens / block_tokens : (window_.tokens - 1 + block_tokens - 1) / block_tokens + 1;
  window_token_bytes_ = static_cast<double>(part.kv_bytes_per_token()) * part.kv_copies(tensor_parallel);
  window_block_bytes_ = std::llround(std::floor(window_token_bytes_ * static_cast<double>(block_tokens)));
  cuts_ = window_.tokens < model.max_context;
}

KvGeometry KvGeometry::with_full_kv_factor(double factor) const {
  KvGeometry g = *this;
  g.full_kv_factor_ = factor;
  return g;
}

KvGeometry KvGeometry::with_drafter(double token_bytes) const {
  KvGeometry g = *this;
  g.drafter_token_bytes_ = token_bytes;
  g.drafter_block_bytes_ = std::llround(std::ceil(token_bytes * static_cast<double>(block_tokens_)));
  return g;
}

std::int64_t KvGeometry::blocks_for(double tokens) const {
  return static_cast<std::int64_t>(std::ceil(tokens / static_cast<double>(block_tokens_)));
}

std::int64_t KvGeometry::drafter_reservation(std::int64_t tokens) const {
  return (tokens + block_tokens_ - 1) / block_tokens_ * drafter_block_bytes_;
}

std::int64_t KvGeometry::full_reservation(std::int64_t tokens) const {
  if (full_kv_factor_ != 1) {
    return blocks_for(static_cast<double>(tokens) * full_kv_factor_) * block_bytes_ + drafter_reservation(tokens);
  }
  return bytes_of_blocks((tokens + block_tokens_ - 1) / block_tokens_);
}

std::int64_t KvGeometry::bytes_of_blocks(std::int64_t blocks) const {
  const std::int64_t left = window_.drops() ? std::max<std::int64_t>(blocks - window_blocks_, 0) : 0;
  return blocks * block_bytes() - left * window_block_bytes_ + (blocks > 0 ? state_bytes_ : 0);
}

std::int64_t KvGeometry::tokens_of_full_blocks(std::int64_t bytes) const {
  // A window that no context outgrows leaves nothing behind.
  const std::int64_t beyond = cuts_ ? bytes - bytes_of_blocks(window_blocks_) : 0;
  if (beyond <= 0) return std::max<std::int64_t>(bytes - state_bytes_, 0) / block_bytes() * block_tokens_;
  return (window_blocks_ + beyond / (block_bytes() - window_block_bytes_)) * block_tokens_;
}

std::int64_t KvGeometry::step_reservation(std::int64_t tokens) const {
  return cuts_ ? (tokens + block_tokens_ - 1) / block_tokens_ * window_block_bytes_ : 0;
}

double KvGeometry::outside_window(std::int64_t tokens) const {
  if (!window_.drops() || tokens <= 0) return 0;
  const std::int64_t outside = window_.kind == models::WindowKind::chunked
                                   ? (tokens - 1) / window_.tokens * window_.tokens
                                   : std::max<std::int64_t>(tokens - window_.tokens, 0);
  return static_cast<double>(outside) * window_token_bytes_;
}

std::int64_t KvGeometry::compressed_reservation(std::int64_t prompt, std::int64_t generated, std::int64_t whole) const {
  return blocks_for(compressed_.tokens(prompt, generated) + static_cast<double>(whole)) * block_bytes_ +
         drafter_reservation(prompt + generated + whole);
}

std::int64_t KvGeometry::reload_reservation(std::int64_t prompt, std::int64_t generated) const {
  return blocks_for(compressed_.reloaded_tokens(prompt, generated)) * block_bytes_;
}

std::int64_t KvGeometry::redundant_reservation(std::int64_t prompt, std::int64_t generated) const {
  if (compressed_.reloads_missing()) return 0;
  const double tokens = compressed_.bytes_left(prompt, generated);
  return static_cast<std::int64_t>(tokens / static_cast<double>(block_tokens_)) * block_bytes_;
}

std::int64_t KvGeometry::full_transfer(std::int64_t tokens) const {
  return std::llround(static_cast<double>(tokens) * token_bytes_ - outside_window(tokens)) +
         (tokens > 0 ? state_bytes_ : 0);
}

std::int64_t KvGeometry::stored_transfer(std::int64_t tokens) const {
  return std::llround(static_cast<double>(tokens) * (token_bytes_ + drafter_token_bytes_) - outside_window(tokens)) +
         (tokens > 0 ? state_bytes_ : 0);
}

std::int64_t KvGeometry::compressed_transfer(std::int64_t prompt, std::int64_t generated) const {
  const double tokens = compressed_.tokens_moved(prompt, generated);  // what is fetched comes later, step by step
  return std::llround(tokens * token_bytes_ + static_cast<double>(prompt + generated) * drafter_token_bytes_);
}

std::int64_t KvGeometry::reload_transfer(std::int64_t prompt, std::int64_t generated) const {
  return std::llround(compressed_.reloaded_tokens(prompt, generated) * token_bytes_);
}

double KvGeometry::full_read(std::int64_t tokens) const {
  return static_cast<double>(tokens) * model_token_bytes_;
}

std::optional<CompressedContext::TokenUnits> KvGeometry::full_units() const {
  return full_kv_factor_ == 1 && grows_evenly_ ? std::optional(CompressedContext::TokenUnits{}) : std::nullopt;
}

std::optional<CompressedContext::TokenUnits> KvGeometry::compressed_units() const {
  return drafter_block_bytes_ > 0 ? std::nullopt : compressed_.units();
}

models::PrefetchSpec step_prefetch(const ServingConfig& config, std::int64_t proposals) {
  models::PrefetchSpec prefetch = config.decode.prefetch;
  prefetch.query_tokens += proposals;
  return prefetch;
}

std::int64_t decoding_reservation(const DecodePolicy& decode, const KvGeometry& geometry, std::int64_t prompt,
                                  std::int64_t generated, std::int64_t room) {
  return decode.holds_part() ? geometry.compressed_reservation(prompt, generated, room)
                             : geometry.full_reservation(prompt + generated + room);
}

std::int64_t host_reservation(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                              std::int64_t prompt, std::int64_t output) {
  const bool separate_copy = decode.holds_part() && decode.reads_compressed && config.prefill == PrefillKind::stored &&
                             config.decode.compressor.kind != models::CompressionKind::token_dropping;
  return geometry.stored_transfer(prompt + output) + (separate_copy ? geometry.compressed_transfer(prompt, 0) : 0);
}

}  // namespace kvsim::serving
