// A recorded run of a serving engine: what each request experienced, and its load second by second.
#pragma once

#include <string>
#include <vector>

#include "sim/engine/statistics.h"

namespace kvsim::validation {

struct RecordedRun {
  engine::Sample ttft_s, tpot_s, e2e_s;  ///< since the request was sent
  /// Seconds between the recording's clock start, which its load samples count from, and the first request.
  double first_request_s = 0;
  struct Load {
    double at_s = 0;  ///< end of the second
    double prompt_tokens_per_s = 0, output_tokens_per_s = 0;
    double running = 0, waiting = 0, kv_percent = 0;
  };
  std::vector<Load> load;
  std::string requests_file;  ///< to be replayed, trace format vllm_bench
};

/// Reads requests.jsonl, timeseries.csv and meta.json of a folder. Requests were sent on one clock and served on
/// another (another process's); the smallest difference between sending and queueing is taken for the clocks' offset.
/// Throws schema::InputError.
RecordedRun read_recorded_run(const std::string& folder);

}  // namespace kvsim::validation
