// Requests of a vLLM benchmark run as a client recorded them: input_toks, output_toks and arrival_time, in seconds on
// any clock. Other members (what the server made of the requests) are skipped, so that a recorded run can be replayed.
#include <optional>

#include "models/schema/si.h"
#include "models/workload/jsonl_trace.h"
#include "models/workload/trace_builder.h"

namespace kvsim::models {

void read_vllm_bench_trace(LineReader& lines, TraceBuilder& trace) {
  constexpr JsonlNames names{.timestamp = "arrival_time",
                             .input = "input_toks",
                             .output = "output_toks",
                             .hash_ids = "",
                             .shape = "arrival_time, input_toks and output_toks",
                             .time = "seconds on any clock"};
  JsonlParser parser(lines, names);
  std::optional<double> start;  // of the trace: its first arrival
  while (!trace.full()) {
    const JsonlRequest* const r = parser.next();
    if (r == nullptr) break;
    trace.check_tokens(names.input, r->input_length, r->input_byte);
    trace.check_tokens(names.output, r->output_length, r->output_byte);
    if (!start) start = r->timestamp;
    if (r->timestamp < *start) {
      lines.fail(r->timestamp_byte, "the request arrives before the first one, expected requests in order of arrival");
    }
    trace.add(to_arrival_ns(r->timestamp - *start, kNsPerSecond), r->timestamp_byte, r->input_length, r->output_length);
  }
}

}  // namespace kvsim::models
