// A ring of future windows, indexed by how far ahead they lie, each holding an amount already promised. It is the
// scheduler's belief about a resource (link seconds, bytes of memory); the link and the pool are the facts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "sim/engine/invariant.h"

namespace kvsim::engine {

class ReservationRing {
 public:
  /// windows >= 1.
  explicit ReservationRing(std::size_t windows) : amounts_(windows, 0.0) {
    KVSIM_ALWAYS(windows >= 1, "a reservation ring needs a window");
  }

  [[nodiscard]] std::size_t windows() const { return amounts_.size(); }

  /// Amount promised in the window `ahead` (0 is the current one) windows from now; ahead < windows() (asserted).
  [[nodiscard]] double at(std::size_t ahead) const { return amounts_[slot(ahead)]; }

  /// True if adding `amount` to each window in [first, last] keeps every one of them at or below `limit`.
  [[nodiscard]] bool fits(std::size_t first, std::size_t last, double amount, double limit) const {
    if (last < first) return true;
    const std::size_t begin = slot(first), end = slot(last) + 1;
    if (begin < end) return fits_slots(begin, end, amount, limit);
    return fits_slots(begin, amounts_.size(), amount, limit) && fits_slots(0, end, amount, limit);
  }
  /// Where it does not fit, the first and the last window of these that has no room; nothing where it fits.
  [[nodiscard]] std::optional<std::size_t> first_full(std::size_t first, std::size_t last, double amount,
                                                      double limit) const {
    for (std::size_t ahead = first; ahead <= last; ++ahead) {
      if (at(ahead) + amount > limit) return ahead;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> last_full(std::size_t first, std::size_t last, double amount,
                                                     double limit) const {
    for (std::size_t ahead = last + 1; ahead > first; --ahead) {
      if (at(ahead - 1) + amount > limit) return ahead - 1;
    }
    return std::nullopt;
  }

  /// Adds `amount` (which may be negative: a reservation withdrawn) to each window in [first, last]. A window never
  /// falls below zero: rounding residues are cut off.
  void add(std::size_t first, std::size_t last, double amount) {
    for (std::size_t ahead = first; ahead <= last; ++ahead) {
      double& window = amounts_[slot(ahead)];
      window = std::max(0.0, window + amount);
    }
  }

  /// Moves on by one window: the current one is dropped, an empty one enters at the far end.
  void advance() {
    amounts_[head_] = 0;
    head_ = head_ + 1 < amounts_.size() ? head_ + 1 : 0;
  }

 private:
  [[nodiscard]] bool fits_slots(std::size_t begin, std::size_t end, double amount, double limit) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (amounts_[i] + amount > limit) return false;
    }
    return true;
  }

  [[nodiscard]] std::size_t slot(std::size_t ahead) const {
    KVSIM_ALWAYS(ahead < amounts_.size(), "a window beyond the end of the reservation ring");
    const std::size_t index = head_ + ahead;
    return index < amounts_.size() ? index : index - amounts_.size();
  }

  std::vector<double> amounts_;
  std::size_t head_ = 0;
};

}  // namespace kvsim::engine
