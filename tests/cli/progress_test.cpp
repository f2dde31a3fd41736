// Lines that say how far things have come, where stderr is no terminal.
#include <regex>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

class ProgressTest : public Workspace {
 protected:
  ProgressTest() { write("s.yaml", edited(tiny_scenario(), "duration: 4 s", "duration: 1000 h")); }

  /// What a command that would take hours says until its second line is there, by line.
  std::vector<std::string> said(const std::string& arguments) {
    const CommandResult r = shell("KVSIM_PROGRESS=0.05 \"$KVSIM\" " + arguments +
                                      " 2>said & child=$!; until [ \"$(wc -l <said)\" -ge 2 ]; do sleep 0.02; done; "
                                      "kill -TERM $child; wait $child; cat said",
                                  {"", folder()});
    std::vector<std::string> lines;
    for (std::size_t begin = 0, end = 0; (end = r.out.find('\n', begin)) != std::string::npos; begin = end + 1) {
      lines.push_back(r.out.substr(begin, end - begin));
    }
    return lines;
  }
};

TEST_F(ProgressTest, ARunSaysHowMuchIsSimulated) {
  const std::vector<std::string> lines = said("run s.yaml");
  ASSERT_GE(lines.size(), 3U);
  EXPECT_TRUE(std::regex_match(lines[1], std::regex("kvsim: simulat.*, [0-9.,]+ m?s so far"))) << lines[1];
  EXPECT_EQ(lines.back(), "kvsim: interrupted, no results written");
}

TEST_F(ProgressTest, PointsThatTakeLongAreNoSilence) {
  const std::vector<std::string> lines = said("sweep s.yaml --vary run.seed=1,2,3");
  ASSERT_GE(lines.size(), 3U);
  EXPECT_TRUE(std::regex_match(lines[1], std::regex("kvsim: 0 of 3 points done, [0-9.,]+ m?s so far"))) << lines[1];
}

TEST_F(ProgressTest, APeriodThatIsNoneIsRefusedBeforeAnythingIsRead) {
  for (const std::string period : {"often", "-1", "30s", "nan"}) {
    const CommandResult r = shell("KVSIM_PROGRESS=" + period + " \"$KVSIM\" run none.yaml", {"", folder()});
    EXPECT_EQ(r.status, 2) << period;
    EXPECT_EQ(r.err,
              "kvsim: KVSIM_PROGRESS: expected seconds from one line of progress to the next, 0 for none, found \"" +
                  period + "\"\n");
  }
  write("s.yaml", tiny_scenario());
  EXPECT_EQ(shell("KVSIM_PROGRESS= \"$KVSIM\" run s.yaml", {"", folder()}).status, 0);
}

TEST_F(ProgressTest, NobodyIsToldWhoWantsNoLines) {
  write("s.yaml", tiny_scenario());
  const CommandResult r = shell("KVSIM_PROGRESS=0 \"$KVSIM\" run s.yaml", {"", folder()});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, "");
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
