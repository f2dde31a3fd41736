#include "tests/scenario/key_rows.h"

namespace kvsim::testing {
namespace {

using Sets = std::vector<std::string>;

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
const Sets kTrace = {"workload={trace: {format: csv, path: $DIR/long.csv}}"};

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
      {"workload.trace.max_requests", kTrace, "0", "1"},
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
      {"prefill.policy", {"prefill={policy: stored}", "decode.compressor=fast-kvzip"}, "stored", "recompute"},
  };
  add_lengths(rows, "workload.context");
  add_lengths(rows, "workload.output");
  add_lengths(rows, "workload.prefixes.tokens", {"workload.prefixes.count=4"});
  return rows;
}

}  // namespace kvsim::testing
