// What the results of two pools say, from measurements made by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "models/schema/error.h"
#include "sim/serving/kv_capacity.h"
#include "tests/results/outcome_of.h"
#include "tests/support/pools_scenario.h"
#include "tests/support/small_scenario.h"
#include "tools/results/comparison.h"
#include "tools/results/metrics.h"
#include "tools/results/provenance.h"
#include "tools/results/result_document.h"
#include "tools/results/run_page.h"
#include "tools/results/scenario_words.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using models::Path;
using results::Json;
using results::Outcome;
using Keys = std::vector<std::string>;

serving::Measurements measured_by_hand() {
  serving::Measurements m;
  m.measured_s = 100;
  m.output_tokens = 1200;
  m.completed = m.completed_measured = 15;
  m.capacity_s = 300;  // 3 nodes
  m.busy_s = 120;
  auto& b1 = m.paths.at(index_of(Path::B1));
  b1 = {5, 4, 300};
  m.paths.at(index_of(Path::P1_stateless)) = {15, 11, 900};
  m.pools["local"] = {100, 80, 1000, 200, 0, 45, 945, 0, 8e9, 12'000'000'000};
  m.pools["remote"] = {200, 40, 3000, 0, 900, 0, 0, 64, 4e9, 5'000'000'000};
  m.prefix = {6000, 1000, 500, 2500};
  m.links["storage_to_local"] = {50, 100, 2'000'000'000, 1, 10};
  m.tiers["storage"] = {3, 1, 2, 7'000'000'000};
  return m;
}

Outcome measured_outcome(const scenario::Scenario& scenario) {
  return outcome_of(scenario, measured_by_hand());
}

Keys keys(const Json& object) {
  Keys out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

TEST(PoolsDocument, HasItsOwnObjectsAfterTheTiers) {
  const Json r = result_document(measured_outcome(pools_scenario()), false);
  EXPECT_EQ(keys(r), (Keys{"schema_version", "kvsim_version", "scenario",  "seed",       "requests",
                           "throughput",     "cost",          "latency_s", "slo",        "speculation",
                           "quality",        "complexity",    "gpu",       "links",      "tiers",
                           "pools",          "paths",         "prefix",    "iterations", "engine",
                           "percentiles",    "confidence",    "details"}));
  EXPECT_EQ(keys(r["pools"]), (Keys{"local", "remote"}));
  for (const auto& [name, pool] : r["pools"].items()) {
    EXPECT_EQ(keys(pool), (Keys{"nodes", "gpus", "busy_fraction", "iterations", "decode_tokens", "draft_tokens",
                                "verifications", "verified_tokens", "prefill_tokens", "kv_reserved_mean_bytes",
                                "kv_reserved_peak_bytes", "kv_capacity_bytes"}))
        << name;
  }
  EXPECT_EQ(keys(r["paths"]), (Keys{"B1", "B2", "P1_cached", "P1_stateless", "P2_cached", "P2_stateless"}));
  EXPECT_EQ(keys(r["prefix"]),
            (Keys{"loaded_tokens", "on_node_tokens", "joined_tokens", "prefilled_tokens", "hit_rate"}));
}

TEST(PoolsDocument, SaysWhatWasMeasured) {
  const auto s = pools_scenario({"cluster.gpu.tensor_parallel=2"});
  const Json r = result_document(measured_outcome(s), false);
  const Json& local = r["pools"]["local"];
  EXPECT_EQ(local["nodes"], 1);
  EXPECT_EQ(local["gpus"], 2);
  EXPECT_EQ(local["busy_fraction"], 0.8);  // 80 s of 100 s
  EXPECT_EQ(local["verifications"], 45);
  EXPECT_EQ(local["verified_tokens"], 945);
  EXPECT_EQ(local["kv_reserved_peak_bytes"], 12'000'000'000);
  EXPECT_EQ(local["kv_capacity_bytes"], serving::kv_capacity(s.serving, s.serving.cluster.groups.front()).bytes);
  const Json& remote = r["pools"]["remote"];
  EXPECT_EQ(remote["gpus"], 4);
  EXPECT_EQ(remote["busy_fraction"], 0.2);  // 40 s of two nodes' 200 s
  EXPECT_EQ(remote["draft_tokens"], 900);
  EXPECT_EQ(remote["prefill_tokens"], 64);
  EXPECT_EQ(r["paths"]["P1_stateless"]["share"], 0.75);  // 15 of 5 + 15
  EXPECT_EQ(r["paths"]["B1"]["completed"], 4);
  EXPECT_EQ(r["paths"]["B1"]["output_tokens"], 300);
  EXPECT_EQ(r["paths"]["B2"]["share"], 0.0);
  EXPECT_EQ(r["prefix"]["hit_rate"], 0.75);  // 6000 + 1000 + 500 of 10000
}

TEST(PoolsDocument, CountsTheGpusOfBothPools) {
  // 1200 tokens in 100 s on (1 + 2) x 2 GPUs
  const Json r = result_document(measured_outcome(pools_scenario({"cluster.gpu.tensor_parallel=2"})), false);
  EXPECT_EQ(r["throughput"]["output_tokens_per_s"], 12.0);
  EXPECT_EQ(r["throughput"]["output_tokens_per_s_per_gpu"], 2.0);
}

TEST(PoolsDocument, GivesAReasonForEveryNull) {
  const auto s = pools_scenario({"cluster.pools={local: {nodes: 1, link: storage-node-fast}}"});
  const Json r = result_document(outcome_of(s, {}), false);
  const Json& reasons = r["details"]["reasons"];
  EXPECT_TRUE(r["pools"]["remote"]["busy_fraction"].is_null());
  EXPECT_EQ(reasons["pools.remote.busy_fraction"], "the pool has no nodes");
  EXPECT_EQ(reasons["pools.remote.kv_capacity_bytes"], "the pool has no nodes");
  EXPECT_EQ(reasons["pools.local.busy_fraction"], "no time was measured");
  EXPECT_EQ(reasons["paths.B1.share"], "no request was given a path in the measured time");
  EXPECT_EQ(reasons["prefix.hit_rate"], "no prompt was looked up in the measured time");
}

TEST(PoolsDocument, DescribesPoolsAndDispatch) {
  const auto s = pools_scenario({"cluster.pools.remote.outages=[{at: 2 s, lasting: 1 s}]",
                                 "cluster.pools.local.shared=20 GB/s", "cluster.pools.storage.read=100 GB/s",
                                 "dispatch={policy: weighted, paths: [B1, P1_stateless], weights: {B1: 2}}"});
  const Json r = result_document(measured_outcome(s), false);
  const Json& policies = r["details"]["policies"];
  EXPECT_EQ(policies["dispatch"], "weighted");
  EXPECT_EQ(policies["prefill"], "stored");
  EXPECT_FALSE(policies.contains("router"));
  const Json& pools = r["details"]["pools"];
  EXPECT_EQ(pools["local"]["link"], "storage-node-fast");
  EXPECT_EQ(pools["local"]["shared_bytes_per_s"], 20e9);
  EXPECT_EQ(pools["remote"]["outages"][0]["lasting_s"], 1.0);
  EXPECT_EQ(pools["storage"]["read_bytes_per_s"], 100e9);
  EXPECT_EQ(pools["message_latency_s"], 1e-3);
  EXPECT_EQ(pools["dispatch"]["paths"], (Json{"B1", "P1_stateless"}));
  EXPECT_EQ(pools["dispatch"]["weights"]["B1"], 2.0);
  EXPECT_EQ(r["details"]["kv_capacity"]["per"], "node");
  for (const char* metric : {"pools", "paths", "prefix", "hit_rate"}) {
    EXPECT_TRUE(r["details"]["definitions"].contains(metric)) << metric;
  }
}

TEST(PoolsDocument, IsNotThereWithoutPools) {
  const Json r = result_document(outcome_of(small_scenario(), {}), false);
  for (const char* key : {"pools", "paths", "prefix"}) EXPECT_FALSE(r.contains(key)) << key;
  EXPECT_FALSE(r["details"].contains("pools"));
  EXPECT_FALSE(r["details"]["definitions"].contains("pools"));
  EXPECT_EQ(r["details"]["policies"]["router"], "least_loaded");
}

TEST(PoolsDocument, HasFiguresForSweeps) {
  for (const char* metric : {"pools.remote.busy_fraction", "prefix.hit_rate", "links.storage_to_local.mean_wait_s"}) {
    EXPECT_NO_THROW(results::checked_metric(metric)) << metric;
  }
  EXPECT_NE(results::find_metric("paths.B1.share"), nullptr);
  EXPECT_THROW(results::checked_metric("paths.B1.share"), schema::InputError);  // a path is no better for having more
  EXPECT_THROW(results::checked_metric("pool.remote.busy_fraction"), schema::InputError);
}

/// The page's line that begins with these words.
std::string line_of(const std::string& page, const std::string& begin) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(begin) != std::string::npos && line.find_first_not_of(' ') == line.find(begin)) return line;
  }
  return "no line " + begin;
}

TEST(PoolsPage, ShowsPoolsPathsAndPrefixes) {
  const std::string page = to_text(run_page(measured_outcome(pools_scenario()), false));
  for (const char* title : {"Pools", "Paths", "Prefixes", "Memory of a node"}) {
    EXPECT_NE(page.find(title), std::string::npos) << title << "\n" << page;
  }
  EXPECT_NE(page.find("llama-3.1-8b on 1 local and 2 remote nodes of 1 x h100-sxm"), std::string::npos) << page;
  const std::string setup = results::setup_line(pools_scenario());
  EXPECT_NE(setup.find("; dispatch online; prefill stored; seed 1"), std::string::npos) << setup;
  EXPECT_NE(line_of(page, "on the storage node, peak").find("7.00 GB"), std::string::npos) << page;
  EXPECT_NE(line_of(page, "verifications").find("45"), std::string::npos) << page;
  EXPECT_NE(line_of(page, "P1_stateless").find("75.0 %"), std::string::npos) << page;
  EXPECT_NE(line_of(page, "loaded").find("60.0 %"), std::string::npos) << page;  // 6000 of 10000
}

TEST(PoolsPage, LeavesOutPathsThatNobodyCanTake) {
  const std::string page = to_text(run_page(measured_outcome(pools_scenario({"dispatch.paths=[B1, B2]"})), false));
  EXPECT_EQ(line_of(page, "P1_cached"), "no line P1_cached");
  EXPECT_EQ(line_of(page, "B2 ").substr(0, 2), "  ") << page;
}

TEST(PoolsPage, FitsAHundredColumns) {
  std::istringstream lines(to_text(run_page(measured_outcome(pools_scenario()), false)));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(results::display_width(line), 100U) << line;
}

TEST(PoolsPage, OfAComparisonNamesTheMachines) {
  Outcome local = measured_outcome(pools_scenario({"decode={policy: full_kv}"}));
  local.policy = "full_kv:local";
  Outcome drafting = measured_outcome(pools_scenario());
  drafting.policy = "draft_verify";
  const std::string page = to_text(compare_page({{local, drafting}, {}}, false, results::Labels::grouped));
  EXPECT_NE(page.find("1 local and 2 remote nodes of 1 x h100-sxm"), std::string::npos) << page;
  EXPECT_EQ(line_of(page, "local").substr(0, 9), "    local") << page;
  EXPECT_EQ(page.find("a replica"), std::string::npos) << page;
}

TEST(PoolsPage, OfAComparisonSaysWhatIsPaidForAndIdleAndWhatHasNoPrice) {
  const auto page_of = [](const Sets& settings, bool idle) {
    Outcome local = measured_outcome(pools_scenario(settings));
    local.policy = "full_kv:local";
    if (idle) local.result.measured.pools.at("remote").iterations = 0;
    std::istringstream words(to_text(compare_page({{local}, {}}, false, results::Labels::grouped)));
    std::string all;  // one space between words, wherever lines end
    for (std::string word; words >> word;) all += word + " ";
    return all;
  };
  const Sets stored{"decode={policy: full_kv}"};
  const std::string idle = page_of(stored, true);
  EXPECT_NE(idle.find("; nodes that worked on nothing are paid for, too: full_kv:local (remote)"), std::string::npos)
      << idle;
  EXPECT_EQ(page_of(stored, false).find("paid for, too"), std::string::npos);
  const std::string unpriced = "what its memory costs is not in the price";
  EXPECT_NE(idle.find(unpriced), std::string::npos) << idle;
  EXPECT_EQ(page_of({"decode={policy: full_kv}", "prefill=prefix_cache",
                     "workload.prefixes={count: 4, tokens: 2k tokens}", "cluster.pools.storage={capacity: 730 GB}"},
                    false)
                .find(unpriced),
            std::string::npos);
}

TEST(Machines, AreNamedAsTheyAre) {
  using results::machines_text;
  const auto text = [](const char* pools) {
    return machines_text(pools_scenario({std::string("cluster.pools=") + pools}).serving.cluster);
  };
  EXPECT_EQ(text("{local: {nodes: 1, link: nvlink4}}"), "1 local node of 1 x h100-sxm");
  EXPECT_EQ(text("{remote: {nodes: 4, link: nvlink4}}"), "4 remote nodes of 1 x h100-sxm");
  EXPECT_EQ(machines_text(small_scenario().serving.cluster), "1 x h100-sxm");
  EXPECT_EQ(machines_text(small_scenario({"cluster.replicas=2"}).serving.cluster), "2 replicas of 1 x h100-sxm");
}

TEST(PoolsProvenance, NamesBothLinksAndNoHostLink) {
  const auto list = results::provenance_of(pools_scenario());
  const auto has = [&](const std::string& figure) {
    return std::any_of(list.begin(), list.end(), [&](const auto& p) { return p.figure == figure; });
  };
  EXPECT_TRUE(has("local_link.read"));
  EXPECT_TRUE(has("remote_link.latency"));
  EXPECT_FALSE(has("host_link.read"));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
