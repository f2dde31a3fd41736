// Traces of one session a line: its turns stand in a list. Requests of sessions side by side are put in order of
// arrival, so all are in memory before the first is given out. Internal to the readers of such traces.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "models/workload/jsonl_trace.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models::session_lines {

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

inline json::array list_of(JsonLine& line, std::string_view name, json::value value) {
  const std::string_view token = value.raw_json_token();
  json::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) line.wrong(name, token, "a list of requests");
  return list;
}

inline std::string_view key_of(JsonLine& line, json::field& field) {
  std::string_view key;
  if (field.unescaped_key().get(key) != simdjson::SUCCESS) line.malformed_here();
  return key;
}

/// The turns of all sessions as one trace.
inline void give_out(std::vector<Turn> turns, TraceBuilder& trace) {
  std::stable_sort(turns.begin(), turns.end(),
                   [](const Turn& a, const Turn& b) { return a.arrival_ns < b.arrival_ns; });
  for (Turn& t : turns) {
    if (trace.full()) return;
    trace.add(t.arrival_ns, 0, t.prompt, t.output, std::move(t.blocks), t.turn);
  }
}

}  // namespace kvsim::models::session_lines
