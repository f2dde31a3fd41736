#include "tools/cli/capacity_progress.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tools/results/numbers.h"

namespace kvsim::cli {

void CapacityProgress::report(std::size_t i, const planner::capacity::Probe& probe) {
  if (!line_.enabled()) return;
  const std::lock_guard lock(mutex_);
  probes_[i] += 1;
  const auto begun = std::count_if(probes_.begin(), probes_.end(), [](std::size_t n) { return n > 0; });
  const std::size_t total = std::accumulate(probes_.begin(), probes_.end(), std::size_t{0});
  line_.show(fmt::format("{} rates probed, {} of {} configurations begun, {:.1f} rates/s; latest {}/s {}", total, begun,
                         probes_.size(), static_cast<double>(total) / line_.elapsed_s(), results::figure(probe.rate),
                         probe.passes ? "passes" : "fails"));
}

}  // namespace kvsim::cli
