#include <gtest/gtest.h>

#include "tests/cli/bad_input_cases.h"
#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

class BadInputTest : public Workspace, public ::testing::WithParamInterface<BadInput> {};

TEST_P(BadInputTest, IsRefusedWithAMessageAndNothingIsWritten) {
  const BadInput& bad = GetParam();
  std::string scenario = tiny_scenario();
  for (const auto& [from, to] : bad.edits) scenario = edited(scenario, from, to);
  write("s.yaml", scenario);
  for (const auto& [name, text] : bad.files) write(name, text);
  const std::vector<std::string> before = names();

  std::vector<std::string> arguments = bad.arguments;
  if (arguments.front() == "run" || arguments.front() == "compare") {
    arguments.insert(arguments.end(), {"--out", "results", "--trace-out", "trace.json"});
  }
  const CommandResult result = run(arguments);

  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "kvsim: " + bad.message + "\n");
  EXPECT_EQ(names(), before);
}

std::string name_of(const ::testing::TestParamInfo<BadInput>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Malformed, BadInputTest, ::testing::ValuesIn(malformed_scenarios()), name_of);
INSTANTIATE_TEST_SUITE_P(Senseless, BadInputTest, ::testing::ValuesIn(senseless_scenarios()), name_of);
INSTANTIATE_TEST_SUITE_P(Implausible, BadInputTest, ::testing::ValuesIn(implausible_scenarios()), name_of);
INSTANTIATE_TEST_SUITE_P(Files, BadInputTest, ::testing::ValuesIn(bad_files()), name_of);
INSTANTIATE_TEST_SUITE_P(CommandLines, BadInputTest, ::testing::ValuesIn(bad_command_lines()), name_of);

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
