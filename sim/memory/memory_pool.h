// A memory of fixed size that can never hold more than its capacity: every byte in use was reserved first, and a
// reservation that does not fit is refused.
#pragma once

#include <cstdint>
#include <string>

#include "sim/engine/simulator.h"
#include "sim/engine/statistics.h"
#include "sim/engine/trace.h"

namespace kvsim::memory {

class MemoryPool {
 public:
  /// capacity_bytes >= 0. `simulator` (and `trace`, unless null) must outlive the pool.
  MemoryPool(const engine::Simulator& simulator, std::string name, std::int64_t capacity_bytes,
             engine::TraceSink* trace = nullptr);

  /// Reserves `bytes` (>= 0) if they fit; false and no change otherwise.
  [[nodiscard]] bool try_reserve(std::int64_t bytes);

  /// Returns `bytes` (>= 0). Returning more than is reserved throws InvariantViolation.
  void release(std::int64_t bytes);

  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  [[nodiscard]] std::int64_t reserved() const { return reserved_; }
  [[nodiscard]] std::int64_t available() const { return capacity_ - reserved_; }
  [[nodiscard]] std::int64_t high_water() const { return static_cast<std::int64_t>(level_.peak()); }
  [[nodiscard]] std::int64_t lifetime_reserved() const { return lifetime_reserved_; }
  [[nodiscard]] std::int64_t lifetime_released() const { return lifetime_released_; }
  /// Mean of reserved() over time from the last reset_statistics() to now().
  [[nodiscard]] double mean_reserved() const;
  /// Forgets the mean and sets the high-water mark to reserved(): the end of a warm-up.
  void reset_statistics();
  [[nodiscard]] const std::string& name() const { return name_; }

  /// 0 <= reserved <= capacity and lifetime_reserved - lifetime_released = reserved; throws InvariantViolation.
  void check_conservation() const;

 private:
  void set_reserved(std::int64_t bytes);

  const engine::Simulator& simulator_;
  std::string name_;
  std::int64_t capacity_ = 0;
  std::int64_t reserved_ = 0;
  std::int64_t lifetime_reserved_ = 0;
  std::int64_t lifetime_released_ = 0;
  engine::TimeWeighted level_;
  engine::TraceSink* trace_ = nullptr;
  int trace_counter_ = -1;
};

}  // namespace kvsim::memory
