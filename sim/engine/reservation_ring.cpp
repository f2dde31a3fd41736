#include "sim/engine/reservation_ring.h"

#include <algorithm>

#include "sim/engine/invariant.h"

namespace kvsim::engine {

ReservationRing::ReservationRing(std::size_t windows) : amounts_(windows, 0.0) {
  KVSIM_ALWAYS(windows >= 1, "a reservation ring needs a window");
}

std::size_t ReservationRing::slot(std::size_t ahead) const {
  KVSIM_ALWAYS(ahead < amounts_.size(), "a window beyond the end of the reservation ring");
  const std::size_t index = head_ + ahead;
  return index < amounts_.size() ? index : index - amounts_.size();
}

double ReservationRing::at(std::size_t ahead) const {
  return amounts_[slot(ahead)];
}

bool ReservationRing::fits(std::size_t first, std::size_t last, double amount, double limit) const {
  for (std::size_t ahead = first; ahead <= last; ++ahead) {
    if (at(ahead) + amount > limit) return false;
  }
  return true;
}

void ReservationRing::add(std::size_t first, std::size_t last, double amount) {
  for (std::size_t ahead = first; ahead <= last; ++ahead) {
    double& window = amounts_[slot(ahead)];
    window = std::max(0.0, window + amount);
  }
}

void ReservationRing::advance() {
  amounts_[head_] = 0;
  head_ = head_ + 1 < amounts_.size() ? head_ + 1 : 0;
}

}  // namespace kvsim::engine
