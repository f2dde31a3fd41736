// One table describes a result: every number of a document is a row of it, and every row is in documents, in the CSV of
// sweeps and merged over replications.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "tests/results/cases.h"
#include "tests/results/outcome_of.h"
#include "tests/support/json_schema.h"
#include "tools/results/comparison.h"
#include "tools/results/documents.h"
#include "tools/results/metrics.h"
#include "tools/results/result_document.h"
#include "tools/results/sweep.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::Json;
using results::Metric;
using results::Outcome;

/// Those of the timeline, and what they lack: an auxiliary drafter, drafts on prompts as they were put together,
/// contexts from data sets, answers with a floor, an engine that tokenises.
std::vector<Case> all_cases() {
  std::vector<Case> cases = kCases;
  cases.push_back(
      {"drafter", small_scenario, {"decode.policy=draft_verify+drafter", "decode.drafter={type: llama-3.2-1b}"}});
  cases.push_back({"datasets",
                   small_scenario,
                   {"workload.prefixes={count: 5, datasets: [qasper, multinews]}", "prefill=prefix_cache",
                    "placement={policy: lru}", "decode={policy: full_kv}", "schedule={}"}});
  cases.push_back({"tokenised",
                   small_scenario,
                   {"decode={policy: full_kv}", "schedule={policy: fcfs, engine: vllm}", "prefill=recompute"}});
  cases.push_back({"chunks_verified", small_scenario,
                   together(kChunks, {"decode={policy: draft_verify, draft_length: 25, acceptance: {model: constant, "
                                      "agreement: 0.95}}",
                                      "schedule={policy: fcfs}", "placement={policy: lru, preload: true}"})});
  cases.push_back({"floor",
                   small_scenario,
                   {"decode.policy=lossy", "schedule={policy: fcfs}",
                    "slo={quality_floor: 0.9, functional_floor: 0.9, ttft_p95: 1 s}"}});
  return cases;
}

const std::vector<Outcome>& outcomes() {
  static const std::vector<Outcome> all = [] {
    std::vector<Outcome> list;
    for (const Case& c : all_cases()) {
      const scenario::Scenario s = c.make(together(c.sets, {"workload.requests=12"}));
      planner::ExperimentOptions options;
      options.timeline = true;
      list.push_back({s, planner::run_experiment(s, options), c.name});
    }
    Outcome sketched = list.front();
    sketched.policy = "more values than are kept";
    sketched.result.measured.itl_s.add(1, engine::Sample::kExact + 1);
    list.push_back(std::move(sketched));
    return list;
  }();
  return all;
}

void walk(const Json& node, const std::string& path, std::set<std::string>& paths) {
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) walk(value, path.empty() ? key : path + "." + key, paths);
  } else if (node.is_array()) {
    for (const Json& item : node) walk(item, path, paths);
  } else if (node.is_number() || node.is_null()) {
    paths.insert(path);
  }
}

/// Paths of all numbers, and of nulls in their place, in the document of any case.
std::set<std::string> numbers_of_documents() {
  std::set<std::string> paths;
  for (const Outcome& o : outcomes()) walk(results::result_document(o, true), "", paths);
  return paths;
}

/// The row of a number: its own, or that of the object it is in, where what is there has names of its own.
const Metric* row_of(std::string path) {
  if (const Metric* row = results::find_metric(path)) return row;
  for (std::size_t dot = path.rfind('.'); dot != std::string::npos; dot = path.rfind('.')) {
    path.resize(dot);
    const Metric* row = results::find_metric(path);
    if (row == nullptr) continue;
    const std::string_view unit = row->unit.name;
    const bool names = unit == results::kObject.name || unit == results::kAny.name || row->each.starts_with(".*");
    return names ? row : nullptr;
  }
  return nullptr;
}

/// Of requests with this mean score.
Json slo_of(const Sets& sets, double score) {
  serving::Measurements m;
  m.measured_s = 1;
  m.completed_measured = 2;
  m.quality = 2 * score;
  const Sets lossy{"decode.policy=lossy", "schedule={policy: fcfs}"};
  return results::result_document(outcome_of(small_scenario(together(lossy, sets)), m), false)["slo"];
}

TEST(Metrics, BelowTheFloorOfQualityIsWhatTheMeanScoreLacks) {
  const std::string below = "below_quality_floor";
  EXPECT_DOUBLE_EQ(slo_of({"slo.quality_floor=0.9"}, 0.75)[below].get<double>(), 0.15);
  EXPECT_EQ(slo_of({"slo.quality_floor=0.9"}, 0.9 - 1e-12)[below], 0.0);  // a mean's rounding
  EXPECT_FALSE(slo_of({}, 0.75).contains(below));
  EXPECT_EQ(slo_of({"slo.quality_floor=0.9", "decode.policy=full_kv"}, 1)[below], 0.0);
  const std::string one = "share: 1, context: 1k tokens, output: 9 tokens";
  const Sets classes{"slo={quality_floor: 0.8}", "prefill=recompute", "decode.compressor=snapkv",
                     "workload={closed: {concurrency: 1}, requests: 9, classes: [{name: a, " + one +
                         ", slo: {quality_floor: 0.95}}, {name: b, " + one + "}, {name: c, " + one +
                         ", slo: {ttft_p99: 1 s}}]}"};
  EXPECT_DOUBLE_EQ(slo_of(classes, 0.75)[below].get<double>(), 0.2);
}

// Two requests have calls right at 0.1 and code at 0.3 of full KV's; of completion nothing is published.
TEST(Metrics, FunctionalCorrectnessStandsBesideTheScoreAndHasAFloorOfItsOwn) {
  serving::Measurements m;
  m.measured_s = 1;
  m.completed_measured = 2;
  m.quality = 2 * 0.98;
  m.functional = {2 * 0.1, 2 * 0.3, std::numeric_limits<double>::quiet_NaN()};
  const Sets lossy{"decode.policy=lossy", "schedule={policy: fcfs}", "slo={quality_floor: 0.9, functional_floor: 0.5}"};
  const Json known = results::result_document(outcome_of(small_scenario(lossy), m), false);
  EXPECT_DOUBLE_EQ(known["quality"]["functional"]["calls"].get<double>(), 0.1);
  EXPECT_TRUE(known["quality"]["functional"]["completion"].is_null());
  EXPECT_EQ(known["details"]["reasons"]["quality.functional.completion"],
            "compressor kvzip has no published functional completion figures, or none for this share of the KV");
  EXPECT_DOUBLE_EQ(known["quality"]["least_functional"].get<double>(), 0.1);
  EXPECT_DOUBLE_EQ(known["slo"]["below_functional_floor"].get<double>(), 0.4);
  EXPECT_EQ(known["slo"]["below_quality_floor"], 0.0);
  m.functional = models::functional_unknown();
  const Json unknown = results::result_document(outcome_of(small_scenario(lossy), m), false);
  EXPECT_TRUE(unknown["quality"]["least_functional"].is_null());
  EXPECT_TRUE(unknown["slo"]["below_functional_floor"].is_null());
  const Sets full{"decode.policy=full_kv", "schedule={policy: fcfs}", "slo={functional_floor: 0.5}"};
  const Json lossless = results::result_document(outcome_of(small_scenario(full), m), false);
  EXPECT_EQ(lossless["quality"]["least_functional"], 1.0);
  EXPECT_EQ(lossless["slo"]["below_functional_floor"], 0.0);
}

// A goodput needs what each floor asks for: kvzip at 0.25 has a task score above 0.99, and calls right at 0.1.
TEST(Metrics, GoodputAsksForEitherKindOfQuality) {
  const auto good = [](const char* slo) {
    const Sets lossy{"decode={policy: lossy, compressor: kvzip, keep_ratio: 0.25}", "schedule={policy: fcfs}",
                     "workload.requests=12", slo};
    return planner::run_experiment(small_scenario(lossy)).measured.good;
  };
  EXPECT_EQ(good("slo={quality_floor: 0.9}"), 12U);
  EXPECT_EQ(good("slo={functional_floor: 0.9}"), 0U);
}

// 40 of 100 requests miss the median's limit, 3 that of p99, and 2 of these both.
TEST(Metrics, EveryPercentileOfObjectivesHasItsShare) {
  serving::Measurements m;
  m.measured_s = 1;
  m.completed_measured = 100;
  m.within_slo = 59;
  m.within_percentile = {60, 100, 100, 97};
  const auto slo = [&m](const Sets& sets) {
    return results::result_document(outcome_of(small_scenario(sets), m), false)["slo"];
  };
  const Json both = slo({"slo={ttft_p50: 1 s, ttft_p99: 3 s, tpot_p99: 1 s}"});
  EXPECT_EQ(both["percentiles"], Json::parse(R"({"p50": 0.6, "p99": 0.97})"));
  EXPECT_EQ(both["attainment"], 0.59);
  EXPECT_FALSE(slo({}).contains("percentiles")) << "nothing is asked for";
}

TEST(Metrics, EveryNumberOfADocumentIsARow) {
  for (const std::string& path : numbers_of_documents()) EXPECT_NE(row_of(path), nullptr) << path;
}

TEST(Metrics, EveryRowIsInSomeDocument) {
  std::set<const Metric*> seen;
  for (const std::string& path : numbers_of_documents()) seen.insert(row_of(path));
  for (const Metric& row : results::all_metrics()) {
    EXPECT_TRUE(row.unit.print == nullptr || seen.contains(&row)) << row.key;
  }
}

TEST(Metrics, EveryRowOfWhatPointsKeepIsInTheirCsv) {
  std::set<const Metric*> seen;
  for (const Outcome& o : outcomes()) {
    results::Sweep sweep;
    sweep.plan.design = planner::sweep::Design::grid({planner::sweep::parse_axis("run.seed=1")});
    sweep.points.push_back({0, "", results::encoded_figures(o.scenario, o.result)});
    const std::string csv = results::sweep_csv(sweep);
    std::istringstream header(csv.substr(0, csv.find('\n')));
    for (std::string name; std::getline(header, name, ',');) seen.insert(row_of(name));
  }
  const std::set<std::string> not_of_points{"schema_version", "seed", "engine.wall_s", "engine.events_per_s",
                                            "confidence.*.replications"};
  for (const Metric& row : results::all_metrics()) {
    const bool beside = row.key.starts_with("details.") || row.key.starts_with("timeline.");
    if (row.unit.print == nullptr || beside || not_of_points.contains(row.key)) continue;
    EXPECT_TRUE(seen.contains(&row)) << row.key;
  }
}

TEST(Metrics, AxesOfQuantitiesAreNumbersInAColumnThatHasTheirUnit) {
  results::Sweep sweep;
  sweep.plan.design = planner::sweep::Design::grid(
      {planner::sweep::parse_axis("workload.arrivals.rate=0.5/s,30/min"),
       planner::sweep::parse_axis("cluster.host.memory=1 GB,1 GiB"), planner::sweep::parse_axis("run.warmup=500 ms"),
       planner::sweep::parse_axis("decode.keep_ratio=0.2"), planner::sweep::parse_axis("decode.policy=full_kv")});
  for (std::uint32_t i = 0; i < 4; ++i) sweep.points.push_back({i, "too large", ""});
  EXPECT_EQ(results::sweep_csv(sweep),
            "index,workload.arrivals.rate (1/s),cluster.host.memory (B),run.warmup (s),decode.keep_ratio,decode.policy,"
            "status,reason\n"
            "0,0.5,1000000000,0.5,0.2,full_kv,infeasible,too large\n"
            "1,0.5,1073741824,0.5,0.2,full_kv,infeasible,too large\n"
            "2,0.5,1000000000,0.5,0.2,full_kv,infeasible,too large\n"
            "3,0.5,1073741824,0.5,0.2,full_kv,infeasible,too large\n");
}

/// Amounts of what happened: twice as much in two runs. Everything else (means, shares, rates, peaks, what is there,
/// and what was configured) is the same in two equal runs as in one.
bool adds_up(const Metric& row) {
  static const std::set<std::string_view> others{"schema_version",
                                                 "seed",
                                                 "details.replications",
                                                 "details.model_error.groups",
                                                 "details.model_error.points",
                                                 "confidence.*.replications",
                                                 "gpu.hbm_peak_bytes",
                                                 "gpu.hbm_mean_bytes",
                                                 "details.hbm_reserved_peak_bytes",
                                                 "tiers.*.bytes_peak",
                                                 "drafter.draft_length",
                                                 "fetch.mean_context",
                                                 "fetch.bytes_per_request_step",
                                                 "fetch.row_bytes",
                                                 "fetch.two_token_batch",
                                                 "fetch.two_token_batch_always",
                                                 "pools.*.nodes",
                                                 "pools.*.gpus",
                                                 "pools.*.kv_capacity_bytes",
                                                 "pools.*.kv_reserved_peak_bytes",
                                                 "pools.*.kv_reserved_mean_bytes"};
  static const std::set<std::string_view> too{"details.measured_s", "fetch.wait_s", "fetch.link_s", "drafter.gpu_s"};
  for (const char* configured : {"details.memory.", "details.kv_capacity.", "complexity."}) {
    if (row.key.starts_with(configured)) return false;
  }
  const auto print = row.unit.print;
  const bool amount = print == results::kCount.print || print == results::kBytes.print;  // tokens, requests, events
  return (amount && !others.contains(row.key)) || too.contains(row.key);
}

// What merging forgets is half a ratio, or not twice an amount. A percentile of every value twice may lie elsewhere
// between the values that it lay between (of type 7: at (2n - 1)p of doubled values, not at (n - 1)p), so that it is
// only held within the figures beside it.
TEST(Metrics, EveryRowIsMerged) {
  for (const Outcome& o : outcomes()) {
    Outcome two = o;
    serving::merge(two.result.measured, o.result.measured);
    const Json one_document = results::result_document(o, false), document = results::result_document(two, false);
    const auto compare = [&](const auto& self, const Json& a, const Json& b, const std::string& path) -> void {
      if (a.is_object()) {
        for (const auto& [key, value] : a.items()) {
          const bool percentile = key.size() >= 3 && key[0] == 'p' && std::isdigit(static_cast<unsigned char>(key[1]));
          if (!percentile) self(self, value, b.at(key), path.empty() ? key : path + "." + key);
          if (!percentile || !value.is_number()) continue;
          const auto [least, most] = std::minmax_element(a.begin(), a.end());
          EXPECT_LE(b.at(key), *most) << path;
          EXPECT_GE(b.at(key), *least) << path;
        }
        return;
      }
      const Metric* row = row_of(path);
      if (!a.is_number() || row == nullptr || row->unit.print == nullptr || path.starts_with("timeline")) return;
      if (path.starts_with("slo.measured_s.")) return;  // percentiles, too: of the samples of latency_s
      const double x = a.get<double>(), y = b.get<double>();
      EXPECT_NEAR(y, adds_up(*row) ? 2 * x : x, 1e-9 * std::abs(x) + 1e-12) << o.policy << " " << path;
    };
    compare(compare, one_document, document, "");
  }
}

TEST(Metrics, HaveWords) {
  std::set<std::string> keys;
  for (const Metric& row : results::all_metrics()) {
    EXPECT_TRUE(keys.insert(row.key).second) << row.key << " is there twice";
    EXPECT_FALSE(row.sentence.empty()) << row.key;
    EXPECT_EQ(row.names != nullptr, row.key.find('*') != std::string::npos) << row.key;
  }
}

TEST(Metrics, LinksAndTiersAreThoseThatAScenarioCanHave) {
  for (const Outcome& o : outcomes()) {
    for (const auto& [name, link] : o.result.measured.links) {
      EXPECT_TRUE(results::may_have(o.scenario, "links." + name + ".bytes")) << o.policy << " " << name;
    }
    for (const auto& [name, tier] : o.result.measured.tiers) {
      EXPECT_TRUE(results::may_have(o.scenario, "tiers." + name + ".hits")) << o.policy << " " << name;
    }
    for (const auto& [name, interval] : o.result.confidence) {
      EXPECT_TRUE(results::may_have(o.scenario, name + ".half_width_95")) << o.policy << " " << name;
    }
  }
}

TEST(Metrics, TheSchemaIsThatOfEveryDocument) {
  const Json schema = results::results_schema({{"run", "kvsim run", results::run_keys}});
  SchemaWalk walk(schema);
  for (const Outcome& o : outcomes()) walk.compare(schema["$defs"]["run"], results::result_document(o, true), o.policy);
  const scenario::Scenario s = testing::small_scenario({"run.duration=1 ms"});
  const Outcome nothing{s, planner::run_experiment(s), "nothing finishes"};
  walk.compare(schema["$defs"]["run"], results::result_document(nothing, true), nothing.policy);
  for (const std::string& violation : walk.found.violations) ADD_FAILURE() << violation;
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
