#include <functional>
#include <string>
#include <vector>

#include "sim/serving/slo.h"
#include "tests/scenario/key_rows.h"

namespace kvsim::testing {
namespace {

const Sets kOpen = {"workload={arrivals: {rate: 5/s}, requests: 20, context: 8k tokens, output: 100 tokens}"};
const Sets kBursty = {
    "workload={arrivals: {process: gamma, rate: 5/s}, requests: 20, context: 8k tokens, output: 100 tokens}"};
/// Prefixes of different lengths, so that it matters which of them a request has.
const Sets kPrefixes = {
    "workload.prefixes={count: 4, tokens: {distribution: uniform, min: 1k tokens, max: 9k tokens}}"};
/// Prefixes of a data set that differs from a shipped one.
std::string dataset(const std::string& change) {
  return "workload.prefixes={count: 4, datasets: [{base: qasper, " + change + "}]}";
}
const Sets kChunks = {"workload.chunks={count: 40, per_request: 4}"};
/// Chunks that are found again where a prompt begins with them.
const Sets kStoredChunks =
    placed({"workload={closed: {concurrency: 2}, requests: 100, context: 100 tokens, output: 20 "
            "tokens, chunks: {count: 40, per_request: 4}}"});
const Sets kCompressed = placed({"placement={policy: lru, compressor: keydiff, keep_ratio: 0.3}"});
const Sets kLog = {
    "workload={trace: {format: columns, path: $DIR/log.csv, columns: {arrival: ts, prompt: in, output: out, session: "
    "conv, "
    "time: ms}}}"};
/// Of which its second prompt begins as the first one.
const Sets kBlocks = {
    "workload={trace: {format: columns, path: $DIR/blocks.jsonl, columns: {arrival: ts, prompt: in, output: out, "
    "blocks: "
    "ids, block_size: 1024 tokens, time: s}}}",
    "prefill=recompute", "decode={policy: full_kv}", "schedule={policy: fcfs, prefix_caching: true}"};
Sets recorded_in(const std::string& file) {
  return {"workload={trace: {format: csv, path: $DIR/" + file + "}}"};
}
const Sets kTrace = recorded_in("long.csv");

/// Sessions, a user each, with prompts found again.
const Sets kSessions = placed(
    {"placement={policy: lru}",
     "workload={closed: {concurrency: 4}, context: 1k tokens, output: 80 tokens, sessions: {turns: 3, growth: 300 "
     "tokens, think_time: 1 s, count: 9}}"});
/// Each turn but the last begins two sub-agents.
const Sets kTeams = placed(
    {"placement={policy: lru}",
     "workload={closed: {concurrency: 4}, context: 1k tokens, output: 80 tokens, sessions: {turns: 3, growth: 300 "
     "tokens, think_time: 1 s, count: 9, sub_agents: {count: 2, turns: 2, context: 2k tokens}}}"});
/// Another trace beside the scenario's, with this.
std::string overlay(const std::string& change, const std::string& file = "long.csv") {
  return "workload.trace.overlay=[{format: csv, path: $DIR/" + file + ", " + change + "}]";
}
/// The same of a log, with this beside the names of its columns.
std::string overlay_log(const std::string& change) {
  return "workload.trace.overlay=[{format: columns, path: $DIR/log.csv, columns: {arrival: ts, prompt: in, output: "
         "out, " +
         change + "}}]";
}
/// And of one whose prompts have blocks, in a member of this name and of this size.
std::string overlay_blocks(const std::string& member, const std::string& tokens) {
  return "workload.trace.overlay=[{format: columns, path: $DIR/blocks.jsonl, columns: {arrival: ts, prompt: in, "
         "output: "
         "out, time: s, blocks: " +
         member + ", block_size: " + tokens + " tokens}}]";
}
const Sets kClasses = {
    "workload={closed: {concurrency: 4}, requests: 30, classes: [{name: a, share: 1, context: 8k tokens, output: 80 "
    "tokens}]}",
    "slo.ttft_p99=1 s"};
/// Two classes, the second with this.
std::string second_class(const std::string& change) {
  return "workload={closed: {concurrency: 4}, requests: 30, classes: [{name: a, share: 1, context: 8k tokens, output: "
         "80 tokens}, {context: 2k tokens, output: 40 tokens, name: b, " +
         change + "}]}";
}
/// One of a class's own keys instead.
std::string one_class(const std::string& keys) {
  return "workload={closed: {concurrency: 4}, requests: 30, classes: [{" + keys + "}]}";
}
const Sets kTable = {
    "workload={arrivals: {over_time: {table: [{at: 0 s, rate: 5/s}, {at: 2 s, rate: 20/s}], period: 4 s}}, requests: "
    "60, context: 8k tokens, output: 100 tokens}"};
const Sets kSine = {
    "workload={arrivals: {rate: 8/s, over_time: {amplitude: 0.9, period: 4 s}}, requests: 60, context: 8k tokens, "
    "output: 100 tokens}"};
std::string table_of(const std::string& points) {
  return "workload.arrivals.over_time.table=[" + points + "]";
}

/// The keys of a time's distribution.
void add_times(std::vector<KeyRow>& rows, const std::string& key, const Sets& base) {
  const auto with = [&](const std::string& assignment) {
    Sets sets = base;
    sets.push_back(key + "=" + assignment);
    return sets;
  };
  rows.insert(rows.end(), {
                              {key + ".distribution", with("{mean: 1 s}"), "fixed", "exponential"},
                              {key + ".mean", with("{distribution: exponential}"), "1 s", "2 s"},
                              {key + ".cv", with("{distribution: lognormal, mean: 1 s}"), "0.5", "0.6"},
                              {key + ".min", with("{distribution: uniform, max: 9 s}"), "1 s", "2 s"},
                              {key + ".max", with("{distribution: uniform, min: 1 s}"), "5 s", "6 s"},
                          });
}

/// The keys of a distribution of counts.
void add_counts(std::vector<KeyRow>& rows, const std::string& key, const Sets& base) {
  const auto with = [&](const std::string& assignment) {
    Sets sets = base;
    sets.push_back(key + "=" + assignment);
    return sets;
  };
  rows.insert(rows.end(), {
                              {key + ".distribution", with("{mean: 4}"), "fixed", "exponential"},
                              {key + ".mean", with("{distribution: exponential}"), "2", "6"},
                              {key + ".cv", with("{distribution: lognormal, mean: 6}"), "0.2", "1.5"},
                              {key + ".min", with("{distribution: uniform, max: 9}"), "1", "5"},
                              {key + ".max", with("{distribution: uniform, min: 1}"), "2", "9"},
                              {key + ".values[]", base, key + "={distribution: empirical, values: [2, 3]}",
                               key + "={distribution: empirical, values: [2, 7]}"},
                          });
}

/// The keys of a length distribution of a class; `with` makes the assignment of a law.
void add_class_lengths(std::vector<KeyRow>& rows, const std::string& key, const std::string& tokens,
                       const std::function<std::string(const std::string&)>& with) {
  const auto row = [&](const char* of, const std::string& a, const std::string& b) {
    rows.push_back({"workload.classes[]." + key + "." + of, {}, with("{" + a + "}"), with("{" + b + "}")});
  };
  const std::string mean = "mean: 80" + tokens;
  row("distribution", mean + ", distribution: fixed", mean + ", distribution: exponential");
  row("mean", mean, "mean: 90" + tokens);
  row("cv", mean + ", distribution: lognormal, cv: 0.5", mean + ", distribution: lognormal, cv: 0.6");
  const auto between = [&](const char* low, const char* high) {
    return std::string("distribution: uniform, min: ") + low + tokens + ", max: " + high + tokens;
  };
  row("min", between("20", "90"), between("30", "90"));
  row("max", between("20", "80"), between("20", "90"));
  row("values[]", "distribution: empirical, values: [50" + tokens + ", 80" + tokens + "]",
      "distribution: empirical, values: [50" + tokens + ", 90" + tokens + "]");
}

/// The keys of a length distribution.
void add_lengths(std::vector<KeyRow>& rows, const std::string& key, const Sets& base = {}) {
  const std::string tokens = key == "workload.output" ? " tokens" : "00 tokens";  // outputs of 80, prompts of 8000
  const auto with = [&](const std::string& assignment) {
    Sets sets = base;
    sets.push_back(key + "=" + assignment);
    return sets;
  };
  rows.insert(
      rows.end(),
      {
          {key + ".distribution", with("{mean: 80" + tokens + "}"), "fixed", "exponential"},
          {key + ".mean", with("{distribution: exponential}"), "80" + tokens, "90" + tokens},
          {key + ".cv", with("{distribution: lognormal, mean: 80" + tokens + "}"), "0.5", "0.6"},
          {key + ".min", with("{distribution: uniform, max: 90" + tokens + "}"), "20" + tokens, "30" + tokens},
          {key + ".max", with("{distribution: uniform, min: 20" + tokens + "}"), "80" + tokens, "90" + tokens},
          {key + ".values[]", base, key + "={distribution: empirical, values: [50" + tokens + ", 80" + tokens + "]}",
           key + "={distribution: empirical, values: [50" + tokens + ", 90" + tokens + "]}"},
      });
}

}  // namespace

std::vector<KeyRow> workload_rows() {
  std::vector<KeyRow> rows = {
      {"name", {}, "one", "two", Effect::reported},
      {"description", {}, "one", "two", Effect::shown},
      {"assumptions[]", {}, "assumptions=[one]", "assumptions=[two]", Effect::reported},
      {"include[]", {}, "include=[$DIR/fast_link.yaml]", "include=[$DIR/slow_link.yaml]"},
      {"workload.arrivals.process", kOpen, "poisson", "constant"},
      {"workload.arrivals.rate", kOpen, "5/s", "8/s"},
      {"workload.arrivals.cv", kBursty, "0.5", "3"},
      {"workload.closed.concurrency", {}, "10", "4"},
      {"workload.trace.format", {"workload={trace: {format: mooncake, path: $DIR/both.jsonl}}"}, "mooncake", "bailian"},
      {"workload.trace.path", kTrace, "$DIR/long.csv", "$DIR/short.csv"},
      {"workload.trace.columns.arrival", kLog, "ts", "ts2"},
      {"workload.trace.columns.prompt", kLog, "in", "in2"},
      {"workload.trace.columns.output", kLog, "out", "out2"},
      {"workload.trace.columns.session", kLog, "conv", "user", Effect::refused},
      {"workload.trace.columns.end", kLog, "end", "answered", Effect::refused},
      {"workload.trace.columns.time", kLog, "ms", "s"},
      {"workload.trace.columns.blocks", kBlocks, "ids", "others"},
      {"workload.trace.columns.block_size", kBlocks, "1024 tokens", "128 tokens"},
      {"workload.trace.columns.parent", kLog, "by", "parent", Effect::refused},
      {"workload.trace.max_requests", kTrace, "0", "1"},
      {"workload.trace.skip_invalid", recorded_in("aborted.csv"), "true", "false", Effect::refused},
      {"workload.trace.sort", recorded_in("ended.csv"), "true", "false", Effect::refused},
      {"workload.trace.time_scale", kTrace, "1", "10"},
      {"workload.trace.arrivals_only",
       {"workload={trace: {format: csv, path: $DIR/long.csv}, context: 8k tokens, output: 100 tokens}"},
       "true",
       "false",
       Effect::refused},
      {"workload.prefixes.count", kPrefixes, "4", "2"},
      {"workload.prefixes.popularity", kPrefixes, "1", "0"},
      {"workload.prefixes.scale", {dataset("tokens_cv: 0.6")}, "1", "0.5"},
      {"workload.prefixes.longest", {dataset("tokens_cv: 0.6")}, "20k tokens", "3k tokens"},
      {"workload.prefixes.datasets[].name", {}, dataset("name: one"), dataset("name: two"), Effect::shown},
      {"workload.prefixes.datasets[].description",
       {},
       dataset("description: one"),
       dataset("description: two"),
       Effect::shown},
      {"workload.prefixes.datasets[].mean_tokens", {}, dataset("mean_tokens: 3000"), dataset("mean_tokens: 5000")},
      {"workload.prefixes.datasets[].tokens_cv", {}, dataset("tokens_cv: 0.2"), dataset("tokens_cv: 0.6")},
      {"workload.prefixes.datasets[].sensitivity", kCompressed, dataset("sensitivity: 0.2"),
       dataset("sensitivity: 0.6")},
      {"workload.prefixes.datasets[].loss_cv", kCompressed, dataset("loss_cv: 0.1"), dataset("loss_cv: 0.3")},
      {"workload.chunks.count", kStoredChunks, "40", "10"},
      {"workload.chunks.popularity", kStoredChunks, "1", "2"},
      {"workload.chunks.per_request", kChunks, "4", "3"},
      {"workload.chunks.tokens", kChunks, "512 tokens", "300 tokens"},
      {"workload.requests", {}, "20", "15"},
      {"workload.arrivals.over_time.table[].at", kTable, table_of("{at: 0 s, rate: 5/s}, {at: 2 s, rate: 20/s}"),
       table_of("{at: 0 s, rate: 5/s}, {at: 3 s, rate: 20/s}")},
      {"workload.arrivals.over_time.table[].rate", kTable, table_of("{at: 0 s, rate: 5/s}, {at: 2 s, rate: 20/s}"),
       table_of("{at: 0 s, rate: 5/s}, {at: 2 s, rate: 50/s}")},
      {"workload.arrivals.over_time.linear", kTable, "false", "true"},
      {"workload.arrivals.over_time.period", kTable, "4 s", "3 s"},
      {"workload.arrivals.over_time.amplitude", kSine, "0.9", "0.2"},
      {"workload.arrivals.over_time.phase", kSine, "0 s", "2 s"},
      {"workload.trace.from", kTrace, "0 s", "1 ms"},
      {"workload.trace.until", kTrace, "1 ms", "1000 s"},
      {"workload.trace.keep", kTrace, "1", "0.6"},
      {"workload.trace.repeat", kTrace, "1", "2"},
      {"workload.trace.sessions", kTrace, "false", "true", Effect::refused},
      {"workload.sessions.count", kSessions, "9", "5"},
      {"workload.sessions.sub_agents.share", kTeams, "0.2", "1"},
      {"workload.trace.overlay[].at", kTrace, overlay("at: 0 s"), overlay("at: 5 s")},
      {"workload.trace.overlay[].from", kTrace, overlay("from: 0 s"), overlay("from: 1 ms")},
      {"workload.trace.overlay[].until", kTrace, overlay("until: 1 ms"), overlay("until: 1000 s")},
      {"workload.trace.overlay[].keep", kTrace, overlay("keep: 1"), overlay("keep: 0.6")},
      {"workload.trace.overlay[].repeat", kTrace, overlay("repeat: 1"), overlay("repeat: 2")},
      {"workload.trace.overlay[].skip_invalid", kTrace, overlay("skip_invalid: true", "aborted.csv"),
       overlay("skip_invalid: false", "aborted.csv"), Effect::refused},
      {"workload.trace.overlay[].sort", kTrace, overlay("sort: true", "ended.csv"), overlay("sort: false", "ended.csv"),
       Effect::refused},
      {"workload.trace.overlay[].max_requests", kTrace, overlay("max_requests: 1"), overlay("max_requests: 2")},
      {"workload.trace.overlay[].time_scale", kTrace, overlay("time_scale: 1"), overlay("time_scale: 10")},
      {"workload.trace.overlay[].format", kTrace, overlay_log("time: ms"),
       "workload.trace.overlay=[{format: azure, path: $DIR/long.csv}]", Effect::refused},
      {"workload.trace.overlay[].columns.blocks", kBlocks, overlay_blocks("ids", "1024"),
       overlay_blocks("others", "1024")},
      {"workload.trace.overlay[].columns.block_size", kBlocks, overlay_blocks("ids", "1024"),
       overlay_blocks("ids", "512"), Effect::refused},
      {"workload.trace.overlay[].columns.arrival", kTrace, overlay_log("time: ms"),
       "workload.trace.overlay=[{format: columns, path: $DIR/log.csv, columns: {arrival: ts2, prompt: in, output: out, "
       "time: ms}}]"},
      {"workload.trace.overlay[].columns.prompt", kTrace, overlay_log("time: ms"),
       "workload.trace.overlay=[{format: columns, path: $DIR/log.csv, columns: {arrival: ts, prompt: in2, output: out, "
       "time: ms}}]"},
      {"workload.trace.overlay[].columns.output", kTrace, overlay_log("time: ms"),
       "workload.trace.overlay=[{format: columns, path: $DIR/log.csv, columns: {arrival: ts, prompt: in, output: out2, "
       "time: ms}}]"},
      {"workload.trace.overlay[].columns.time", kTrace, overlay_log("time: ms"), overlay_log("time: s")},
      {"workload.trace.overlay[].columns.session", kTrace, overlay_log("time: ms, session: conv"),
       overlay_log("time: ms, session: user"), Effect::refused},
      {"workload.trace.overlay[].columns.end", kTrace, overlay_log("time: ms, session: conv, end: end"),
       overlay_log("time: ms, session: conv, end: answered"), Effect::refused},
      {"workload.trace.overlay[].columns.parent", kTrace, overlay_log("time: ms, session: conv, parent: by"),
       overlay_log("time: ms, session: conv, parent: parent"), Effect::refused},
      {"workload.trace.overlay[].path", kTrace, "workload.trace.overlay=[{format: csv, path: $DIR/long.csv}]",
       "workload.trace.overlay=[{format: csv, path: $DIR/short.csv}]"},
      {"workload.classes[].name",
       {},
       one_class("name: a, share: 1, context: 8k tokens, output: 80 tokens"),
       one_class("name: b, share: 1, context: 8k tokens, output: 80 tokens"),
       Effect::reported},
      {"workload.classes[].share", {}, second_class("share: 1"), second_class("share: 9")},
      {"workload.classes[].slo.quality_floor",
       {"decode={policy: lossy, compressor: kvzip, keep_ratio: 0.25}", "schedule.policy=fcfs"},
       second_class("share: 1, slo: {quality_floor: 0.01}"),
       second_class("share: 1, slo: {quality_floor: 1}")},
      {"workload.classes[].slo.functional_floor",
       {"decode={policy: lossy, compressor: {base: snapkv, functional: {calls: {points: [{keep_ratio: 0.5, value: "
        "0.5}]}}},"
        " keep_ratio: 0.25}",
        "schedule.policy=fcfs"},
       second_class("share: 1, slo: {functional_floor: 0.01}"),
       second_class("share: 1, slo: {functional_floor: 1}")},
      {"prefill.policy", {"prefill={policy: stored}", "decode.compressor=fast-kvzip"}, "stored", "recompute"},
  };
  for (const std::string& key : serving::slo_keys()) {
    rows.push_back({"workload.classes[].slo." + key, kClasses, second_class("share: 1, slo: {" + key + ": 0.1 ms}"),
                    second_class("share: 1, slo: {" + key + ": 60 s}")});
  }
  add_times(rows, "workload.sessions.think_time", kSessions);
  add_counts(rows, "workload.sessions.turns", kSessions);
  add_lengths(rows, "workload.sessions.growth", kSessions);
  add_counts(rows, "workload.sessions.sub_agents.count", kTeams);
  add_counts(rows, "workload.sessions.sub_agents.turns", kTeams);
  add_lengths(rows, "workload.sessions.sub_agents.context", kTeams);
  const auto of_class = [](const char* key, const char* others) {
    return [=](const std::string& law) {
      return one_class(std::string("name: a, share: 1, ") + others + ", " + key + ": " + law);
    };
  };
  add_class_lengths(rows, "context", "00 tokens", of_class("context", "output: 80 tokens"));
  add_class_lengths(rows, "output", " tokens", of_class("output", "context: 8k tokens"));
  const char* const rest = "context: 1k tokens, output: 80 tokens";
  add_class_lengths(rows, "prefixes.tokens", "00 tokens", [&](const std::string& law) {
    return of_class("prefixes", rest)("{count: 4, tokens: " + law + "}");
  });
  const auto prefixes = [&](const std::string& change) {
    return of_class("prefixes",
                    rest)("{tokens: {distribution: uniform, min: 1k tokens, max: 9k tokens}, " + change + "}");
  };
  rows.push_back({"workload.classes[].prefixes.count", {}, prefixes("count: 4"), prefixes("count: 2")});
  rows.push_back({"workload.classes[].prefixes.popularity",
                  {},
                  prefixes("count: 4, popularity: 1"),
                  prefixes("count: 4, popularity: 0")});
  add_lengths(rows, "workload.context");
  add_lengths(rows, "workload.output");
  add_lengths(rows, "workload.prefixes.tokens", {"workload.prefixes.count=4"});
  return rows;
}

}  // namespace kvsim::testing
