#include "sim/machine/gpu_time.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace kvsim::machine {

using engine::Duration;

GpuTime& GpuTime::add(const GpuTime& other, std::int64_t sign) {
  const auto times = static_cast<double>(sign);
  computing += other.computing * sign;
  link += other.link * sign;
  front_end += other.front_end * sign;
  idle += other.idle * sign;
  for (std::size_t i = 0; i < models::kResources; ++i) {
    bound_s[i] += times * other.bound_s[i];
    saved_s[i] += times * other.saved_s[i];
  }
  link_saved_s += times * other.link_saved_s;
  return *this;
}

double GpuTime::fixed_s() const {
  return std::max(computing.seconds() - std::accumulate(bound_s.begin(), bound_s.end(), 0.0), 0.0);
}

void GpuTime::add(const models::StepAccount& account, Duration length) {
  const double seconds = length.seconds();
  for (std::size_t i = 0; i < models::kResources; ++i) {
    bound_s[i] += account.bound[i] * seconds;
    saved_s[i] += account.saved[i] * seconds;
  }
}

Overlap::Overlap(double computing, double busy, double waited)
    : computing_(computing), busy_(busy), latency_(std::max(waited - busy, 0.0)) {
  const double shorter = std::min(computing_, busy_);
  if (shorter > 0) beside_ = std::clamp((busy_ - waited) / shorter, 0.0, 1.0);
}

double Overlap::length(double computing, double busy) const {
  return computing + busy + latency_ - beside_ * std::min(computing, busy);
}

void SpentTime::begin_step(const models::StepAccount* account, Duration computing) {
  note();
  computing_ = true;
  step_computing_ = computing;
  note_account(account);
}

void SpentTime::end_step() {
  note();
  computing_ = false;
}

void SpentTime::pass(const models::StepAccount* account, Duration computing, Duration length) {
  note();
  note_account(account);
  simulator_.advance(simulator_.now() + length);
  until_ = simulator_.now();
  if (front_end_) saturated_before_ = front_end_->saturated();
  spent_.computing += computing;
  spent_.link += length - computing;
}

void SpentTime::wait_for_link(bool waits) {
  if (waits == waits_for_link_) return;
  if (!computing_) note();
  waits_for_link_ = waits;
}

void SpentTime::add_savings(const models::PerResource& saved_s, double link_saved_s) {
  for (std::size_t i = 0; i < models::kResources; ++i) spent_.saved_s[i] += saved_s[i];
  spent_.link_saved_s += link_saved_s;
}

/// A step begins, and those before it have ended.
void SpentTime::note_account(const models::StepAccount* account) {
  if (account != nullptr ? account->cell == account_.cell : account_.cell == 0) return;
  spent_.add(account_, spent_.computing - accounted_);
  accounted_ = spent_.computing;
  account_ = account != nullptr ? *account : models::StepAccount{};
}

void SpentTime::note() {
  if (until_ == simulator_.now()) return;
  advance(spent_);
  until_ = simulator_.now();
  if (front_end_) saturated_before_ = front_end_->saturated();
}

void SpentTime::advance(GpuTime& time) const {
  const Duration past = simulator_.now() - until_;
  if (!computing_) {
    if (waits_for_link_) {
      time.link += past;
      return;
    }
    const Duration front_end = front_end_ ? front_end_->saturated() - saturated_before_ : Duration{};
    time.front_end += front_end;
    time.idle += past - front_end;
    return;
  }
  const Duration computing = std::min(past, step_computing_ + work_.added());
  time.computing += computing;
  time.link += past - computing;
}

GpuTime SpentTime::all() const {
  GpuTime time = spent_;
  advance(time);
  time.add(account_, time.computing - accounted_);
  return time;
}

void SpentTime::start_measuring() {
  measure_begin_ = simulator_.now();
  unmeasured_ = all();
}

GpuTime SpentTime::measured() const {
  GpuTime measured = all();
  return measured -= unmeasured_;
}

}  // namespace kvsim::machine
