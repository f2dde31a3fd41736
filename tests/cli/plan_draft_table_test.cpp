// kvsim plan SCENARIO --draft-table, as a user runs it.
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

class PlanDraftTableTest : public Workspace {
 protected:
  CommandResult plan(std::vector<std::string> more) {
    write("s.yaml", tiny_scenario());
    more.insert(more.begin(), {"plan", "s.yaml", "--draft-table"});
    return run(more);
  }
};

TEST_F(PlanDraftTableTest, PrintsABlockForTheScenariosDecode) {
  const CommandResult r = plan({});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("  draft_lengths:\n    policy: table\n    table:\n      - {batch: 1, context: 1024 tokens, "),
            std::string::npos)
      << r.out;
}

TEST_F(PlanDraftTableTest, AsJsonHasTheSameRowsWithWhatIsPredicted) {
  const CommandResult r = plan({"--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json doc = Json::parse(r.out);
  EXPECT_EQ(doc["schema_version"], 1);
  ASSERT_EQ(doc["draft_lengths"]["table"].size(), doc["predicted"].size());
  EXPECT_GT(doc["predicted"][0]["tokens_per_s"].get<double>(), 0);
}

TEST_F(PlanDraftTableTest, RefusesWhatBelongsToOtherPlans) {
  const CommandResult r = plan({"--pareto"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("--pareto: belongs to plans that draft and verify, and --draft-table gives lengths"),
            std::string::npos)
      << r.err;
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
