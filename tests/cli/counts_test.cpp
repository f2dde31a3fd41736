// What is counted and what is a share, on pages and in documents: "1 GPU", and nothing above 1.
#include <regex>

#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

class CountsTest : public Workspace {
 protected:
  CountsTest() {
    write("s.yaml", tiny_scenario());
    write("one.yaml", R"(name: one of everything
model: llama-3.1-8b
cluster: {gpu: {type: h100-sxm}, node: {gpus: 1}}
workload:
  arrivals: {rate: 5/s}
  context: 500 tokens
  output: 10 tokens
prefill: recompute
decode: {policy: full_kv}
slo: {ttft_p99: 500 ms, tpot_p99: 50 ms}
run: {duration: 4 s, seed: 1}
)");
  }

  /// What a command prints; it ends well.
  std::string printed(const Words& command) {
    const CommandResult r = run(command);
    EXPECT_EQ(r.status, 0) << command.front() << ": " << r.err;
    return r.out;
  }
};

/// Plurals of one, with what is around them.
std::vector<std::string> plurals_of_one(const std::string& text) {
  static const std::regex wrong(
      "(^|[^0-9.,/])1 (GPU|node|replica|replication|point|request|run|seed|token|chunk|plot|policie|candidate|"
      "simulation|assumption|fall-back|figure|batche|iteration|user|session|prompt|machine|block|table|group|day)s\\b[^"
      "/]");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), wrong), end; at != end; ++at) {
    const auto begin = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, at->position() - 40));
    found.push_back(text.substr(begin, 90));
  }
  return found;
}

TEST_F(CountsTest, OneOfAnythingIsNoPlural) {
  EXPECT_EQ(plurals_of_one("in 1 nodes of 1; 1 GPU, 21 GPUs, 1.1 points, 1 tokens/s").size(), 1U);
  const std::vector<Words> commands{
      {"run", "one.yaml", "--set", "workload.requests=1", "--out", "r/run"},
      {"compare", "s.yaml", "--policies", "draft_verify", "--set", "workload.closed.concurrency=1", "--out",
       "r/compare"},
      {"sweep", "one.yaml", "--vary", "run.seed=1", "--out", "r/sweep"},
      {"capacity", "one.yaml", "--attainment", "0.9", "--replications", "2", "--rate", "5/s", "--out", "r/capacity"},
      {"plan", "s.yaml", "--draft-length", "1:1", "--out", "r/plan"},
      {"plan", "s.yaml", "--draft-length", "1:1", "--set", "schedule.max_requests=1"},
      {"show", "step", "one.yaml", "--batch", "1", "--context", "1"},
      {"check", "one.yaml"},
      {"check", "one.yaml", "--full"},
      {"report", "r", "--format", "md"}};
  for (const Words& command : commands) {
    EXPECT_EQ(plurals_of_one(printed(command)), Words{}) << command[0] << " " << command[1];
  }
}

/// Whether what is under this key is shares, whatever its depth.
bool has_shares(const std::string& path) {
  static const std::regex shares(
      ".*/(utilisation|busy_fraction|hit_rate|attainment|acceptance_rate|bound_by|timeline/gpu|"
      "timeline/links)(/.*)?");
  return std::regex_match(path, shares);
}

void expect_shares(const Json& node, const std::string& path, std::size_t& seen) {
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) expect_shares(value, path + "/" + key, seen);
  } else if (node.is_array()) {
    for (const Json& value : node) expect_shares(value, path, seen);
  } else if (node.is_number() && has_shares(path)) {
    EXPECT_LE(node.get<double>(), 1.0) << path;
    EXPECT_GE(node.get<double>(), 0.0) << path;
    ++seen;
  }
}

// A machine that never rests and a link that is always full: sums of times that rounding might lift above the whole.
TEST_F(CountsTest, NoShareIsAboveOneByRounding) {
  for (const char* seed : {"1", "2", "3", "4"}) {
    for (const char* users : {"64", "300"}) {
      std::size_t seen = 0;
      expect_shares(Json::parse(printed({"run", "s.yaml", "--json", "--seed", seed, "--set",
                                         std::string("workload.closed.concurrency=") + users, "--set",
                                         "cluster.host.link.read=5 GB/s"})),
                    "", seen);
      EXPECT_GT(seen, 100U);
    }
  }
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
