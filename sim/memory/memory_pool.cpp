#include "sim/memory/memory_pool.h"

#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/engine/trace.h"

namespace kvsim::memory {

MemoryPool::MemoryPool(const engine::Simulator& simulator, std::string name, std::int64_t capacity_bytes,
                       engine::TraceSink* trace)
    : simulator_(simulator),
      name_(std::move(name)),
      capacity_(capacity_bytes),
      level_(0, simulator.now()),
      trace_(trace) {
  KVSIM_ALWAYS(capacity_ >= 0, "a memory pool's capacity must not be negative: " + name_);
  if (trace_ == nullptr) return;
  const engine::TraceName in_timeline = engine::trace_name(name_, "memory");
  trace_counter_ = trace_->add_counter(in_timeline.group, std::string(in_timeline.row) + " (bytes)");
}

bool MemoryPool::try_reserve(std::int64_t bytes) {
  KVSIM_ALWAYS(bytes >= 0, "a reservation must not be negative: " + name_);
  if (bytes > available()) return false;
  lifetime_reserved_ += bytes;
  set_reserved(reserved_ + bytes);
  return true;
}

void MemoryPool::release(std::int64_t bytes) {
  KVSIM_ALWAYS(bytes >= 0, "a release must not be negative: " + name_);
  KVSIM_ALWAYS(bytes <= reserved_, "more released than is reserved: " + name_);
  lifetime_released_ += bytes;
  set_reserved(reserved_ - bytes);
}

void MemoryPool::set_reserved(std::int64_t bytes) {
  reserved_ = bytes;
  level_.set(static_cast<double>(bytes), simulator_.now());
  if (trace_ != nullptr) trace_->counter(trace_counter_, simulator_.now(), static_cast<double>(bytes));
}

double MemoryPool::mean_reserved() const {
  return level_.mean(simulator_.now());
}

void MemoryPool::reset_statistics() {
  level_.reset(simulator_.now());
}

void MemoryPool::check_conservation() const {
  KVSIM_ALWAYS(reserved_ >= 0 && reserved_ <= capacity_, "a memory pool holds more than its capacity: " + name_);
  KVSIM_ALWAYS(lifetime_reserved_ - lifetime_released_ == reserved_,
               "a memory pool lost track of a reservation: " + name_);
}

}  // namespace kvsim::memory
