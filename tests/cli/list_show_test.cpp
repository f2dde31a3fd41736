// Commands that answer questions about what kvsim knows.
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

class ListShowTest : public Workspace {
 protected:
  std::string output(const std::vector<std::string>& arguments) {
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    return r.out;
  }
};

TEST_F(ListShowTest, EveryKindHasEntriesWithADescription) {
  for (const char* kind :
       {"models", "gpus", "links", "compressors", "drafters", "policies", "profiles", "attention_profiles", "datasets",
        "rag_tasks", "engines", "schedules", "routers", "dispatchers", "placements", "traces"}) {
    const Json doc = Json::parse(output({"list", kind, "--json"}));
    ASSERT_FALSE(doc["entries"].empty()) << kind;
    for (const Json& entry : doc["entries"]) {
      EXPECT_NE(entry["name"], "") << kind;
      EXPECT_NE(entry["description"], "") << entry["name"];
    }
  }
}

TEST_F(ListShowTest, PoliciesAreThoseOfEveryAxis) {
  const std::string text = output({"list", "policies"});
  for (const char* name :
       {"full_kv", "draft_verify", "staggered", "lock_step", "round_robin", "weighted", "s3fifo", "utility"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name;
  }
}

TEST_F(ListShowTest, MetricsHaveUnitDirectionAndSentence) {
  const Json entries = Json::parse(output({"list", "metrics", "--json"}))["entries"];
  EXPECT_GT(entries.size(), 150U);
  for (const Json& entry : entries) {
    EXPECT_NE(entry["unit"], "") << entry["name"];
    EXPECT_TRUE(entry["better"] == "higher" || entry["better"] == "lower" || entry["better"] == "neither") << entry;
    EXPECT_NE(entry["description"], "") << entry["name"];
  }
  EXPECT_NE(output({"list", "metrics"}).find("fetch.waiting_steps"), std::string::npos);
}

TEST_F(ListShowTest, EveryNameThatIsListedCanBeShown) {
  const Json doc = Json::parse(output({"list", "--json"}));
  const Json& entries = doc["entries"];
  constexpr std::size_t kEach = KVSIM_SANITIZED ? 10 : 1;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Json& entry = entries[i];
    // A process each; a metric is shown in one line, as it is listed, and there are hundreds.
    if (i % (entry["kind"] == "metric" ? 10 * kEach : kEach) != 0) continue;
    const std::string name = entry["kind"].get<std::string>() + "/" + entry["name"].get<std::string>();
    EXPECT_NE(output({"show", name}), "") << name;
  }
}

TEST_F(ListShowTest, AModelIsShownWithWhatFollowsFromIt) {
  const std::string text = output({"show", "llama-3.1-8b"});
  EXPECT_NE(text.find("# KV: 131,072 bytes per token"), std::string::npos) << text;  // 2 x 32 x 8 x 128 x 2
  EXPECT_NE(text.find("source: publication"), std::string::npos);
}

TEST_F(ListShowTest, WhatIsShownCanBeIncluded) {
  const std::string shown = output({"show", "h100-sxm"});
  write("more.yaml", edited(shown, "  h100-sxm:", "  mine:"));
  EXPECT_NE(output({"list", "gpus", "--include", "more.yaml"}).find("mine "), std::string::npos);
  EXPECT_EQ(edited(output({"show", "mine", "--include", "more.yaml"}), "  mine:", "  h100-sxm:"), shown);
}

TEST_F(ListShowTest, TheSchemaIsJsonAndTheReferenceMarkdown) {
  const Json schema = Json::parse(output({"schema"}));
  EXPECT_TRUE(schema.contains("$schema"));
  EXPECT_TRUE(schema["properties"].contains("decode"));
  EXPECT_NE(output({"schema", "--markdown"}).find("draft_length"), std::string::npos);
}

TEST_F(ListShowTest, ATraceIsDescribed) {
  // 3 requests in 2 s: 2 gaps, 1 request a second.
  write("t.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,10\n1,200,20\n2,300,30\n");
  const Json doc = Json::parse(output({"workload", "info", "t.csv", "--format", "csv", "--json"}));
  EXPECT_EQ(doc["requests"], 3);
  EXPECT_EQ(doc["rate_per_s"], 1.0);
  EXPECT_EQ(doc["prompt_tokens"]["mean"], 200.0);
  EXPECT_NE(output({"workload", "info", "t.csv", "--format", "csv"}).find("Arrivals"), std::string::npos);
}

TEST_F(ListShowTest, EveryCommandHasHelpWithAnExample) {
  for (const char* command :
       {"run", "compare", "check", "list", "show", "schema", "workload", "validate", "completion"}) {
    EXPECT_NE(output({command, "--help"}).find("Example:\n  "), std::string::npos) << command;
  }
  EXPECT_TRUE(output({"--version"}).starts_with("kvsim "));
}

TEST_F(ListShowTest, AStepIsTakenApart) {
  write("s.yaml", tiny_scenario());
  const std::string text = output({"show", "step", "s.yaml", "--set", "cluster.gpu.tensor_parallel=2", "--batch", "8",
                                   "--context", "4096", "--verify", "2", "--chunk", "512"});
  EXPECT_NE(text.find("One step of llama-3.1-8b on 2 x h100-sxm: "), std::string::npos) << text;
  EXPECT_NE(text.find("8 requests "), std::string::npos) << text;
  for (const char* name : {"linear layers", "LM head", "attention", "collectives", "norms and activations",
                           "launch and scheduling of an iteration"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name << "\n" << text;
  }
  EXPECT_NE(text.find("attention: fit to"), std::string::npos) << text;
  const std::string eager =
      output({"show", "step", "s.yaml", "--set", "cluster.gpu.profile.launch={kernel: 80 us, chunks_captured: false}",
              "--batch", "8", "--context", "4096", "--chunk", "256"});
  EXPECT_NE(eager.find("launching kernels"), std::string::npos) << eager;
  EXPECT_EQ(text.find("launching kernels"), std::string::npos) << text;
  EXPECT_EQ(run({"show", "step", "s.yaml", "--context", "0"}).status, 2);
  const Json step = Json::parse(output(
      {"show", "step", "s.yaml", "--set", "model=qwen3-30b-a3b", "--batch", "8", "--context", "4096", "--json"}));
  double sum_s = 0;
  std::vector<std::string> names;
  for (const Json& o : step["operators"]) {
    sum_s += o["seconds"].get<double>();
    names.push_back(o["operator"]);
  }
  EXPECT_EQ(sum_s, step["seconds"].get<double>());
  EXPECT_EQ(names,
            (std::vector<std::string>{"linear layers", "router and shared experts", "routed experts", "LM head",
                                      "attention", "norms and activations", "launch and scheduling of an iteration"}));
  EXPECT_EQ(step["operators"][2]["from"], "form");
  EXPECT_EQ(step["operators"][2]["error"]["held_out"], true);
  EXPECT_TRUE(step["operators"][6]["error"].is_null());
  EXPECT_TRUE(step["details"]["reasons"].contains("operators.6.error")) << step["details"];
  const CommandResult fetching =
      run({"show", "step", "s.yaml", "--set", "decode.policy=full_offload", "--set", "schedule.policy=fcfs"});
  EXPECT_EQ(fetching.status, 2);
  EXPECT_NE(fetching.err.find("steps of full_offload wait for KV that they fetch"), std::string::npos) << fetching.err;
  const CommandResult nothing = run({"show"});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_EQ(nothing.err, "kvsim: NAME is required; `kvsim list` names everything\n");
  EXPECT_EQ(run({"show", "step", "s.yaml", "--batch", "-1"}).status, 2);
}

constexpr const char* kConfig = R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
  "max_position_embeddings": 131072, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "warp_heads": 3, "vocab_size": 128256})";

TEST_F(ListShowTest, AnImportedModelIsAnEntryThatAScenarioCanInclude) {
  write("mine/config.json", kConfig);
  const std::string text = output({"model", "import", "mine/config.json"});
  EXPECT_EQ(text.find("# Fields that kvsim does not know and did not read: warp_heads.\n# parameters: 8,030,261,248 ("),
            0U)
      << text;
  EXPECT_NE(text.find("models:\n  mine:\n"), std::string::npos);
  output({"model", "import", "mine/config.json", "--name", "other", "--out", "other.yaml"});
  const std::string shown = output({"show", "models/other", "--include", "other.yaml"});
  EXPECT_NE(shown.find("# KV: 131,072 bytes per token"), std::string::npos);
}

TEST_F(ListShowTest, AnImportSaysWhatItWillNotWriteOver) {
  write("config.json", kConfig);
  write("there.yaml", "models: {}\n");
  const CommandResult r = run({"model", "import", "config.json", "--out", "there.yaml"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.err, "kvsim: there.yaml exists already; --force replaces it\n");
  const CommandResult itself = run({"model", "import", "config.json", "--out", "config.json", "--force"});
  EXPECT_EQ(itself.status, 2);
  EXPECT_NE(itself.err.find("config.json is an input of this command"), std::string::npos) << itself.err;
  EXPECT_EQ(run({"model", "import", "no.json"}).status, 2);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
