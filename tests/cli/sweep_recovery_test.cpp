// A sweep that was interrupted, killed, cut off or ran out of disk goes on to the bytes of an undisturbed one.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "tests/cli/sweep_workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Words = std::vector<std::string>;

class SweepRecoveryTest : public SweepTest {};

TEST_F(SweepRecoveryTest, AJournalThatWasCutResumesToTheSameFiles) {
  ASSERT_EQ(sweep({"--jobs", "1", "--out", "whole"}).status, 0);
  const std::string journal = read("whole/points.jsonl");
  const std::size_t last = journal.rfind('\n', journal.size() - 2);
  const std::size_t before = journal.rfind('\n', last - 1);
  // Around the ends of the last two lines, and within them; every byte is the runner's test.
  for (const std::size_t size : {before + 1, before + 2, (before + last) / 2, last, last + 1, journal.size() - 1}) {
    write("cut/points.jsonl", journal.substr(0, size));
    const CommandResult r = sweep({"--out", "cut", "--resume"});
    ASSERT_EQ(r.status, 0) << size << r.err;
    expect_same_files("whole", "cut");
  }
}

TEST_F(SweepRecoveryTest, AJournalWithoutAWholeFirstLineBeginsAnew) {
  ASSERT_EQ(sweep({"--out", "whole"}).status, 0);
  write("cut/points.jsonl", read("whole/points.jsonl").substr(0, 100));
  EXPECT_EQ(sweep({"--out", "cut", "--resume"}).status, 0);
  expect_same_files("whole", "cut");
  EXPECT_EQ(sweep({"--out", "none", "--resume"}).status, 0);  // nothing there: nothing to go on with
  expect_same_files("whole", "none");
}

TEST_F(SweepRecoveryTest, AMetricThatNoPointHasIsRefusedBeforeTheOthersAreSimulated) {
  ASSERT_EQ(sweep({"--out", "whole"}).status, 0);
  const std::string journal = read("whole/points.jsonl");
  const std::string cut = journal.substr(0, journal.rfind('\n', journal.size() - 2) + 1);
  write("cut/points.jsonl", cut);
  const CommandResult r = sweep({"--out", "cut", "--resume", "--metric", "fetch.hidden"});
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(r.err.starts_with("kvsim: --metric: no point has a figure \"fetch.hidden\"")) << r.err;
  EXPECT_EQ(read("cut/points.jsonl"), cut);
}

TEST_F(SweepRecoveryTest, AnotherSweepIsNotResumed) {
  ASSERT_EQ(sweep({"--out", "o"}).status, 0);
  const std::string journal = read("o/points.jsonl");
  EXPECT_EQ(sweep({"--out", "o"}).err,
            "kvsim: o/points.jsonl exists: the folder holds a sweep already; --resume goes on with it, or name another "
            "folder\n");
  const std::string other = "kvsim: o/points.jsonl is the journal of another sweep: it differs in ";
  const auto resumed = [&](const Words& more) {
    Words words{"--out", "o", "--resume"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult r = sweep(words);
    EXPECT_EQ(r.status, 2);
    return r.err;
  };
  EXPECT_EQ(resumed({"--seed", "7"}), other + "the seed (1, now 7)\n");
  EXPECT_EQ(resumed({"--replications", "2"}), other + "the replications (1, now 2)\n");
  EXPECT_EQ(resumed({"--set", "cluster.gpu.memory_fraction=0.8"}),
            other + "cluster.gpu.memory_fraction of the scenario (0.9, now 0.8)\n");
  EXPECT_EQ(resumed({"--vary", "decode.resident=0,1"}), other + "the axes\n");
  EXPECT_EQ(resumed({"--shard", "1/2"}), other + "the shard (1/1, now 1/2)\n");
  EXPECT_EQ(read("o/points.jsonl"), journal);
}

TEST_F(SweepRecoveryTest, ADamagedPointIsNamedAndSimulatedAgain) {
  ASSERT_EQ(sweep({"--jobs", "1", "--out", "whole"}).status, 0);
  std::string journal = read("whole/points.jsonl");
  const std::size_t at = journal.find("\"output_tokens_per_s\":", journal.find("{\"index\":1,"));
  ASSERT_NE(at, std::string::npos);
  journal[at + 23] ^= 1;  // a bit of its first digit
  write("bad/points.jsonl", journal);
  const CommandResult r = sweep({"--out", "bad", "--resume"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, "kvsim: bad/points.jsonl:3:1: damaged: its checksum is another one; point 1 is simulated again\n");
  expect_same_files("whole", "bad");
  EXPECT_EQ(sweep({"--out", "bad", "--resume"}).err, "");
}

// As many pairs as find the window between looking and locking, were there one: one sweep of each has the folder.
TEST_F(SweepRecoveryTest, OfTwoSweepsIntoOneFolderAtOnceOneIsRefused) {
  ASSERT_EQ(sweep({"--seed", "1", "--out", "first"}).status, 0);
  ASSERT_EQ(sweep({"--seed", "2", "--out", "second"}).status, 0);
  for (int pair = 0; pair < 10; ++pair) {
    const std::string out = "o" + std::to_string(pair);
    const auto begin = [&](const char* seed) {
      return std::make_unique<Child>(Words{KVSIM_BINARY, "sweep", "s.yaml", "--vary", "decode.draft_length=4:8:4",
                                           "--vary", "decode.keep_ratio=0.1,0.2,0.4", "--seed", seed, "--out", out},
                                     Redirect{"", folder()});
    };
    const auto a = begin("1"), b = begin("2");
    const CommandResult first = a->wait(), second = b->wait();
    ASSERT_NE(first.status == 0, second.status == 0) << first.err << second.err;
    const CommandResult& lost = first.status == 0 ? second : first;
    const std::string there = out + "/points.jsonl";
    if (lost.status == 1) {
      EXPECT_EQ(lost.err, "kvsim: another kvsim is at work in " + out + "\n");
    } else {
      EXPECT_EQ(lost.status, 2);
      EXPECT_EQ(lost.err, "kvsim: " + there +
                              " exists: the folder holds a sweep already; --resume goes on with it, or name "
                              "another folder\n");
    }
    expect_same_files(first.status == 0 ? "first" : "second", out);
  }
}

TEST_F(SweepRecoveryTest, SigintKeepsWhatIsFinishedAndResumeGoesOn) {
  write("s.yaml", edited(tiny_scenario(), "duration: 4 s", "duration: 120 s"));
  const Words words{"sweep", "s.yaml", "--vary", "decode.draft_length=1:60:1", "--jobs", "2"};
  Words first{KVSIM_BINARY};
  first.insert(first.end(), words.begin(), words.end());
  first.insert(first.end(), {"--out", "o"});
  for (const int signal : {SIGINT, SIGKILL}) {
    Child child(first, {"", folder()});
    const auto lines = [this] {
      const std::string text = read("o/points.jsonl");
      return std::count(text.begin(), text.end(), '\n');
    };
    const auto before = lines();
    while (lines() < before + 4) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::kill(child.id(), signal);
    const CommandResult r = child.wait();
    EXPECT_GE(lines(), before + 4);
    EXPECT_EQ(r.out, "");
    if (signal == SIGINT) {
      EXPECT_EQ(r.status, 130);
      EXPECT_EQ(r.err, "kvsim: interrupted, " + std::to_string(lines() - 1) +
                           " of 60 points saved in o; --resume continues\n");
      EXPECT_EQ(names(), (Words{"o", "o/points.jsonl", "s.yaml"}));
      first.push_back("--resume");
    } else {
      EXPECT_EQ(r.status, 128 + SIGKILL);
    }
  }
  Words last = words;
  last.insert(last.end(), {"--out", "o", "--resume"});
  EXPECT_EQ(run(last).status, 0);
  Words whole = words;
  whole.insert(whole.end(), {"--out", "whole"});
  EXPECT_EQ(run(whole).status, 0);
  expect_same_files("whole", "o");
}

// While points are checked, before the first of them is simulated, there is nothing that could go on.
TEST_F(SweepRecoveryTest, SigintBeforeTheFirstPointSavesNothingAndSaysSo) {
  write("s.yaml", tiny_scenario());
  Child child({KVSIM_BINARY, "sweep", "s.yaml", "--vary", "run.seed=1:200000:1", "--out", "o", "--jobs", "1"},
              {"", folder()});
  while (!std::filesystem::exists(folder() + "/o")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(child.id(), SIGINT);
  const CommandResult r = child.wait();
  EXPECT_EQ(r.status, 130);
  EXPECT_EQ(r.err, "kvsim: interrupted, no results written\n");
  EXPECT_EQ(names(), (Words{"s.yaml"}));
}

TEST_F(SweepRecoveryTest, WhatAKilledSweepLeftHalfWrittenGoesAndNothingElse) {
  write("o/.kvsim/lock", "");
  write("o/.kvsim/new/sweep.json", "{");
  write("o/.kvsim/new/resolved.yaml", "");
  write("o/.sweep.json.tmp", "mine");
  const CommandResult r = sweep({"--out", "o"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(names(), (Words{"o", "o/.sweep.json.tmp", "o/points.jsonl", "o/resolved.yaml", "o/sweep.csv",
                            "o/sweep.json", "s.yaml"}));
}

// The results of the sweep before are not taken for those of the one that has begun, whose journal lies beside them.
TEST_F(SweepRecoveryTest, ASweepInPlaceOfAnotherEndsTheResultsOfThatOne) {
  ASSERT_EQ(sweep({"--out", "o"}).status, 0);
  std::filesystem::remove(folder() + "/o/points.jsonl");
  EXPECT_EQ(run({"report", "o", "--out", "r.html"}).err.rfind("kvsim: o: incomplete: points.jsonl is missing", 0), 0);
  const Words words{
      KVSIM_BINARY,         "sweep", "s.yaml", "--vary", "decode.draft_length=1:60:1", "--jobs", "1", "--set",
      "run.duration=120 s", "--out", "o"};
  Child child(words, {"", folder()});
  while (read("o/points.jsonl").empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(child.id(), SIGKILL);
  child.wait();
  EXPECT_EQ(names(), (Words{"o", "o/.kvsim", "o/.kvsim/lock", "o/points.jsonl", "s.yaml"}));
}

TEST_F(SweepRecoveryTest, AFolderThatCannotBeWrittenIsRefusedByTheJournalsName) {
  for (const Words& words : {Words{"--out", "/proc"}, {"--out", "/proc", "--resume"}}) {
    const CommandResult r = sweep(words);
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(r.err.starts_with("kvsim: cannot write /proc/points.jsonl: ")) << r.err;
  }
}

TEST_F(SweepRecoveryTest, AFullDiskKeepsWhatIsFinishedAndResumeGoesOn) {
  ASSERT_EQ(sweep({"--jobs", "1", "--out", "whole"}).status, 0);
  // A limit on file sizes, in blocks of 512 bytes: the journal gets past its first line and not to its end.
  const std::string journal = read("whole/points.jsonl");
  const std::size_t limit = (journal.find('\n') + journal.size()) / 2 / 512;
  const CommandResult r = shell("ulimit -f " + std::to_string(limit) +
                                    "; \"$KVSIM\" sweep s.yaml --vary decode.draft_length=4:8:4 --vary "
                                    "decode.keep_ratio=0.1,0.2,0.4 --out o --jobs 1",
                                {"", folder()});
  const std::string saved = read("o/points.jsonl");
  const auto points = std::count(saved.begin(), saved.end(), '\n') - 1;
  EXPECT_GT(points, 0);
  EXPECT_TRUE(journal.starts_with(saved));
  EXPECT_TRUE(saved.ends_with('\n'));  // no line is half there
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "kvsim: cannot write o/points.jsonl: File too large; " + std::to_string(points) +
                       " of 6 points saved in o; --resume continues\n");
  EXPECT_EQ(sweep({"--out", "o", "--resume"}).status, 0);
  expect_same_files("whole", "o");
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
