#include "sim/machine/gpu_work.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::machine {

using engine::Callback;
using engine::Duration;

void GpuWork::begin_step(double memory_share) {
  memory_share_ = memory_share;
  added_ = {};
}

void GpuWork::run(Duration piece, const Callback& what, Duration least) {
  KVSIM_ALWAYS(!what_, "a piece of work begins while another is under way");
  left_ns_ = static_cast<double>(piece.ns);
  since_ = simulator_.now();
  end_ = since_ + piece;  // where nothing slows it
  least_end_ = since_ + least;
  what_ = what;
  schedule();
}

Duration GpuWork::length(Duration piece, double memory_share) const {
  if (share_ <= 0) return piece;
  return {std::llround(static_cast<double>(piece.ns) * (1 + memory_share * share_))};
}

void GpuWork::schedule() {
  const Duration left{std::llround(left_ns_ * stretch())};
  const engine::SimTime end = simulator_.now() + left;
  added_ += end - end_;
  end_ = end;
  event_ = simulator_.schedule_at(std::max(end_, least_end_), Callback::to<&GpuWork::on_end>(this));
}

void GpuWork::slow(double share) {
  if (share == share_) return;
  if (!what_ || simulator_.now() >= end_) {
    share_ = share;
    return;
  }
  left_ns_ = std::max(0.0, left_ns_ - static_cast<double>((simulator_.now() - since_).ns) / stretch());
  since_ = simulator_.now();
  share_ = share;
  simulator_.cancel(event_);
  schedule();
}

void GpuWork::on_end() {
  const Callback what = std::exchange(what_, Callback{});
  what();
}

}  // namespace kvsim::machine
