// A recorded run of a serving engine: what became of each request, and the engine's load second by second. It is a
// serving point whose requests are known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sim/engine/statistics.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request_log.h"

namespace kvsim::planner::backtest {

/// The load at the end of a second, or of another step of time.
struct RecordedLoad {
  double at_s = 0;  ///< in simulated time: of a replay that begins with the trace
  double running = 0, waiting = 0, kv_percent = 0;
  double prompt_tokens_per_s = 0, output_tokens_per_s = 0;
};

struct Recording {
  std::string path;    ///< of the requests, for workload.trace
  std::string format;  ///< a trace format
  std::int64_t requests = 0;
  std::int64_t longest_prompt = 0, longest_output = 0;
  engine::Sample ttft_s, tpot_s, e2e_s;  ///< of every request, since it was sent; TPOT of those with two tokens or more
  double output_tokens_per_s = 0;        ///< from the first request to the last token
  std::vector<RecordedLoad> load;        ///< empty: it was not recorded
  double begins_s = 0;                   ///< the senders' clock where the replay begins
};

/// Reads the requests of a recording: JSON lines as LLMServingSim's vLLM benchmark writes them where the name ends with
/// .jsonl, else CSV with the columns arrival_s, prompt_tokens, output_tokens, first_token_s, last_token_s. Of JSON
/// lines requests were sent on one clock (arrival_time) and served on another (queued_ts, first_token_ts,
/// last_token_ts); the smallest difference between sending and queueing is taken for the clocks' offset. Throws
/// schema::InputError with file and line for what is missing, no number or negative, and for time that goes back.
Recording read_recorded_requests(const std::string& path);
/// Reads from memory; `name` stands for the file's.
Recording read_recorded_requests_text(std::string_view text, const std::string& name);

/// Whether a CSV header is that of a recording.
bool is_recording_header(std::string_view header);

/// Reads requests.jsonl or requests.csv of a folder, and, where they are there, timeseries.csv (t, prompt_throughput,
/// gen_throughput, running, waiting, kv_cache_pct) and meta.json. t counts from meta.json's started_at of JSON lines,
/// of CSV from where arrival_s does (meta.json's started_at is then without meaning). Throws schema::InputError.
Recording read_recorded_run(const std::string& folder);

/// The object of a meta.json. Throws schema::InputError where the file is none.
nlohmann::json read_recording_meta(const std::string& path);

/// The time series alone, from memory; `starts_at_s` of the series is the beginning of the replay. Throws
/// schema::InputError.
std::vector<RecordedLoad> read_recorded_load_text(std::string_view text, const std::string& name, double starts_at_s);

// A recording beside its replay.

/// A statistic of a latency over requests.
struct LatencyBeside {
  std::string_view latency;    ///< "ttft", "tpot", "e2e"
  std::string_view statistic;  ///< "mean", "p50", "p90", "p99"
  double measured_s = 0, predicted_s = 0;
  [[nodiscard]] double error() const { return predicted_s / measured_s - 1; }
};

/// Load of both at one moment.
struct LoadBeside {
  struct Pair {
    double measured = 0, predicted = 0;
  };
  double at_s = 0;  ///< in simulated time
  Pair running, waiting, kv_percent;
};

/// A curve over time.
struct CurveBeside {
  std::string_view curve;           ///< "running", "waiting", "kv"
  double peak = 0;                  ///< recorded
  double difference = 0;            ///< mean of |predicted - measured| over time, as a share of the peak
  std::vector<double> differences;  ///< one by one, in the curve's unit

  /// Share of the time in which the two are no more than this share of the peak apart.
  [[nodiscard]] double within(double share) const;
};

/// Recorded and simulated latencies; statistics that are no numbers are left out.
std::vector<LatencyBeside> latencies_beside(const Recording& recording, const serving::Measurements& simulated);
/// Where the simulated timeline has ended, nothing runs.
std::vector<LoadBeside> load_beside(const Recording& recording, const serving::Timeline& simulated);
/// Curves that are above zero somewhere: others were not recorded.
std::vector<CurveBeside> curves_beside(const std::vector<LoadBeside>& load);

/// Often enough for load_beside() to meet the recording's moments.
inline constexpr double kReplaySample_s = 0.05;

}  // namespace kvsim::planner::backtest
