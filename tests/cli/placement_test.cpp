// Commands on scenarios whose prompts are stored in tiers and found again.
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::json;

class PlacementTest : public Workspace {
 protected:
  PlacementTest() { write("p.yaml", placement_scenario()); }
};

TEST_F(PlacementTest, TheShippedScenarioIsValidAndWhatCheckPrintsIsOne) {
  const CommandResult r = run({"check", KVSIM_SOURCE_DIR "/scenarios/tiered_eviction/published.yaml", "--full"});
  EXPECT_EQ(r.status, 0) << r.err;
  write("resolved.yaml", r.out);
  const CommandResult again = run({"check", "resolved.yaml"});
  EXPECT_EQ(again.status, 0) << again.err;
}

TEST_F(PlacementTest, ComparesTimesToTheFirstTokenWithTheBaselines) {
  const CommandResult r = run({"compare", "p.yaml", "--policies", "none,lru:keydiff:0.3", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json doc = Json::parse(r.out);
  const double none = doc["results"][0]["latency_s"]["ttft"]["mean"],
               lru = doc["results"][1]["latency_s"]["ttft"]["mean"];
  EXPECT_EQ(doc["ttft_speedup"]["none"], 1);
  EXPECT_DOUBLE_EQ(doc["ttft_speedup"]["lru:keydiff:0.3"].get<double>(), none / lru);
  EXPECT_EQ(doc["results"][0]["quality"]["lossless"], true);
  EXPECT_EQ(doc["results"][0]["placement"]["loaded_tokens"], 0);
  EXPECT_EQ(doc["results"][1]["quality"]["lossless"], false);
  EXPECT_LT(doc["results"][1]["quality"]["mean_score"], 1);
}

TEST_F(PlacementTest, SweepsOverItsKeysAndRanksByItsFigures) {
  const std::vector<std::pair<std::string, std::string>> sweeps{
      {"placement.utility.alpha=1s,10s", "placement.quality.mean"},
      {"cluster.host.memory=3 GB,6 GB", "tiers.host.hit_rate"},
      {"placement.policy=lru,utility", "latency_s.ttft.mean"}};
  for (const auto& [vary, metric] : sweeps) {
    const CommandResult r = run({"sweep", "p.yaml", "--vary", vary, "--metric", metric, "--out", metric});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find(", by the "), std::string::npos) << r.out;
    const std::string csv = read(metric + "/sweep.csv");
    for (const char* column :
         {"placement.quality.mean", "tiers.host.hit_rate", "placement.contents.ssd.mean_keep_ratio"}) {
      EXPECT_NE(csv.find(column), std::string::npos) << column;
    }
  }
}

TEST_F(PlacementTest, OfSeveralReplicasItIsSaidWhoseATierIs) {
  const auto first_lines = [this](std::vector<std::string> words, const std::string& shared) {
    words.insert(words.end(), {"--set", "cluster.replicas=2", "--set", "cluster.host.memory=3 GB", "--set",
                               "cluster.host.shared=" + shared, "--set", "cluster.storage.0.shared=true", "--set",
                               "cluster.storage.1.shared=true"});
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 0) << r.err;
    return r.out.substr(0, 500);
  };
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"compare", "p.yaml", "--policies", "lru,lfu"}, {"run", "p.yaml"}, {"check", "p.yaml"}}) {
    const std::string shared = first_lines(words, "true"), own = first_lines(words, "false");
    EXPECT_NE(shared.find("host memory 6.00 GB shared by 2 replicas, ssd"), std::string::npos) << shared;
    EXPECT_NE(own.find("host memory 3.00 GB a replica, ssd"), std::string::npos) << own;
  }
}

TEST_F(PlacementTest, UnknownPoliciesAreRefusedWithTheNearest) {
  const CommandResult r = run({"compare", "p.yaml", "--policies", "none,utilty"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err,
            "kvsim: --policies: unknown placement policy \"utilty\", expected utility or another of none, lru, lfu, "
            "arc, s3fifo, sieve, gdsf, belady, importance_chunks, utility\n");
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
