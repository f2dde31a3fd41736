// Keys that nothing reads: refused on a command line, remarked in a file, by every command that simulates.
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using nlohmann::json;

class KeysWithoutEffectTest : public Workspace {
 protected:
  /// A scenario that decodes by full_kv and has a key of drafts.
  void write_full_kv() {
    std::string text =
        edited(tiny_scenario(), "policy: draft_verify, compressor: kvzip, keep_ratio: 0.2, draft_length: 8",
               "policy: full_kv, draft_length: 8");
    write("s.yaml", edited(text, "{policy: staggered}", "{policy: fcfs}"));
  }
  static constexpr const char* kRemark =
      "s.yaml:11:41: decode.draft_length: no effect: decode policy full_kv drafts nothing: use draft_verify";
};

TEST_F(KeysWithoutEffectTest, OfAFileAreWarnedOfAndInTheResults) {
  write_full_kv();
  const CommandResult r = run({"run", "s.yaml", "--json"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, std::string("kvsim: warning: ") + kRemark + "\n");
  EXPECT_EQ(json::parse(r.out).at("details").at("remarks"), json({kRemark}));
  EXPECT_NE(run({"run", "s.yaml", "--details"})
                .out.find("Keys without effect\n  - s.yaml:11:41: decode.draft_length: no effect"),
            std::string::npos);
  EXPECT_EQ(run({"check", "s.yaml"}).err, r.err);
}

TEST_F(KeysWithoutEffectTest, AreNoneWhereAllIsRead) {
  write("s.yaml", tiny_scenario());
  const CommandResult r = run({"run", "s.yaml", "--json"});
  EXPECT_EQ(r.err, "");
  EXPECT_FALSE(json::parse(r.out).at("details").contains("remarks"));
}

TEST_F(KeysWithoutEffectTest, OfAComparisonAreThoseThatNoPolicyReads) {
  write("s.yaml", tiny_scenario());
  EXPECT_EQ(run({"compare", "s.yaml", "--policies", "full_kv,draft_verify", "--set", "decode.draft_length=9"}).err, "");
  const CommandResult none =
      run({"compare", "s.yaml", "--policies", "full_kv,lossy", "--set", "decode.draft_length=9"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.err,
            "kvsim: --set decode.draft_length: no effect: decode policy full_kv drafts nothing: use draft_verify\n");
}

TEST_F(KeysWithoutEffectTest, OfASweepAreThoseThatNoPointReads) {
  write("s.yaml", tiny_scenario());
  const std::vector<std::string> lengths{
      "sweep", "s.yaml", "--vary", "decode.draft_length=4,8", "--set", "schedule.policy=fcfs"};
  const auto with = [&lengths](const std::string& policies) {
    std::vector<std::string> words = lengths;
    words.insert(words.end(), {"--vary", "decode.policy=" + policies});
    return words;
  };
  EXPECT_EQ(run(with("full_kv,draft_verify")).status, 0);
  const CommandResult none = run(with("full_kv,lossy"));
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.err,
            "kvsim: --vary decode.draft_length: no effect: decode policy full_kv drafts nothing: use "
            "draft_verify\n");
  // A shard of one policy's points is part of a sweep that reads the key.
  std::vector<std::string> shard = with("full_kv,draft_verify");
  shard.insert(shard.end(), {"--shard", "1/2"});
  EXPECT_EQ(run(shard).status, 0);
}

TEST_F(KeysWithoutEffectTest, OfASweepAreNoneThatSomePointReads) {
  write("s.yaml", edited(tiny_scenario(), "closed: {concurrency: 4}", "arrivals: {rate: 2/s}"));
  for (const char* processes : {"gamma", "poisson,gamma"}) {
    const CommandResult r = run({"sweep", "s.yaml", "--vary", std::string("workload.arrivals.process=") + processes,
                                 "--set", "workload.arrivals.cv=3"});
    EXPECT_EQ(r.status, 0) << r.err;
  }
}

TEST_F(KeysWithoutEffectTest, OfOnePlacementPolicyStandInAFileBesideOthers) {
  write("s.yaml", edited(placement_scenario(), "policy: utility", "policy: lru, utility: {alpha: 1 s}"));
  const std::string remark = "placement.utility: no effect: only policy utility looks at it: use policy: utility\n";
  EXPECT_NE(run({"run", "s.yaml"}).err.find(remark), std::string::npos);
  EXPECT_NE(run({"compare", "s.yaml", "--policies", "lru,lfu"}).err.find(remark), std::string::npos);
  EXPECT_EQ(run({"compare", "s.yaml", "--policies", "lru,utility"}).err, "");
  EXPECT_EQ(run({"sweep", "s.yaml", "--vary", "placement.policy=lru,utility"}).err, "");
  const CommandResult set = run({"run", "s.yaml", "--set", "placement.utility.alpha=2 s"});
  EXPECT_EQ(set.status, 2);
}

TEST_F(KeysWithoutEffectTest, OfACommandThatDoesNotReadThemAreRefusedWhereTheyAreSet) {
  write("s.yaml", tiny_scenario());
  const std::vector<std::pair<std::vector<std::string>, std::string>> all{
      {{"show", "step", "s.yaml", "--set", "run.seed=3"}, "--set run.seed: no effect: one step is timed"},
      {{"show", "step", "s.yaml", "--batch", "3", "--set", "schedule.max_requests=9"}, "--batch says how many"},
      {{"plan", "s.yaml", "--set", "slo.ttft_p99=2 s"}, "whatever the objectives: use capacity or sweep"},
      {{"plan", "s.yaml", "--set", "run.seed=3"}, "nothing is simulated: use --simulate, or run"},
      {{"capacity", "s.yaml", "--slo", "ttft_p99=9 s", "--machines", "l4", "--set", "cluster.gpu.type=h200"},
       "--machines names other GPUs"}};
  for (const auto& [words, message] : all) {
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 2) << message;
    EXPECT_NE(r.err.find(message), std::string::npos) << r.err;
  }
}

TEST_F(KeysWithoutEffectTest, OfASweepsFileAreInItsResults) {
  write_full_kv();
  const CommandResult r = run({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--json"});
  EXPECT_EQ(r.err, std::string("kvsim: warning: ") + kRemark + "\n");
  EXPECT_EQ(json::parse(r.out).at("remarks"), json({kRemark}));
}

TEST_F(KeysWithoutEffectTest, OfACapacitySearchAreThoseOfItsFleets) {
  write("s.yaml", tiny_scenario());
  const std::vector<std::string> router{"capacity",     "s.yaml", "--slo",
                                        "ttft_p99=9 s", "--set",  "cluster.router=round_robin"};
  const CommandResult one = run(router);
  EXPECT_EQ(one.status, 2);
  EXPECT_NE(one.err.find("--set cluster.router: no effect"), std::string::npos) << one.err;
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
