#include "sim/serving/compressed_context.h"

#include <algorithm>
#include <cmath>

namespace kvsim::serving {

using models::CompressionKind;
using models::CompressionScope;

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

CompressedContext::CompressedContext(const models::LlmSpec& model, const models::CompressorSpec& compressor,
                                     double keep_ratio)
    : scope_(compressor.scope),
      reload_(compressor.reload),
      sink_tokens_(compressor.sink_tokens),
      residual_tokens_(compressor.residual_tokens),
      ratio_(ratio_of_layers(model, compressor, keep_ratio)),
      quantises_(compressor.kind != CompressionKind::token_dropping),
      kept_(compressor.kind == CompressionKind::quantisation ? 1.0 : keep_ratio) {}

CompressedContext CompressedContext::with_low_bit_copy(std::int64_t fetched_tokens) const {
  CompressedContext c = *this;
  c.low_bit_copy_ = true;
  c.fetched_tokens_ = fetched_tokens;
  return c;
}

CompressedContext CompressedContext::with_streaming(double share) const {
  CompressedContext c = *this;
  c.scope_ = CompressionScope::all;
  c.sink_tokens_ = 0;
  c.residual_tokens_ = 0;
  c.ratio_ = share;
  c.kept_ = 1;
  return c;
}

CompressedContext CompressedContext::with_budget(std::int64_t tokens) const {
  CompressedContext c = *this;
  c.budget_tokens_ = tokens;
  return c;
}

std::int64_t CompressedContext::compressible(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t recent =
      scope_ == CompressionScope::prompt ? std::max(generated, residual_tokens_) : residual_tokens_;
  return std::max<std::int64_t>(0, prompt + generated - sink_tokens_ - recent);
}

double CompressedContext::bytes_left(std::int64_t prompt, std::int64_t generated) const {
  return has_budget() ? tokens_left(prompt, generated) : static_cast<double>(compressible(prompt, generated)) * ratio_;
}

double CompressedContext::tokens_left(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t acted_on = compressible(prompt, generated);
  if (!has_budget()) return static_cast<double>(acted_on) * kept_;
  // Latest tokens that count: of the prompt, those that generated tokens have not displaced from the residual window.
  const std::int64_t recent =
      scope_ == CompressionScope::prompt ? std::max<std::int64_t>(residual_tokens_ - generated, 0) : residual_tokens_;
  const std::int64_t left = std::max<std::int64_t>(budget_tokens_ - sink_tokens_ - recent, 0);
  return static_cast<double>(std::min(acted_on, left));
}

double CompressedContext::ratio_of(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t acted_on = compressible(prompt, generated);
  if (!has_budget()) return ratio_;
  return acted_on > 0 ? tokens_left(prompt, generated) / static_cast<double>(acted_on) : 1.0;
}

double CompressedContext::low_bit_tokens(std::int64_t context, std::int64_t whole, double factor) const {
  return static_cast<double>(context) * ratio_ * factor + static_cast<double>(std::min(whole, context));
}

double CompressedContext::tokens(std::int64_t prompt, std::int64_t generated) const {
  if (low_bit_copy_) return low_bit_tokens(prompt + generated, residual_tokens_ + fetched_tokens_);
  return bytes_left(prompt, generated) + static_cast<double>(kept_whole(prompt, generated));
}

double CompressedContext::tokens_moved(std::int64_t prompt, std::int64_t generated) const {
  return low_bit_copy_ ? low_bit_tokens(prompt + generated, residual_tokens_) : tokens(prompt, generated);
}

double CompressedContext::read(std::int64_t prompt, std::int64_t generated, double token_bytes,
                               double attention_time_factor) const {
  if (low_bit_copy_) {
    const std::int64_t whole_tokens = residual_tokens_ + fetched_tokens_;
    return std::round(low_bit_tokens(prompt + generated, whole_tokens, attention_time_factor) * token_bytes);
  }
  return std::round(bytes_left(prompt, generated) * token_bytes * attention_time_factor) +
         static_cast<double>(kept_whole(prompt, generated)) * token_bytes;
}

double CompressedContext::reloaded_tokens(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t acted_on = compressible(prompt, generated);
  const auto all = static_cast<double>(acted_on);
  if (!reloads_missing()) return all;
  return has_budget() ? all - tokens_left(prompt, generated) : all * (1.0 - ratio_);
}

double CompressedContext::attended(std::int64_t prompt, std::int64_t generated) const {
  if (low_bit_copy_) return static_cast<double>(prompt + generated);
  constexpr double kParts = 1024;
  return std::round(tokens_left(prompt, generated) * kParts) / kParts +
         static_cast<double>(kept_whole(prompt, generated));
}

double CompressedContext::quantised(std::int64_t prompt, std::int64_t generated) const {
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

std::optional<CompressedContext::TokenUnits> CompressedContext::units() const {
  if (low_bit_copy_) return std::nullopt;
  if (scope_ == CompressionScope::prompt) return TokenUnits{};  // new tokens are whole
  const std::optional<std::int64_t> parts = denominator(ratio_);
  if (!parts || has_budget()) return std::nullopt;
  return TokenUnits{*parts, std::llround(ratio_ * static_cast<double>(*parts))};
}

bool CompressedContext::grows_regularly(std::int64_t prompt, std::int64_t generated) const {
  if (scope_ == CompressionScope::prompt) return generated >= residual_tokens_;
  return prompt + generated >= sink_tokens_ + residual_tokens_;
}

std::optional<std::int64_t> CompressedContext::in_units(std::int64_t prompt, std::int64_t generated) const {
  if (!grows_regularly(prompt, generated)) return std::nullopt;
  const double left = tokens(prompt, generated);
  if (scope_ != CompressionScope::prompt) {
    return std::llround(left * static_cast<double>(units()->of_token));
  }
  // A part of a token takes a whole one; further whole ones must not carry its rounding over the edge.
  constexpr double kClose = 1e-4;
  const double part = left - std::floor(left);
  if (part != 0 && (part < kClose || part > 1 - kClose)) return std::nullopt;
  return std::llround(std::ceil(left));
}

std::optional<double> CompressedContext::read_growth(std::int64_t prompt, std::int64_t generated, double token_bytes,
                                                     double attention_time_factor) const {
  if (low_bit_copy_ || !grows_regularly(prompt, generated)) return std::nullopt;
  if (scope_ == CompressionScope::prompt) return token_bytes;
  const double token = token_bytes * attention_time_factor;
  // One more is compressed: its bytes are whole, and it is attended to whole.
  if (kept_ != 1 || has_budget() || !denominator(ratio_) || !whole(ratio_ * token)) return std::nullopt;
  return ratio_ * token;
}

}  // namespace kvsim::serving
