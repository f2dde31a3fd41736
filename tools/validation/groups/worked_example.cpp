// The published worked example (Mistral-24B on RTX PRO 6000, ten requests, x = 30), figure by figure.
#include <algorithm>
#include <limits>
#include <tuple>

#include "planner/experiment.h"
#include "tools/validation/groups/published_scenarios.h"
#include "tools/validation/recording_trace.h"

namespace kvsim::validation {
namespace {

constexpr double kTolerance = 0.05;
constexpr double kLoaded_s = 4;  // by then every request is loaded and rounds are under way

struct Run {
  RecordingTrace trace;
  serving::Measurements measured;
};

void simulate(const scenario::Scenario& base, const std::string& schedule, Run& run) {
  planner::ExperimentOptions options;
  options.trace = &run.trace;
  run.measured = planner::run_experiment(planner::with_policy(base, "draft_verify:" + schedule), options).measured;
}

/// Mean length of the slices of this name that began after the loading; NaN where there are none.
double mean_length_s(const std::vector<RecordedSlice>& slices, const std::string& name) {
  double sum = 0;
  int count = 0;
  for (const RecordedSlice& s : slices) {
    if (s.name != name || s.begin_s < kLoaded_s) continue;
    sum += s.length_s();
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

/// The longest pause of the GPU between two iterations, after the first loads.
double longest_pause_s(const std::vector<RecordedSlice>& gpu) {
  double pause = 0;
  for (std::size_t i = 1; i < gpu.size(); ++i) {
    if (gpu[i - 1].end_s > kLoaded_s) pause = std::max(pause, gpu[i].begin_s - gpu[i - 1].end_s);
  }
  return pause;
}

struct RoundOfReloads {
  int reloads = 0;
  double length_s = 0;
};

/// The first round of back-to-back reloads after the loading, from its first byte to its last.
RoundOfReloads first_round(const std::vector<RecordedSlice>& link) {
  constexpr double kPauseBetweenRounds_s = 0.5;
  double begin = 0, end = 0;
  RoundOfReloads round;
  for (const RecordedSlice& s : link) {
    const bool first_of_a_round = s.begin_s - end > kPauseBetweenRounds_s;
    if (round.reloads > 0 && first_of_a_round) break;
    if (s.name == "reload" && (round.reloads > 0 || (s.begin_s > kLoaded_s && first_of_a_round))) {
      if (round.reloads++ == 0) begin = s.begin_s;
    }
    end = s.end_s;
  }
  round.length_s = end - begin;
  return round;
}

double ratio(std::uint64_t a, std::uint64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

constexpr double kMilli = 1e3, kGiga = 1e-9;

}  // namespace

std::vector<Figure> worked_example_figures() {
  const scenario::Scenario base = carried_scenario("scenarios/long_context/worked_example.yaml");
  Run staggered, lock_step, sequential;
  simulate(base, "staggered", staggered);
  simulate(base, "lock_step", lock_step);
  simulate(base, "sequential_verify", sequential);
  const auto& gpu = staggered.trace.track("/GPU");
  const RoundOfReloads round = first_round(sequential.trace.track("host link, to the GPU"));
  const auto peak = [](const Run& run) { return static_cast<double>(run.measured.hbm_peak_bytes) * kGiga; };

  std::vector<Figure> figures;
  const auto add = [&](const char* name, const char* what, const char* unit, double expected,
                       double simulated) -> Figure& {
    Figure& f = figures.emplace_back();
    f.id = std::string("draft-verify/example.") + name;
    f.what = what;
    f.unit = unit;
    f.expected = expected;
    f.simulated = simulated;
    f.tolerance = kTolerance;
    f.source = "VeriCache, worked example (Mistral-24B on RTX PRO 6000, 10 requests of 4 GB, x = 30)";
    f.assumptions = base.assumptions;
    return f;
  };
  add("draft_step", "draft-only iteration", "ms", 35, mean_length_s(gpu, "draft") * kMilli);
  add("verify_step", "iteration with a verification", "ms", 37, mean_length_s(gpu, "draft+verify") * kMilli);
  add("reload", "one reload", "ms", 80,
      mean_length_s(staggered.trace.track("host link, to the GPU"), "reload") * kMilli);
  add("interval", "staggered: steps/verification", "", 3,
      ratio(staggered.measured.iteration_s.count(), staggered.measured.rounds));
  for (auto [name, what, unit, value] :
       {std::tuple{"late", "staggered: late reloads", "", static_cast<double>(staggered.measured.late_reloads)},
        std::tuple{"waiting", "staggered: wait for the link", "s", staggered.measured.link_bound_s}}) {
    Figure& hidden = add(name, what, unit, 0, value);
    hidden.measure = Measure::absolute;
    hidden.tolerance = 0;
  }
  add("staggered_peak", "staggered: peak memory", "GB", 64, peak(staggered));
  add("lock_step_pause", "lock-step: pause to reload", "ms", 800,
      longest_pause_s(lock_step.trace.track("/GPU")) * kMilli);
  add("lock_step_peak", "lock-step: peak memory", "GB", 90, peak(lock_step));
  add("sequential", "sequential: ten reloads", "ms", 800, round.length_s * kMilli);
  Figure& count = add("sequential_round", "sequential: reloads a round", "", 10, round.reloads);
  count.tolerance = 0;
  Figure& flat = add("sequential_peak", "sequential: peak, at most", "GB", 72, peak(sequential));
  flat.claim = Claim::at_most;
  flat.tolerance = 0;
  flat.assumptions.emplace_back(
      "\"no spike\" is read as at most three full KV at once: 50 GB of weights, 10 x 1 GB compressed, 3 x 4 GB");
  return figures;
}

}  // namespace kvsim::validation
