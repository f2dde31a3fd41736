// Mooncake traces (Qin et al., "Mooncake", FAST'25; Apache-2.0): timestamp in ms since the start, hash_ids of 512-token
// blocks, each chained to those before it, so that equal ids mean equal prefixes.
#include <fmt/format.h>

#include "models/workload/jsonl_trace.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

void read_mooncake(LineReader& lines, TraceBuilder& trace) {
  constexpr std::int64_t block_tokens = 512;
  constexpr double ns_per_ms = 1e6;
  JsonlParser parser(lines);
  trace.each([&] {
    JsonlRequest* const r = parser.next();
    if (r == nullptr) return false;
    if (trace.noted(to_arrival_ns(r->timestamp, ns_per_ms))) return true;
    trace.check_tokens("input_length", r->input_length, r->input_byte);
    trace.check_tokens("output_length", r->output_length, r->output_byte);
    const std::int64_t blocks = (r->input_length + block_tokens - 1) / block_tokens;
    if (static_cast<std::int64_t>(r->hash_ids.size()) != blocks) {
      lines.fail(r->hash_ids_byte, fmt::format("hash_ids has {} entries, expected {}: one for each {} of {} tokens",
                                               r->hash_ids.size(), blocks, block_tokens, r->input_length));
    }
    trace.add(to_arrival_ns(r->timestamp, ns_per_ms), r->timestamp_byte, r->input_length, r->output_length,
              r->hash_ids);
    return true;
  });
}

}  // namespace

TraceFormat trace_mooncake() {
  return {.name = "mooncake",
          .description = "JSON lines: timestamp (ms), input_length, output_length, hash_ids of 512-token blocks",
          .place = 1,
          .block_tokens = 512,
          .read = read_mooncake};
}

}  // namespace kvsim::models
