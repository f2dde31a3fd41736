// LLMServingSim's agentic workloads: arrival_time_ns of the session, and calls with the time that a tool takes after
// each. How long a call took is not recorded, so a turn is taken to arrive when all tools before it are done.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "models/workload/session_lines.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

using namespace session_lines;

void read_llmservingsim(LineReader& lines, TraceBuilder& trace) {
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

}  // namespace

TraceFormat trace_llmservingsim() {
  return {.name = "llmservingsim",
          .description =
              "JSON lines, a session each: arrival_time_ns, sub_requests of input_toks, output_toks, tool_duration_ns",
          .read = read_llmservingsim,
          .folders = true};
}

}  // namespace kvsim::models
