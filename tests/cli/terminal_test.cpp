// Colour: on a terminal that has it, and nowhere else. Without it the text is the same.
#include "tests/cli/terminal.h"

#include <regex>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Words = std::vector<std::string>;

class TerminalTest : public Workspace {
 protected:
  TerminalTest() { write("s.yaml", tiny_scenario()); }

  std::string coloured(const Words& words) { return on_terminal(words, folder(), {{"TERM", "xterm-256color"}}); }
};

std::string without_escapes(const std::string& text) {
  return std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), "");
}

const Words kSweep{
    "sweep", "s.yaml", "--details", "--vary", "decode.draft_length=1,8", "--vary", "model=llama-3.1-8b,llama-3.1-70b"};

TEST_F(TerminalTest, ColourAddsNothingButEscapes) {
  for (const Words& words : {kSweep, Words{"validate", "--group", "links"}, Words{"plan", "s.yaml"}}) {
    const std::string on = coloured(words);
    EXPECT_NE(on.find('\x1b'), std::string::npos) << words.front();
    if (words.front() == "plan") continue;  // which prints how long it took
    // Shaded cells end in blanks that are cut off elsewhere.
    const std::regex blanks(" +\n");
    EXPECT_EQ(std::regex_replace(without_escapes(on), blanks, "\n"), std::regex_replace(run(words).out, blanks, "\n"));
  }
}

TEST_F(TerminalTest, NoEscapeIsWrittenWhereColourIsNotWanted) {
  using Environment = std::map<std::string, std::string>;
  for (const Environment& environment :
       {Environment{{"TERM", "dumb"}}, Environment{{"TERM", "xterm"}, {"NO_COLOR", "1"}}}) {
    EXPECT_EQ(on_terminal(kSweep, folder(), environment).find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(run(kSweep).out.find('\x1b'), std::string::npos);
}

TEST_F(TerminalTest, AHeatMapIsShadedItsOptimumBoldAndWhatIsInfeasibleDim) {
  const std::string on = coloured(kSweep);
  const std::string map = on.substr(on.find("throughput.output_tokens_per_s: draft_length down"));
  EXPECT_TRUE(map.starts_with("throughput.output_tokens_per_s: draft_length down, model across; -: infeasible")) << map;
  const std::regex best("\x1b\\[1;48;5;227;38;5;16m +[0-9,.]+\\*\x1b\\[0m"),
      worst("\x1b\\[48;5;17;38;5;231m +[0-9,.]+ ");
  EXPECT_TRUE(std::regex_search(map, best)) << map;
  EXPECT_TRUE(std::regex_search(map, worst)) << map;
  EXPECT_NE(map.find("\x1b[2m- \x1b[0m"), std::string::npos) << map;
  EXPECT_NE(map.find("2 points: cluster.gpu: llama-3.1-70b does not fit"), std::string::npos) << map;
}

TEST_F(TerminalTest, APointWithoutTheFigureIsNoInfeasibleOne) {
  // Nothing is finished within a microsecond.
  const CommandResult r = run({"sweep", "s.yaml", "--details", "--vary", "decode.draft_length=4,8", "--vary",
                               "model=llama-3.1-8b,llama-3.1-70b", "--metric", "latency_s.itl.p99", "--set",
                               "run.duration=1 us", "--set", "run.warmup=0 s"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("across; -: infeasible; none: the run has no such figure\n"), std::string::npos) << r.out;
  EXPECT_TRUE(std::regex_search(r.out, std::regex("\n  4 +none +-\n"))) << r.out;
}

TEST_F(TerminalTest, TheBestOfAColumnAndVerdictsStandOut) {
  const std::string table = coloured({"compare", "s.yaml", "--policies", "full_kv,lossy,draft_verify"});
  EXPECT_TRUE(std::regex_search(table, std::regex("\x1b\\[1;32m[0-9,.]+\\*\x1b\\[0m"))) << table;
  EXPECT_TRUE(std::regex_search(table, std::regex("\x1b\\[32m[0-9,.]+\\+\x1b\\[0m"))) << table;
  EXPECT_NE(coloured({"validate", "--group", "links"}).find("\x1b[32mpass\x1b[0m"), std::string::npos);
}

TEST_F(TerminalTest, APlanHasAHeatMapWithItsOptimum) {
  const std::string plan = coloured({"plan", "s.yaml", "--details", "--set", "cluster.gpu.memory_fraction=0.22"});
  EXPECT_TRUE(std::regex_search(plan, std::regex("\x1b\\[1;48;5;227;38;5;16m +\\*[0-9,.]+\x1b\\[0m"))) << plan;
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
