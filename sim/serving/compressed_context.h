// A request's context as a compressor leaves it, in tokens: how many it acts on, how many are left to be read, and
// their size in units of full tokens.
#pragma once

#include <cstdint>
#include <optional>

#include "models/compression/compressor_spec.h"
#include "models/llm/llm_spec.h"

namespace kvsim::serving {

/// The byte ratio of a compressor at a keep ratio: the keep ratio for token dropping, what bits and group metadata
/// imply for quantisation, their product for both.
double effective_ratio(const models::CompressorSpec& compressor, double keep_ratio);

class CompressedContext {
 public:
  /// `keep_ratio` applies to token dropping (and to the dropping half of `both`); quantisers bring their own ratio.
  CompressedContext(const models::LlmSpec& model, const models::CompressorSpec& compressor, double keep_ratio);

  /// A context with a low-bit copy of every token, beside which the latest (the compressor's residual) and
  /// `fetched_tokens` more are held in 16 bit: resident_fraction() of models/prefetch.
  [[nodiscard]] CompressedContext with_low_bit_copy(std::int64_t fetched_tokens) const;
  /// A context of which the GPU has room for `share` of every token's full KV, which is streamed through it.
  [[nodiscard]] CompressedContext with_streaming(double share) const;
  /// A context of which a compressor leaves so many tokens, sinks and residual included, however long the context is:
  /// of the prompt, what is generated staying beside them, or of all. Precondition: it drops tokens and narrows none.
  [[nodiscard]] CompressedContext with_budget(std::int64_t tokens) const;

  /// c: compressed bytes / full bytes of what is compressed, without a budget.
  [[nodiscard]] double ratio() const { return ratio_; }
  /// c of a request with this context: ratio(), or what a budget leaves; 1 where nothing is compressed.
  [[nodiscard]] double ratio_of(std::int64_t prompt, std::int64_t generated) const;
  /// The compressor leaves a number of tokens, not a share of them.
  [[nodiscard]] bool has_budget() const { return budget_tokens_ > 0; }
  /// A reload brings only what the compressed KV lacks; else the full KV of all that is compressed.
  [[nodiscard]] bool reloads_missing() const { return reload_ == models::ReloadContent::missing; }

  // In units of full tokens.
  /// All of the context.
  [[nodiscard]] double tokens(std::int64_t prompt, std::int64_t generated) const;
  /// tokens() without those that are fetched step by step.
  [[nodiscard]] double tokens_moved(std::int64_t prompt, std::int64_t generated) const;
  /// Tokens that are left of those that the compressor acts on, and tokens that it keeps whole. Precondition: no
  /// low-bit copy.
  [[nodiscard]] double bytes_left(std::int64_t prompt, std::int64_t generated) const;
  [[nodiscard]] std::int64_t kept_whole(std::int64_t prompt, std::int64_t generated) const {
    return prompt + generated - compressible(prompt, generated);
  }
  /// Tokens that a reload brings.
  [[nodiscard]] double reloaded_tokens(std::int64_t prompt, std::int64_t generated) const;
  /// Bytes that attention reads, `token_bytes` for a full token, where a byte of what is compressed takes the time of
  /// `attention_time_factor` bytes (see models::CompressorSpec). They are whole numbers, so that sums are exact.
  [[nodiscard]] double read(std::int64_t prompt, std::int64_t generated, double token_bytes,
                            double attention_time_factor) const;
  /// Tokens that attention attends to (dropped ones are gone, quantised ones are not), in 1024ths.
  [[nodiscard]] double attended(std::int64_t prompt, std::int64_t generated) const;
  /// Tokens among these whose elements are quantised, in 1024ths.
  [[nodiscard]] double quantised(std::int64_t prompt, std::int64_t generated) const;

  // How these grow with every generated token, where that is the same for each from here on: so that requests that
  // generate in step can be counted together.
  /// tokens() grows by so many units of a token for a token. Nothing where that is not regular.
  struct TokenUnits {
    std::int64_t of_token = 1;
    std::int64_t a_token_adds = 1;
  };
  [[nodiscard]] std::optional<TokenUnits> units() const;
  /// tokens() in these units. Precondition: there are units.
  [[nodiscard]] std::optional<std::int64_t> in_units(std::int64_t prompt, std::int64_t generated) const;
  /// Bytes that read() grows by with a token, of which attention attends to one more.
  [[nodiscard]] std::optional<double> read_growth(std::int64_t prompt, std::int64_t generated, double token_bytes,
                                                  double attention_time_factor) const;
  /// Tokens that quantised() grows by with a token, where there is read_growth().
  [[nodiscard]] double quantised_growth() const {
    return quantises_ && scope_ == models::CompressionScope::all ? 1 : 0;
  }

 private:
  /// Every generated token is kept whole, or every one leaves the residual window for one that is compressed.
  [[nodiscard]] bool grows_regularly(std::int64_t prompt, std::int64_t generated) const;
  /// Tokens that the compressor acts on; the rest of the context is kept whole.
  [[nodiscard]] std::int64_t compressible(std::int64_t prompt, std::int64_t generated) const;
  /// Tokens of compressible() that are left.
  [[nodiscard]] double tokens_left(std::int64_t prompt, std::int64_t generated) const;
  /// A low-bit copy of `context` tokens with `whole` of them in 16 bit beside it; `factor` times as much of the copy.
  [[nodiscard]] double low_bit_tokens(std::int64_t context, std::int64_t whole, double factor = 1) const;

  models::CompressionScope scope_;
  models::ReloadContent reload_;
  std::int64_t sink_tokens_;
  std::int64_t residual_tokens_;
  std::int64_t budget_tokens_ = 0;  // 0: none
  std::int64_t fetched_tokens_ = 0;
  bool low_bit_copy_ = false;
  double ratio_;    // bytes
  bool quantises_;  // elements have fewer bits
  double kept_;     // share of tokens attended to
};

}  // namespace kvsim::serving
