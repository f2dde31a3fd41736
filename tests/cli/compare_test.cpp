// kvsim compare over every policy of the scenario's kind.
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

class CompareTest : public Workspace {
 protected:
  CommandResult accepted(const Words& words) {
    CommandResult r = run(words);
    EXPECT_EQ(r.status, 0) << r.err;
    return r;
  }

  Json document(const std::string& file) {
    return Json::parse(accepted({"compare", file, "--policies", "all", "--json"}).out);
  }
};

Words compared(const Json& doc) {
  Words names;
  for (const auto& [name, speedup] : doc["speedup"].items()) names.push_back(name);
  return names;
}

TEST_F(CompareTest, AllLeavesOutDecodePoliciesThatCannotRunAndSaysWhy) {
  write("s.yaml", tiny_scenario());
  const Json doc = document("s.yaml");
  EXPECT_EQ(doc["baseline"], "full_kv");
  EXPECT_EQ(compared(doc), (Words{"full_kv", "lossy", "draft_verify:lock_step", "draft_verify:sequential_verify",
                                  "draft_verify:staggered", "sparse_self:lock_step", "sparse_self:sequential_verify",
                                  "sparse_self:staggered", "full_offload"}));
  Words left_out;
  for (const Json& one : doc["left_out"]) {
    left_out.push_back(one["policy"]);
    const std::string reason = one["reason"];
    EXPECT_FALSE(reason.empty());
    EXPECT_EQ(reason.find("--policies"), std::string::npos) << reason;
  }
  EXPECT_EQ(left_out, (Words{"drafter", "draft_verify+drafter:lock_step", "draft_verify+drafter:sequential_verify",
                             "draft_verify+drafter:staggered", "sparse_self+drafter:lock_step",
                             "sparse_self+drafter:sequential_verify", "sparse_self+drafter:staggered", "lossy+drafter",
                             "speculative_prefetch", "speculative_prefetch+drafter", "fetch_on_demand",
                             "quantised_only", "full_offload+drafter"}));

  const std::string page = accepted({"compare", "s.yaml", "--policies", "all", "--details"}).out;
  const std::size_t at = page.find("\nLeft out\n  - drafter: ");
  EXPECT_NE(at, std::string::npos) << page;
  EXPECT_GT(at, page.find("full_offload"));
}

TEST_F(CompareTest, ThePageNamesPoliciesBelowAFloorOfQuality) {
  write("s.yaml", tiny_scenario());
  const std::string page = accepted({"compare", "s.yaml", "--policies", "full_kv,lossy", "--set",
                                     "slo={quality_floor: 0.9, functional_floor: 0.5}"})
                               .out;
  EXPECT_NE(page.find("\n  lossy, 0.5 below slo.functional_floor"), std::string::npos) << page;
  EXPECT_EQ(page.find("\n  full_kv, "), std::string::npos) << page;
}

TEST_F(CompareTest, NothingIsLeftOutOfAListOfPolicies) {
  write("s.yaml", tiny_scenario());
  const CommandResult r = accepted({"compare", "s.yaml", "--policies", "full_kv,lossy", "--details"});
  EXPECT_EQ(r.out.find("Left out"), std::string::npos);
}

TEST_F(CompareTest, AllTakesThePoliciesOfTheScenariosKind) {
  write("p.yaml", placement_scenario());
  const Json placed = document("p.yaml");
  EXPECT_EQ(placed["baseline"], "none");
  EXPECT_EQ(compared(placed).size() + placed["left_out"].size(), 10U);
  write("c.yaml", chunk_scenario());
  EXPECT_EQ(compared(document("c.yaml")),
            (Words{"full_recompute", "prefix_cache", "full_reuse", "epic", "cacheblend", "selective"}));
}

TEST_F(CompareTest, APolicyThatNobodyAskedForIsNotBlamedOnTheOption) {
  write("s.yaml",
        edited(edited(tiny_scenario(), "policy: draft_verify, compressor: kvzip, keep_ratio: 0.2, draft_length: 8",
                      "policy: full_kv"),
               "policy: staggered", "policy: fcfs"));
  const CommandResult r = run({"compare", "s.yaml"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.err,
            "kvsim: s.yaml: compared by default are full_kv, lossy, draft_verify:lock_step, "
            "draft_verify:sequential_verify, draft_verify:staggered, and lossy cannot run on this scenario: decode "
            "policy lossy needs a compressor; --policies says what to compare, --policies all takes every policy that "
            "can run\n");
}

TEST_F(CompareTest, AllStandsAlone) {
  const CommandResult r = run({"compare", "nowhere.yaml", "--policies", "full_kv,all"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.err, "kvsim: --policies full_kv,all: all stands alone\n");
}

TEST_F(CompareTest, EachClassHasAColumnOfItsObjectives) {
  write("s.yaml",
        edited(edited(edited(tiny_scenario(), "  closed: {concurrency: 4}\n", "  arrivals: {rate: 2/s}\n"),
                      "  context: {mean: 8k tokens}\n", ""),
               "  output: {mean: 64 tokens}\n",
               "  classes:\n"
               "    - {name: chat, share: 1, context: 1k tokens, output: 8 tokens, slo: {ttft_p99: 100 s}}\n"
               "    - {name: bulk, share: 1, context: 8k tokens, output: 8 tokens, slo: {ttft_p99: 1 us}}\n"));
  const std::string page = accepted({"compare", "s.yaml", "--policies", "full_kv", "--details"}).out;
  EXPECT_NE(page.find("chat, bulk: share of the class's requests that met its objectives"), std::string::npos) << page;
  const std::size_t row = page.find("\n  full_kv");
  EXPECT_NE(page.substr(row, page.find('\n', row + 1) - row).find("  100     0  "), std::string::npos) << page;
}

TEST_F(CompareTest, OverloadIsPartOfTheResult) {
  write("s.yaml", tiny_scenario());
  const auto state = [&](const std::string& workload) {
    return Json::parse(accepted({"run", "s.yaml", "--json", "--set", workload}).out)["requests"]["unsteady_state"]
        .get<std::string>();
  };
  EXPECT_EQ(state("run.seed=2"), "");
  EXPECT_NE(state("workload={arrivals: {rate: 300/s}, context: 8k tokens, output: 64 tokens}").find("the queue grows"),
            std::string::npos);
}

TEST_F(CompareTest, TakesPricesOfTheUser) {
  write("s.yaml", tiny_scenario());
  write("prices.yaml", "gpus:\n  h100-sxm: {price: 5 USD/h, date: \"today\"}\n");
  const Words words{"compare", "s.yaml", "--policies", "full_kv,lossy", "--json"};
  Words priced = words;
  priced.insert(priced.end(), {"--prices", "prices.yaml"});
  const auto usd = [this](const Words& w) {
    return Json::parse(accepted(w).out)["usd_per_1m_output_tokens"]["full_kv"].get<double>();
  };
  EXPECT_GT(usd(priced), 1.5 * usd(words));
}

TEST_F(CompareTest, SaysThePriceOfANodeWhereThatCounts) {
  write("s.yaml", tiny_scenario());
  Words words{"compare",  "s.yaml", "--policies", "full_kv,lossy", "--set", "cluster.node={gpus: 8, price: 18 USD/h}",
              "--details"};
  const std::string page = accepted(words).out;
  EXPECT_NE(page.find("at the price of a node below"), std::string::npos) << page;
  EXPECT_NE(page.find("node of 8 x h100-sxm $18.00 per node and hour"), std::string::npos) << page;
  EXPECT_EQ(page.find("per GPU and hour"), std::string::npos) << page;
  words.emplace_back("--json");
  const Json prices = Json::parse(accepted(words).out)["prices"];
  ASSERT_EQ(prices.size(), 2U) << prices;
  EXPECT_EQ(prices[0]["what"], "node of 8 x h100-sxm");
  EXPECT_EQ(prices[0]["usd"], 18.0);
  EXPECT_EQ(prices[1]["what"], "ssd");
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
