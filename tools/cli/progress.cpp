#include "tools/cli/progress.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "models/schema/error.h"
#include "planner/capacity/probe.h"
#include "tools/cli/console.h"
#include "tools/cli/signals.h"
#include "tools/results/numbers.h"

namespace kvsim::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenLines{100};
constexpr double kUsualPeriod = 30;     // s
constexpr double kLongestPeriod = 1e6;  // s: longer than anything

bool on_terminal() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

}  // namespace

double seconds_between_lines() {
  const char* said = std::getenv("KVSIM_PROGRESS");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  if (said == nullptr || *said == '\0') return kUsualPeriod;
  const std::string_view text(said);
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc{} && end == text.data() + text.size() && seconds >= 0) {
    return std::min(seconds, kLongestPeriod);
  }
  throw schema::InputError(fmt::format(
      "KVSIM_PROGRESS: expected seconds from one line of progress to the next, 0 for none, found \"{}\"", text));
}

StatusLine::StatusLine(std::string text)
    : terminal_(on_terminal()), begin_(Clock::now()), shown_(begin_), text_(std::move(text)) {
  note_signals();
  const std::chrono::duration<double> period(seconds_between_lines());
  if (terminal_ || ::isatty(STDERR_FILENO) != 0 || period.count() == 0) return;
  try {
    writer_ = std::thread([this, period] { write_until_stopped(period); });
  } catch (const std::system_error&) {  // no room for a thread: nothing is said on the way
  }
}

StatusLine::~StatusLine() {
  if (visible_) static_cast<void>(write_all(STDERR_FILENO, "\r\x1b[K"));
  if (!writer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_one();
  writer_.join();
}

void StatusLine::write_until_stopped(std::chrono::duration<double> period) {
  std::unique_lock lock(mutex_);
  auto next = begin_ + std::chrono::duration_cast<Clock::duration>(period);
  while (!stop_.wait_until(lock, next, [this] { return stopping_; })) {
    Console::complain(fmt::format("{}, {} so far", text_, results::seconds(std::round(elapsed_s()))));
    next += std::chrono::duration_cast<Clock::duration>(period);
  }
}

bool StatusLine::due() const {
  return enabled() && Clock::now() - shown_ >= kBetweenLines;
}

double StatusLine::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void StatusLine::show(const std::string& text) {
  if (!enabled()) return;
  shown_ = Clock::now();
  if (!terminal_) {
    const std::lock_guard lock(mutex_);
    text_ = text;
    return;
  }
  visible_ = true;
  static_cast<void>(write_all(STDERR_FILENO, "\r" + text + "\x1b[K"));
}

RunProgress::RunProgress(const std::vector<Run>& runs) : line_("simulating") {
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

PointProgress::PointProgress(std::size_t total, std::size_t before) : total_(total), before_(before), line_(done()) {}

std::string PointProgress::done() const {
  return fmt::format("{} of {} points done", before_ + now_, total_);
}

void PointProgress::finished() {
  if (!line_.enabled()) return;
  const std::lock_guard lock(mutex_);
  ++now_;
  if (!line_.due()) return;
  const double rate = static_cast<double>(now_) / line_.elapsed_s();
  const auto left = static_cast<double>(total_ - before_ - now_);
  line_.show(fmt::format("{}, {} points/s, {:.0f} s left", done(), results::figure(rate), left / rate));
}

CapacityProgress::CapacityProgress(std::size_t configurations)
    : line_("searching for the highest rates"), probes_(configurations, 0) {}

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

namespace {

/// "40 s", "3 min": as much as an estimate is worth.
std::string rough_time(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kFew = 1.5;  // minutes, below which seconds are said
  if (seconds < kFew * kMinute) return fmt::format("{:.0f} s", std::ceil(seconds));
  return fmt::format("{:.0f} min", std::ceil(seconds / kMinute));
}

}  // namespace

void CapacityProgress::simulating(const planner::capacity::ProbeProgress& p) {
  if (!line_.enabled() || p.fleet == 0 || p.share <= 0) return;
  const std::lock_guard lock(mutex_);
  if (!line_.due()) return;
  const std::string part = p.replicas < p.fleet ? fmt::format(" ({} simulated)", p.replicas) : std::string();
  line_.show(fmt::format("fleet: {} replica{}{}, run {} of {}, about {} left", p.fleet, p.fleet == 1 ? "" : "s", part,
                         p.run, p.runs, rough_time(p.elapsed_s * (1 - p.share) / p.share)));
}

}  // namespace kvsim::cli
