// Weka's form of agents' sessions (semianalysisai/cc-traces-weka, Apache-2.0; as in ai-dynamo/aisimulate and
// callanjfox/kv-cache-tester): times in s from the session's start, ids of 64-token blocks that mean something within
// their line. All sessions begin at once: the form does not say when. An id is of a block's content, so ids are chained
// (as of bailian). A sub-agent is an entry of type "subagent" with requests of its own, whose times count from the
// entry's; the parent goes on when its sub-agents have ended. A request of no output was cut, and is left out.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/schema/units.h"
#include "models/workload/session_lines.h"
#include "models/workload/shared_prefixes.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

using namespace session_lines;

class WekaSessions {
 public:
  WekaSessions(LineReader& lines, TraceBuilder& trace) : lines_(lines), trace_(trace) {}

  std::vector<Turn> read() {
    while (lines_.next()) {
      JsonLine line(lines_, "session", kShape);
      Member member(line, lines_, trace_);
      bool has_requests = false;
      Session session;
      line.each_member(parser_, [&](json::field& field) {
        const std::string_view key = key_of(line, field);
        json::value value = field.value();
        if (key == "block_size") {
          const std::string_view token = value.raw_json_token();
          std::int64_t size = 0;
          if (value.get_int64().get(size) != simdjson::SUCCESS || size != kBlockTokens) {
            line.wrong(key, token, fmt::format("{} tokens", kBlockTokens));
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
        read_requests(line, member, list_of(line, key, value), session, turns_);
      });
      if (!has_requests) line.fail(0, fmt::format("requests is missing, expected {}", kShape));
      ++line_;
    }
    return std::move(turns_);
  }

 private:
  static constexpr std::int64_t kBlockTokens = 64;
  static constexpr std::string_view kShape = "id, block_size and requests";

  struct Session {
    std::int32_t number = -1;  // once it has a request
    std::int32_t turns = 0;
    std::int64_t last_ns = 0;        // when the latest request was sent, cut or not
    std::int64_t end_ns = -1;        // when the latest turn was answered; -1: not recorded
    std::int64_t agents_end_ns = 0;  // of those that the latest turn began, the last end; -1: of one not recorded
    bool interrupted = false;        // the latest turn began sub-agents, or a cut request came after it
  };

  /// An entry of a list of requests, be it a request or a sub-agent.
  struct Entry {
    Turn turn;
    std::optional<std::int64_t> arrival_ns, think_ns, api_ns, duration_ns;
    std::size_t arrival_byte = 0;
    bool is_agent = false, is_cut = false;
    std::optional<std::vector<Turn>> agent_turns;  // from the entry's time
    Session agent;
  };

  static std::int64_t sum(std::int64_t a, std::int64_t b) { return std::min(a + b, max_arrival_ns); }

  /// Times of `of` and of the turns that are added to `turns` count from the list's.
  void read_requests(JsonLine& line, Member& member, json::array requests, Session& of, std::vector<Turn>& turns) {
    line.each_item(requests, [&](json::value item) {
      const std::size_t byte = line.byte_of(item.raw_json_token().data());
      Entry entry;
      entry.arrival_byte = byte;
      each_field(line, item, "an entry of requests",
                 [&](std::string_view name, json::value value) { read_member(line, member, name, value, entry); });
      if (!entry.arrival_ns) line.fail(byte, "t is missing, expected t, in and out of a request");
      if (entry.is_agent) return add_agent(line, byte, entry, of, turns);
      for (const auto& [there, name] :
           {std::pair{entry.turn.prompt > 0, "in"}, std::pair{entry.turn.output > 0 || entry.is_cut, "out"}}) {
        if (!there) line.fail(byte, fmt::format("{} is missing, expected t, in and out of a request", name));
      }
      if (*entry.arrival_ns < of.last_ns) {
        line.fail(entry.arrival_byte,
                  "the request is sent before the one above it, expected requests in order of arrival");
      }
      if (std::ssize(entry.turn.blocks) * kBlockTokens > entry.turn.prompt + kBlockTokens - 1) {
        line.fail(byte, fmt::format("hash_ids has {} entries, expected at most one for each {} of {} tokens",
                                    entry.turn.blocks.size(), kBlockTokens, entry.turn.prompt));
      }
      add_request(entry, of, turns);
    });
  }

  void read_member(JsonLine& line, Member& member, std::string_view name, json::value value, Entry& entry) {
    const std::string_view token = value.raw_json_token();
    if (name == "type") {
      std::string_view type;
      entry.is_agent = value.get_string().get(type) == simdjson::SUCCESS && type == "subagent";
    } else if (name == "t") {
      entry.arrival_byte = line.byte_of(token.data());
      entry.arrival_ns = member.time_ns(name, value, kNsPerSecond, "the request is sent before its session begins");
    } else if (name == "in") {
      entry.turn.prompt = member.tokens(name, value);
    } else if (name == "out") {
      entry.is_cut = token.substr(0, token.find_last_not_of(" \t\r\n") + 1) == "0";
      if (!entry.is_cut) entry.turn.output = member.tokens(name, value);
    } else if (name == "api_time") {
      entry.api_ns = member.time_ns(name, value, kNsPerSecond, "the session ends before it begins");
    } else if (name == "duration_ms") {
      entry.duration_ns = member.time_ns(name, value, kMillisecond * kNsPerSecond, "the session ends before it begins");
    } else if (name == "think_time") {
      entry.think_ns = member.time_ns(name, value, kNsPerSecond, "the turn begins before the one above it ends");
    } else if (name == "requests") {
      read_requests(line, member, list_of(line, name, value), entry.agent, entry.agent_turns.emplace());
    } else if (name == "hash_ids") {
      std::vector<std::uint64_t>& blocks = entry.turn.blocks;
      json::array ids = list_of(line, name, value);
      line.each_item(ids, [&](json::value id) {
        const std::string_view id_token = id.raw_json_token();
        std::uint64_t block = 0;
        if (id.get_uint64().get(block) != simdjson::SUCCESS) {
          line.wrong("an entry of hash_ids", id_token, "a whole number, 0 or more");
        }
        const std::uint64_t before = blocks.empty() ? mixed_hash(line_) : blocks.back();
        blocks.push_back(mixed_hash(before * 0x9E3779B97F4A7C15U + block));
      });
    }
  }

  void add_request(Entry& entry, Session& of, std::vector<Turn>& turns) {
    of.last_ns = *entry.arrival_ns;
    if (entry.is_cut) {
      trace_.leave_out();
      of.interrupted = true;
      return;
    }
    if (of.number < 0) of.number = sessions_++;
    Turn& t = entry.turn;
    t.arrival_ns = of.last_ns;
    t.turn = {of.number, ++of.turns, -1};
    if (of.turns > 1) {
      const bool known = of.end_ns >= 0 && of.agents_end_ns >= 0;
      if (entry.think_ns && !of.interrupted) {
        t.turn.think_ns = *entry.think_ns;
      } else if (known) {
        t.turn.think_ns = std::max<std::int64_t>(of.last_ns - std::max(of.end_ns, of.agents_end_ns), 0);
      }
    }
    of.end_ns = entry.api_ns ? sum(of.last_ns, *entry.api_ns) : -1;
    of.agents_end_ns = 0;
    of.interrupted = false;
    turns.push_back(std::move(t));
  }

  /// The turns of a sub-agent: those of a session that the latest turn of `of` began, if there is one.
  void add_agent(JsonLine& line, std::size_t byte, Entry& entry, Session& of, std::vector<Turn>& turns) {
    if (!entry.agent_turns) line.fail(byte, "requests is missing, expected t and requests of a sub-agent");
    const std::int64_t begin_ns = *entry.arrival_ns;
    const Session& agent = entry.agent;
    for (Turn& t : *entry.agent_turns) {
      t.arrival_ns = sum(begin_ns, t.arrival_ns);
      if (t.turn.session == agent.number && of.number >= 0) {
        t.turn.parent = of.number;
        if (t.turn.turn == 1 && of.end_ns >= 0) {
          t.turn.think_ns = std::max<std::int64_t>(t.arrival_ns - of.end_ns, 0);
        }
      }
      turns.push_back(std::move(t));
    }
    if (agent.number < 0) return;
    of.interrupted = true;
    std::int64_t end_ns = entry.duration_ns.value_or(-1);
    if (end_ns < 0 && agent.end_ns >= 0 && agent.agents_end_ns >= 0)
      end_ns = std::max(agent.end_ns, agent.agents_end_ns);
    const bool known = end_ns >= 0 && of.agents_end_ns >= 0;
    of.agents_end_ns = known ? std::max(of.agents_end_ns, sum(begin_ns, end_ns)) : -1;
  }

  LineReader& lines_;
  TraceBuilder& trace_;
  json::parser parser_;
  std::vector<Turn> turns_;
  std::int32_t sessions_ = 0;
  std::uint64_t line_ = 0;  // ids of blocks are its own
};

void read_weka(LineReader& lines, TraceBuilder& trace) {
  give_out(WekaSessions(lines, trace).read(), trace);
}

}  // namespace

TraceFormat trace_weka() {
  return {.name = "weka",
          .description = "JSON lines, an agent's session each: requests of t (s), in, out, hash_ids of 64-token blocks",
          .block_tokens = 64,
          .read = read_weka,
          .folders = true};
}

}  // namespace kvsim::models
