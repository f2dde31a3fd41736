// A ring of future windows, indexed by how far ahead they lie, each holding an amount already promised. It is the
// scheduler's belief about a resource (link seconds, bytes of memory); the link and the pool are the facts.
#pragma once

#include <cstddef>
#include <vector>

namespace kvsim::engine {

class ReservationRing {
 public:
  /// windows >= 1.
  explicit ReservationRing(std::size_t windows);

  [[nodiscard]] std::size_t windows() const { return amounts_.size(); }

  /// Amount promised in the window `ahead` (0 is the current one) windows from now; ahead < windows() (asserted).
  [[nodiscard]] double at(std::size_t ahead) const;

  /// True if adding `amount` to each window in [first, last] keeps every one of them at or below `limit`.
  [[nodiscard]] bool fits(std::size_t first, std::size_t last, double amount, double limit) const;

  /// Adds `amount` (which may be negative: a reservation withdrawn) to each window in [first, last]. A window never
  /// falls below zero: rounding residues are cut off.
  void add(std::size_t first, std::size_t last, double amount);

  /// Moves on by one window: the current one is dropped, an empty one enters at the far end.
  void advance();

 private:
  [[nodiscard]] std::size_t slot(std::size_t ahead) const;

  std::vector<double> amounts_;
  std::size_t head_ = 0;
};

}  // namespace kvsim::engine
