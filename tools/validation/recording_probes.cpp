// Probes of recorded serving runs, beside their replays.
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "tools/validation/probes.h"

namespace kvsim::validation {
namespace {

using planner::backtest::CurveBeside;
using planner::backtest::RecordedLoad;
using planner::backtest::Recording;

const Recording& recording(const Question& q) {
  auto& recorded = q.measured.recordings[q.arguments[0]];
  if (!recorded) {
    recorded =
        std::make_shared<Recording>(planner::backtest::read_recorded_run(q.measured.folder + "/" + q.arguments[0]));
  }
  return *recorded;
}

/// recorded_latency_s(folder, ttft | tpot | e2e, fraction | mean): over requests.
double recorded_latency_s(const Question& q) {
  const Recording& r = recording(q);
  const std::size_t which = q.word(1, {"ttft", "tpot", "e2e"});
  const engine::Sample& sample = which == 0 ? r.ttft_s : which == 1 ? r.tpot_s : r.e2e_s;
  return q.arguments[2] == "mean" ? sample.mean() : sample.quantile(q.number(2));
}

/// recorded_requests(folder).
double recorded_requests(const Question& q) {
  return static_cast<double>(recording(q).e2e_s.count());
}

/// recorded_kv_percent(folder): the peak.
double recorded_kv_percent(const Question& q) {
  double peak = 0;
  for (const RecordedLoad& load : recording(q).load) peak = std::max(peak, load.kv_percent);
  return peak;
}

/// RUN.kv_percent(): the peak.
double kv_percent(const Question& q) {
  std::int64_t peak = 0;
  for (const serving::LoadSample& s : q.run->load.samples) peak = std::max(peak, s.kv_bytes);
  return 100 * static_cast<double>(peak) / static_cast<double>(q.run->load.kv_capacity_bytes);
}

/// A recorded curve beside that of its replay; running, waiting or kv.
CurveBeside curve(const Question& q) {
  constexpr std::array<const char*, 3> kCurves{"running", "waiting", "kv"};
  const std::string_view name = kCurves.at(q.word(1, {kCurves.begin(), kCurves.end()}));
  for (CurveBeside& c : planner::backtest::curves_beside(load_beside(recording(q), q.run->load))) {
    if (c.curve == name) return std::move(c);
  }
  return {name, 0, std::numeric_limits<double>::infinity(), {}};  // it was not recorded
}

/// RUN.load_difference(folder, running | waiting | kv): mean absolute difference of recorded and simulated load, as a
/// share of the recorded peak.
double load_difference(const Question& q) {
  return curve(q).difference;
}

/// RUN.load_within(folder, running | waiting | kv, share): the share of the recorded seconds in which the two are no
/// more than this share of the recorded peak apart.
double load_within(const Question& q) {
  return curve(q).within(q.number(2));
}

/// RUN.full_decode_s(folder, recorded | simulated): the length of an iteration that decodes for everybody: in the
/// recorded seconds in which every place was taken and no prompt was computed, and in the iterations of that kind that
/// were simulated for the same seconds.
double full_decode_s(const Question& q) {
  const auto places = static_cast<double>(q.run->scenario.serving.schedule.max_requests);
  double requests = 0, tokens = 0, sum_s = 0;
  int count = 0;
  for (const RecordedLoad& load : recording(q).load) {
    if (load.prompt_tokens_per_s > 0 || load.running < places) continue;
    requests += load.running;
    tokens += load.output_tokens_per_s;
    const double end_s = load.at_s;
    for (const engine::RecordedSlice& s : q.run->trace.track("/GPU")) {
      if (s.name != "decode" || s.value < places || s.begin_s < end_s - 1 || s.end_s > end_s) continue;
      sum_s += s.length_s();
      ++count;
    }
  }
  if (q.word(1, {"recorded", "simulated"}) == 0) return requests / tokens;
  return count > 0 ? sum_s / count : std::numeric_limits<double>::quiet_NaN();
}

constexpr Probe kRecordingProbes[] = {
    {"recorded_latency_s", 3, false, recorded_latency_s},
    {"recorded_requests", 1, false, recorded_requests},
    {"recorded_kv_percent", 1, false, recorded_kv_percent},
    {"kv_percent", 0, true, kv_percent},
    {"load_difference", 2, true, load_difference},
    {"load_within", 3, true, load_within},
    {"full_decode_s", 2, true, full_decode_s},
};

}  // namespace

std::span<const Probe> recording_probes() {
  return kRecordingProbes;
}

}  // namespace kvsim::validation
