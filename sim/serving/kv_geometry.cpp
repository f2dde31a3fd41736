#include "sim/serving/kv_geometry.h"

#include <algorithm>
#include <cmath>

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

KvGeometry::KvGeometry(const models::LlmSpec& model, std::int64_t tensor_parallel,
                       const models::CompressorSpec& compressor, double keep_ratio, std::int64_t block_tokens)
    : scope_(compressor.scope),
      reload_(compressor.reload),
      sink_tokens_(compressor.sink_tokens),
      residual_tokens_(compressor.residual_tokens),
      ratio_(effective_ratio(compressor, keep_ratio)),
      kept_(compressor.kind == CompressionKind::quantisation ? 1.0 : keep_ratio),
      token_bytes_(static_cast<double>(model.kv_bytes_per_token()) * model.kv_copies(tensor_parallel)),
      model_token_bytes_(static_cast<double>(model.kv_bytes_per_token())),
      block_tokens_(block_tokens),
      block_bytes_(std::llround(std::ceil(token_bytes_ * static_cast<double>(block_tokens)))) {}

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

double KvGeometry::low_bit_tokens(std::int64_t context, std::int64_t whole) const {
  return static_cast<double>(context) * ratio_ + static_cast<double>(std::min(whole, context));
}

double KvGeometry::compressed_tokens(std::int64_t prompt, std::int64_t generated) const {
  if (low_bit_copy_) return low_bit_tokens(prompt + generated, residual_tokens_ + fetched_tokens_);
  const std::int64_t acted_on = compressible(prompt, generated);
  return static_cast<double>(acted_on) * ratio_ + static_cast<double>(prompt + generated - acted_on);
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
  return (tokens + block_tokens_ - 1) / block_tokens_ * block_bytes();
}

std::int64_t KvGeometry::compressed_reservation(std::int64_t prompt, std::int64_t generated, std::int64_t whole) const {
  return blocks_for(compressed_tokens(prompt, generated) + static_cast<double>(whole)) * block_bytes_ +
         drafter_reservation(prompt + generated + whole);
}

std::int64_t KvGeometry::reload_reservation(std::int64_t prompt, std::int64_t generated) const {
  const auto acted_on = static_cast<double>(compressible(prompt, generated));
  return blocks_for(reload_ == ReloadContent::missing ? acted_on * (1.0 - ratio_) : acted_on) * block_bytes_;
}

std::int64_t KvGeometry::redundant_reservation(std::int64_t prompt, std::int64_t generated) const {
  if (reload_ == ReloadContent::missing) return 0;
  const double tokens = static_cast<double>(compressible(prompt, generated)) * ratio_;
  return static_cast<std::int64_t>(tokens / static_cast<double>(block_tokens_)) * block_bytes_;
}

std::int64_t KvGeometry::full_transfer(std::int64_t tokens) const {
  return std::llround(static_cast<double>(tokens) * token_bytes_);
}

std::int64_t KvGeometry::stored_transfer(std::int64_t tokens) const {
  return std::llround(static_cast<double>(tokens) * (token_bytes_ + drafter_token_bytes_));
}

std::int64_t KvGeometry::compressed_transfer(std::int64_t prompt, std::int64_t generated) const {
  // What is fetched comes later, step by step.
  const double tokens =
      low_bit_copy_ ? low_bit_tokens(prompt + generated, residual_tokens_) : compressed_tokens(prompt, generated);
  return std::llround(tokens * token_bytes_ + static_cast<double>(prompt + generated) * drafter_token_bytes_);
}

std::int64_t KvGeometry::reload_transfer(std::int64_t prompt, std::int64_t generated) const {
  const auto acted_on = static_cast<double>(compressible(prompt, generated));
  return std::llround((reload_ == ReloadContent::missing ? acted_on * (1.0 - ratio_) : acted_on) * token_bytes_);
}

double KvGeometry::full_read(std::int64_t tokens) const {
  return static_cast<double>(tokens) * model_token_bytes_;
}

double KvGeometry::compressed_read(std::int64_t prompt, std::int64_t generated) const {
  return compressed_tokens(prompt, generated) * model_token_bytes_;
}

double KvGeometry::attended_compressed(std::int64_t prompt, std::int64_t generated) const {
  if (low_bit_copy_) return static_cast<double>(prompt + generated);
  const std::int64_t acted_on = compressible(prompt, generated);
  return static_cast<double>(acted_on) * kept_ + static_cast<double>(prompt + generated - acted_on);
}

}  // namespace kvsim::serving
