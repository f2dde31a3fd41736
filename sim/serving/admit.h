// ADMIT: finds the iteration at which a request verifies, such that neither the link nor GPU memory is promised twice
// (Yao et al., "VeriCache: Turning Lossy KV Cache into Lossless LLM Inference", Algorithm 1 and section 5.1: the
// staggered scheduler). Pure belief: no bytes move here.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/engine/reservation_ring.h"

namespace kvsim::serving {

/// Needs of one verification. Windows are iterations from now. Where the full KV is computed and not transferred,
/// tokens of steps stand for seconds of the link, here and in an iteration's supply.
struct ReloadDemand {
  double transfer_s = 0;      ///< link time of the full KV
  double bytes = 0;           ///< GPU memory it occupies from the first byte to the verification
  std::int64_t anchor = 1;    ///< the wished-for iteration: when the draft is complete
  std::int64_t earliest = 0;  ///< the reload may not start before this window (the request is not loaded yet)
};

/// A reservation made: link windows [first, last], memory windows [first, verify].
struct AdmittedReload {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t verify = 0;
  double link_s = 0;  ///< seconds of the link in each of its windows
  double bytes = 0;
};

class AdmissionRings {
 public:
  /// `slack`: windows between the last link window and the verification. The published span [d - S + 1, d] is slack 0:
  /// the last byte lands while iteration d is already running, in time for the last layer. With 1 it lands before d.
  /// A reload that fits into one window always has slack 1: it must be under way when its verification begins.
  AdmissionRings(std::int64_t windows, std::int64_t slack);

  /// Reserves the first place in the order anchor, anchor + 1, anchor - 1, anchor + 2, ... at which link time per
  /// window stays within `iteration_s` and memory within `memory_bytes`; nothing and no change if there is none.
  /// A transfer longer than the whole ring is never admitted.
  std::optional<AdmittedReload> admit(const ReloadDemand& demand, double iteration_s, double memory_bytes);

  /// Link time for a first load: the earliest run of windows that has room for it. Nothing if none has.
  std::optional<AdmittedReload> admit_load(double transfer_s, double iteration_s);

  /// Withdraws what of `reload` lies in windows not yet passed; `elapsed` windows have passed since it was made.
  void withdraw(const AdmittedReload& reload, std::int64_t elapsed);

  void advance(std::int64_t windows);

  [[nodiscard]] std::int64_t windows() const { return windows_; }

  /// Most bytes promised in any window: what must stay free beside the KV that is resident throughout.
  [[nodiscard]] double memory_peak() const;

  [[nodiscard]] const engine::ReservationRing& link() const { return link_; }
  [[nodiscard]] const engine::ReservationRing& memory() const { return memory_; }

 private:
  engine::ReservationRing link_;    // T: seconds promised per window
  engine::ReservationRing memory_;  // Bm: bytes in flight per window
  std::int64_t windows_;
  std::int64_t slack_;
};

/// S = max(1, ceil(transfer / T_iter)): iterations that a reload spans.
std::int64_t span_windows(double transfer_s, double iteration_s);

}  // namespace kvsim::serving
