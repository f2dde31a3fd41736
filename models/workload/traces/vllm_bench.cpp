// Requests of a vLLM benchmark run as a client recorded them: input_toks, output_toks and arrival_time, in seconds on
// any clock. Other members (what the server made of the requests) are skipped, so that a recorded run can be replayed.
#include <algorithm>
#include <cmath>
#include <optional>

#include "models/schema/units.h"
#include "models/workload/jsonl_trace.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

void read_vllm_bench(LineReader& lines, TraceBuilder& trace) {
  constexpr JsonlNames names{.timestamp = "arrival_time",
                             .input = "input_toks",
                             .output = "output_toks",
                             .hash_ids = "",
                             .shape = "arrival_time, input_toks and output_toks",
                             .time = "seconds on any clock"};
  JsonlParser parser(lines, names);
  std::optional<double> start;  // of the trace: its first arrival
  trace.each([&] {
    const JsonlRequest* const r = parser.next();
    if (r == nullptr) return false;
    constexpr double most_s = 9e9;  // of a clock of 64 bits
    if (trace.noted(std::llround(std::clamp(r->timestamp, -most_s, most_s) * kNsPerSecond))) return true;
    trace.check_tokens(names.input, r->input_length, r->input_byte);
    trace.check_tokens(names.output, r->output_length, r->output_byte);
    if (!start) start = r->timestamp;
    if (r->timestamp < *start) trace.fail_order(r->timestamp_byte, "the request arrives before the first one");
    trace.add(to_arrival_ns(r->timestamp - *start, kNsPerSecond), r->timestamp_byte, r->input_length, r->output_length);
    return true;
  });
}

}  // namespace

TraceFormat trace_vllm_bench() {
  return {.name = "vllm_bench",
          .description = "JSON lines: arrival_time (s, any clock), input_toks, output_toks; others are ignored",
          .read = read_vllm_bench};
}

}  // namespace kvsim::models
