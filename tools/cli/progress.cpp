#include "tools/cli/progress.h"

#include <string>

#include <fmt/format.h>

#include "tools/results/numbers.h"

namespace kvsim::cli {

Progress::Progress(const std::vector<Run>& runs) {
  for (const Run& run : runs) states_.emplace_back(run.replications, State{run.duration_s, 0, false});
}

void Progress::report(std::size_t run, std::size_t replication, double simulated_s) {
  if (!line_.enabled()) return;
  const std::lock_guard lock(mutex_);
  State& state = states_[run][replication];
  state.simulated_s = simulated_s;
  state.done = state.goal_s && simulated_s >= *state.goal_s;
  if (line_.due()) show();
}

void Progress::finished(std::size_t run) {
  if (!line_.enabled()) return;
  const std::lock_guard lock(mutex_);
  for (State& state : states_[run]) state.done = true;
}

void Progress::show() {
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

}  // namespace kvsim::cli
