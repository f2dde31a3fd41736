// Names come from files of others: whatever they say, no command lets them drive the terminal.
#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

/// In YAML: red letters by ESC, a cleared screen by CSI as one character, letters from right to left.
constexpr const char* kName = R"("\e[31mred\u009b2J\u202e")";

/// "tiny" is the name of the scenario.
std::string hostile_scenario() {
  return edited(tiny_scenario(), "name: tiny", std::string("name: ") + kName);
}

class HostileNames : public Workspace {
 protected:
  HostileNames() { write("s.yaml", hostile_scenario()); }
};

void expect_harmless(const CommandResult& r, int status) {
  EXPECT_EQ(r.status, status) << r.err;
  for (const std::string* said : {&r.out, &r.err}) {
    EXPECT_EQ(said->find('\x1B'), std::string::npos);
    EXPECT_EQ(said->find("\u009B"), std::string::npos);
    EXPECT_EQ(said->find("\u202E"), std::string::npos);
  }
}

TEST_F(HostileNames, OfAScenarioAreShownAndDoNotDriveTheTerminal) {
  const CommandResult r = run({"run", "s.yaml"});
  expect_harmless(r, 0);
  EXPECT_TRUE(r.out.starts_with("\uFFFD[31mred\uFFFD2J\uFFFD\n")) << r.out.substr(0, 100);
  expect_harmless(run({"compare", "s.yaml", "--policies", "full_kv,draft_verify"}), 0);
  expect_harmless(run({"sweep", "s.yaml", "--vary", "decode.draft_length=4,8"}), 0);
  expect_harmless(run({"plan", "s.yaml"}), 0);
}

TEST_F(HostileNames, OfAScenarioAreShownInReportsOfItsResult) {
  const CommandResult made = run({"run", "s.yaml", "--json"});
  ASSERT_EQ(made.status, 0) << made.err;
  expect_harmless(made, 0);
  EXPECT_NE(made.out.find("\\u001b[31mred\\u009b2J\\u202e"), std::string::npos);  // the document keeps the name
  write("run.json", made.out);
  const CommandResult answers = run({"report", "run.json"});
  expect_harmless(answers, 0);
  EXPECT_TRUE(answers.out.starts_with("\uFFFD[31mred\uFFFD2J\uFFFD\n")) << answers.out.substr(0, 100);
  expect_harmless({0, read("report.html"), ""}, 0);
  expect_harmless(run({"report", "run.json", "--format", "md"}), 0);
}

TEST_F(HostileNames, OfAScenarioAreEscapedInWhatReadsBackAsTheSame) {
  const CommandResult checked = run({"check", "s.yaml", "--full"});
  expect_harmless(run({"check", "s.yaml"}), 0);
  expect_harmless(checked, 0);
  EXPECT_NE(checked.out.find("name: \"\\x1b[31mred\\u009b2J\\u202e\"\n"), std::string::npos)
      << checked.out.substr(0, 400);
  write("resolved.yaml", checked.out);
  const auto below_its_name = [](const std::string& out) { return out.substr(out.find('\n')); };
  EXPECT_EQ(below_its_name(run({"check", "resolved.yaml", "--full"}).out), below_its_name(checked.out));
}

TEST_F(HostileNames, OfKeysAndFilesAreShownInErrors) {
  write("s.yaml", hostile_scenario() + "\"\\e[31mkey\": 1\n");
  const CommandResult r = run({"run", "s.yaml"});
  expect_harmless(r, 2);
  EXPECT_NE(r.err.find("\uFFFD[31mkey"), std::string::npos) << r.err;
  expect_harmless(run({"run", "\x1B[31mnone.yaml"}), 2);
  expect_harmless(run({"report", "\x1B[31mnone.json"}), 2);
  expect_harmless(run({"show", "\x1B[31m"}), 2);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
