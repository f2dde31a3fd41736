#include "models/workload/jsonl_trace.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "models/schema/units.h"
#include "models/workload/flat_table.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

namespace json = simdjson::ondemand;

/// One line being parsed.
class LineParser {
 public:
  LineParser(const LineReader& lines, const JsonlNames& names, JsonlRequest& request)
      : names_(names), request_(request), line_(lines, "request", names.shape) {}

  void parse(json::parser& parser) {
    line_.each_member(parser, [this](json::field& field) { read_member(field); });
    for (std::size_t k = 0; k < kNeeded; ++k) {
      if (!seen_[k] && !keys_[k].empty()) {
        line_.fail(0, fmt::format("{} is missing, expected {}", keys_[k], names_.shape));
      }
    }
  }

 private:
  void read_member(json::field& field) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) line_.malformed_here();
    const std::size_t which = static_cast<std::size_t>(std::find(keys_.begin(), keys_.end(), key) - keys_.begin());
    if (which == keys_.size() || key.empty()) return;  // of no interest here
    json::value value = field.value();
    const std::string_view token = value.raw_json_token();
    const std::size_t byte = line_.byte_of(token.data());
    if (seen_[which]) line_.fail(byte, fmt::format("{} is there twice, expected it once", keys_[which]));
    seen_[which] = true;
    switch (which) {
      case 0:
        request_.timestamp_byte = byte;
        if (value.get_double().get(request_.timestamp) == simdjson::SUCCESS) return;
        return line_.wrong(keys_[which], token, fmt::format("a number, {}", names_.time));
      case 1:
        request_.input_byte = byte;
        if (value.get_int64().get(request_.input_length) == simdjson::SUCCESS) return;
        return line_.wrong(keys_[which], token, "a whole number of tokens");
      case 2:
        request_.output_byte = byte;
        if (value.get_int64().get(request_.output_length) == simdjson::SUCCESS) return;
        return line_.wrong(keys_[which], token, "a whole number of tokens");
      case 3:
        request_.hash_ids_byte = byte;
        return line_.read_blocks(keys_[which], value, request_.hash_ids);
      default:
        if (which == 5) request_.parent_byte = byte;
        std::int64_t number = 0;
        if (value.get_int64().get(number) != simdjson::SUCCESS) line_.wrong(keys_[which], token, "a whole number");
        (which == 4 ? request_.chat : which == 5 ? request_.parent : request_.turn) = number;
    }
  }

  const JsonlNames& names_;
  JsonlRequest& request_;
  JsonLine line_;
  static constexpr std::size_t kNeeded = 4;
  std::array<std::string_view, 7> keys_{names_.timestamp, names_.input,  names_.output, names_.hash_ids,
                                        names_.chat,      names_.parent, names_.turn};
  std::array<bool, 7> seen_{};
};

}  // namespace

std::string shown_json(std::string_view token) {
  while (!token.empty() && (token.back() == ' ' || token.back() == '\t')) token.remove_suffix(1);
  if (!token.empty() && token.front() == '{') return "an object";
  if (!token.empty() && token.front() == '[') return "a list";
  return std::string(token.substr(0, 40));
}

struct JsonlParser::Parser {
  json::parser json;
};

JsonlParser::JsonlParser(LineReader& lines, const JsonlNames& names)
    : lines_(lines), names_(names), parser_(std::make_unique<Parser>()) {}
JsonlParser::~JsonlParser() = default;

JsonlRequest* JsonlParser::next() {
  if (!lines_.next()) return nullptr;
  request_.chat = request_.parent = request_.turn = std::nullopt;
  LineParser(lines_, names_, request_).parse(parser_->json);
  return &request_;
}

// Mooncake traces (Qin et al., "Mooncake", FAST'25; Apache-2.0): timestamp in ms since the start, hash_ids of 512-token
// blocks, each chained to those before it, so that equal ids mean equal prefixes.

void read_mooncake_trace(LineReader& lines, TraceBuilder& trace) {
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

// Bailian traces (Alibaba, qwen-bailian-usagetraces-anon): timestamp in s since the start, hash_ids of 16-token blocks.
// An id there is of the block's own content, not of the prefix up to it, so ids are chained here: equal ids mean equal
// prefixes, as everywhere in kvsim. A chat_id is of one request; chats with a parent (parent_chat_id) are turns of its
// session, numbered by turn. When a turn was answered is not recorded.

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

// Requests of a vLLM benchmark run as a client recorded them: input_toks, output_toks and arrival_time, in seconds on
// any clock. Other members (what the server made of the requests) are skipped, so that a recorded run can be replayed.

void read_vllm_bench_trace(LineReader& lines, TraceBuilder& trace) {
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

}  // namespace kvsim::models
