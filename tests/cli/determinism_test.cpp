// Equal scenario and seed give equal bytes.
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

class DeterminismTest : public Workspace {
 protected:
  DeterminismTest() { write("s.yaml", tiny_scenario()); }

  std::string output(const Words& arguments) {
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.status, 0) << r.err;
    return r.out;
  }
};

TEST_F(DeterminismTest, TwoRunsPrintTheSameBytes) {
  const Words words{"run", "s.yaml", "--json"};
  EXPECT_EQ(output(words), output(words));
}

TEST_F(DeterminismTest, RunsDoNotDependOnTheNumberOfThreads) {
  const Words one{"run", "s.yaml", "--json", "--replications", "4", "--jobs", "1"};
  const Words three{"run", "s.yaml", "--json", "--replications", "4", "--jobs", "3"};
  EXPECT_EQ(output(one), output(three));
}

TEST_F(DeterminismTest, ComparisonsDoNotDependOnTheNumberOfThreads) {
  const Words one{"compare", "s.yaml", "--json", "--replications", "2", "--jobs", "1"};
  const Words two{"compare", "s.yaml", "--json", "--replications", "2", "--jobs", "2"};
  EXPECT_EQ(output(one), output(two));
}

TEST_F(DeterminismTest, WatchingTheTimelineChangesNothing) {
  EXPECT_EQ(output({"run", "s.yaml", "--json"}), output({"run", "s.yaml", "--json", "--trace-out", "t.json.gz"}));
}

TEST_F(DeterminismTest, TheSeedOfTheCommandLineIsTheScenarios) {
  EXPECT_EQ(output({"run", "s.yaml", "--json", "--seed", "7"}),
            output({"run", "s.yaml", "--json", "--set", "run.seed=7"}));
  EXPECT_NE(output({"run", "s.yaml", "--json", "--seed", "7"}), output({"run", "s.yaml", "--json", "--seed", "8"}));
}

TEST_F(DeterminismTest, PoliciesSeeTheSameArrivals) {
  write("s.yaml", edited(edited(tiny_scenario(), "closed: {concurrency: 4}", "arrivals: {rate: 20/s}"),
                         "{mean: 8k tokens}", "{distribution: lognormal, mean: 8k tokens, cv: 0.5}"));
  const Json doc = Json::parse(output({"compare", "s.yaml", "--json"}));
  ASSERT_EQ(doc["results"].size(), 5);
  for (const Json& result : doc["results"]) {
    EXPECT_GT(result["requests"]["arrived"], 40);
    EXPECT_EQ(result["requests"]["arrived"], doc["results"][0]["requests"]["arrived"]);
  }
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
