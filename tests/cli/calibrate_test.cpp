// kvsim calibrate fit, as a user runs it, on rows that a known card would give.
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/documents.h"
#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBandwidth = 0.9 * 3350e9;
constexpr double kFlops = 0.7 * 989e12;

std::string linear_csv() {
  std::string csv = "gpu,framework,version,kernel,dtype,m_tokens,n,k,measured_ms\n";
  for (const int n : {4096, 6144, 8192, 14336}) {
    for (const int k : {4096, 8192}) {
      for (const int m : {1, 16, 64, 256, 1024, 4096}) {
        const double bytes = 2.0 * n * k + 2.0 * m * k + 2.0 * m * n;
        const double s = 4e-6 + std::max(bytes / kBandwidth, 2.0 * m * n * k / kFlops);
        csv += fmt::format("h100_sxm,vllm,1,x,bfloat16,{},{},{},{:.6f}\n", m, n, k, s * 1e3);
      }
    }
  }
  return csv;
}

std::string attention_csv(const char* length) {
  const bool decode = std::string(length) == "kv_len";
  std::string csv = fmt::format(
      "gpu,framework,version,kernel,num_heads,num_kv_heads,head_dim,kv_dtype,batch,{},measured_ms\n", length);
  for (const int heads : {8, 16, 32, 64}) {
    for (const int batch : {1, 4, 16, 64}) {
      for (const int tokens : {1024, 4096, 16384}) {
        const int kv_heads = std::max(1, heads / 8);
        const double s = decode ? 14e-6 + 512.0 * kv_heads * batch * tokens / kBandwidth
                                : 12e-6 + 256.0 * heads * batch * tokens * static_cast<double>(tokens) / (0.6 * 989e12);
        csv +=
            fmt::format("h100_sxm,vllm,1,x,{},{},128,bfloat16,{},{},{:.6f}\n", heads, kv_heads, batch, tokens, s * 1e3);
      }
    }
  }
  return csv;
}

class CalibrateTest : public Workspace {
 protected:
  CalibrateTest() {
    write("rows/linear.csv", linear_csv());
    write("rows/decode_attention.csv", attention_csv("kv_len"));
    write("rows/prefill_attention.csv", attention_csv("seq_len"));
  }

  CommandResult fit(std::vector<std::string> more) {
    std::vector<std::string> words{"calibrate", "fit", "rows", "--gpu", "h100-sxm", "--cross-validate", "none"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

TEST_F(CalibrateTest, ItsDocumentIsAsItsSchemaSays) {
  const CommandResult r = fit({"--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  numbers_missing("calibration", {Json::parse(r.out)});
}

TEST_F(CalibrateTest, WhatItWritesIsAProfileThatScenariosUse) {
  const CommandResult r = fit({"--name", "mine", "--out", "mine.yaml", "--report", "report.md"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("decode attention"), std::string::npos) << r.out;
  EXPECT_NE(read("report.md").find("| linear"), std::string::npos) << read("report.md");
  write("s.yaml", tiny_scenario());
  const CommandResult used =
      run({"run", "s.yaml", "--set", "include=[mine.yaml]", "--set", "cluster.gpu.profile=mine", "--json"});
  ASSERT_EQ(used.status, 0) << used.err;
  EXPECT_NE(used.out.find("profile.fitted.decode_attention"), std::string::npos) << used.out;
}

TEST_F(CalibrateTest, ReplacesAFileOnlyWithForce) {
  write("mine.yaml", "precious");
  const CommandResult refused = fit({"--out", "mine.yaml"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("mine.yaml exists already; --force replaces it"), std::string::npos) << refused.err;
  EXPECT_EQ(read("mine.yaml"), "precious");
  EXPECT_EQ(fit({"--out", "mine.yaml", "--force"}).status, 0);
  EXPECT_TRUE(read("mine.yaml").find("profiles:") != std::string::npos);
}

TEST_F(CalibrateTest, ImpossibleRowsAreNamedAndLeftOut) {
  // 134 MB of weights in 1 us.
  write("rows/linear.csv", linear_csv() + "h100_sxm,vllm,1,x,bfloat16,1,8192,8192,0.001\n");
  const CommandResult r = fit({});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("linear.csv:50"), std::string::npos) << r.out;
}

TEST_F(CalibrateTest, TheJsonReportIsOneDocument) {
  const CommandResult r = fit({"--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json j = Json::parse(r.out);
  EXPECT_TRUE(j.contains("schema_version"));
  EXPECT_EQ(fit({"--json"}).out, r.out);
}

TEST_F(CalibrateTest, RowsOfTheCudaCalibratorAreFittedWithoutBeingAskedFor) {
  // Its tables have further columns and another framework; others' files in the folder are passed over.
  std::istringstream rows(linear_csv());
  std::string csv;
  for (std::string line; std::getline(rows, line);) {
    const bool header = csv.empty();
    if (!header) line.replace(line.find("vllm"), 4, "kvsim");
    csv += line + (header ? ",p10_ms,p90_ms\n" : ",0.1,0.2\n");
  }
  write("mine/linear.csv", csv);
  write("mine/power.csv", "watts\n700\n");
  write("mine/machine.yaml", "gpu: NVIDIA H100 80GB HBM3\n");
  const CommandResult r =
      run({"calibrate", "fit", "mine", "--gpu", "h100-sxm", "--cross-validate", "none", "--out", "mine.yaml"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(read("mine.yaml").find("weights: bf16"), std::string::npos);
  EXPECT_NE(r.out.find("Not used: power.csv."), std::string::npos) << r.out;
}

TEST_F(CalibrateTest, VerifyRowsOfTheCudaCalibratorLeaveTheDecodeFitAlone) {
  const std::string plain = fit({"--json"}).out;
  std::istringstream rows(attention_csv("kv_len"));
  std::string csv;
  for (std::string line; std::getline(rows, line);) {
    const bool header = csv.empty();
    if (!header) line = line.substr(0, line.rfind(',')) + ",1.5";  // many times what decode takes
    csv += line + (header ? ",query_tokens\n" : ",64\n");
  }
  write("rows/verify_attention.csv", csv);
  Json with = Json::parse(fit({"--json"}).out);
  EXPECT_EQ(with["not_used"], Json::array());
  Json without = Json::parse(plain);
  EXPECT_GT(with["rows"], without["rows"]);
  Json others = Json::array();
  for (const Json& fitted : with["operators"]) {
    if (fitted["operator"] != "verification attention") others.push_back(fitted);
  }
  EXPECT_EQ(others.size() + 1, with["operators"].size());
  EXPECT_EQ(others, without["operators"]);
}

TEST_F(CalibrateTest, OneFileCannotBeProfileAndReport) {
  for (const std::string report : {"same", "./same", "rows/../same"}) {
    const CommandResult r = fit({"--out", "same", "--report", report, "--force"});
    EXPECT_EQ(r.status, 2);
    EXPECT_NE(r.err.find("--out and --report are the same file"), std::string::npos) << r.err;
  }
  for (const std::string& name : names()) EXPECT_EQ(name.find("same"), std::string::npos);
}

TEST_F(CalibrateTest, AnOverheadThatNobodyGaveIsAnAssumptionThatIsSaid) {
  const CommandResult assumed = fit({"--out", "mine.yaml"});
  ASSERT_EQ(assumed.status, 0) << assumed.err;
  EXPECT_NE(assumed.out.find("iteration_overhead: 0.5 ms assumed"), std::string::npos) << assumed.out;
  EXPECT_NE(read("mine.yaml")
                .find("iteration_overhead: {value: 500 us, source: assumption, reference: \"launch, "
                      "scheduling and sampling of a serving engine with CUDA graphs; order of magnitude, "
                      "not measured\"}"),
            std::string::npos);
  const CommandResult given = fit({"--out", "mine.yaml", "--force", "--iteration-overhead", "0 ms"});
  ASSERT_EQ(given.status, 0) << given.err;
  EXPECT_EQ(given.out.find("iteration_overhead"), std::string::npos) << given.out;
  EXPECT_EQ(read("mine.yaml").find("iteration_overhead"), std::string::npos);
  const CommandResult negative = fit({"--out", "mine.yaml", "--force", "--iteration-overhead=-1 ms"});
  EXPECT_EQ(negative.status, 2);
  EXPECT_NE(negative.err.find("--iteration-overhead: -1 ms is no time, expected 0 or more"), std::string::npos)
      << negative.err;
}

TEST_F(CalibrateTest, AFitOfNothingIsRefused) {
  const auto refusal = [&](const std::string& csv, const std::vector<std::string>& more) {
    write("few/linear.csv", "gpu,framework,version,kernel,dtype,m_tokens,n,k,measured_ms\n" + csv);
    std::vector<std::string> words{"calibrate", "fit", "few", "--gpu", "h100-sxm", "--out", "mine.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 2) << r.out;
    for (const std::string& name : names()) EXPECT_EQ(name.find("mine.yaml"), std::string::npos);
    return r.err;
  };
  const std::string good = "h100_sxm,vllm,1,x,bfloat16,1,8192,8192,0.05\n";
  const std::string impossible = "h100_sxm,vllm,1,x,bfloat16,2,8192,8192,0.001\n";
  const std::string one = refusal(good, {});
  EXPECT_NE(one.find("1 rows with the framework vllm are usable, 0 were refused"), std::string::npos) << one;
  EXPECT_NE(one.find("20 parameters"), std::string::npos) << one;
  const std::string none = refusal(impossible + impossible, {});
  EXPECT_NE(none.find("0 rows with the framework vllm are usable, 2 were refused"), std::string::npos) << none;
  EXPECT_NE(none.find("are of vllm"), std::string::npos) << none;

  // Rows of collectives belong to every framework, and make none of it known.
  write("few/allreduce.csv",
        "framework,version,device,op_name,nccl_dtype,num_gpus,message_size,latency\n"
        "x,2,NVIDIA H100 80GB HBM3,all_reduce,half,2,1024,0.02\nx,2,NVIDIA H100 80GB "
        "HBM3,all_reduce,half,2,1048576,0.05\n");
  const std::string unknown = refusal(good, {"--framework", "nosuch"});
  EXPECT_NE(unknown.find("no row of h100-sxm names nosuch; there are rows of vllm"), std::string::npos) << unknown;
}

TEST_F(CalibrateTest, CollectivesAloneMakeALink) {
  write("few/nccl.csv",
        "framework,version,device,op_name,nccl_dtype,num_gpus,message_size,latency\n"
        "x,2.29,NVIDIA H100 80GB HBM3,all_reduce,half,2,512,0.02\nx,2.29,NVIDIA H100 80GB "
        "HBM3,all_reduce,half,2,524288,0.05\nx,2.29,NVIDIA H100 80GB HBM3,alltoall,half,4,512,0.01\n"
        "x,2.29,NVIDIA H100 80GB HBM3,alltoall,int8,4,512,0.5\n");
  write("few/own.csv",
        "gpu,framework,version,device,op_name,backend,allreduce_dtype,num_gpus,message_size,latency\n"
        "h100_sxm,vllm,0.24.0,NVIDIA H100 80GB HBM3,all_reduce,graph,bfloat16,2,512,0.005\n"
        "h100_sxm,vllm,0.24.0,NVIDIA H100 80GB HBM3,all_reduce,eager,bfloat16,2,512,0.02\n"
        "h100_sxm,vllm,0.19.0,NVIDIA H100 80GB HBM3,all_reduce,graph,bfloat16,2,512,0.009\n");
  const CommandResult r = run({"calibrate", "fit", "few", "--gpu", "h100-sxm", "--name", "mine", "--out", "mine.yaml"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(read("mine.yaml"), R"(links:
  mine-peers:
    base: nvlink4
    description: "nvlink4 between GPUs of h100-sxm, collectives as measured"
    collectives:
      - operation: all_reduce
        library: nccl
        gpus: 2
        points: [{bytes: 1 KiB, seconds: 20 us}, {bytes: 1 MiB, seconds: 50 us}]
        source: measurement
        reference: "least-squares curves through kernel tables, nccl 2.29"
      - operation: all_reduce
        library: vllm
        gpus: 2
        points: [{bytes: 1 KiB, seconds: 5 us}]
        source: measurement
        reference: "least-squares curves through kernel tables, vllm 0.24.0"
      - operation: all_to_all
        library: nccl
        gpus: 4
        points: [{bytes: 1 KiB, seconds: 10 us}]
        source: measurement
        reference: "least-squares curves through kernel tables, nccl 2.29"
)");
}

TEST_F(CalibrateTest, FiguresThatNoRowSupportsAreAssumptions) {
  // Only decode attention: nothing is known of linear layers or of prefill.
  write("decode/decode_attention.csv", attention_csv("kv_len"));
  const CommandResult r =
      run({"calibrate", "fit", "decode", "--gpu", "h100-sxm", "--cross-validate", "none", "--out", "mine.yaml"});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::string yaml = read("mine.yaml");
  const std::string linear =
      yaml.substr(yaml.find("\n    linear:"), yaml.find("\n    attention:") - yaml.find("\n    linear:"));
  EXPECT_EQ(linear.find("measurement"), std::string::npos) << linear;
  EXPECT_NE(linear.find("assumption"), std::string::npos) << linear;
}

TEST_F(CalibrateTest, BadInputIsRefused) {
  const auto refusal = [&](const std::vector<std::string>& words) {
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_EQ(r.out, "");
    return r.err;
  };
  EXPECT_NE(refusal({"calibrate", "fit", "rows", "--gpu", "h100"}).find("did you mean"), std::string::npos);
  EXPECT_NE(refusal({"calibrate", "fit", "absent", "--gpu", "h100-sxm"}).find("absent"), std::string::npos);
  EXPECT_NE(refusal({"calibrate", "fit", "rows", "--gpu", "a100"}).find("a100"), std::string::npos);
  EXPECT_NE(refusal({"calibrate", "fit", "rows", "--gpu", "h100-sxm", "--cross-validate", "shape"}).find("\"shape\""),
            std::string::npos);
  EXPECT_EQ(refusal({"calibrate", "fit", "rows", "--gpu", "h100-sxm", "--name", "a: b"}),
            "kvsim: --name: \"a: b\" is no name, expected letters, digits, hyphens, points and underscores\n");
  write(
      "copies.csv", "gpu,version,direction,host_memory,bytes,measured_ms\n" + [] {
        std::string rows;
        for (const char* direction : {"h2d", "d2h"}) {
          for (const double bytes : {1e5, 1e6, 1e7, 1e8, 1e9}) {
            rows += fmt::format("h100-sxm,1,{},pinned,{},{:.6f}\n", direction, bytes, 2e-3 + bytes / 1e12 * 1e3);
          }
        }
        return rows;
      }());
  EXPECT_NE(refusal({"calibrate", "fit", "copies.csv", "--gpu", "h100-sxm"})
                .find("host copies to the GPU: 1 TB/s fitted, the link of h100-sxm in the catalogue, pcie5-x16, "
                      "has 55.4 GB/s"),
            std::string::npos);
  write("rows/linear.csv",
        "gpu,framework,version,kernel,dtype,m_tokens,n,k,measured_ms\nh100_sxm,vllm,1,x,bfloat16,one,"
        "4096,4096,0.1\n");
  EXPECT_NE(refusal({"calibrate", "fit", "rows", "--gpu", "h100-sxm"}).find("linear.csv:2:"), std::string::npos);
}

TEST_F(CalibrateTest, CopiesOfOneRowAreOneRow) {
  std::string csv = linear_csv();
  csv.resize(csv.find('\n', csv.find('\n') + 1) + 1);
  const std::string row = csv.substr(csv.find('\n') + 1);
  for (int i = 0; i < 60; ++i) csv += row;
  write("copies/linear.csv", csv);
  const CommandResult r = run({"calibrate", "fit", "copies", "--gpu", "h100-sxm"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("1 rows with the framework vllm are usable, 60 were refused (the first, copies/linear.csv:3:1: "
                       "the same work and time as copies/linear.csv:2:1, to the last digit)"),
            std::string::npos)
      << r.err;
}

TEST_F(CalibrateTest, ATableWithAMisspeltColumnIsNamed) {
  std::string csv = attention_csv("kv_len");
  csv.replace(csv.find("measured_ms"), 11, "measured");
  write("rows/decode_attention.csv", csv);
  const CommandResult r = fit({});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("Not used: decode_attention.csv (almost a table of decode attention: no column measured_ms)."),
            std::string::npos)
      << r.out;
}

TEST_F(CalibrateTest, AFullDiskIsAnErrorAndLeavesNothing) {
  const CommandResult r = fit({"--out", "/dev/full", "--force"});
  EXPECT_NE(r.status, 0);
}

/// A replay of two requests on one layer, a millisecond an iteration.
class ReplayTest : public Workspace {
 protected:
  ReplayTest() {
    write("h100/replay.yaml", yaml());
    write("h100/replay.csv", csv());
  }
  static std::string yaml(const std::string& layers = "1") {
    return "model: llama-3.1-8b\nmodel_layers: 32\nlayers: " + layers +
           "\ntensor_parallel: 1\nrequests: 2\ndraft_length: 2\nreload_iterations: 1\nrounds: 1\n"
           "context_tokens: 8192\nkv_bits: 2\nkv_group: 64\narrival: whole\nlayer_weight_bytes: 436207616\n"
           "lm_head_bytes: 1050673152\nfull_kv_bytes_per_request: 33554432\n"
           "compressed_kv_bytes_per_request: 5242880\nslots: {lock_step: 2, staggered: 2}\n";
  }
  static std::string csv(const std::string& last = "1,2,2.2,3.0,0,2,6,0,,") {
    const std::string start = "NVIDIA H100 80GB HBM3,0.1.0,lock_step,";
    return "gpu,version,schedule,run,iteration,begin_ms,end_ms,drafting,verifying,linear_tokens,reload_bytes,"
           "reload_begin_ms,reload_end_ms\n" +
           start + "1,0,0,1.0,2,0,2,0,,\n" + start + "1,1,1.0,2.0,2,0,2,67108864,1.0,2.2\n" + start + last + "\n";
  }
  CommandResult replay(std::vector<std::string> more = {}) {
    std::vector<std::string> words{"calibrate", "replay", "h100", "--gpu", "h100-sxm"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  void expect_refused(const std::string& says) {
    const CommandResult r = replay();
    EXPECT_EQ(r.status, 2);
    EXPECT_NE(r.err.find(says), std::string::npos) << r.err;
  }
};

TEST_F(ReplayTest, PrintsErrorsByKindAndTheWorstIterations) {
  const CommandResult r = replay({"--worst", "1"});
  ASSERT_EQ(r.status, 0) << r.err;
  for (const char* says : {"Replay on h100-sxm: llama-3.1-8b, 1 of 32 layers", "lock_step draft", "lock_step verify",
                           "Largest errors", "Profile h100-vllm, link pcie5-x16"}) {
    EXPECT_NE(r.out.find(says), std::string::npos) << r.out;
  }
}

TEST_F(ReplayTest, ItsDocumentIsAsItsSchemaSays) {
  const CommandResult r = replay({"--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json j = Json::parse(r.out);
  numbers_missing("replay", {j});
  EXPECT_EQ(j["iterations"].size(), 3U);
  EXPECT_EQ(j["errors"]["rows"], 3);
  EXPECT_EQ(replay({"--json"}).out, r.out);
}

TEST_F(ReplayTest, AnotherLinkAndProfileChangeWhatIsSimulated) {
  const Json plain = Json::parse(replay({"--json"}).out);
  const Json slow = Json::parse(replay({"--json", "--link", "pcie3-x16"}).out);
  EXPECT_GT(slow["iterations"][2]["simulated_wait_s"], plain["iterations"][2]["simulated_wait_s"]);
  const Json other = Json::parse(replay({"--json", "--profile", "datasheet-generic"}).out);
  EXPECT_NE(other["iterations"][0]["simulated_s"], plain["iterations"][0]["simulated_s"]);
}

TEST_F(ReplayTest, HostileFilesAreRefusedByFileLineAndReason) {
  write("h100/replay.csv", csv("1,2,2.2,3.0,0,2,7,0,,"));
  expect_refused("replay.csv:4:1: 7 tokens of 0 that draft and 2 that verify 3 tokens");
  write("h100/replay.csv", csv("1,2,1.5,3.0,0,2,6,0,,"));
  expect_refused("replay.csv:4:1: begins at 1.5 ms, before the one before it ends at 2 ms");
  write("h100/replay.csv", csv("1,3,2.2,3.0,0,2,6,0,,"));
  expect_refused("replay.csv:4:1: iteration 3 of lock_step run 1, expected 2");
  write("h100/replay.csv", csv("1,2,2.2,nan,0,2,6,0,,"));
  expect_refused("replay.csv:4:1: from 2.2 to nan ms: no time of an iteration");
  write("h100/replay.csv", csv("1,2,2.2,3.0,1,1,4,0,,"));
  expect_refused("replay.csv:4:1: 1 verify, but 2 reloads started 1 iterations before");
  write("h100/replay.csv", csv("2,0,2.2,3.0,2,0,2,0,,"));
  expect_refused("replay.csv:3:1: lock_step run 1 ends with iteration 1, expected 3 iterations");
  write("h100/replay.csv", csv("1,2,2.2,3.0,0,2,6,5,,"));
  expect_refused("replay.csv:4:1: 5 bytes of reloads, a request has 33554432");
  write("h100/replay.csv", csv());
  write("h100/replay.yaml", yaml("40"));
  expect_refused("replay.yaml:3:9: layers: more than the model has (model_layers)");
  write("h100/replay.yaml", yaml("lots"));
  expect_refused("replay.yaml:3:9");
  write("h100/replay.yaml", yaml() + "colour: red\n");
  expect_refused("colour");
}

TEST_F(ReplayTest, AnotherGpuThanItRanOnIsRefused) {
  const CommandResult r = run({"calibrate", "replay", "h100", "--gpu", "a100"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("replay.csv:2:1: is of NVIDIA H100 80GB HBM3, --gpu says a100"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
