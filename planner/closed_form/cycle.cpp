#include "planner/closed_form/cycle.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kvsim::planner {

GpuTime GpuTime::linear(double fixed_s, double per_request_s) {
  GpuTime time;
  time.fixed_s_ = fixed_s;
  time.per_request_s_ = per_request_s;
  return time;
}

GpuTime GpuTime::table(std::vector<double> seconds) {
  GpuTime time;
  time.table_ = std::move(seconds);
  time.best_rate_.assign(time.table_.size(), 0.0);
  for (std::size_t b = 1; b < time.table_.size(); ++b) {
    const double rate = static_cast<double>(b) / time.table_[b];
    time.rate_grows_ = time.rate_grows_ && rate >= time.best_rate_[b - 1];
    time.best_rate_[b] = std::max(rate, time.best_rate_[b - 1]);
  }
  return time;
}

double GpuTime::best_rate(std::int64_t requests) const {
  if (requests <= 0) return 0;
  if (!table_.empty()) return best_rate_[static_cast<std::size_t>(requests)];
  return static_cast<double>(requests) / at(requests);
}

std::int64_t GpuTime::most() const {
  return table_.empty() ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(table_.size()) - 1;
}

}  // namespace kvsim::planner
