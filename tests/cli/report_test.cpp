// kvsim report as a user meets it.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

class ReportTest : public Workspace {
 protected:
  ReportTest() {
    write("s.yaml", tiny_scenario());
    const CommandResult r = run({"run", "s.yaml", "--json"});
    EXPECT_EQ(r.status, 0) << r.err;
    write("run.json", r.out);
  }
  /// Nothing came to be beside the scenario and the result.
  void expect_no_file() const { EXPECT_EQ(names(), (Words{"run.json", "s.yaml"})); }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ReportTest, ThePageIsReportHtmlInTheWorkingFolderAndStdoutHasItsAnswers) {
  const CommandResult r = run({"report", "run.json"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(names(), (Words{"report.html", "run.json", "s.yaml"}));
  const std::string page = read("report.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>\n") && page.ends_with("</html>\n"));
  EXPECT_TRUE(has(page, "<h1>tiny</h1>"));
  EXPECT_TRUE(r.out.starts_with("tiny\n\nWhich policy?\n  - draft_verify, the only one simulated\n")) << r.out;
  EXPECT_TRUE(has(r.out, "How many GPUs?\n  - not asked yet\n  - kvsim capacity SCENARIO --users N")) << r.out;
  EXPECT_TRUE(has(r.out, "\nThe report, to open in a browser: report.html (")) << r.out;
}

TEST_F(ReportTest, OutNamesThePage) {
  const CommandResult r = run({"report", "run.json", "--out", "page.html"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(names(), (Words{"page.html", "run.json", "s.yaml"}));
  EXPECT_TRUE(has(r.out, "page.html (")) << r.out;
}

TEST_F(ReportTest, AnotherReportReplacesTheFirstWithEqualBytes) {
  EXPECT_EQ(run({"report", "run.json"}).status, 0);
  const std::string first = read("report.html");
  write("report.html", "something else");
  EXPECT_EQ(run({"report", "run.json", "--format", "html"}).status, 0);
  EXPECT_EQ(read("report.html"), first);
}

TEST_F(ReportTest, MarkdownGoesToStdoutOrToAFile) {
  const CommandResult r = run({"report", "run.json", "--format", "md"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("# tiny\n\n")) << r.out;
  EXPECT_TRUE(has(r.out, "## The decision\n"));
  expect_no_file();
  const CommandResult to_file = run({"report", "run.json", "--format", "md", "--out", "r.md"});
  EXPECT_EQ(to_file.status, 0) << to_file.err;
  EXPECT_EQ(to_file.out, "");
  EXPECT_EQ(read("r.md"), r.out);
}

TEST_F(ReportTest, AFileHoldsWhatItsNameSays) {
  const CommandResult by_name = run({"report", "run.json", "--out", "r.md"});
  EXPECT_EQ(by_name.status, 0) << by_name.err;
  EXPECT_EQ(read("r.md"), run({"report", "run.json", "--format", "md"}).out);
  for (const auto& [format, name, ending, writes] :
       {std::tuple("html", "x.md", ".md", "html"), std::tuple("md", "x.html", ".html", "md"),
        std::tuple("md", "x.htm", ".htm", "md"), std::tuple("csv", "x.md", ".md", "a folder")}) {
    const CommandResult r = run({"report", "run.json", "--format", format, "--out", name});
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.err, fmt::format("kvsim: --out: {} is called {}, and --format {} writes {}: expected another name or "
                                 "format\n",
                                 name, ending, format, writes));
  }
  for (const char* name : {"x.csv", "x.txt", "x.pdf"}) {
    const CommandResult r = run({"report", "run.json", "--out", name});
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.err, fmt::format("kvsim: --out: a page called {} would be neither HTML nor Markdown: expected a name "
                                 "that ends in .html, .htm or .md, or --format\n",
                                 name));
  }
  EXPECT_EQ(names(), (Words{"r.md", "run.json", "s.yaml"}));
}

TEST_F(ReportTest, CsvNeedsAFolder) {
  const CommandResult r = run({"report", "run.json", "--format", "csv"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "kvsim: report --format csv: a file a plot, so it needs a folder: --out DIR\n");
  expect_no_file();
}

TEST_F(ReportTest, CsvIsAFileAPlot) {
  const CommandResult r = run({"report", "run.json", "--format", "csv", "--out", "data"});
  EXPECT_EQ(r.status, 0) << r.err;
  Words files;
  for (const std::string& name : names()) {
    if (name.starts_with("data/")) files.push_back(name);
  }
  EXPECT_EQ(r.out, "data: the data of " + std::to_string(files.size()) + " plots\n");
  EXPECT_NE(std::find(files.begin(), files.end(), "data/gpu-over-time.csv"), files.end());
  for (const std::string& name : files) EXPECT_TRUE(name.ends_with(".csv")) << name;
  EXPECT_TRUE(read("data/gpu-over-time.csv").starts_with("time,"));
}

TEST_F(ReportTest, AFolderOfResultsIsOneReport) {
  EXPECT_EQ(run({"compare", "s.yaml", "--policies", "full_kv,draft_verify", "--out", "results/compare"}).status, 0);
  EXPECT_EQ(run({"plan", "s.yaml", "--out", "results/plan"}).status, 0);
  EXPECT_EQ(run({"sweep", "s.yaml", "--vary", "decode.draft_length=4,8", "--out", "results/sweep"}).status, 0);
  const CommandResult r = run({"report", "results"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(has(read("report.html"), ": 1 comparison, 1 plan, 1 sweep.</p>")) << r.out;
  EXPECT_FALSE(has(r.out, "kvsim plan SCENARIO --simulate finds them")) << r.out;
}

TEST_F(ReportTest, AResultMayComeThroughAPipe) {
  const CommandResult r = shell("\"$KVSIM\" run s.yaml --json | \"$KVSIM\" report /dev/stdin", {"", folder()});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(has(read("report.html"), ": 1 run.</p>"));
}

TEST_F(ReportTest, WhatIsMissingOrMisspeltIsBadUsage) {
  CommandResult r = run({"report"});
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(has(r.err, "RESULTS is required")) << r.err;
  r = run({"report", "run.json", "--format", "pdf"});
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(has(r.err, "pdf not in {html,md,csv}")) << r.err;
  r = run({"report", "run.json", "--formt", "md"});
  EXPECT_EQ(r.status, 2);
  expect_no_file();
}

TEST_F(ReportTest, ResultsThatAreNotThereAreBadInput) {
  const CommandResult r = run({"report", "run.json", "none.json"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "kvsim: none.json: No such file or directory\n");
  expect_no_file();
}

TEST_F(ReportTest, AResultCutInHalfIsBadInput) {
  const std::string whole = read("run.json");
  const std::size_t half = whole.size() / 2;
  write("run.json", whole.substr(0, half));
  const CommandResult r = run({"report", "run.json"});
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(r.err.starts_with("kvsim: run.json: no JSON: it ends or goes wrong at byte ")) << r.err;
  expect_no_file();
}

TEST_F(ReportTest, AFileOfTheResultThatIsReadIsNotWrittenOver) {
  EXPECT_EQ(run({"run", "s.yaml", "--out", "d"}).status, 0);
  const std::string scenario = read("d/resolved.yaml");
  const CommandResult r = run({"report", "d", "--out", "d/resolved.yaml", "--format", "md"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.err, "kvsim: --out: d/resolved.yaml belongs to d/result.json, which is read: expected another name\n");
  EXPECT_EQ(read("d/resolved.yaml"), scenario);
  for (int time = 0; time < 2; ++time) EXPECT_EQ(run({"report", "d", "--out", "d/report.md"}).status, 0);  // a page
}

TEST_F(ReportTest, AScenarioIsNoResult) {
  EXPECT_EQ(run({"report", "s.yaml"}).status, 2);
  write("run.json", "{}");
  const CommandResult r = run({"report", "run.json"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.err, "kvsim: run.json: no result of kvsim: it has no schema_version\n");
  expect_no_file();
}

TEST_F(ReportTest, NestingWithoutEndIsBadInputAndNoCrash) {
  constexpr std::size_t deep = 200000;
  write("run.json", R"({"schema_version": 1, "configurations": [], "prices": [)" + std::string(deep, '[') +
                        std::string(deep, ']') + "]}");
  const CommandResult r = run({"report", "run.json"});
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(has(r.err, "nested")) << r.err;
}

TEST_F(ReportTest, WhatCannotBeWrittenIsARunTimeErrorThatLeavesNothing) {
  for (const Words& words :
       {Words{"--out", "."}, Words{"--out", "none/report.html"}, Words{"--out", "/proc/report.html"},
        Words{"--out", "/dev/full"}, Words{"--out", "run.json/report.html"},
        Words{"--out", "/proc/r.md", "--format", "md"}, Words{"--out", "run.json/data", "--format", "csv"},
        Words{"--out", "/proc/data", "--format", "csv"}}) {
    Words command{"report", "run.json"};
    command.insert(command.end(), words.begin(), words.end());
    const CommandResult r = run(command);
    EXPECT_EQ(r.status, 1) << words[1];
    EXPECT_EQ(r.out, "") << words[1];
    EXPECT_TRUE(r.err.starts_with("kvsim: cannot ") && has(r.err, words[1])) << r.err;
    expect_no_file();
  }
}

TEST_F(ReportTest, AFullDiskKeepsTheEarlierPage) {
  // A limit on file sizes fails like a full disk: the page needs more than a block.
  write("report.html", "earlier");
  const CommandResult r = shell("ulimit -f 1; \"$KVSIM\" report run.json", {"", folder()});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "kvsim: cannot write report.html: File too large\n");
  EXPECT_EQ(read("report.html"), "earlier");
  EXPECT_EQ(names(), (Words{"report.html", "run.json", "s.yaml"}));
}

TEST_F(ReportTest, AFullStdoutIsARunTimeError) {
  const CommandResult r = kvsim({"report", "run.json", "--format", "md"}, {"/dev/full", folder()});
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(has(r.err, "standard output")) << r.err;
}

TEST_F(ReportTest, NamesInAScenarioStayTextInEveryFormat) {
  write("s.yaml", edited(tiny_scenario(), "name: tiny", "name: \"<script>alert(1)</script> | \\u202e =1+1\""));
  const CommandResult made = run({"run", "s.yaml", "--json"});
  ASSERT_EQ(made.status, 0) << made.err;
  write("run.json", made.out);
  ASSERT_EQ(run({"report", "run.json"}).status, 0);
  const std::string page = read("report.html");
  EXPECT_TRUE(has(page, "<h1>&lt;script&gt;alert(1)&lt;/script&gt; | "));
  EXPECT_FALSE(has(page, "<script>alert"));
  EXPECT_FALSE(has(run({"report", "run.json", "--format", "md"}).out, " <script>"));
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
