// How often each object is used, as numbers whose ratios are those of the frequencies.
#pragma once

#include <cstdint>

#include "models/placement/placement_spec.h"
#include "sim/engine/time.h"

namespace kvsim::cache {

/// What one access adds to its object's weight. A count adds 1. Decayed frequencies use forward decay (G. Cormode et
/// al., "Forward decay", ICDE 2009): instead of halving all old accesses after every half-life, new ones count double,
/// so the weights of objects that are not used keep standing and all keys made of them keep their order.
class AccessWeights {
 public:
  AccessWeights(models::FrequencyKind kind, double half_life_s) : kind_(kind), half_life_s_(half_life_s) {}

  /// The weight of an access at `now`; times must not go back by more than hundreds of half-lives.
  [[nodiscard]] double of_access(engine::SimTime now) const;

  /// The number of half-lives by which weights have grown too large: multiply every weight by 2^-n (exact, but for
  /// those that vanish), then call rebased(n). 0: nothing to do.
  [[nodiscard]] std::int64_t excess(engine::SimTime now) const;
  void rebased(std::int64_t half_lives) { shift_ += half_lives; }

 private:
  [[nodiscard]] double exponent(engine::SimTime now) const {
    return now.seconds() / half_life_s_ - static_cast<double>(shift_);
  }

  models::FrequencyKind kind_;
  double half_life_s_;
  std::int64_t shift_ = 0;  // half-lives since time 0 whose weight is 1
};

}  // namespace kvsim::cache
