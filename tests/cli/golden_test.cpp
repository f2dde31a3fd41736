// What a user sees of the small scenario, word for word. KVSIM_UPDATE_GOLDENS=1 writes the files anew; look at the
// difference before believing it.
#include <cstdlib>
#include <fstream>
#include <regex>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

class GoldenTest : public Workspace {
 protected:
  GoldenTest() { write("s.yaml", tiny_scenario()); }

  static void expect_golden(const std::string& name, const std::string& text) {
    expect_file("tests/cli/golden/" + name, text);
  }

  /// `name`: of a file of the repository.
  static void expect_file(const std::string& name, const std::string& text) {
    const std::string path = std::string(KVSIM_SOURCE_DIR "/") + name;
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
  const CommandResult r = run({"run", "s.yaml", "--details"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  expect_golden("run.txt", without_wall_clock(r.out));
  expect_golden("run_first.txt", run({"run", "s.yaml"}).out);
}

TEST_F(GoldenTest, TableOfAComparison) {
  const CommandResult r = run({"compare", "s.yaml", "--replications", "2", "--details"});
  EXPECT_EQ(r.status, 0) << r.err;
  expect_golden("compare.txt", without_wall_clock(r.out));
}

TEST_F(GoldenTest, TableOfPlacements) {
  write("p.yaml", placement_scenario());
  const CommandResult one = run({"run", "p.yaml", "--details"});
  EXPECT_EQ(one.status, 0) << one.err;
  expect_golden("placement.txt", without_wall_clock(one.out));
  const CommandResult all = run({"compare", "p.yaml", "--details"});
  EXPECT_EQ(all.status, 0) << all.err;
  expect_golden("compare_placements.txt", without_wall_clock(all.out));
}

TEST_F(GoldenTest, TableOfChunks) {
  write("c.yaml", chunk_scenario());
  const CommandResult one = run({"run", "c.yaml", "--details"});
  EXPECT_EQ(one.status, 0) << one.err;
  expect_golden("chunks.txt", without_wall_clock(one.out));
  const CommandResult all = run({"compare", "c.yaml", "--details"});
  EXPECT_EQ(all.status, 0) << all.err;
  expect_golden("compare_chunks.txt", without_wall_clock(all.out));
}

TEST_F(GoldenTest, MarkdownOfARun) {
  const CommandResult r = run({"run", "s.yaml", "--out", "results"});
  EXPECT_EQ(r.status, 0) << r.err;
  expect_golden("result.md", read("results/result.md"));
}

TEST_F(GoldenTest, ResolvedScenario) {
  const CommandResult r = run({"check", "s.yaml", "--full"});
  EXPECT_EQ(r.status, 0) << r.err;
  expect_golden("resolved.yaml", r.out);
}

// One block a request, popular ones and a scan: no two of the policies have the same column.
TEST_F(GoldenTest, CurvesOfATrace) {
  std::string trace;
  std::uint64_t state = 1;
  const auto below = [&state](std::uint64_t n) {
    state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    return (state >> 33) % n;
  };
  for (std::uint64_t i = 0; i < 400; ++i) {
    const std::uint64_t block = i % 100 < 70 ? below(1 + below(60)) : i % 60;
    trace += "{\"timestamp\": " + std::to_string(100 * i) +
             ", \"input_length\": 500, \"output_length\": 5, \"hash_ids\": [" + std::to_string(block) + "]}\n";
  }
  write("t.jsonl", trace);
  const CommandResult r =
      run({"workload", "info", "t.jsonl", "--format", "mooncake", "--curve", "--policies",
           "lru,lfu,arc,s3fifo,sieve,belady", "--model", "llama-3.1-8b", "--read", "20 GB/s", "--prefill", "10000/s"});
  EXPECT_EQ(r.status, 0) << r.err;
  expect_golden("workload_curves.txt", r.out);
}

TEST_F(GoldenTest, TablesFitAHundredColumns) {
  const CommandResult one = run({"run", "s.yaml", "--details"});
  const CommandResult all = run({"compare", "s.yaml", "--details"});
  write("p.yaml", placement_scenario());
  const CommandResult stored = run({"run", "p.yaml", "--details"});
  const CommandResult placed = run({"compare", "p.yaml", "--details", "--policies",
                                    "none,utility:least_drop_per_byte,importance_chunks,lru:fast-kvzip:0.3"});
  EXPECT_EQ(placed.status, 0) << placed.err;
  std::istringstream lines(one.out + all.out + stored.out + placed.out);
  for (std::string line; std::getline(lines, line);) {
    const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
    EXPECT_LE(columns, 100) << line;
  }
}

TEST_F(GoldenTest, TheReferencePagesAreWhatTheTablesSay) {
  const CommandResult r = run({"schema", "--markdown"});
  EXPECT_EQ(r.status, 0) << r.err;
  expect_file("docs/scenario_reference.md", r.out);
  expect_file("docs/results.md", run({"schema", "--results", "--markdown"}).out);
}

TEST_F(GoldenTest, NothingIsColouredInAPipe) {
  EXPECT_EQ(run({"run", "s.yaml"}).out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
