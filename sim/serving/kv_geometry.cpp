#include "sim/serving/kv_geometry.h"

#include <algorithm>
#include <cmath>

#include "models/prefetch/prefetch_spec.h"

namespace kvsim::serving {

using models::CompressionKind;
using models::CompressionScope;
using models::ReloadContent;

double effective_ratio(const models::CompressorSpec& compressor, double keep_ratio) {
  switch (compressor.kind) {
    case CompressionKind::token_dropping:
      return keep_ratio;
    case CompressionKind::quantisation:
      return compressor.quantised_ratio();
    case CompressionKind::both:
      return keep_ratio * compressor.quantised_ratio();
  }
  return keep_ratio;
}

namespace {

/// The ratio over all layers, of which the compressor leaves some whole.
double ratio_of_layers(const models::LlmSpec& model, const models::CompressorSpec& compressor, double keep_ratio) {
  const double ratio = effective_ratio(compressor, keep_ratio);
  const auto layers = static_cast<double>(std::max<std::int64_t>(model.attention_layers(), 1));
  const double whole = std::min(static_cast<double>(compressor.whole_layers) / layers, 1.0);
  return whole > 0 ? whole + (1 - whole) * ratio : ratio;
}

}  // namespace

KvGeometry::KvGeometry(const models::LlmSpec& model, std::int64_t tensor_parallel,
                       const models::CompressorSpec& compressor, double keep_ratio, std::int64_t block_tokens)
    : scope_(compressor.scope),
      reload_(compressor.reload),
      sink_tokens_(compressor.sink_tokens),
      residual_tokens_(compressor.residual_tokens),
      ratio_(ratio_of_layers(model, compressor, keep_ratio)),
      quantises_(compressor.kind != CompressionKind::token_dropping),
      kept_(compressor.kind == CompressionKind::quantisation ? 1.0 : keep_ratio),
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

KvGeometry KvGeometry::with_low_bit_copy(std::int64_t fetched_tokens) const {
  KvGeometry g = *this;
  g.low_bit_copy_ = true;
  g.fetched_tokens_ = fetched_tokens;
  return g;
}

KvGeometry KvGeometry::with_streaming(double share) const {
  KvGeometry g = *this;
  g.scope_ = CompressionScope::all;
  g.sink_tokens_ = 0;
  g.residual_tokens_ = 0;
  g.ratio_ = share;
  g.kept_ = 1;
  return g;
}

KvGeometry KvGeometry::with_full_kv_factor(double factor) const {
  KvGeometry g = *this;
  g.full_kv_factor_ = factor;
  return g;
}

KvGeometry KvGeometry::with_budget(std::int64_t tokens) const {
  KvGeometry g = *this;
  g.budget_tokens_ = tokens;
  return g;
}

KvGeometry KvGeometry::with_drafter(double token_bytes) const {
  KvGeometry g = *this;
  g.drafter_token_bytes_ = token_bytes;
  g.drafter_block_bytes_ = std::llround(std::ceil(token_bytes * static_cast<double>(block_tokens_)));
  return g;
}

std::int64_t KvGeometry::compressible(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t recent =
      scope_ == CompressionScope::prompt ? std::max(generated, residual_tokens_) : residual_tokens_;
  return std::max<std::int64_t>(0, prompt + generated - sink_tokens_ - recent);
}

double KvGeometry::bytes_left(std::int64_t prompt, std::int64_t generated) const {
  return has_budget() ? tokens_left(prompt, generated) : static_cast<double>(compressible(prompt, generated)) * ratio_;
}

double KvGeometry::tokens_left(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t acted_on = compressible(prompt, generated);
  if (!has_budget()) return static_cast<double>(acted_on) * kept_;
  // The latest tokens that count: of the prompt those that what is generated has not pushed out of the residual window.
  const std::int64_t recent =
      scope_ == CompressionScope::prompt ? std::max<std::int64_t>(residual_tokens_ - generated, 0) : residual_tokens_;
  const std::int64_t left = std::max<std::int64_t>(budget_tokens_ - sink_tokens_ - recent, 0);
  return static_cast<double>(std::min(acted_on, left));
}

double KvGeometry::ratio_of(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t acted_on = compressible(prompt, generated);
  if (!has_budget()) return ratio_;
  return acted_on > 0 ? tokens_left(prompt, generated) / static_cast<double>(acted_on) : 1.0;
}

double KvGeometry::low_bit_tokens(std::int64_t context, std::int64_t whole, double factor) const {
  return static_cast<double>(context) * ratio_ * factor + static_cast<double>(std::min(whole, context));
}

double KvGeometry::compressed_tokens(std::int64_t prompt, std::int64_t generated) const {
  if (low_bit_copy_) return low_bit_tokens(prompt + generated, residual_tokens_ + fetched_tokens_);
  const std::int64_t acted_on = compressible(prompt, generated);
  return bytes_left(prompt, generated) + static_cast<double>(prompt + generated - acted_on);
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

std::int64_t KvGeometry::state_transfer(std::int64_t tokens) const {
  return tokens > 0 ? state_bytes_ : 0;
}

std::int64_t KvGeometry::compressed_reservation(std::int64_t prompt, std::int64_t generated, std::int64_t whole) const {
  return blocks_for(compressed_tokens(prompt, generated) + static_cast<double>(whole)) * block_bytes_ +
         drafter_reservation(prompt + generated + whole);
}

double KvGeometry::reloaded_tokens(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t acted_on = compressible(prompt, generated);
  const auto all = static_cast<double>(acted_on);
  if (reload_ != ReloadContent::missing) return all;
  return has_budget() ? all - tokens_left(prompt, generated) : all * (1.0 - ratio_);
}

std::int64_t KvGeometry::reload_reservation(std::int64_t prompt, std::int64_t generated) const {
  return blocks_for(reloaded_tokens(prompt, generated)) * block_bytes_;
}

std::int64_t KvGeometry::redundant_reservation(std::int64_t prompt, std::int64_t generated) const {
  if (reload_ == ReloadContent::missing) return 0;
  const double tokens = bytes_left(prompt, generated);
  return static_cast<std::int64_t>(tokens / static_cast<double>(block_tokens_)) * block_bytes_;
}

std::int64_t KvGeometry::full_transfer(std::int64_t tokens) const {
  return std::llround(static_cast<double>(tokens) * token_bytes_ - outside_window(tokens)) + state_transfer(tokens);
}

std::int64_t KvGeometry::stored_transfer(std::int64_t tokens) const {
  return std::llround(static_cast<double>(tokens) * (token_bytes_ + drafter_token_bytes_) - outside_window(tokens)) +
         state_transfer(tokens);
}

std::int64_t KvGeometry::compressed_transfer(std::int64_t prompt, std::int64_t generated) const {
  // What is fetched comes later, step by step.
  const double tokens =
      low_bit_copy_ ? low_bit_tokens(prompt + generated, residual_tokens_) : compressed_tokens(prompt, generated);
  return std::llround(tokens * token_bytes_ + static_cast<double>(prompt + generated) * drafter_token_bytes_);
}

std::int64_t KvGeometry::reload_transfer(std::int64_t prompt, std::int64_t generated) const {
  return std::llround(reloaded_tokens(prompt, generated) * token_bytes_);
}

double KvGeometry::full_read(std::int64_t tokens) const {
  return static_cast<double>(tokens) * model_token_bytes_;
}

double KvGeometry::compressed_read(std::int64_t prompt, std::int64_t generated, double attention_time_factor) const {
  if (low_bit_copy_) {
    const std::int64_t whole_tokens = residual_tokens_ + fetched_tokens_;
    return std::round(low_bit_tokens(prompt + generated, whole_tokens, attention_time_factor) * model_token_bytes_);
  }
  const std::int64_t acted_on = compressible(prompt, generated);
  return std::round(bytes_left(prompt, generated) * model_token_bytes_ * attention_time_factor) +
         full_read(prompt + generated - acted_on);
}

double KvGeometry::attended_compressed(std::int64_t prompt, std::int64_t generated) const {
  if (low_bit_copy_) return static_cast<double>(prompt + generated);
  constexpr double kParts = 1024;
  const std::int64_t acted_on = compressible(prompt, generated);
  return std::round(tokens_left(prompt, generated) * kParts) / kParts +
         static_cast<double>(prompt + generated - acted_on);
}

double KvGeometry::quantised(std::int64_t prompt, std::int64_t generated) const {
  if (!quantises_) return 0;
  if (low_bit_copy_) return static_cast<double>(prompt + generated);
  constexpr double kParts = 1024;
  return std::round(static_cast<double>(compressible(prompt, generated)) * kept_ * kParts) / kParts;
}

namespace {

bool whole(double x) {
  return x == std::floor(x);
}

/// The least power of two of which `ratio` is a multiple, inverted; nothing where that is not a small one.
std::optional<std::int64_t> denominator(double ratio) {
  constexpr std::int64_t kMost = 256;
  for (std::int64_t d = 1; d <= kMost; d *= 2) {
    if (whole(ratio * static_cast<double>(d))) return d;
  }
  return std::nullopt;
}

}  // namespace

std::optional<KvGeometry::TokenUnits> KvGeometry::full_units() const {
  return full_kv_factor_ == 1 && grows_evenly() ? std::optional(TokenUnits{}) : std::nullopt;
}

std::optional<KvGeometry::TokenUnits> KvGeometry::compressed_units() const {
  if (low_bit_copy_ || drafter_block_bytes_ > 0) return std::nullopt;
  if (scope_ == CompressionScope::prompt) return TokenUnits{};  // new tokens are whole
  const std::optional<std::int64_t> units = denominator(ratio_);
  if (!units || has_budget()) return std::nullopt;
  return TokenUnits{*units, std::llround(ratio_ * static_cast<double>(*units))};
}

bool KvGeometry::grows_regularly(std::int64_t prompt, std::int64_t generated) const {
  if (scope_ == CompressionScope::prompt) return generated >= residual_tokens_;
  return prompt + generated >= sink_tokens_ + residual_tokens_;
}

std::optional<std::int64_t> KvGeometry::compressed_held(std::int64_t prompt, std::int64_t generated) const {
  if (!grows_regularly(prompt, generated)) return std::nullopt;
  const double tokens = compressed_tokens(prompt, generated);
  if (scope_ != CompressionScope::prompt) {
    return std::llround(tokens * static_cast<double>(compressed_units()->of_token));
  }
  // A part of a token takes a whole one; further whole ones must not carry its rounding over the edge.
  constexpr double kClose = 1e-4;
  const double part = tokens - std::floor(tokens);
  if (part != 0 && (part < kClose || part > 1 - kClose)) return std::nullopt;
  return std::llround(std::ceil(tokens));
}

std::optional<double> KvGeometry::compressed_read_growth(std::int64_t prompt, std::int64_t generated,
                                                         double attention_time_factor) const {
  if (low_bit_copy_ || !grows_regularly(prompt, generated)) return std::nullopt;
  if (scope_ == CompressionScope::prompt) return model_token_bytes_;
  const double token = model_token_bytes_ * attention_time_factor;
  // One more is compressed: its bytes are whole, and it is attended to whole.
  if (kept_ != 1 || has_budget() || !denominator(ratio_) || !whole(ratio_ * token)) return std::nullopt;
  return ratio_ * token;
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
