// A recorded vLLM run, replayed by scenarios/validation/vllm_rtx_pro_6000.yaml: the latencies of its requests and its
// load over time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "planner/experiment.h"
#include "tools/validation/groups/groups.h"
#include "tools/validation/groups/published_scenarios.h"
#include "tools/validation/measured_folder.h"
#include "tools/validation/recorded_run.h"
#include "tools/validation/recording_trace.h"

namespace kvsim::validation {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kScenario = "scenarios/validation/vllm_rtx_pro_6000.yaml";
constexpr const char* kFolder = "/serving/rtx-pro-6000_llama-3.1-8b";
constexpr double kSampling_s = 0.05;  // of the simulated load, to meet the recording's seconds

/// The recording beside its replay.
struct Replay {
  RecordedRun recorded;
  scenario::Scenario scenario;
  planner::ExperimentResult simulated;
  RecordingTrace trace;
};

void replay(const std::string& folder, Replay& r) {
  r.recorded = read_recorded_run(folder);
  r.scenario = carried_scenario(kScenario, {"workload.trace.path=" + r.recorded.requests_file,
                                            fmt::format("run.sample_every={} s", kSampling_s)});
  planner::ExperimentOptions options;
  options.trace = &r.trace;
  options.timeline = true;
  r.simulated = planner::run_experiment(r.scenario, options);
}

/// Mean absolute difference of recorded and simulated load, as a share of the recorded peak.
double curve_difference(const Replay& r, double RecordedRun::Load::*recorded,
                        std::int64_t serving::LoadSample::*simulated) {
  double peak = 0, sum = 0;
  const auto& samples = r.simulated.timeline.samples;
  for (const RecordedRun::Load& load : r.recorded.load) {
    const double at_s = load.at_s - r.recorded.first_request_s;
    const auto i = static_cast<std::int64_t>(std::llround(at_s / r.simulated.timeline.period_s)) - 1;
    const bool there = i >= 0 && i < static_cast<std::int64_t>(samples.size());  // else nothing runs
    const double value = there ? static_cast<double>(samples[static_cast<std::size_t>(i)].*simulated) : 0;
    peak = std::max(peak, load.*recorded);
    sum += std::abs(load.*recorded - value);
  }
  return sum / static_cast<double>(r.recorded.load.size()) / peak;
}

struct Iteration {
  double recorded_s = kNaN, simulated_s = kNaN;
};

/// The length of an iteration that decodes for everybody: in the recorded seconds in which every place was taken and no
/// prompt was computed, and in the iterations of that kind that were simulated for the same seconds.
Iteration full_decode(const Replay& r) {
  const auto places = static_cast<double>(r.scenario.serving.schedule.max_requests);
  double requests = 0, tokens = 0, sum_s = 0;
  int count = 0;
  for (const RecordedRun::Load& load : r.recorded.load) {
    if (load.prompt_tokens_per_s > 0 || load.running < places) continue;
    requests += load.running;
    tokens += load.output_tokens_per_s;
    const double end_s = load.at_s - r.recorded.first_request_s;
    for (const RecordedSlice& s : r.trace.track("/GPU")) {
      if (s.name != "decode" || s.value < places || s.begin_s < end_s - 1 || s.end_s > end_s) continue;
      sum_s += s.length_s();
      ++count;
    }
  }
  return {requests / tokens, count > 0 ? sum_s / count : kNaN};
}

class Figures {
 public:
  /// `replay` null: nothing was recorded here.
  explicit Figures(const Replay* replay) : replay_(replay) {}

  void latency(const char* name, const char* what, engine::Sample RecordedRun::*recorded,
               engine::Sample serving::Measurements::*simulated, double tolerance_of_mean) {
    constexpr double kTail = 0.06;
    const double scale = std::string_view(name) == "tpot" ? 1e3 : 1;
    const char* unit = scale == 1 ? "s" : "ms";
    const auto value = [&](auto statistic) -> std::pair<double, double> {
      if (replay_ == nullptr) return {kNaN, kNaN};
      return {statistic(replay_->recorded.*recorded) * scale,
              statistic(replay_->simulated.measured.*simulated) * scale};
    };
    add(fmt::format("{}.mean", name), fmt::format("{}, mean", what), unit,
        value([](const engine::Sample& s) { return s.mean(); }), tolerance_of_mean);
    for (const int percent : {50, 90, 99}) {
      add(fmt::format("{}.p{}", name, percent), fmt::format("{}, p{}", what, percent), unit,
          value([percent](const engine::Sample& s) { return s.quantile(percent / 100.0); }), kTail);
    }
  }

  void curve(const char* name, const char* what, double RecordedRun::Load::*recorded,
             std::int64_t serving::LoadSample::*simulated) {
    constexpr double kShareOfPeak = 0.05;
    const double difference = replay_ ? curve_difference(*replay_, recorded, simulated) : kNaN;
    Figure& f = add(name, what, "of peak", {0, difference}, kShareOfPeak);
    f.measure = Measure::absolute;
    f.assumptions.emplace_back("mean absolute difference of the curves, second by second, as a share of the peak");
  }

  void iteration() {
    const Iteration i = replay_ ? full_decode(*replay_) : Iteration{};
    Figure& f = add("iteration", "iteration of 128 decoding", "ms", {i.recorded_s * 1e3, i.simulated_s * 1e3}, 0.03);
    f.assumptions.emplace_back(
        "recorded: requests / output tokens in the seconds without prompts in which 128 ran, to one iteration a "
        "second");
  }

  void completed() {
    const double n = replay_ ? static_cast<double>(replay_->recorded.e2e_s.count()) : kNaN;
    const double done = replay_ ? static_cast<double>(replay_->simulated.measured.completed) : kNaN;
    add("completed", "requests completed", "", {n, done}, 0);
  }

  void kv_usage() {
    const auto peak_share = [](const serving::Timeline& t) {
      std::int64_t peak = 0;
      for (const serving::LoadSample& s : t.samples) peak = std::max(peak, s.kv_bytes);
      return 100 * static_cast<double>(peak) / static_cast<double>(t.kv_capacity_bytes);
    };
    double recorded = replay_ ? 0 : kNaN;
    if (replay_) {
      for (const RecordedRun::Load& load : replay_->recorded.load) recorded = std::max(recorded, load.kv_percent);
    }
    Figure& f = add("kv_usage", "KV memory in use, peak", "%",
                    {recorded, replay_ ? peak_share(replay_->simulated.timeline) : kNaN}, 0.06);
    if (recorded == 0) f.skipped = "the recording has 0 % throughout: its KV usage was not recorded";
  }

  [[nodiscard]] std::vector<Figure> take() { return std::move(figures_); }

 private:
  Figure& add(const std::string& name, std::string what, const char* unit, std::pair<double, double> values,
              double tolerance) {
    Figure& f = figures_.emplace_back();
    f.id = "serving/" + name;
    f.what = std::move(what);
    f.unit = unit;
    std::tie(f.expected, f.simulated) = values;
    f.tolerance = tolerance;
    f.source = "vLLM 0.19 on one RTX PRO 6000, 300 requests at 10/s, max_num_seqs 128 (LLMServingSim, MIT)";
    if (replay_) f.assumptions = replay_->scenario.assumptions;
    f.assumptions.emplace_back(
        "latencies count from sending (arrival_time); since queued_ts in the engine the recorded TTFT is 0.02 s less");
    return f;
  }

  const Replay* replay_;
  std::vector<Figure> figures_;
};

std::vector<Figure> figures_of(const Replay* replay) {
  Figures f(replay);
  f.latency("ttft", "time to first token", &RecordedRun::ttft_s, &serving::Measurements::ttft_s, 0.03);
  f.latency("tpot", "time per output token", &RecordedRun::tpot_s, &serving::Measurements::tpot_s, 0.01);
  f.latency("e2e", "request, start to end", &RecordedRun::e2e_s, &serving::Measurements::e2e_s, 0.03);
  f.iteration();
  f.curve("running", "requests running", &RecordedRun::Load::running, &serving::LoadSample::running);
  f.curve("waiting", "requests waiting", &RecordedRun::Load::waiting, &serving::LoadSample::waiting);
  f.kv_usage();
  f.completed();
  return f.take();
}

}  // namespace

std::vector<Figure> serving_figures(const Inputs& inputs) {
  if (inputs.measured.empty()) return all_skipped(figures_of(nullptr), kNoMeasuredData);
  const std::string folder = inputs.measured + kFolder;
  if (!std::filesystem::exists(folder + "/requests.jsonl")) {
    return all_skipped(figures_of(nullptr), fmt::format("the folder of measured data has no {}", kFolder + 1));
  }
  Replay r;
  replay(folder, r);
  return figures_of(&r);
}

}  // namespace kvsim::validation
