// Exports: what is written is valid, comes from the plan or the scenario, and is never more than they allow.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "planner/export/engine_export.h"
#include "tests/support/small_scenario.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

namespace fs = std::filesystem;

class ExportTest : public ::testing::Test {
 protected:
  ExportTest() : folder_(fs::temp_directory_path() / ("kvsim_export_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~ExportTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  /// The exit status of a shell command in the folder.
  int shell(const std::string& command) const {
    return std::system(("cd '" + folder_.string() + "' && " + command).c_str());
  }
  /// The arguments that the script gives to vllm, one a line.
  std::string arguments(const std::string& script) const {
    write("vllm.sh", script);
    write("vllm", "#!/bin/sh\nprintf '%s\\n' \"$@\" > arguments\n");
    EXPECT_EQ(shell("chmod +x vllm && bash -n vllm.sh && PATH=\"$PWD:$PATH\" bash vllm.sh"), 0);
    return read("arguments");
  }

 private:
  fs::path folder_;
};

struct Planned {
  scenario::Scenario scenario;
  ScenarioPlan plan;
  std::optional<SimulatedPlan> simulated{};
  [[nodiscard]] std::string write(std::string_view engine) const {
    return export_plan(scenario, exported_plan(plan, simulated), engine);
  }
};

Planned planned(const std::vector<std::string>& overrides = {}) {
  PlanRequest request;
  request.keep_ratios = {0.25};
  request.most_draft_length = 20;
  Planned p{testing::small_scenario(overrides), {}};
  p.plan = plan(p.scenario, request);
  return p;
}

/// A plan that offloads: four full KV fit, there are 40 requests.
const Planned& offloading() {
  static const Planned p =
      planned({"cluster.gpu.memory_fraction=0.33", "workload.closed.concurrency=40", "workload.output=2000 tokens"});
  return p;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST_F(ExportTest, VllmGetsThePlanAsArguments) {
  const Planned p = planned({"workload.closed.concurrency=4"});
  ASSERT_EQ(p.plan.optimum.batch.requests(), 4);
  const std::string given = arguments(p.write("vllm"));
  EXPECT_TRUE(given.starts_with("serve\nmeta-llama/Llama-3.1-8B\n")) << given;
  for (const char* line : {"--tensor-parallel-size\n1", "--gpu-memory-utilization\n0.5",
                           "--max-num-batched-tokens\n2048", "--block-size\n16", "--max-model-len\n16200"}) {
    EXPECT_TRUE(has_line(given, line)) << line << "\n" << given;
  }
  EXPECT_TRUE(has_line(given, "{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}")) << given;
}

TEST_F(ExportTest, AnEngineWithoutCompressedKvGetsTheRequestsThatFitWithout) {
  const Planned& p = offloading();
  ASSERT_GT(p.plan.optimum.x, 0);
  ASSERT_TRUE(p.plan.full_kv);
  ASSERT_GT(p.plan.optimum.batch.requests(), p.plan.full_kv->batch.requests());
  EXPECT_TRUE(
      has_line(arguments(p.write("vllm")), "--max-num-seqs\n" + std::to_string(p.plan.full_kv->batch.requests())));
}

TEST_F(ExportTest, WhatCannotBeExpressedIsSaid) {
  for (const EngineExport* engine : engine_exports()) {
    const std::string text = offloading().write(engine->name);
    for (const char* said : {"What could not be expressed", "keep ratio 0.25 by kvzip",
                             "B_c = ", "schedule of verifications", "host link", "full-KV baseline"}) {
      EXPECT_NE(text.find(said), std::string::npos) << engine->name << ": " << said;
    }
  }
}

TEST_F(ExportTest, ThePlanThatWonBySimulationIsWritten) {
  Planned p = offloading();
  SimulatedCandidate best{"beside a better one", p.plan.optimum, true, std::nullopt, {2000}, false};
  best.point.x = p.plan.optimum.x + 1;
  best.point.c = 0.5;
  p.simulated = SimulatedPlan{{best}, {}, engine::ConfidenceInterval{}, std::nullopt, 1, false};
  p.simulated->throughput.mean = 2000;
  p.simulated->full_kv->mean = 1000;
  for (const EngineExport* engine : engine_exports()) {
    const std::string text = p.write(engine->name);
    for (const std::string& said :
         {fmt::format("Plan: x = {}, c = 0.5, as many requests as fit at once; 2000 tokens/s simulated.", best.point.x),
          fmt::format("drafting {} tokens", best.point.x), std::string("keep ratio 0.5 by kvzip"),
          std::string("baseline of the plan: 1000 tokens/s simulated.")}) {
      EXPECT_NE(text.find(said), std::string::npos) << said << "\n" << text;
    }
    EXPECT_EQ(text.find("closed forms"), std::string::npos) << text;
  }
}

// Words of comments that begin with a section of a scenario and have a dot are keys.
TEST_F(ExportTest, EveryKeyThatIsNamedExists) {
  std::set<std::string> known, sections;
  for (const schema::FieldInfo& section : scenario::scenario_schema().info().fields) {
    sections.insert(section.name);
    if (!section.object) continue;
    const auto add = [&known](auto self, const schema::ObjectInfo& info, const std::string& prefix) -> void {
      for (const schema::FieldInfo& field : info.fields) {
        known.insert(prefix + field.name);
        if (field.object) self(self, *field.object, prefix + field.name + ".");
      }
    };
    add(add, *section.object, section.name + ".");
  }
  std::size_t named = 0;
  for (const std::vector<std::string>& overrides : {std::vector<std::string>{},
                                                    {"schedule.block_size=24 tokens"},
                                                    {"model={base: llama-3.1-8b, kv_bytes_per_element: 1}"}}) {
    for (const EngineExport* engine : engine_exports()) {
      std::istringstream words(planned(overrides).write(engine->name));
      for (std::string word; words >> word;) {
        word.erase(word.find_last_not_of(",.;:") + 1);
        const std::size_t dot = word.find('.');
        if (dot == std::string::npos || !sections.contains(word.substr(0, dot))) continue;
        EXPECT_TRUE(known.contains(word)) << engine->name << ": " << word;
        ++named;
      }
    }
  }
  EXPECT_GT(named, 10U);
}

TEST_F(ExportTest, EverySettingSaysWhereItComesFrom) {
  for (const EngineExport* engine : engine_exports()) {
    std::istringstream lines(offloading().write(engine->name));
    std::string line, before;
    for (; std::getline(lines, line); before = line) {
      const bool setting = line.starts_with("  --") || (engine->name == "lmcache" && !line.empty() && line[0] != '#');
      EXPECT_TRUE(!setting || before.find('#') != std::string::npos) << line;
    }
  }
}

TEST_F(ExportTest, LmcacheIsYamlThatParses) {
  const schema::ConfigNode document = schema::read_yaml(offloading().write("lmcache"), "lmcache.yaml");
  ASSERT_TRUE(document.is_map());
  EXPECT_EQ(document.find("chunk_size")->text(), "256");
  EXPECT_EQ(document.find("local_cpu")->text(), "true");
  EXPECT_EQ(document.find("max_local_cpu_size")->text(), "512.0");
  EXPECT_EQ(document.find("save_decode_cache")->text(), "true");
  EXPECT_EQ(document.find("remote_serde"), nullptr);
}

TEST_F(ExportTest, RoundsToTheSafeSide) {
  // 100 GB over two workers: 46.57 GiB each.
  const Planned p =
      planned({"cluster.gpu.memory_fraction=0.6789", "cluster.gpu.tensor_parallel=2", "cluster.host.memory=100 GB"});
  EXPECT_TRUE(has_line(arguments(p.write("vllm")), "--gpu-memory-utilization\n0.678"));
  EXPECT_EQ(schema::read_yaml(p.write("lmcache"), "l").find("max_local_cpu_size")->text(), "46.5");
}

TEST_F(ExportTest, TheModelLengthHasRoomForSharedPrefixes) {
  const Planned p = planned({"workload.prefixes={count: 3, tokens: 1k tokens}"});
  EXPECT_TRUE(has_line(arguments(p.write("vllm")), "--max-model-len\n17200"));
}

TEST_F(ExportTest, TheModelLengthHasRoomForChunks) {
  const Planned p = planned({"workload.chunks={count: 30, per_request: 4, tokens: 250 tokens}"});
  EXPECT_TRUE(has_line(arguments(p.write("vllm")), "--max-model-len\n17200"));
}

TEST_F(ExportTest, AModelLengthBeyondTheMemoryIsCut) {
  // 0.25 x 85.6 GB less 16.1 GB of weights: about 40k tokens of KV for contexts of 16k, in a model that allows 131k.
  const Planned p = planned({"workload.context={distribution: lognormal, mean: 8k tokens, cv: 0.3}",
                             "cluster.gpu.memory_fraction=0.25", "workload.closed.concurrency=2"});
  const std::string text = p.write("vllm");
  EXPECT_NE(text.find("KV memory holds"), std::string::npos) << text;
}

TEST_F(ExportTest, NarrowKvAndUnknownModelsAreSaid) {
  const Planned p = planned({"model={base: llama-3.1-8b, kv_bytes_per_element: 1}"});
  EXPECT_TRUE(has_line(arguments(p.write("vllm")), "--kv-cache-dtype\nfp8"));
  Planned unknown = planned();
  unknown.scenario.serving.model.source.reference = "a technical report";
  EXPECT_NE(unknown.write("vllm").find("MODEL=\"${MODEL:-CHANGE-ME}\""), std::string::npos);
}

TEST_F(ExportTest, CachegenIsWhatLmcacheHas) {
  Planned p = offloading();
  p.scenario.serving.decode.compressor.name = "cachegen";
  const schema::ConfigNode document = schema::read_yaml(p.write("lmcache"), "lmcache.yaml");
  EXPECT_EQ(document.find("remote_serde")->text(), "cachegen");
  EXPECT_NE(document.find("remote_url"), nullptr);
}

TEST_F(ExportTest, NamesDoNotLeaveTheirComments) {
  Planned p = planned();
  p.scenario.name = "x\ntouch broken\r\n$(touch broken) `touch broken` '\" \\";
  p.scenario.serving.decode.compressor.name = "a\nlocal_cpu: maybe";
  p.scenario.serving.model.source.reference = "a/b\"; touch broken config.json, Hugging Face";
  arguments(p.write("vllm"));
  EXPECT_FALSE(fs::exists(path("broken")));
  EXPECT_EQ(schema::read_yaml(p.write("lmcache"), "l").find("local_cpu")->text(), "true");
}

TEST_F(ExportTest, APlanOfFullKvFromPromptsHasNoStore) {
  Planned full = planned({"workload.closed.concurrency=1"});
  full.scenario.serving.prefill = serving::PrefillKind::recompute;
  full.plan.optimum = *full.plan.full_kv;
  const std::string text = full.write("vllm");
  EXPECT_EQ(text.find("kv-transfer-config"), std::string::npos);
  EXPECT_EQ(text.find("full-KV baseline"), std::string::npos);
  EXPECT_EQ(schema::read_yaml(full.write("lmcache"), "l").find("local_cpu")->text(), "false");
}

TEST(EngineExports, AreFoundByName) {
  EXPECT_EQ(find_engine_export("vllm")->file, "vllm.sh");
  EXPECT_EQ(find_engine_export("sglang"), nullptr);
  try {
    (void)planned().write("sglang");
    FAIL();
  } catch (const schema::InputError& e) {
    EXPECT_STREQ(e.what(), "--export sglang: unknown engine, expected vllm or lmcache");
  }
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
