// Traces of one session a line: its turns stand in a list. Requests of sessions side by side are put in order of
// arrival, so all are in memory before the first is given out.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/schema/units.h"
#include "models/workload/jsonl_trace.h"
#include "models/workload/shared_prefixes.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

namespace json = simdjson::ondemand;

struct Turn {
  std::int64_t arrival_ns = 0;
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  std::vector<std::uint64_t> blocks;
  SessionTurn turn;
};

/// Members of an object that is not the line's own.
class Member {
 public:
  Member(JsonLine& line, const LineReader& lines, const TraceBuilder& trace)
      : line_(line), lines_(lines), trace_(trace) {}

  std::int64_t tokens(std::string_view name, json::value value) {
    const std::string_view token = value.raw_json_token();
    std::int64_t tokens = 0;
    if (value.get_int64().get(tokens) != simdjson::SUCCESS) line_.wrong(name, token, "a whole number of tokens");
    trace_.check_tokens(name, tokens, line_.byte_of(token.data()));
    return tokens;
  }

  /// ns, none of which may be negative: that is `negative`, said of the token.
  std::int64_t time_ns(std::string_view name, json::value value, double ns_per_unit, std::string_view negative) {
    const std::string_view token = value.raw_json_token();
    double time = 0;
    if (value.get_double().get(time) != simdjson::SUCCESS) line_.wrong(name, token, "a number, a time");
    if (time < 0) {
      lines_.fail(line_.byte_of(token.data()),
                  fmt::format("{} is {}: {}, expected 0 or more", name, shown_json(token), negative));
    }
    const std::int64_t ns = to_arrival_ns(time, ns_per_unit);
    if (ns < 0 || ns > max_arrival_ns) line_.wrong(name, token, "less than a hundred years");
    return ns;
  }

 private:
  JsonLine& line_;
  const LineReader& lines_;
  const TraceBuilder& trace_;
};

/// Calls `each` with the key and the value of every member of an object in the line.
template <class Each>
void each_field(JsonLine& line, json::value value, std::string_view what, Each&& each) {
  const std::string_view token = value.raw_json_token();
  json::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) line.wrong(what, token, "an object");
  for (auto member : object) {
    json::field field;
    if (std::move(member).get(field) != simdjson::SUCCESS) line.malformed_here();
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) line.malformed_here();
    each(key, field.value());
  }
}

json::array list_of(JsonLine& line, std::string_view name, json::value value) {
  const std::string_view token = value.raw_json_token();
  json::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) line.wrong(name, token, "a list of requests");
  return list;
}

std::string_view key_of(JsonLine& line, json::field& field) {
  std::string_view key;
  if (field.unescaped_key().get(key) != simdjson::SUCCESS) line.malformed_here();
  return key;
}

/// The turns of all sessions as one trace.
void give_out(std::vector<Turn> turns, TraceBuilder& trace) {
  std::stable_sort(turns.begin(), turns.end(),
                   [](const Turn& a, const Turn& b) { return a.arrival_ns < b.arrival_ns; });
  for (Turn& t : turns) {
    if (trace.full()) return;
    trace.add(t.arrival_ns, 0, t.prompt, t.output, std::move(t.blocks), t.turn);
  }
}

}  // namespace

// Weka's form of agents' sessions (semianalysisai/cc-traces-weka, Apache-2.0; as in ai-dynamo/aisimulate): times in s
// from the session's start, ids of 64-token blocks that mean something within their session. All sessions begin at
// once: the form does not say when. An id is of a block's content, so ids are chained (as of bailian).

void read_weka_trace(LineReader& lines, TraceBuilder& trace) {
  constexpr std::int64_t block_tokens = 64;
  constexpr std::string_view shape = "id, block_size and requests";
  json::parser parser;
  std::vector<Turn> turns;
  std::int32_t session = 0;
  while (lines.next()) {
    JsonLine line(lines, "session", shape);
    Member member(line, lines, trace);
    bool has_requests = false;
    std::int32_t turn = 0;
    std::int64_t last_ns = 0, end_ns = -1;
    line.each_member(parser, [&](json::field& field) {
      const std::string_view key = key_of(line, field);
      json::value value = field.value();
      if (key == "block_size") {
        const std::string_view token = value.raw_json_token();
        std::int64_t size = 0;
        if (value.get_int64().get(size) != simdjson::SUCCESS || size != block_tokens) {
          line.wrong(key, token, fmt::format("{} tokens", block_tokens));
        }
        return;
      }
      if (key == "hash_id_scope") {
        const std::string_view token = value.raw_json_token();
        std::string_view scope;
        if (value.get_string().get(scope) != simdjson::SUCCESS || scope != "local") {
          line.wrong(key, token, "\"local\": ids that mean something within their session");
        }
        return;
      }
      if (key != "requests") return;
      has_requests = true;
      json::array requests = list_of(line, key, value);
      line.each_item(requests, [&](json::value item) {
        const std::string_view at = item.raw_json_token();
        const std::size_t byte = line.byte_of(at.data());
        Turn t;
        std::optional<std::int64_t> think_ns, api_ns, arrival_ns;
        std::size_t arrival_byte = byte;
        each_field(line, item, "an entry of requests", [&](std::string_view name, json::value of) {
          if (name == "type") {
            std::string_view type;
            const std::string_view token = of.raw_json_token();
            if (of.get_string().get(type) == simdjson::SUCCESS && type == "subagent") {
              line.wrong(name, token, "requests without sub-agents: how their times count is not documented");
            }
          } else if (name == "t") {
            arrival_byte = line.byte_of(of.raw_json_token().data());
            arrival_ns = member.time_ns(name, of, kNsPerSecond, "the request is sent before its session begins");
          } else if (name == "in") {
            t.prompt = member.tokens(name, of);
          } else if (name == "out") {
            t.output = member.tokens(name, of);
          } else if (name == "api_time") {
            api_ns = member.time_ns(name, of, kNsPerSecond, "the session ends before it begins");
          } else if (name == "think_time") {
            think_ns = member.time_ns(name, of, kNsPerSecond, "the turn begins before the one above it ends");
          } else if (name == "hash_ids") {
            json::array ids = list_of(line, name, of);
            line.each_item(ids, [&](json::value id) {
              const std::string_view token = id.raw_json_token();
              std::uint64_t block = 0;
              if (id.get_uint64().get(block) != simdjson::SUCCESS) {
                line.wrong("an entry of hash_ids", token, "a whole number, 0 or more");
              }
              const std::uint64_t before =
                  t.blocks.empty() ? mixed_hash(static_cast<std::uint64_t>(session)) : t.blocks.back();
              t.blocks.push_back(mixed_hash(before * 0x9E3779B97F4A7C15U + block));
            });
          }
        });
        for (const auto& [there, name] :
             {std::pair{arrival_ns.has_value(), "t"}, std::pair{t.prompt > 0, "in"}, std::pair{t.output > 0, "out"}}) {
          if (!there) line.fail(byte, fmt::format("{} is missing, expected t, in and out of a request", name));
        }
        if (*arrival_ns < last_ns) {
          line.fail(arrival_byte, "the request is sent before the one above it, expected requests in order of arrival");
        }
        if (std::ssize(t.blocks) * block_tokens > t.prompt + block_tokens - 1) {
          line.fail(byte, fmt::format("hash_ids has {} entries, expected at most one for each {} of {} tokens",
                                      t.blocks.size(), block_tokens, t.prompt));
        }
        last_ns = t.arrival_ns = *arrival_ns;
        t.turn = {session, ++turn, -1};
        if (turn > 1 && think_ns) t.turn.think_ns = *think_ns;
        if (turn > 1 && !think_ns && end_ns >= 0) t.turn.think_ns = std::max<std::int64_t>(last_ns - end_ns, 0);
        end_ns = api_ns ? last_ns + *api_ns : -1;
        turns.push_back(std::move(t));
      });
    });
    if (!has_requests) line.fail(0, fmt::format("requests is missing, expected {}", shape));
    ++session;
  }
  give_out(std::move(turns), trace);
}

// LLMServingSim's agentic workloads: arrival_time_ns of the session, and calls with the time that a tool takes after
// each. How long a call took is not recorded, so a turn is taken to arrive when all tools before it are done.

void read_llmservingsim_trace(LineReader& lines, TraceBuilder& trace) {
  constexpr std::string_view shape = "session_id, arrival_time_ns and sub_requests";
  json::parser parser;
  std::vector<Turn> turns;
  std::int32_t session = 0;
  while (lines.next()) {
    JsonLine line(lines, "session", shape);
    Member member(line, lines, trace);
    std::optional<std::int64_t> start_ns;
    bool has_requests = false;
    std::int64_t after_ns = 0;
    const std::size_t first = turns.size();
    line.each_member(parser, [&](json::field& field) {
      const std::string_view key = key_of(line, field);
      json::value value = field.value();
      if (key == "arrival_time_ns") {
        start_ns = member.time_ns(key, value, 1, "the session begins before the trace does");
      }
      if (key != "sub_requests") return;
      has_requests = true;
      json::array requests = list_of(line, key, value);
      line.each_item(requests, [&](json::value item) {
        const std::string_view at = item.raw_json_token();
        Turn t;
        std::int64_t tool_ns = 0;
        each_field(line, item, "an entry of sub_requests", [&](std::string_view name, json::value of) {
          if (name == "input_toks") t.prompt = member.tokens(name, of);
          if (name == "output_toks") t.output = member.tokens(name, of);
          if (name == "tool_duration_ns") tool_ns = member.time_ns(name, of, 1, "the session ends before it begins");
        });
        if (t.prompt == 0 || t.output == 0) {
          line.fail(line.byte_of(at.data()),
                    fmt::format("{} is missing, expected input_toks and output_toks of a request",
                                t.prompt == 0 ? "input_toks" : "output_toks"));
        }
        const auto number = static_cast<std::int32_t>(turns.size() - first);
        t.arrival_ns = after_ns;
        t.turn = {session, number + 1, number == 0 ? -1 : after_ns - turns.back().arrival_ns};
        after_ns = std::min(after_ns + tool_ns, max_arrival_ns);
        turns.push_back(std::move(t));
      });
    });
    if (!start_ns) line.fail(0, fmt::format("arrival_time_ns is missing, expected {}", shape));
    if (!has_requests) line.fail(0, fmt::format("sub_requests is missing, expected {}", shape));
    for (std::size_t i = first; i < turns.size(); ++i) turns[i].arrival_ns += *start_ns;
    ++session;
  }
  give_out(std::move(turns), trace);
}

}  // namespace kvsim::models
