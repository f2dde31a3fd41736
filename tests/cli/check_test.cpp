// Every scenario that ships is valid, and what `check` prints is a scenario again.
#include <algorithm>
#include <filesystem>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(KVSIM_SOURCE_DIR "/scenarios")) {
    const bool experiment = entry.path().string().find("/scenarios/papers/") != std::string::npos;
    if (entry.path().extension() == ".yaml" && !experiment) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// One request of every trace format.
std::string small_trace(const std::string& format) {
  if (format == "mooncake") {
    return "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 10, \"hash_ids\": [1, 2]}\n";
  }
  if (format == "bailian") {
    return "{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 0, \"input_length\": 20, \"output_length\": 10, "
           "\"type\": \"text\", \"turn\": 1, \"hash_ids\": [1, 2]}\n";
  }
  if (format == "azure") return "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n";
  if (format == "vllm_bench") return "{\"arrival_time\": 1000, \"input_toks\": 100, \"output_toks\": 10}\n";
  return "arrival_s,prompt_tokens,output_tokens\n0,100,10\n";
}

class CheckTest : public Workspace {};

TEST_F(CheckTest, AcceptsEveryScenarioThatShips) {
  ASSERT_FALSE(shipped_scenarios().empty());
  for (const std::string& file : shipped_scenarios()) {
    std::vector<std::string> words{"check", file};
    const std::string text = read_file(file);
    for (const char* format : {"mooncake", "bailian", "azure", "csv", "vllm_bench"}) {
      if (text.find("format: " + std::string(format)) == std::string::npos) continue;
      write("trace", small_trace(format));
      words.insert(words.end(), {"--set", "workload.trace.path=" + folder() + "/trace"});
    }
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 0) << file << ": " << r.err;
    // These have keys for the other policies of a comparison.
    const bool compared = file.find("/baselines/") != std::string::npos ||
                          file.find("utility_verified") != std::string::npos ||
                          file.find("speculative_prefetch/published") != std::string::npos;
    EXPECT_EQ(r.err.empty(), !compared) << file << ": " << r.err;
    EXPECT_TRUE(r.out.starts_with("# OK: ")) << file;
  }
}

TEST_F(CheckTest, PrintsTheKvCapacity) {
  write("s.yaml", tiny_scenario());
  // 0.9 x 81,559 MiB less 16.06 GB of weights, in blocks of 16 tokens of 131,072 bytes: see golden/resolved.yaml.
  EXPECT_NE(run({"check", "s.yaml"}).out.find("# KV capacity of a replica: "), std::string::npos);
}

TEST_F(CheckTest, ItsOutputIsAScenarioThatChecksToItself) {
  write("s.yaml", tiny_scenario());
  const CommandResult first = run({"check", "s.yaml", "--full"});
  write("s.yaml", first.out);
  const CommandResult again = run({"check", "s.yaml", "--full"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(first.out, again.out);
}

TEST_F(CheckTest, SetChangesWhatIsChecked) {
  write("s.yaml", tiny_scenario());
  const CommandResult r = run({"check", "s.yaml", "--set", "decode.draft_length=13", "--set", "slo.tpot_p99=50 ms"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("draft_length: 13"), std::string::npos);
  EXPECT_NE(r.out.find("tpot_p99: 50 ms"), std::string::npos);
}

// Values are compared as they are understood: 0.25 and 1/4 of anything are one, whatever the unit.
TEST_F(CheckTest, ShowsTheKeysThatAreNotAtTheirDefaults) {
  write("s.yaml",
        "name: two keys\nmodel: llama-3.1-8b\ncluster: {gpu: {type: h100-sxm}, replicas: 1}\nworkload: {context: 1k "
        "tokens, "
        "output: "
        "10 tokens, closed: {concurrency: 2}}\ndecode: {policy: full_kv}\nschedule: {max_requests: 32, policy: fcfs}\n"
        "run: {seed: 1, duration: 120 s}\n");
  const CommandResult r = run({"check", "s.yaml", "--set", "schedule.block_size=32 tokens"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out.substr(r.out.find("# Keys")),
            "# Keys that are not at their defaults:\n"
            "model: llama-3.1-8b\n"
            "cluster: {gpu: {type: h100-sxm}}\n"
            "workload: {context: 1k tokens, output: 10 tokens, closed: {concurrency: 2}}\n"
            "decode: {policy: full_kv}\n"
            "schedule: {max_requests: 32, block_size: 32 tokens}\n"
            "run: {duration: 120 s}\n" +
                r.out.substr(r.out.find("# --full")));
}

TEST_F(CheckTest, SaysItInAtMost25Lines) {
  for (const std::string& file : shipped_scenarios()) {
    if (read_file(file).find("trace:") != std::string::npos) continue;
    const CommandResult r = run({"check", file});
    EXPECT_LE(std::count(r.out.begin(), r.out.end(), '\n'), 25) << r.out;
    const CommandResult full = run({"check", file, "--full"});
    write("full.yaml", full.out);
    const CommandResult again = run({"check", "full.yaml"});
    EXPECT_EQ(again.status, 0) << file << ": " << again.err;
    EXPECT_LE(std::count(again.out.begin(), again.out.end(), '\n'), 25) << again.out;
  }
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
