// Which tokens of a prompt are recomputed, from how important a small model holds each to be: the most important
// ones, completed to spans (SpecCache, selection).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kvsim::models {

/// Use of a budget that completed spans exceed.
enum class SpanCap {
  /// Completed spans and selected tokens outside of them, by mean importance, whole, as long as there is room.
  spans,
  /// Single tokens, by importance: the published sentence. Within K this is the K most important tokens again,
  /// whatever was completed (docs/findings.md, 12).
  tokens
};

struct SpanRules {
  bool enabled = true;        ///< off: the most important tokens as they are
  double variation = 0.4;     ///< neighbours belong together while |I' - I| / I stays below this; >= 0
  std::int64_t longest = 16;  ///< tokens of a span; >= 1
  double majority = 0.7;      ///< a span is completed when at least this share of it is selected; in (0, 1]
  SpanCap cap = SpanCap::spans;
  double budget = 1;  ///< tokens at most / K, the tokens that are selected before spans are completed; >= 1
};

/// Whether these rules can select anything but the most important tokens.
[[nodiscard]] inline bool completes_spans(const SpanRules& rules) {
  return rules.enabled && (rules.cap == SpanCap::spans || rules.budget > 1) && rules.longest > 1 && rules.variation > 0;
}

/// ceil(rho n), not led astray by rounding: 0.15 of 100 is 15. Throws schema::InputError where rho is not in [0, 1].
[[nodiscard]] std::int64_t selection_budget(double rho, std::int64_t tokens);

/// The tokens [begin, end).
struct TokenSpan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(const TokenSpan&, const TokenSpan&) = default;
};

/// Neighbouring tokens of similar importance, from left to right. `importance` is normalised to [0, 1] first; a step
/// from 0 to anything else is a large variation. Throws schema::InputError where an importance is negative or not
/// finite, or a rule is out of its range.
[[nodiscard]] std::vector<TokenSpan> similar_spans(std::span<const float> importance, const SpanRules& rules);

/// The tokens to compute again, ascending: K = selection_budget(rho, n) and what completes their spans, at most
/// rules.budget x K, rounded up. Of equally important tokens the earlier
/// ones come first. Throws schema::InputError where rho is not in [0, 1], or an importance is negative or not finite,
/// or a rule is out of its range.
[[nodiscard]] std::vector<std::uint32_t> select_tokens(std::span<const float> importance, double rho,
                                                       const SpanRules& rules);

}  // namespace kvsim::models
