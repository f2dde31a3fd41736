// Bailian traces (Alibaba, qwen-bailian-usagetraces-anon): timestamp in s since the start, hash_ids of 16-token blocks.
// An id there is of the block's own content, not of the prefix up to it, so ids are chained here: equal ids mean equal
// prefixes, as everywhere in kvsim. Conversations (chat_id, parent_chat_id) are not followed: turns arrive as recorded.
#include <fmt/format.h>

#include "models/schema/si.h"
#include "models/workload/jsonl_trace.h"
#include "models/workload/trace_builder.h"

namespace kvsim::models {
namespace {

/// The finaliser of SplitMix64 over the chain so far and the next id: distinct prefixes keep distinct values (64 bits).
std::uint64_t chained(std::uint64_t prefix, std::uint64_t id) {
  std::uint64_t z = prefix * 0x9E3779B97F4A7C15U + id + 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

}  // namespace

void read_bailian_trace(LineReader& lines, TraceBuilder& trace) {
  constexpr std::int64_t block_tokens = 16;
  JsonlParser parser(lines);
  while (!trace.full()) {
    JsonlRequest* const r = parser.next();
    if (r == nullptr) break;
    trace.check_tokens("input_length", r->input_length, r->input_byte);
    trace.check_tokens("output_length", r->output_length, r->output_byte);
    // A last block that is not full may have an id or not.
    const std::int64_t full_blocks = r->input_length / block_tokens;
    const std::int64_t blocks = (r->input_length + block_tokens - 1) / block_tokens;
    const auto given = static_cast<std::int64_t>(r->hash_ids.size());
    if (given < full_blocks || given > blocks) {
      lines.fail(r->hash_ids_byte, fmt::format("hash_ids has {} entries, expected {}: one for each {} of {} tokens",
                                               given, blocks, block_tokens, r->input_length));
    }
    std::uint64_t prefix = 0;
    for (std::uint64_t& id : r->hash_ids) id = prefix = chained(prefix, id);
    trace.add(to_arrival_ns(r->timestamp, kNsPerSecond), r->timestamp_byte, r->input_length, r->output_length,
              r->hash_ids);
  }
}

}  // namespace kvsim::models
