// What a request knows of its own drafts, for the policies that choose how many tokens its next round drafts.
#pragma once

#include <cstdint>
#include <limits>

#include "sim/engine/time.h"

namespace kvsim::serving {

/// Outcomes of drafted tokens. A round tells of each accepted token, and of the one that ended it: those behind the
/// first mismatch say nothing.
struct AgreementEvidence {
  double accepted = 0;
  double trials = 0;

  /// One more round; what was known before weighs `forgetting` of what it did.
  void add_round(std::int64_t drafted, std::int64_t accepted_now, double forgetting);

  /// The maximum-likelihood agreement of a geometric law, with `prior` further trials of mean `mean`. Precondition:
  /// prior > 0.
  [[nodiscard]] double agreement(double prior, double mean) const;

  /// S(1..count) as expected over the Beta distribution that evidence and prior give, written to `s`; what follows a
  /// negligible one is left alone.
  void survival(double prior, double mean, std::int64_t count, double* s) const;

  /// The first i of `from`, from + 1, ..., `most` of which S(i + 1) <= `price`, or most.
  [[nodiscard]] std::int64_t worth(double prior, double mean, double price, std::int64_t from, std::int64_t most) const;
};

struct DraftState {
  AgreementEvidence evidence;
  std::int64_t chosen = 0;  ///< draft length of the round under way (proposals: of the coming step), before what is
                            ///< left to generate limits it
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< most positions of the round while it waits
  double overhead = 1;                                            ///< expected then: DraftOutlook::overhead
  std::int64_t hidden = 0;                                        ///< expected then: DraftOutlook::hidden
  engine::SimTime complete_at;                                    ///< all of its draft was there
  engine::SimTime reload_at;                                      ///< its reload was asked for
};

}  // namespace kvsim::serving
