// kvsim backtest, as a user runs it.
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/serving/bottleneck.h"
#include "tests/cli/documents.h"
#include "tests/cli/workspace.h"
#include "tests/support/well_formed.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

const std::string kHeader =
    "id,backend,model_path,system,isl,osl,concurrency,tp_size,moe_ep_size,ttft_ms,tpot_ms,output_tokens_per_s\n";
const std::string kPoints = kHeader +
                            "a,vllm,meta-llama/Llama-3.1-8B,h100_sxm,256,64,2,1,1,20,6,300\n"
                            "b,sglang,meta-llama/Llama-3.1-8B,h100_sxm,256,64,8,2,1,30,5,\n"
                            "c,vllm,org/other,h100_sxm,256,64,8,2,1,30,5,\n"
                            "d,vllm,Qwen/Qwen3-30B-A3B,h100_sxm,256,64,8,1,8,30,5,\n";

class BacktestTest : public Workspace {
 protected:
  BacktestTest() { write("p.csv", kPoints); }

  std::string refusal(const std::vector<std::string>& words) {
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_EQ(r.out, "");
    return r.err;
  }
};

TEST_F(BacktestTest, ThePageHasErrorsByGroupTheWorstAndWhatIsOutOfScope) {
  const CommandResult r = run({"backtest", "p.csv", "--worst", "1", "--details"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("Backtest: 2 of 4 points of p.csv\n")) << r.out;
  for (const char* words : {"TPOT is the mean over requests of (last token - first token) / (output tokens - 1)",
                            "Errors by group", "Errors by engine", "Errors overall", "Largest errors of TPOT",
                            "Largest errors of TTFT", "Points out of scope", "model not in the catalogue: org/other",
                            "experts on more GPUs than attention", "what binds the simulated run"}) {
    EXPECT_NE(r.out.find(words), std::string::npos) << words << "\n" << r.out;
  }
}

TEST_F(BacktestTest, ItsDocumentHasEveryPoint) {
  const CommandResult r = run({"backtest", "p.csv", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json j = Json::parse(r.out);
  EXPECT_EQ(j["points_read"], 4);
  EXPECT_EQ(j["simulated"], 2);
  EXPECT_EQ(j["overall"]["tpot"]["rows"], 2);
  EXPECT_EQ(j["overall"]["throughput"]["rows"], 1);
  EXPECT_EQ(j["points"][2]["out_of_scope"], "model not in the catalogue: org/other");
  EXPECT_TRUE(j["points"][2]["tpot_error"].is_null());
  const Json& a = j["points"][0];
  double all = 0;
  for (const serving::TimePartName& part : serving::kTimeParts) {
    all += a[fmt::format("bound_by_{}", part.key)].get<double>();
  }
  EXPECT_NEAR(all, 1, 1e-9) << "the account of the time, as other commands have it";
  EXPECT_NEAR(a["tpot_error"].get<double>(), a["predicted_tpot_s"].get<double>() / 0.006 - 1, 1e-9);
}

TEST_F(BacktestTest, TheScenarioOfAPointRunsToItsPrediction) {
  const CommandResult shown = run({"backtest", "p.csv", "--show", "b"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  write("b.yaml", shown.out);
  EXPECT_EQ(run({"backtest", "p.csv", "--show", "3"}).out, shown.out);  // its line
  const Json alone = Json::parse(run({"run", "b.yaml", "--json"}).out);
  const Json all = Json::parse(run({"backtest", "p.csv", "--json"}).out);
  EXPECT_EQ(alone["latency_s"]["tpot"]["mean"], all["points"][1]["predicted_tpot_s"]);
  EXPECT_EQ(alone["latency_s"]["ttft"]["mean"], all["points"][1]["predicted_ttft_s"]);
  EXPECT_EQ(alone["throughput"]["output_tokens_per_s"], all["points"][1]["predicted_output_tokens_per_s"]);
  EXPECT_EQ(alone["gpu"]["bound_by"]["compute"], all["points"][1]["bound_by_compute"]);
}

TEST_F(BacktestTest, ChangesCountInWhatIsShownToo) {
  const CommandResult r = run({"backtest", "p.csv", "--show", "a", "--set", "cluster.gpu.type=h200", "--seed", "7"});
  EXPECT_NE(r.out.find("type: h200"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("seed: 7"), std::string::npos) << r.out;
}

TEST_F(BacktestTest, NoResultDependsOnTheNumberOfThreads) {
  ASSERT_EQ(run({"backtest", "p.csv", "--jobs", "1", "--out", "one"}).status, 0);
  ASSERT_EQ(run({"backtest", "p.csv", "--jobs", "2", "--out", "two"}).status, 0);
  for (const char* name : {"backtest.json", "points.csv", "backtest.md", "tpot.svg", "ttft.svg"}) {
    const std::string one = read(std::string("one/") + name);
    EXPECT_FALSE(one.empty()) << name;
    EXPECT_EQ(one, read(std::string("two/") + name)) << name;
  }
  const std::string csv = read("one/points.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_TRUE(csv.starts_with("id,at,model,gpu,engine,")) << csv;
  EXPECT_EQ(kvsim::testing::xml_fault(read("one/tpot.svg")), "");
}

TEST_F(BacktestTest, AResultOfVllmBenchServeIsAPointBesideOthers) {
  write("run.json",
        R"({"model_id": "Qwen/Qwen3-8B", "num_prompts": 8, "request_rate": "inf", "max_concurrency": 2, "completed": 8,
            "total_input_tokens": 800, "total_output_tokens": 400, "output_throughput": 400, "mean_ttft_ms": 30,
            "mean_tpot_ms": 5})");
  const CommandResult r = run({"backtest", "run.json", "p.csv", "--given", "system=h100_sxm", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json j = Json::parse(r.out);
  EXPECT_EQ(j["points"][0]["id"], "run");
  EXPECT_EQ(j["points"][0]["model"], "qwen3-8b");
  EXPECT_FALSE(j["points"][0]["throughput_error"].is_null());
  EXPECT_EQ(j["points_read"], 5);
}

TEST_F(BacktestTest, ARecordedRunIsAPointWithItsLoadBesideThatOfItsReplay) {
  std::filesystem::create_directory(folder() + "/night");
  write("night/requests.csv",
        "arrival_s,prompt_tokens,output_tokens,first_token_s,last_token_s\n0,100,11,0.1,0.2\n0.5,200,21,0.6,0.9\n");
  write("night/timeseries.csv",
        "t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct\n0.05,5,6,1,0,0.5\n1,5,6,0,0,0\n");
  const std::vector<std::string> given{"--given", "model_path=llama-3.1-8b", "--given", "system=h200"};
  std::vector<std::string> words{"backtest", "night", "p.csv", "--out", "o", "--details"};
  words.insert(words.end(), given.begin(), given.end());
  const CommandResult r = run(words);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("Recordings: latencies"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("Recordings: load over time"), std::string::npos) << r.out;
  const Json j = Json::parse(read("o/backtest.json"));
  EXPECT_EQ(numbers_missing("backtest", {j}), std::set<std::string>{});  // the document is as its schema says
  ASSERT_EQ(j["recordings"].size(), 1U);
  EXPECT_EQ(j["recordings"][0]["id"], "night");
  EXPECT_EQ(j["recordings"][0]["latencies"].size(), 12U);
  EXPECT_EQ(j["recordings"][0]["curves"].size(), 2U);  // nobody waited
  EXPECT_EQ(j["points"][0]["predicted_ttft_s"], j["recordings"][0]["latencies"][0]["predicted_s"]);
  const std::string load = read("o/load.csv");
  EXPECT_TRUE(load.starts_with("id,at_s,measured_running,predicted_running,")) << load;
  EXPECT_EQ(std::count(load.begin(), load.end(), '\n'), 3);
  // What is shown is what was simulated.
  words = {"backtest", "night", "--show", "night"};
  words.insert(words.end(), given.begin(), given.end());
  write("shown.yaml", run(words).out);
  EXPECT_EQ(Json::parse(run({"run", "shown.yaml", "--json"}).out)["latency_s"]["ttft"]["mean"],
            j["points"][0]["predicted_ttft_s"]);
}

TEST_F(BacktestTest, EntriesOfIncludedFilesAreKnown) {
  write("mine.yaml", "models:\n  other: {base: llama-3.1-8b, layers: 16}\n");
  const CommandResult r = run({"backtest", "p.csv", "--include", "mine.yaml", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out)["points"][2]["model"], "other");
  const CommandResult shown = run({"backtest", "p.csv", "--include", "mine.yaml", "--show", "c"});
  write("c.yaml", shown.out);
  EXPECT_EQ(run({"run", "c.yaml"}).status, 0);
}

TEST_F(BacktestTest, WithoutFilesItPrintsTheErrorsThatItStates) {
  const CommandResult r = run({"backtest"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("Errors that kvsim states of its answers")) << r.out;
  EXPECT_NE(r.out.find("llama-3.1-70b   h200     vllm"), std::string::npos) << r.out;
  EXPECT_TRUE(refusal({"backtest", "--json"}).starts_with("kvsim: FILES is needed"));
}

TEST_F(BacktestTest, ItsFolderHasTheErrorsToState) {
  ASSERT_EQ(run({"backtest", "p.csv", "--out", "o"}).status, 0);
  const std::string errors = read("o/stated_errors.yaml");
  EXPECT_NE(errors.find("source: kvsim backtest of 2 points"), std::string::npos) << errors;
  EXPECT_NE(errors.find("engine: sglang"), std::string::npos) << errors;
}

TEST_F(BacktestTest, MistakesAreNamed) {
  EXPECT_EQ(refusal({"backtest", "nowhere.csv"}),
            "kvsim: nowhere.csv: cannot be opened (No such file or directory), expected serving points in CSV\n");
  write("bad.csv", kHeader + "a,vllm,m,h100_sxm,256,many,8,1,1,20,10,\n");
  EXPECT_EQ(refusal({"backtest", "p.csv", "bad.csv"}),
            "kvsim: bad.csv:2:23: osl is \"many\", expected a whole number from 1 to 10000000\n");
  EXPECT_EQ(refusal({"backtest", "p.csv", "--given", "sytem=h200"}),
            "kvsim: --given: unknown column \"sytem\"; did you mean \"system\"?\n");
  EXPECT_EQ(refusal({"backtest", "p.csv", "--show", "e"}),
            "kvsim: --show: no point has the id \"e\", nor is at that line\n");
  EXPECT_EQ(refusal({"backtest", "p.csv", "p.csv", "--show", "a"}),
            "kvsim: --show: several points are \"a\", at p.csv:2:1 and p.csv:2:1\n");
  const std::string change = refusal({"backtest", "p.csv", "--set", "schedule.max_request=1"});
  EXPECT_TRUE(change.starts_with("kvsim: --set schedule.max_request: schedule: unknown key")) << change;
}

TEST_F(BacktestTest, AnUnknownKeyIsRefusedWhereNoPointIsSimulatedToo) {
  write("none.csv", kHeader + "c,vllm,org/other,h100_sxm,256,64,8,2,1,30,5,\n");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"backtest", "none.csv"},
                                                std::vector<std::string>{"backtest", "p.csv", "--show", "a"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--set", "schedule.max_request=1"});
    const std::string change = refusal(all);
    EXPECT_TRUE(change.starts_with("kvsim: --set schedule.max_request: schedule: unknown key")) << change;
    EXPECT_NE(change.find("did you mean \"max_requests\"?"), std::string::npos) << change;
  }
}

TEST_F(BacktestTest, WhereNothingCanBeSimulatedItSaysWhy) {
  write("none.csv", kHeader + "c,vllm,org/other,h100_sxm,256,64,8,2,1,30,5,\n");
  const CommandResult r = run({"backtest", "none.csv"});
  EXPECT_EQ(r.status, 4);
  EXPECT_NE(r.out.find("model not in the catalogue: org/other"), std::string::npos) << r.out;
  EXPECT_EQ(r.err, "kvsim: no point can be simulated: all are out of scope\n");
  const CommandResult shown = run({"backtest", "none.csv", "--show", "c"});
  EXPECT_EQ(shown.status, 4);
  EXPECT_EQ(shown.err, "kvsim: c: out of scope: model not in the catalogue: org/other\n");
}

TEST_F(BacktestTest, WordsOfFilesReachNoTerminalAndNoSheetAsTheyAre) {
  write("h.csv", kHeader +
                     "\x1B[31mred,=1+1,meta-llama/Llama-3.1-8B,h100_sxm,256,64,2,1,1,20,6,\n"
                     "<b>&,\x1B[0m,\x1B]0;t\x07,h100_sxm,256,64,2,1,1,20,6,\n");
  const CommandResult r = run({"backtest", "h.csv", "--out", "o"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out.find('\x1B'), std::string::npos);
  const std::string csv = read("o/points.csv");
  EXPECT_EQ(csv.find(",=1+1"), std::string::npos) << csv;
  EXPECT_EQ(kvsim::testing::xml_fault(read("o/tpot.svg")), "");
  EXPECT_EQ(run({"backtest", "h.csv", "--show", "2"}).out.find('\x1B'), std::string::npos);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
