// A comparison as a JSON document.
#include <string_view>

#include "tools/results/comparison.h"
#include "tools/results/prices.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

/// Policies with this mark, by column; only columns in which something is better.
Json marked(const Comparison& comparison, Mark mark) {
  const std::vector<Competitor> rows = competitors_of(comparison.outcomes);
  Json best = Json::object();
  for (const Column& column : columns_of(comparison)) {
    if (column.key.empty()) continue;
    const std::vector<Mark> marks = marks_of(column, rows);
    Json policies = Json::array();
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (marks[i] == mark) policies.push_back(comparison.outcomes[i].policy);
    }
    best[column.key] = std::move(policies);
  }
  return best;
}

Json prices_of(const Comparison& comparison) {
  const std::string& gpu = comparison.outcomes.front().scenario.serving.cluster.gpu.name;
  Json list = Json::array();
  if (const models::Price* p = comparison.prices.gpu(gpu)) list.push_back(price_json(gpu, kPerGpuHour, *p));
  list.push_back(price_json("dram", kPerGbMonth, comparison.prices.dram));
  list.push_back(price_json("ssd", kPerGbMonth, comparison.prices.ssd));
  return list;
}

Json left_out(const Comparison& comparison) {
  Json list = Json::array();
  for (const LeftOut& l : comparison.left_out) list.push_back({{"policy", l.policy}, {"reason", l.reason}});
  return list;
}

}  // namespace

Metrics comparison_metrics() {
  static const Names policies{"policy", [](const Outcome& o) { return std::vector<std::string>{o.policy}; },
                              [](const scenario::Scenario&) { return std::vector<std::string>{}; }};
  static const Condition stores{"where prompts are stored or made of chunks",
                                [](const scenario::Scenario& s) { return s.serving.placement || s.workload.chunks; }};
  Metrics rows{{"speedup.*", kPlain, Better::more,
                "output tokens/s over those of the baseline, equal arrivals and seeds", [](const View& v) {
                  const auto value = speedup(v.outcome.result, v.comparison->outcomes.front().result);
                  return value ? Figure{*value} : missing("the baseline has no output tokens in the measured time");
                }}};
  append(rows, when(stores, {{"ttft_speedup.*", kPlain, Better::more,
                              "mean time to the first token of the baseline over the policy's", [](const View& v) {
                                const auto value =
                                    ttft_speedup(v.outcome.result, v.comparison->outcomes.front().result);
                                return value ? Figure{*value} : missing(kNothingFinished);
                              }}}));
  append(rows, {{"usd_per_1m_output_tokens.*", kDollars, Better::less,
                 "$/h / (output tokens/s x 3600) x 1e6: GPUs, host memory and storage", [](const View& v) {
                   const auto value = usd_per_million(v.outcome, v.comparison->prices);
                   return value ? Figure{*value}
                                : missing("no price for this GPU, or no output tokens in the measured time");
                 }}});
  return for_each(policies, std::move(rows));
}

Json compare_document(const Comparison& comparison, bool timing) {
  const std::vector<Outcome>& outcomes = comparison.outcomes;
  const Outcome& first = outcomes.front();
  Json doc = results_document(outcomes, timing);
  Json results = std::move(doc["results"]);  // last of the figures, however many they are
  doc.erase("results");
  doc["scenario"] = first.scenario.name;
  doc["seed"] = first.scenario.serving.run.seed;
  doc["baseline"] = first.policy;
  Json reasons = Json::object();
  for (const Metric& row : comparison_metrics()) {
    if (!row.exists(first.scenario)) continue;
    Json& figures = doc[row.key.substr(0, row.key.find('.'))] = Json::object();
    for (const Outcome& o : outcomes) {
      Figure figure = row.figure({o, timing, o.policy, &comparison});
      if (figure.value.is_null()) reasons[row.path(o.policy)] = std::move(figure.reason);
      figures[o.policy] = std::move(figure.value);
    }
  }
  doc["best"] = marked(comparison, Mark::best);
  doc["best_lossless"] = marked(comparison, Mark::best_lossless);
  doc["left_out"] = left_out(comparison);
  doc["prices"] = prices_of(comparison);
  doc["results"] = std::move(results);
  doc["details"] = {
      {"speedup", "output tokens/s over those of the baseline, equal arrivals and seeds"},
      {"usd_per_1m_output_tokens",
       "$/h / (output tokens/s x 3600) x 1e6; rent of the GPUs, and on top host memory (what KV reserved at most, with "
       "a "
       "margin, or the tier as it is) and storage tiers with a capacity"},
      {"best",
       "policies with the best figure of a column, ties within the digits of the table included; none where all are "
       "equal or fewer than two have one; latencies: of requests that finished, without policies that refused some or "
       "left most unfinished"},
      {"best_lossless", "the same among policies of lossless output, where the best are lossy; else none"},
      {"left_out", "policies that cannot run on this scenario, and why"},
      {"reasons", reasons}};
  return doc;
}

}  // namespace kvsim::results
