#include "sim/serving/kv_holdings.h"

#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::serving {

KvHoldings::KvHoldings(const engine::Simulator& simulator, const std::string& group, std::int64_t gpu_bytes,
                       std::int64_t host_bytes, engine::TraceSink* trace)
    : simulator_(simulator),
      gpu_(simulator, group + "/KV memory", gpu_bytes, trace),
      host_(simulator, group + "/host memory", host_bytes, trace) {}

bool KvHoldings::resize(Residence& r, std::int64_t bytes) {
  if (bytes <= r.held_) {
    gpu_.release(r.held_ - bytes);
  } else if (!gpu_.try_reserve(bytes - r.held_)) {
    return false;
  }
  held_ += bytes - std::exchange(r.held_, bytes);
  return true;
}

void KvHoldings::grow(std::int64_t bytes) {
  KVSIM_ALWAYS(gpu_.try_reserve(bytes), "memory that was available could not be reserved");
  held_ += bytes;
}

bool KvHoldings::stage(Residence& r, std::int64_t bytes, std::int64_t replaced) {
  if (gpu_.available() + replaced < bytes) return false;
  gpu_.release(replaced);
  r.held_ -= replaced;
  held_ -= replaced;
  r.replaced_ = replaced;
  KVSIM_ALWAYS(gpu_.try_reserve(bytes), "memory that was available could not be reserved");
  set_staged(r, bytes);
  return true;
}

void KvHoldings::set_staged(Residence& r, std::int64_t bytes) {
  staged_ += bytes - std::exchange(r.staged_, bytes);
  staged_level_.set(static_cast<double>(staged_), simulator_.now());
}

void KvHoldings::unstage(Residence& r) {
  gpu_.release(r.staged_);
  set_staged(r, 0);
  KVSIM_ALWAYS(gpu_.try_reserve(r.replaced_), "a compressed copy did not fit in place of the full one");
  r.held_ += r.replaced_;
  held_ += r.replaced_;
  r.replaced_ = 0;
}

void KvHoldings::keep_staged(Residence& r) {
  KVSIM_ALWAYS(r.replaced_ == 0, "what is kept has replaced a copy that would come back");
  r.held_ += r.staged_;
  held_ += r.staged_;
  set_staged(r, 0);
}

bool KvHoldings::hold_in_host(Residence& r, std::int64_t bytes) {
  if (r.in_host_ > 0) return true;
  if (!host_.try_reserve(bytes)) return false;
  r.in_host_ = bytes;
  return true;
}

void KvHoldings::leave_host(Residence& r) {
  host_.release(std::exchange(r.in_host_, 0));
}

void KvHoldings::leave_gpu(Residence& r) {
  unstage(r);
  KVSIM_ALWAYS(resize(r, 0), "memory could not be given back");
}

void KvHoldings::push_out(Residence& r) {
  leave_gpu(r);
  r.gone_at_ = taken() + gpu_.available();
}

std::int64_t KvHoldings::found(const Residence& r, std::int64_t bytes) const {
  return std::clamp<std::int64_t>(r.gone_at_ - taken(), 0, bytes);
}

std::int64_t KvHoldings::take_back(Residence& r, std::int64_t bytes) {
  const std::int64_t there = found(r, bytes);
  taken_back_ += there;
  r.gone_at_ = 0;
  return there;
}

bool KvHoldings::reserve_beside(std::int64_t bytes) {
  if (!gpu_.try_reserve(bytes)) return false;
  beside_ += bytes;
  return true;
}

void KvHoldings::release_beside(std::int64_t bytes) {
  gpu_.release(bytes);
  beside_ -= bytes;
}

void KvHoldings::start_measuring() {
  gpu_.reset_statistics();
  host_.reset_statistics();
  staged_level_.reset(simulator_.now());
}

void KvHoldings::check_conservation(std::int64_t held, std::int64_t staged) const {
  gpu_.check_conservation();
  host_.check_conservation();
  KVSIM_ALWAYS(held == held_, "KV memory held differs from the sum over requests");
  KVSIM_ALWAYS(staged == staged_, "KV memory of reloads differs from the sum over requests");
  KVSIM_ALWAYS(held + staged + beside_ == gpu_.reserved(), "KV memory reserved differs from the sum over requests");
}

}  // namespace kvsim::serving
