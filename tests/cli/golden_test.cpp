// What a user sees of the small scenario, word for word. KVSIM_UPDATE_GOLDENS=1 writes the files anew; look at the
// difference before believing it.
#include <cstdlib>
#include <fstream>
#include <regex>

#include "tests/cli/workspace.h"

namespace kvsim::test {
namespace {

class GoldenTest : public Workspace {
 protected:
  GoldenTest() { write("s.yaml", tiny_scenario()); }

  static void expect_golden(const std::string& name, const std::string& text) {
    const std::string path = std::string(KVSIM_SOURCE_DIR "/tests/cli/golden/") + name;
    const char* update = std::getenv("KVSIM_UPDATE_GOLDENS");
    if (update != nullptr && std::string(update) == "1") {
      std::ofstream(path, std::ios::binary) << text;
    }
    EXPECT_EQ(text, read_file(path)) << "KVSIM_UPDATE_GOLDENS=1 accepts this as the new " << name;
  }
};

/// Without the lines that differ between equal runs.
std::string without_wall_clock(const std::string& text) {
  static const std::regex lines("  (wall time|speed) .*\n");
  static const std::regex inline_time("; [0-9.]+ (us|ms|s) of simulation");
  return std::regex_replace(std::regex_replace(text, lines, ""), inline_time, "");
}

TEST_F(GoldenTest, TableOfARun) {
  const CommandResult r = run({"run", "s.yaml"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  expect_golden("run.txt", without_wall_clock(r.out));
}

TEST_F(GoldenTest, TableOfAComparison) {
  const CommandResult r = run({"compare", "s.yaml", "--replications", "2"});
  EXPECT_EQ(r.status, 0) << r.err;
  expect_golden("compare.txt", without_wall_clock(r.out));
}

TEST_F(GoldenTest, MarkdownOfARun) {
  const CommandResult r = run({"run", "s.yaml", "--out", "results"});
  EXPECT_EQ(r.status, 0) << r.err;
  expect_golden("result.md", read("results/result.md"));
}

TEST_F(GoldenTest, ResolvedScenario) {
  const CommandResult r = run({"check", "s.yaml"});
  EXPECT_EQ(r.status, 0) << r.err;
  expect_golden("resolved.yaml", r.out);
}

TEST_F(GoldenTest, TablesFitAHundredColumns) {
  const CommandResult one = run({"run", "s.yaml"});
  const CommandResult all = run({"compare", "s.yaml"});
  std::istringstream lines(one.out + all.out);
  for (std::string line; std::getline(lines, line);) {
    const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
    EXPECT_LE(columns, 100) << line;
  }
}

TEST_F(GoldenTest, NothingIsColouredInAPipe) {
  EXPECT_EQ(run({"run", "s.yaml"}).out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace kvsim::test
