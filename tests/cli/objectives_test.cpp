// Objectives on any percentile: every page shows the figure that an objective limits, named after it.
#include <algorithm>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/documents.h"
#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

class ObjectivesTest : public Workspace {
 protected:
  ObjectivesTest() {
    write("s.yaml",
          tiny_scenario() + "slo: {ttft_p50: 2 s, ttft_p95: 3 s, tpot_p90: 1 ms, itl_p99: 2 s, e2e_p95: 9 s}\n");
  }

  /// The columns of a terminal that a line takes: one for each character of UTF-8.
  static std::ptrdiff_t columns(const std::string& line) {
    return std::count_if(line.begin(), line.end(),
                         [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
  }

  /// The page of a command; no line of its tables is longer than a terminal is wide.
  std::string page(const Words& words) {
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 0) << r.err;
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 100) << line;
    return r.out;
  }
};

// ITL is a request's largest gap: of outputs of one length it is no less than the percentile of all gaps.
TEST_F(ObjectivesTest, TheirFiguresAreThePercentilesOfFinishedRequests) {
  const Json result = Json::parse(run({"run", "s.yaml", "--json"}).out);
  const Json& measured = result.at("slo").at("measured_s");
  EXPECT_EQ(measured.size(), 5U);
  EXPECT_EQ(measured.at("ttft_p50"), result.at("latency_s").at("ttft").at("p50"));
  EXPECT_EQ(measured.at("ttft_p95"), result.at("latency_s").at("ttft").at("p95"));
  EXPECT_EQ(measured.at("tpot_p90"), result.at("latency_s").at("tpot").at("p90"));
  EXPECT_EQ(measured.at("e2e_p95"), result.at("latency_s").at("e2e").at("p95"));
  EXPECT_LE(measured.at("itl_p99"), result.at("latency_s").at("itl").at("max"));
  EXPECT_GE(measured.at("itl_p99"), result.at("latency_s").at("itl").at("p99"));
}

TEST_F(ObjectivesTest, StandOnThePageOfARunWithTheirLimits) {
  const std::string text = page({"run", "s.yaml", "--details"});
  EXPECT_NE(text.find("\nObjectives\n"), std::string::npos) << text;
  for (const char* name : {"TTFT p50", "TTFT p95", "ITL p99", "E2E p95"})
    EXPECT_NE(text.find(name), std::string::npos) << text;
  EXPECT_NE(text.find("limit 1.00 ms, missed"), std::string::npos) << text;
}

TEST_F(ObjectivesTest, HaveColumnsWhereSomethingIsCompared) {
  const std::string compared = page({"compare", "s.yaml", "--policies", "full_kv,draft_verify", "--details"});
  EXPECT_NE(compared.find("\nObjectives\n"), std::string::npos) << compared;
  const std::string swept = page({"sweep", "s.yaml", "--vary", "decode.draft_length=4,8"});
  for (const char* name : {"in SLO", "TTFT p50", "TTFT p95", "TPOT p90", "ITL p99", "E2E p95"}) {
    EXPECT_NE(compared.find(name), std::string::npos) << name << "\n" << compared;
  }
  EXPECT_TRUE(std::regex_search(swept, std::regex("  TTFT +TTFT +TPOT +ITL +E2E"))) << swept;
  EXPECT_EQ(swept.find("TTFT p99"), std::string::npos) << swept;
}

TEST_F(ObjectivesTest, OfAFewLeaveTheMediansBesideThem) {
  const std::string swept =
      page({"sweep", "s.yaml", "--vary", "decode.draft_length=4,8", "--set", "slo={ttft_p95: 3 s}"});
  for (const char* name : {"TTFT p50", "TTFT p95", "TPOT p50", "TPOT p99"}) {
    EXPECT_NE(swept.find(name), std::string::npos) << name << "\n" << swept;
  }
}

TEST_F(ObjectivesTest, HaveColumnsInACapacitySearch) {
  const Words search{"capacity",       "s.yaml",
                     "--attainment",   "0.8",
                     "--replications", "2",
                     "--set",          "decode={policy: full_kv}",
                     "--set",          "schedule.policy=fcfs",
                     "--set",          "slo={ttft_p95: 9 s, itl_p90: 2 s, e2e_p50: 30 s}"};
  const std::string text = page(search);
  for (const char* name : {" TTFT  ", " ITL ", " E2E "}) EXPECT_NE(text.find(name), std::string::npos) << text;
  EXPECT_EQ(text.find("TPOT p99"), std::string::npos) << text;
  Words json = search;
  json.emplace_back("--json");
  const Json measured = Json::parse(run(json).out).at("configurations").at(0).at("measured_s");
  EXPECT_GT(measured.at("ttft_p95"), 0.0);
  EXPECT_GT(measured.at("itl_p90"), 0.0);
  EXPECT_EQ(measured.size(), 3U);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
