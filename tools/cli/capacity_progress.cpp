#include "tools/cli/capacity_progress.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/cli/console.h"
#include "tools/results/numbers.h"

namespace kvsim::cli {
namespace {

using Clock = std::chrono::steady_clock;

bool on_terminal() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

}  // namespace

CapacityProgress::CapacityProgress(std::size_t configurations)
    : enabled_(on_terminal()), probes_(configurations, 0), begin_(Clock::now()) {}

CapacityProgress::~CapacityProgress() {
  if (visible_) static_cast<void>(write_all(STDERR_FILENO, "\r\x1b[K"));
}

void CapacityProgress::report(std::size_t i, const planner::capacity::Probe& probe) {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  probes_[i] += 1;
  visible_ = true;
  const auto begun = std::count_if(probes_.begin(), probes_.end(), [](std::size_t n) { return n > 0; });
  const std::size_t total = std::accumulate(probes_.begin(), probes_.end(), std::size_t{0});
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin_).count();
  static_cast<void>(
      write_all(STDERR_FILENO,
                fmt::format("\r{} rates probed, {} of {} configurations begun, {:.1f} rates/s; latest {}/s {}\x1b[K",
                            total, begun, probes_.size(), static_cast<double>(total) / elapsed,
                            results::figure(probe.rate), probe.passes ? "passes" : "fails")));
}

}  // namespace kvsim::cli
