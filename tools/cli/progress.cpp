#include "tools/cli/progress.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include <fmt/format.h>
#include <unistd.h>

#include "planner/capacity/probe.h"
#include "tools/cli/console.h"
#include "tools/results/numbers.h"

namespace kvsim::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenLines{100};

bool on_terminal() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

}  // namespace

StatusLine::StatusLine() : enabled_(on_terminal()), begin_(Clock::now()), shown_(begin_) {}

StatusLine::~StatusLine() {
  if (visible_) static_cast<void>(write_all(STDERR_FILENO, "\r\x1b[K"));
}

bool StatusLine::due() const {
  return enabled_ && Clock::now() - shown_ >= kBetweenLines;
}

double StatusLine::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void StatusLine::show(const std::string& text) {
  if (!enabled_) return;
  shown_ = Clock::now();
  visible_ = true;
  static_cast<void>(write_all(STDERR_FILENO, "\r" + text + "\x1b[K"));
}

RunProgress::RunProgress(const std::vector<Run>& runs) {
  for (const Run& run : runs) states_.emplace_back(run.replications, State{run.duration_s, 0, false});
}

void RunProgress::report(std::size_t run, std::size_t replication, double simulated_s) {
  if (!line_.enabled()) return;
  const std::lock_guard lock(mutex_);
  State& state = states_[run][replication];
  state.simulated_s = simulated_s;
  state.done = state.goal_s && simulated_s >= *state.goal_s;
  if (line_.due()) show();
}

void RunProgress::finished(std::size_t run) {
  if (!line_.enabled()) return;
  const std::lock_guard lock(mutex_);
  for (State& state : states_[run]) state.done = true;
}

void RunProgress::show() {
  double simulated = 0, goal = 0, share = 0;
  bool known = true;
  std::size_t done = 0, total = 0;
  for (const auto& run : states_) {
    for (const State& s : run) {
      ++total;
      done += s.done ? 1 : 0;
      simulated += s.simulated_s;
      goal += s.goal_s.value_or(s.simulated_s);
      known = known && (s.goal_s || s.done);
      share += s.done ? 1.0 : (s.goal_s ? s.simulated_s / *s.goal_s : 0.0);
    }
  }
  share /= static_cast<double>(total);
  const double elapsed = line_.elapsed_s();
  std::string line = fmt::format("simulated {}", results::seconds(simulated));
  if (known) line += fmt::format(" of {} ({:.0f} %)", results::seconds(goal), share * 100);
  if (total > 1) line += fmt::format(", {} of {} runs done", done, total);
  line += fmt::format(", {}x real time", results::figure(simulated / elapsed));
  if (known && share > 0) line += fmt::format(", {:.0f} s left", elapsed * (1 - share) / share);
  line_.show(line);
}

void PointProgress::finished() {
  if (!line_.enabled()) return;
  const std::lock_guard lock(mutex_);
  ++now_;
  if (!line_.due()) return;
  const double rate = static_cast<double>(now_) / line_.elapsed_s();
  const auto left = static_cast<double>(total_ - before_ - now_);
  line_.show(fmt::format("{} of {} points done, {} points/s, {:.0f} s left", before_ + now_, total_,
                         results::figure(rate), left / rate));
}

void CapacityProgress::report(std::size_t i, const planner::capacity::Probe& probe) {
  if (!line_.enabled()) return;
  const std::lock_guard lock(mutex_);
  probes_[i] += 1;
  const auto begun = std::count_if(probes_.begin(), probes_.end(), [](std::size_t n) { return n > 0; });
  const std::size_t total = std::accumulate(probes_.begin(), probes_.end(), std::size_t{0});
  line_.show(fmt::format("{} rates probed, {} of {} configurations begun, {:.1f} rates/s; latest {} {}", total, begun,
                         probes_.size(), static_cast<double>(total) / line_.elapsed_s(), results::figure(probe.rate),
                         probe.passes ? "passes" : "fails"));
}

}  // namespace kvsim::cli
