// Span completion word for word, in whole numbers and without regard to time: what the fast one must agree with.
#pragma once

#include <cstdint>
#include <vector>

#include "models/reuse/span_completion.h"

namespace kvsim::models {

/// Rules in whole numbers: nothing is rounded.
struct WholeRules {
  std::int64_t variation = 0;  ///< in twentieths
  std::int64_t majority = 1;   ///< in twentieths
  std::int64_t longest = 1;
  SpanCap cap = SpanCap::spans;
  std::int64_t budget = 20;  ///< in twentieths of what is selected first

  [[nodiscard]] SpanRules rules() const {
    return {.enabled = true,
            .variation = static_cast<double>(variation) / 20,
            .longest = longest,
            .majority = static_cast<double>(majority) / 20,
            .cap = cap,
            .budget = static_cast<double>(budget) / 20};
  }
};

std::vector<TokenSpan> naive_spans(const std::vector<std::int64_t>& importance, const WholeRules& rules);

/// Of so many tokens that are selected before spans are completed.
std::vector<std::uint32_t> naive_selection(const std::vector<std::int64_t>& importance, std::int64_t first,
                                           const WholeRules& rules);

}  // namespace kvsim::models
