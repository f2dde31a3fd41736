// Bailian traces (Alibaba, qwen-bailian-usagetraces-anon): timestamp in s since the start, hash_ids of 16-token blocks.
// An id there is of the block's own content, not of the prefix up to it, so ids are chained here: equal ids mean equal
// prefixes, as everywhere in kvsim. A chat_id is of one request; chats with a parent (parent_chat_id) are turns of its
// session, numbered by turn. When a turn was answered is not recorded.
#include <fmt/format.h>

#include <limits>

#include "models/schema/units.h"
#include "models/workload/flat_table.h"
#include "models/workload/jsonl_trace.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

/// The finaliser of SplitMix64 over the chain so far and the next id: distinct prefixes keep distinct values (64 bits).
std::uint64_t chained(std::uint64_t prefix, std::uint64_t id) {
  std::uint64_t z = prefix * 0x9E3779B97F4A7C15U + id + 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

void read_bailian(LineReader& lines, TraceBuilder& trace) {
  constexpr std::int64_t block_tokens = 16;
  constexpr JsonlNames names{.chat = "chat_id", .parent = "parent_chat_id", .turn = "turn"};
  JsonlParser parser(lines, names);
  struct Chat {
    std::int32_t session = -1;
    std::int32_t turn = 0;
  };
  FlatTable<Chat> chats;
  std::int32_t sessions = 0;
  trace.each([&] {
    JsonlRequest* const r = parser.next();
    if (r == nullptr) return false;
    if (trace.noted(to_arrival_ns(r->timestamp, kNsPerSecond))) return true;
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
    SessionTurn turn;
    if (r->chat) {
      if (r->parent && *r->parent == *r->chat) {
        lines.fail(r->parent_byte,
                   fmt::format("parent_chat_id is {}, the chat itself, expected one before it, or -1", *r->parent));
      }
      const Chat* const parent = r->parent ? chats.find(static_cast<std::uint64_t>(*r->parent)) : nullptr;
      // A chat whose parent is before the trace's start begins a session of which the first turns are missing.
      turn.session = parent != nullptr ? parent->session : sessions++;
      turn.turn = parent != nullptr ? parent->turn + 1 : 1;
      if (r->turn && *r->turn > 0 && *r->turn <= std::numeric_limits<std::int32_t>::max()) {
        turn.turn = static_cast<std::int32_t>(*r->turn);
      }
      if (!chats.try_emplace(static_cast<std::uint64_t>(*r->chat), {turn.session, turn.turn}).second) {
        lines.fail(0, fmt::format("chat_id {} is there twice, expected one of each request", *r->chat));
      }
    }
    trace.add(to_arrival_ns(r->timestamp, kNsPerSecond), r->timestamp_byte, r->input_length, r->output_length,
              r->hash_ids, turn);
    return true;
  });
}

}  // namespace

TraceFormat trace_bailian() {
  return {.name = "bailian",
          .description = "JSON lines: timestamp (s), input_length, output_length, hash_ids of 16-token blocks",
          .block_tokens = 16,
          .read = read_bailian};
}

}  // namespace kvsim::models
