#include "sim/serving/admit.h"

#include <algorithm>
#include <cmath>

namespace kvsim::serving {
namespace {

std::size_t index(std::int64_t window) {
  return static_cast<std::size_t>(window);
}

}  // namespace

std::int64_t span_windows(double transfer_s, double iteration_s) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(transfer_s / iteration_s)));
}

AdmissionRings::AdmissionRings(std::int64_t windows, std::int64_t slack)
    : link_(index(windows)), memory_(index(windows)), windows_(windows), slack_(slack) {}

bool AdmissionRings::fits(const AdmittedReload& r, double iteration_s, double memory_bytes) const {
  return link_.fits(index(r.first), index(r.last), r.link_s, iteration_s) &&
         memory_.fits(index(r.first), index(r.verify), r.bytes, memory_bytes);
}

std::optional<AdmittedReload> AdmissionRings::admit(const ReloadDemand& demand, double iteration_s,
                                                    double memory_bytes) {
  if (demand.transfer_s > iteration_s * static_cast<double>(windows_)) return std::nullopt;
  const std::int64_t span = span_windows(demand.transfer_s, iteration_s);
  const std::int64_t before = span == 1 ? std::max<std::int64_t>(slack_, 1) : slack_;  // the verification, its last one
  const std::int64_t lowest = std::max(span, span - 1 + slack_) + demand.earliest;
  const std::int64_t highest = windows_ - 1;
  if (lowest > highest) return std::nullopt;
  const std::int64_t anchor = std::clamp(demand.anchor, lowest, highest);
  AdmittedReload r;
  r.link_s = demand.transfer_s / static_cast<double>(span);
  r.bytes = demand.bytes;
  for (std::int64_t step = 0; anchor + step <= highest || anchor - step >= lowest; ++step) {
    for (const std::int64_t d : {anchor + step, anchor - step}) {
      if (d < lowest || d > highest) continue;
      r.verify = d;
      r.last = d - before;
      r.first = r.last - span + 1;
      if (fits(r, iteration_s, memory_bytes)) {
        link_.add(index(r.first), index(r.last), r.link_s);
        memory_.add(index(r.first), index(r.verify), r.bytes);
        return r;
      }
      if (step == 0) break;
    }
  }
  return std::nullopt;
}

std::optional<AdmittedReload> AdmissionRings::admit_load(double transfer_s, double iteration_s) {
  if (transfer_s <= 0) return AdmittedReload{0, -1, -1, 0, 0};
  const std::int64_t span = span_windows(transfer_s, iteration_s);
  const double share = transfer_s / static_cast<double>(span);
  for (std::int64_t first = 0; first + span <= windows_; ++first) {
    const std::int64_t last = first + span - 1;
    if (!link_.fits(index(first), index(last), share, iteration_s)) continue;
    link_.add(index(first), index(last), share);
    return AdmittedReload{first, last, last, share, 0};
  }
  return std::nullopt;
}

void AdmissionRings::withdraw(const AdmittedReload& reload, std::int64_t elapsed) {
  const std::int64_t first = std::max<std::int64_t>(reload.first - elapsed, 0);
  if (reload.last >= elapsed) link_.add(index(first), index(reload.last - elapsed), -reload.link_s);
  if (reload.verify >= elapsed && reload.bytes > 0) {
    memory_.add(index(first), index(reload.verify - elapsed), -reload.bytes);
  }
}

void AdmissionRings::advance(std::int64_t windows) {
  for (std::int64_t i = 0; i < std::min(windows, windows_); ++i) {
    link_.advance();
    memory_.advance();
  }
}

double AdmissionRings::memory_peak() const {
  double peak = 0;
  for (std::size_t i = 0; i < memory_.windows(); ++i) peak = std::max(peak, memory_.at(i));
  return peak;
}

}  // namespace kvsim::serving
