// The JSON of a result has exactly the keys of its specification, in their order, whatever the scenario.
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Keys = std::vector<std::string>;

Keys keys(const Json& object) {
  Keys out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

class ResultKeysTest : public Workspace {
 protected:
  Json result(std::vector<std::string> arguments, const std::string& warning = "") {
    write("s.yaml", tiny_scenario());
    arguments.insert(arguments.begin(), {"run", "s.yaml", "--json"});
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, warning);
    return Json::parse(r.out);
  }
};

void expect_result_keys(const Json& r) {
  EXPECT_EQ(
      keys(r),
      (Keys{"schema_version", "kvsim_version", "scenario",    "seed",        "requests",   "throughput", "cost",
            "latency_s",      "slo",           "speculation", "quality",     "complexity", "gpu",        "links",
            "tiers",          "iterations",    "engine",      "percentiles", "confidence", "timeline",   "details"}));
  EXPECT_EQ(keys(r["requests"]), (Keys{"arrived", "completed", "refused", "running", "unsteady_state"}));
  EXPECT_EQ(keys(r["throughput"]),
            (Keys{"output_tokens_per_s", "total_tokens_per_s", "requests_per_s", "output_tokens_per_s_per_gpu"}));
  EXPECT_EQ(keys(r["latency_s"]), (Keys{"ttft", "tpot", "itl", "e2e"}));
  for (const auto& [name, values] : r["latency_s"].items()) {
    EXPECT_EQ(keys(values), (Keys{"mean", "p50", "p90", "p95", "p99", "max"})) << name;
  }
  EXPECT_EQ(keys(r["slo"]), (Keys{"attainment", "goodput_requests_per_s"}));
  Keys speculation{"rounds",          "drafted_tokens",       "accepted_tokens",
                   "acceptance_rate", "mean_accepted_length", "late_reloads"};
  if (r["details"]["policies"].contains("draft_length")) speculation.emplace_back("draft_length");
  EXPECT_EQ(keys(r["speculation"]), speculation);
  if (r["speculation"].contains("draft_length")) {
    EXPECT_EQ(keys(r["speculation"]["draft_length"]), (Keys{"policy", "mean", "p10", "p90", "regret"}));
  }
  EXPECT_EQ(keys(r["quality"]), (Keys{"mean_score", "least_functional", "functional", "expected_kl_nats", "lossless"}));
  EXPECT_EQ(keys(r["complexity"]), (Keys{"mechanisms", "tiers", "memory_bytes"}));
  EXPECT_EQ(keys(r["gpu"]),
            (Keys{"busy_fraction", "hbm_peak_bytes", "hbm_mean_bytes", "bound_by", "twice", "link_in_use"}));
  EXPECT_EQ(keys(r["gpu"]["bound_by"]), (Keys{"hbm_bandwidth", "compute", "link", "collectives", "launches", "host",
                                              "front_end", "fixed", "idle"}));
  EXPECT_EQ(keys(r["gpu"]["twice"]),
            (Keys{"hbm_bandwidth", "compute", "link", "collectives", "launches", "host", "front_end"}));
  for (const auto& [name, link] : r["links"].items()) {
    EXPECT_EQ(keys(link), (Keys{"utilisation", "bytes", "mean_wait_s"})) << name;
  }
  for (const auto& [name, tier] : r["tiers"].items()) {
    EXPECT_EQ(keys(tier), (Keys{"hits", "misses", "hit_rate", "bytes_peak", "evictions"})) << name;
  }
  EXPECT_EQ(keys(r["iterations"]), (Keys{"count", "launched", "mean_s", "p99_s"}));
  EXPECT_EQ(keys(r["percentiles"]), (Keys{"sketched"}));
  EXPECT_EQ(keys(r["engine"]), (Keys{"events", "wall_s", "events_per_s"}));
  for (const auto& [metric, interval] : r["confidence"].items()) {
    EXPECT_EQ(keys(interval), (Keys{"half_width_95", "replications"})) << metric;
  }
}

/// Paths of every null.
void find_nulls(const Json& value, const std::string& path, Keys& out) {
  if (value.is_null()) out.push_back(path);
  if (!value.is_object()) return;
  for (const auto& [key, item] : value.items()) find_nulls(item, path.empty() ? key : path + "." + key, out);
}

void expect_a_reason_for_every_null(const Json& r) {
  Keys nulls;
  find_nulls(r, "", nulls);
  Keys reasons = keys(r["details"]["reasons"]);
  std::sort(nulls.begin(), nulls.end());
  std::sort(reasons.begin(), reasons.end());
  EXPECT_EQ(nulls, reasons);
}

TEST_F(ResultKeysTest, AreThoseOfTheSpecification) {
  const Json r = result({});
  expect_result_keys(r);
  expect_a_reason_for_every_null(r);
  EXPECT_GT(r["throughput"]["output_tokens_per_s"], 0);
  EXPECT_EQ(r["quality"]["lossless"], true);
  EXPECT_EQ(r["quality"]["mean_score"], 1.0);
}

TEST_F(ResultKeysTest, AreTheSameForFullKv) {
  const Json r = result({"--set", "decode={policy: full_kv}", "--set", "schedule={}"});
  expect_result_keys(r);
  expect_a_reason_for_every_null(r);
  EXPECT_TRUE(r["speculation"]["acceptance_rate"].is_null());
}

TEST_F(ResultKeysTest, AreTheSameForALossyPolicy) {
  const Json r = result({"--set", "decode.policy=lossy", "--set", "schedule={}"},
                        "kvsim: warning: s.yaml:11:82: decode.draft_length: no effect: decode policy lossy drafts "
                        "nothing: use draft_verify\n");
  expect_result_keys(r);
  expect_a_reason_for_every_null(r);
  EXPECT_EQ(r["quality"]["lossless"], false);
  EXPECT_GT(r["quality"]["expected_kl_nats"], 0);
}

TEST_F(ResultKeysTest, ADrafterAddsAnObjectWithTheAcceptanceOfItsOwn) {
  Json r = result({"--set", "decode.policy=draft_verify+drafter", "--set", "decode.drafter={type: llama-3.2-1b}"});
  expect_a_reason_for_every_null(r);
  EXPECT_EQ(keys(r["drafter"]), (Keys{"name", "draft_length", "steps", "proposed_tokens", "accepted_tokens",
                                      "acceptance_rate", "mean_accepted_length", "gpu_s", "gpu_time_share"}));
  EXPECT_GT(r["drafter"]["acceptance_rate"], 0);
  EXPECT_GT(r["speculation"]["acceptance_rate"], 0);
  EXPECT_EQ(r["quality"]["lossless"], true);
  r.erase("drafter");
  expect_result_keys(r);
}

TEST_F(ResultKeysTest, AreTheSameWhereNothingFinished) {
  const Json r =
      result({"--set", "workload.output=100k tokens", "--set", "run.duration=1 s", "--set", "run.warmup=0 s"});
  expect_result_keys(r);
  expect_a_reason_for_every_null(r);
  EXPECT_EQ(r["requests"]["completed"], 0);
  EXPECT_TRUE(r["latency_s"]["e2e"]["mean"].is_null());
}

TEST_F(ResultKeysTest, AreTheSameOverReplications) {
  const Json r = result({"--replications", "3"});
  expect_result_keys(r);
  expect_a_reason_for_every_null(r);
  EXPECT_EQ(r["confidence"]["throughput.output_tokens_per_s"]["replications"], 3);
  EXPECT_EQ(r["details"]["measured_s"], 9.0);  // 3 replications of 4 s less 1 s of warm-up
}

TEST_F(ResultKeysTest, TimingFillsTheFiguresOfTheWallClock) {
  const Json r = result({"--timing"});
  expect_result_keys(r);
  expect_a_reason_for_every_null(r);
  EXPECT_GT(r["engine"]["wall_s"], 0);
  EXPECT_GT(r["engine"]["events_per_s"], 0);
}

TEST_F(ResultKeysTest, ATimelineIsAlwaysThereAndHasThePeriodAskedFor) {
  EXPECT_DOUBLE_EQ(result({})["timeline"]["period_s"].get<double>(), 0.1);
  // 4 s at 0.5 s are 8 samples, warm-up included; a closed loop of requests always has some running or waiting.
  const Json t = result({"--set", "run.sample_every=500 ms"})["timeline"];
  EXPECT_EQ(keys(t), (Keys{"period_s", "warmup_s", "seed", "kv_capacity_bytes", "time_s", "running", "waiting",
                           "kv_bytes", "kv_parts_bytes", "gpu", "links"}));
  EXPECT_EQ(keys(t["kv_parts_bytes"]), (Keys{"resident", "streaming"}));
  EXPECT_EQ(keys(t["gpu"]), (Keys{"hbm_bandwidth", "compute", "link", "collectives", "launches", "host", "front_end",
                                  "fixed", "idle"}));
  EXPECT_EQ(keys(t["links"]), (Keys{"gpu_to_host", "host_to_gpu"}));
  ASSERT_EQ(t["time_s"].size(), 8U);
  EXPECT_EQ(t["time_s"][7], 4.0);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_GT(t["running"][i].get<int>() + t["waiting"][i].get<int>(), 0);
    EXPECT_GE(t["kv_bytes"][i], 0);
    EXPECT_LE(t["kv_bytes"][i], t["kv_capacity_bytes"]);
  }
}

TEST_F(ResultKeysTest, SharesOfTimeAddUpToOne) {
  const Json r = result({});
  double sum = 0;
  for (const auto& [name, share] : r["gpu"]["bound_by"].items()) sum += share.get<double>();
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST_F(ResultKeysTest, SeveralScenariosMakeOneDocument) {
  write("a.yaml", tiny_scenario());
  write("b.yaml", edited(tiny_scenario(), "name: tiny", "name: other"));
  const CommandResult r = run({"run", "a.yaml", "b.yaml", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json doc = Json::parse(r.out);
  EXPECT_EQ(keys(doc), (Keys{"schema_version", "kvsim_version", "results"}));
  ASSERT_EQ(doc["results"].size(), 2);
  for (const Json& result : doc["results"]) expect_result_keys(result);
  EXPECT_EQ(doc["results"][1]["scenario"], "other");
}

TEST_F(ResultKeysTest, AComparisonHasSpeedupsOverTheFirst) {
  write("s.yaml", tiny_scenario());
  const CommandResult r = run({"compare", "s.yaml", "--policies", "full_kv,lossy,draft_verify:lock_step", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json doc = Json::parse(r.out);
  EXPECT_EQ(keys(doc),
            (Keys{"schema_version", "kvsim_version", "scenario", "seed", "baseline", "speedup",
                  "usd_per_1m_output_tokens", "best", "best_lossless", "left_out", "prices", "results", "details"}));
  const Keys columns{"output_tokens_per_s",      "ttft_p50_s",     "tpot_mean_s",
                     "round_gap_p99_s",          "hbm_peak_bytes", "host_memory_peak_bytes",
                     "usd_per_1m_output_tokens", "quality"};
  EXPECT_EQ(keys(doc["best"]), columns);
  EXPECT_EQ(keys(doc["best_lossless"]), columns);
  EXPECT_EQ(doc["best"]["quality"], (Json{"full_kv", "draft_verify:lock_step"}));
  EXPECT_EQ(keys(doc["speedup"]), (Keys{"full_kv", "lossy", "draft_verify:lock_step"}));
  EXPECT_EQ(doc["speedup"]["full_kv"], 1.0);
  ASSERT_EQ(doc["results"].size(), 3);
  for (const Json& result : doc["results"]) expect_result_keys(result);
  const double full = doc["results"][0]["throughput"]["output_tokens_per_s"];
  const double lossy = doc["results"][1]["throughput"]["output_tokens_per_s"];
  EXPECT_DOUBLE_EQ(doc["speedup"]["lossy"], lossy / full);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
