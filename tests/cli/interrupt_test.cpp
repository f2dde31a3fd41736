// Ctrl-C and closed pipes.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

class InterruptTest : public Workspace {
 protected:
  InterruptTest() { write("s.yaml", edited(tiny_scenario(), "duration: 4 s", "duration: 1000 h")); }

  /// Starts a run that would take hours and sends it `signal` when it simulates.
  CommandResult interrupted_run(int signal, const std::vector<std::string>& more) {
    std::vector<std::string> command{KVSIM_BINARY, "run", "s.yaml", "--trace-out", "t.json"};
    command.insert(command.end(), more.begin(), more.end());
    Child child(command, {"", folder()});
    while (names().size() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the timeline has begun
    ::kill(child.id(), signal);
    return child.wait();
  }

  /// Sends `signal` later and later, until some of the work was done by then. What ends sooner writes nothing.
  CommandResult interrupted_when_some_are_done(int signal, std::vector<std::string> command) {
    command.insert(command.begin(), KVSIM_BINARY);
    CommandResult r;
    for (int wait_ms = 250; wait_ms < 100'000 && r.out.empty(); wait_ms *= 2) {
      EXPECT_EQ(names(), std::vector<std::string>{"s.yaml"});
      Child child(command, {"", folder()});
      while (names().size() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // it has begun
      std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
      ::kill(child.id(), signal);
      r = child.wait();
      EXPECT_EQ(r.status, 128 + signal);
      if (r.out.empty()) {
        EXPECT_EQ(r.err, "kvsim: interrupted, no results written\n");
      }
    }
    return r;
  }
};

TEST_F(InterruptTest, SigintEndsARunWithNothingHalfWritten) {
  const CommandResult r = interrupted_run(SIGINT, {"--json", "--out", "results"});
  EXPECT_EQ(r.status, 130);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "kvsim: interrupted, no results written\n");
  EXPECT_EQ(names(), std::vector<std::string>{"s.yaml"});
}

TEST_F(InterruptTest, SigintEndsParallelReplications) {
  EXPECT_EQ(interrupted_run(SIGINT, {"--replications", "3", "--jobs", "2"}).status, 130);
  EXPECT_EQ(names(), std::vector<std::string>{"s.yaml"});
}

TEST_F(InterruptTest, SigtermToo) {
  EXPECT_EQ(interrupted_run(SIGTERM, {}).status, 143);
}

// Setting up thousands of replications takes longer than running each: none begins after the signal. What had finished
// is what a run of so many replications gives.
TEST_F(InterruptTest, ARunKeepsTheReplicationsThatHadFinished) {
  write("s.yaml", edited(tiny_scenario(), "duration: 4 s", "duration: 100 s"));
  const CommandResult r = interrupted_when_some_are_done(
      SIGINT,
      {"run", "s.yaml", "--replications", "10000", "--jobs", "2", "--json", "--out", "kept", "--requests", "r.csv"});
  static const std::regex said("kvsim: interrupted, results are of the first (\\d+) of 10000 replications\n");
  std::smatch match;
  ASSERT_TRUE(std::regex_match(r.err, match, said)) << r.err;
  EXPECT_LT(std::stoi(match.str(1)), 10000);
  EXPECT_EQ(read("kept/result.json"), r.out);
  const std::string left = "results are of the first " + match.str(1) + " of 10000 replications";
  EXPECT_NE(read("kept/result.md").find("interrupted: " + left), std::string::npos);
  EXPECT_EQ(run({"check", "kept"}).out,
            "interrupted: kept: resolved.yaml, result.json, result.md, timing.json\n  " + left + "\n");
  EXPECT_NE(run({"report", "kept", "--out", "r.md"}).status, 2);
  EXPECT_NE(read("r.md").find("no, the command was interrupted"), std::string::npos) << read("r.md");
  EXPECT_NE(read("r.md").find("tiny: " + left), std::string::npos);

  const CommandResult whole =
      run({"run", "s.yaml", "--replications", match.str(1), "--json", "--requests", "whole.csv"});
  EXPECT_EQ(whole.status, 0) << whole.err;
  Json kept = Json::parse(r.out);
  EXPECT_EQ(kept["details"]["interrupted"], left);
  const Json schema = Json::parse(run({"schema", "--results"}).out);
  EXPECT_TRUE(schema["$defs"]["run"]["properties"]["details"]["properties"].contains("interrupted"));
  kept["details"].erase("interrupted");
  EXPECT_EQ(Json::parse(whole.out), kept);
  EXPECT_EQ(read("whole.csv"), read("r.csv"));
}

TEST_F(InterruptTest, ACapacitySearchKeepsTheConfigurationsThatWereDone) {
  write("s.yaml", edited(tiny_scenario(), "closed: {concurrency: 4}", "arrivals: {rate: 1/s}"));
  const std::string machines =
      "h100-sxm,a100,h200,b200,gh200,gb200,h20,l40s,a6000,rtx-4090,rtx-5090,rtx-pro-6000,mi300x,h100-pcie,h100-nvl,"
      "b300";
  const CommandResult r = interrupted_when_some_are_done(
      SIGTERM, {"capacity", "s.yaml", "--slo", "e2e_p99=10s", "--attainment", "0.5", "--replications", "2", "--set",
                "decode={policy: full_kv}", "--set", "schedule={max_requests: 1}", "--machines", machines, "--jobs",
                "1", "--out", "kept", "--json"});
  static const std::regex said("kvsim: interrupted, results are of (\\d+) of 16 configurations\n");
  std::smatch match;
  ASSERT_TRUE(std::regex_match(r.err, match, said)) << r.err;
  EXPECT_LT(std::stoi(match.str(1)), 16);
  EXPECT_EQ(read("kept/result.json"), r.out);
  std::size_t left = 0;
  for (std::size_t at = 0; (at = r.out.find("interrupted before it was done", at)) != std::string::npos; ++at) ++left;
  EXPECT_GE(left, 16U - std::stoul(match.str(1)));
  EXPECT_NE(read("kept/result.md").find(" of 16 configurations were not done"), std::string::npos);
  EXPECT_TRUE(run({"check", "kept"}).out.starts_with("interrupted: kept: result.json, result.md\n  results are of "));
}

// Killed while a fleet is simulated, which takes long: what one replica sustains is there, and says that it is not all.
TEST_F(InterruptTest, WhatOneReplicaSustainsIsWrittenBeforeFleetsAreSized) {
  write("s.yaml", edited(tiny_scenario(), "closed: {concurrency: 4}", "arrivals: {rate: 1/s}"));
  Child child({KVSIM_BINARY, "capacity", "s.yaml", "--slo", "e2e_p99=10s", "--attainment", "0.5", "--replications", "8",
               "--set", "decode={policy: full_kv}", "--set", "schedule={max_requests: 8}", "--rate", "100000/s",
               "--jobs", "1", "--out", "kept"},
              {"", folder()});
  const std::string path = folder() + "/kept/result.md";  // the last one written
  while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(child.id(), SIGKILL);
  child.wait();
  const auto document = nlohmann::json::parse(read("kept/result.json"));
  EXPECT_EQ(document["interrupted"], 1);
  const auto& c = document["configurations"][0];
  EXPECT_GT(c["rate_per_replica"], 0);
  EXPECT_FALSE(c.contains("fleet"));
  EXPECT_EQ(c["no_fleet"], "interrupted before its fleet was sized");
  EXPECT_NE(read("kept/result.md").find("Best so far: one replica of"), std::string::npos);
}

// A comparison of replications that some policies have had would be one of different traffic.
TEST_F(InterruptTest, AComparisonIsOfAllOrOfNone) {
  write("s.yaml", edited(tiny_scenario(), "duration: 4 s", "duration: 100 s"));
  Child child({KVSIM_BINARY, "compare", "s.yaml", "--policies", "draft_verify", "--replications", "10000", "--jobs",
               "1", "--out", "kept"},
              {"", folder()});
  while (names().size() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ::kill(child.id(), SIGINT);
  const CommandResult r = child.wait();
  EXPECT_EQ(r.status, 130);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "kvsim: interrupted, no results written\n");
}

TEST_F(InterruptTest, SigintAndSigtermEndAFitAndLeaveNoFiles) {
  // Noise that no form follows and thousands of rows: searches that take minutes.
  std::string csv = "gpu,framework,version,kernel,dtype,m_tokens,n,k,measured_ms\n";
  for (int n = 1024; n <= 1024 * 60; n += 1024) {
    for (int m = 1; m <= 100; ++m) {
      csv += "h100_sxm,vllm,1,x,bfloat16," + std::to_string(m) + "," + std::to_string(n) + ",4096," +
             std::to_string(1 + (n / 1024 * 37 + m * 101) % 89 / 100.0) + "\n";
    }
  }
  write("linear.csv", csv);
  for (const int signal : {SIGINT, SIGTERM}) {
    Child child({KVSIM_BINARY, "calibrate", "fit", "linear.csv", "--gpu", "h100-sxm", "--out", "mine.yaml"},
                {"", folder()});
    while (names().size() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // it has begun
    std::this_thread::sleep_for(std::chrono::milliseconds(300));                           // and searches
    ::kill(child.id(), signal);
    const auto sent = std::chrono::steady_clock::now();
    const CommandResult r = child.wait();
    EXPECT_LT(std::chrono::steady_clock::now() - sent, std::chrono::seconds(10));
    EXPECT_EQ(r.status, 128 + signal);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, "kvsim: interrupted, no results written\n");
    EXPECT_EQ(names(), (std::vector<std::string>{"linear.csv", "s.yaml"}));
  }
}

// Nobody writes to the pipe, so that reading it never ends.
TEST_F(InterruptTest, ReadingIsEndedAtOnceAndLeavesNoFolder) {
  ASSERT_EQ(::mkfifo((folder() + "/trace.csv").c_str(), 0600), 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    Child child({KVSIM_BINARY, "workload", "fit", "trace.csv", "--format", "csv", "--out", "a/fitted"}, {"", folder()});
    while (names().size() < 4) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // its folders are there
    std::this_thread::sleep_for(std::chrono::milliseconds(100));                           // and it reads
    ::kill(child.id(), signal);
    const CommandResult r = child.wait();
    EXPECT_EQ(r.status, 128 + signal);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, "kvsim: interrupted, no results written\n");
    EXPECT_EQ(names(), (std::vector<std::string>{"s.yaml", "trace.csv"}));
  }
}

TEST_F(InterruptTest, EveryCommandIsEndedAtOnceWhileItReads) {
  ASSERT_EQ(::mkfifo((folder() + "/pipe.yaml").c_str(), 0600), 0);
  write("s.yaml", tiny_scenario());
  using Words = std::vector<std::string>;
  const std::vector<Words> commands{
      {"run", "pipe.yaml"},
      {"compare", "pipe.yaml"},
      {"compare", "s.yaml", "--prices", "pipe.yaml"},
      {"capacity", "pipe.yaml"},
      {"capacity", "s.yaml", "--slo", "ttft_p99=1s", "--prices", "pipe.yaml", "--out", "d"},
      {"sweep", "pipe.yaml", "--vary", "run.seed=1,2"},
      {"sweep", "s.yaml", "--points", "pipe.yaml", "--out", "d"},
      {"plan", "pipe.yaml"},
      {"plan", "--symbols", "pipe.yaml", "--out", "d"},
      {"plan", "--paths", "pipe.yaml", "--out", "d"},
      {"model", "import", "pipe.yaml"},
      {"report", "pipe.yaml"},
      {"check", "pipe.yaml"},
      {"reproduce", "pipe.yaml", "--out", "d"},
      {"workload", "info", "pipe.yaml", "--format", "csv"}};
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const int signal = i % 2 == 0 ? SIGINT : SIGTERM;
    Words command{KVSIM_BINARY};
    command.insert(command.end(), commands[i].begin(), commands[i].end());
    Child child(command, {"", folder()});
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // it reads
    ::kill(child.id(), signal);
    const CommandResult r = child.wait();
    const std::string what = commands[i][0] + " " + commands[i][1];
    EXPECT_EQ(r.status, 128 + signal) << what;
    EXPECT_EQ(r.err, "kvsim: interrupted, no results written\n") << what;
    EXPECT_EQ(names(), (Words{"pipe.yaml", "s.yaml"})) << what;
  }
}

TEST_F(InterruptTest, AClosedPipeIsNoError) {
  write("s.yaml", tiny_scenario());
  // The reader is gone when kvsim begins.
  const CommandResult r = shell("{ sleep 0.3; \"$KVSIM\" run s.yaml; echo status $? >&2; } | true", {"", folder()});
  EXPECT_EQ(r.err, "status 0\n");
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
