// A measured point as a scenario, and the errors of points by hand.
#include "planner/backtest/backtest.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/schema/yaml.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::backtest::KVSIM_FILE {
namespace {

/// A point that kvsim can describe.
ServingPoint described() {
  ServingPoint p;
  p.id = "one";
  p.engine = "vllm";
  p.model = "meta-llama/Llama-3.1-70B";
  p.gpu = "h200_sxm";
  p.precision = "fp8";
  p.weights = p.experts = "fp8";
  p.mode = "agg";
  p.source = "inferencex";
  p.prompt_tokens = 1024;
  p.output_tokens = 512;
  p.clients = 4;
  p.tensor = 2;
  p.expert_tensor = 2;
  p.tpot_s = 0.02;
  p.ttft_s = 0.2;
  return p;
}

PointScenario scenario_of(const ServingPoint& p) {
  return point_scenario(p, Published::built_in(), models::Catalogue::built_in());
}

scenario::Scenario loaded(const ServingPoint& p) {
  return scenario::load_scenario_text(to_yaml(scenario_of(p).document), "point");
}

TEST(PublishedNames, AreOfWhatTheCatalogueHas) {
  const models::Catalogue catalogue = models::Catalogue::built_in();
  for (const PublishedModel& m : Published::built_in().models) {
    EXPECT_TRUE(catalogue.contains(models::EntryKind::model, m.model)) << m.name;
  }
  for (const PublishedGpu& g : Published::built_in().gpus) {
    EXPECT_TRUE(catalogue.contains(models::EntryKind::gpu, g.gpu)) << g.name;
  }
  EXPECT_EQ(Published::built_in().sources.back().name, "other");
}

TEST(PublishedNames, TokensOfAnIterationAreNumbersAndWhatThePointHas) {
  const auto with = [](const std::string& term) {
    return Published::from_text(
        "models: []\ngpus: []\nsources: []\nlaunches:\n- {source: x, iteration: [isl, clients, " + term +
            "], reference: y}\n",
        "p.yaml");
  };
  EXPECT_EQ(with("300").launches.front().changes(1000, 20),
            std::vector<std::string>{"schedule.max_batched_tokens=1320"});
  for (const std::string term : {"tokens", "3k", "-1", "99999999999999999999"}) {
    try {
      with(term);
      ADD_FAILURE() << term;
    } catch (const schema::InputError& e) {
      EXPECT_EQ(std::string(e.what()), "p.yaml:5:26: launches.0.iteration: \"" + term +
                                           "\" is no number of tokens, expected a whole number, isl or clients");
    }
  }
}

TEST(PublishedNames, EntriesOfTheCatalogueAreKnownByTheirOwn) {
  const models::Catalogue catalogue = models::Catalogue::built_in();
  const Published& published = Published::built_in();
  EXPECT_EQ(published.model("Qwen/Qwen3-8B", catalogue)->model, "qwen3-8b");
  EXPECT_EQ(published.model("qwen3-8b", catalogue)->model, "qwen3-8b");
  EXPECT_FALSE(published.model("org/", catalogue));
  EXPECT_EQ(published.gpu("l40s", catalogue), "l40s");
  EXPECT_EQ(published.gpu("tpu", catalogue), "");
}

TEST(PointScenarios, SayWhatWasServedAndHow) {
  const scenario::Scenario s = loaded(described());
  EXPECT_EQ(s.name, "one");
  EXPECT_EQ(s.serving.cluster.groups.front().gpu.name, "h200");
  EXPECT_EQ(s.serving.cluster.groups.front().parallel.tensor, 2);
  EXPECT_EQ(s.serving.model.layers, 80);
  EXPECT_EQ(s.serving.model.weight_format(), models::NumberFormat::fp8);
  EXPECT_EQ(s.serving.model.weight_bytes_per_parameter, 1);
  EXPECT_EQ(s.serving.model.kv_bytes_per_element, 1);
  EXPECT_EQ(s.workload.closed->concurrency, 4);
  EXPECT_EQ(s.workload.requests, 40);
  // 0.8 x 1024 = 819.2, 0.8 x 512 = 409.6
  EXPECT_EQ(s.workload.context->min, 819);
  EXPECT_EQ(s.workload.context->max, 1024);
  EXPECT_EQ(s.workload.output->min, 409);
  EXPECT_EQ(s.workload.output->max, 512);
  EXPECT_EQ(s.serving.schedule.max_requests, 4);
  EXPECT_EQ(s.serving.schedule.max_batched_tokens, 8192);
  EXPECT_TRUE(s.serving.schedule.asynchronous);
  EXPECT_EQ(s.serving.schedule.engine->name, "vllm");
  EXPECT_EQ(scenario_of(described()).group, (PointGroup{"llama-3.1-70b", "h200", "vllm", "fp8, KV fp8", "tp2"}));
}

TEST(PointScenarios, TurnPrefixCachesOffWhereTheirSourceDoes) {
  ServingPoint p = described();
  p.engine = "vllm";
  p.source = "inferencex";
  EXPECT_FALSE(loaded(p).serving.schedule.caches_preempted());
  p.source = "somebody";
  EXPECT_TRUE(loaded(p).serving.schedule.caches_preempted());
}

TEST(PointScenarios, TakeFromTheEngineWhatItDoes) {
  ServingPoint p = described();
  p.engine = "sglang";
  EXPECT_TRUE(loaded(p).serving.schedule.prefill_first());
  p.engine = "trtllm";
  EXPECT_TRUE(loaded(p).serving.schedule.reserves_output());
  p.clients = 9000;  // each decodes a token in an iteration
  EXPECT_EQ(loaded(p).serving.schedule.max_batched_tokens, 9000);
  p.engine = "of-somebody";
  p.clients = 4;
  EXPECT_FALSE(loaded(p).serving.schedule.engine);
  EXPECT_EQ(loaded(p).serving.schedule.max_batched_tokens, 2048);
}

TEST(PointScenarios, DraftedPointsAreSimulatedDraftedOrNotAtAll) {
  ServingPoint p = described();
  p.drafts = PointDrafts{"", 3, 2.5, {}};
  const serving::ServingConfig c = loaded(p).serving;
  EXPECT_EQ(c.decode.policy, "drafter");
  EXPECT_EQ(c.decode.drafter->spec.name, "eagle3-llama-3.1-70b") << "the catalogue's for the model";
  EXPECT_EQ(c.decode.drafter->tokens(), 3);
  EXPECT_DOUBLE_EQ(c.decode.drafter->law().points.front().accepted, 1.5);
  EXPECT_EQ(scenario_of(p).group.precision, "fp8, KV fp8, drafted");
  p.drafts->positions = {0.8, 0.5, 0.2};
  EXPECT_EQ(loaded(p).serving.decode.drafter->law().kind, models::AcceptanceKind::positions);
  p.model = "Qwen/Qwen3-8B";
  const serving::ServingConfig layer = loaded(p).serving;
  EXPECT_EQ(layer.decode.drafter->spec.network.layers, 1);
  EXPECT_EQ(layer.decode.drafter->spec.network.hidden, layer.model.hidden);
  p.drafts->drafter = "nobody";
  EXPECT_EQ(scenario_of(p).out_of_scope, "drafter not in the catalogue: nobody");
  p.drafts = PointDrafts{"", 0, 2.5, {}};
  EXPECT_EQ(scenario_of(p).out_of_scope, "drafted, and nobody says how many tokens");
  p.drafts = PointDrafts{"", 3, 0, {}};
  EXPECT_EQ(scenario_of(p).out_of_scope, "drafted, and nobody says how many tokens were accepted");
}

TEST(PointScenarios, AVersionTellsWhatCannotBeDescribed) {
  ServingPoint p = described();
  p.source = "inferencex";
  p.model = "deepseek-ai/DeepSeek-R1";
  p.gpu = "b200_sxm";
  p.engine = "trtllm";
  p.tensor = 8;
  p.precision = "fp8";
  p.version = "1.2.0rc6.post2";
  EXPECT_EQ(scenario_of(p).out_of_scope, "");
  p.version = "1.2.0rc6.post3";
  EXPECT_EQ(scenario_of(p).out_of_scope, "decodes with multi-token prediction");
}

TEST(PointScenarios, IterationsOfASourceGoBeforeThoseOfTheEngine) {
  ServingPoint p = described();
  p.source = "aiconfigurator";
  p.version = "0.12.0";
  EXPECT_EQ(loaded(p).serving.schedule.max_batched_tokens, 2048);
  p.clients = 3000;
  EXPECT_EQ(loaded(p).serving.schedule.max_batched_tokens, 3000);
}

TEST(PointScenarios, IterationsThatTheSourceWorkedOutAreOfTheirLengthsAndClients) {
  ServingPoint p = described();
  p.source = "aiconfigurator";
  const auto tokens_of = [&p](const char* engine, const char* version) {
    p.engine = engine, p.version = version;
    return loaded(p).serving.schedule.max_batched_tokens;
  };
  EXPECT_EQ(tokens_of("vllm", "0.17.0"), 1024 + 4 + 1500);
  EXPECT_EQ(tokens_of("trtllm", "1.0.0rc3"), 8192);
  EXPECT_EQ(tokens_of("sglang", "0.5.6"), 8192);
  EXPECT_EQ(loaded(p).serving.schedule.engine->tokenise_s.value, 0);  // Dynamo's front end
  p.source = "inferencex";
  EXPECT_EQ(tokens_of("sglang", "0.5.6"), 8192);
  EXPECT_GT(loaded(p).serving.schedule.engine->tokenise_s.value, 0);
  PointLaunch launch;
  launch.set = {"a=1"};
  EXPECT_EQ(launch.changes(1024, 4), (std::vector<std::string>{"a=1"}));
  launch.iteration = {"clients", "20"};
  EXPECT_EQ(launch.changes(1024, 4), (std::vector<std::string>{"a=1", "schedule.max_batched_tokens=24"}));
}

TEST(PointScenarios, OfDenseModelsRowsThatCutExpertsSayNothing) {
  ServingPoint p = described();
  p.expert_tensor = 8;
  EXPECT_EQ(scenario_of(p).out_of_scope, "");
  EXPECT_EQ(scenario_of(p).group.parallelism, "tp2");
  p.expert = 4;
  EXPECT_EQ(scenario_of(p).group.parallelism, "tp2");
  EXPECT_EQ(loaded(p).serving.cluster.groups.front().parallel.gpus(), 2);
}

TEST(PointScenarios, EnginesAreLaunchedAsTheSourceDid) {
  ServingPoint p = described();
  p.model = "deepseek-ai/DeepSeek-R1";
  p.gpu = "b200_sxm";
  p.engine = "sglang";
  p.tensor = 8;
  p.precision = "fp8";
  const auto schedule_of = [&](std::int64_t clients) {
    p.clients = clients;
    return loaded(p).serving.schedule;
  };
  EXPECT_EQ(schedule_of(15).receive_interval, 10);
  EXPECT_EQ(schedule_of(16).receive_interval, 30);
  EXPECT_EQ(schedule_of(16).max_batched_tokens, 32768);
  EXPECT_EQ(scenario_of(p).group.precision, "fp8_block, KV fp8");
  p.gpu = "h200_sxm";
  EXPECT_EQ(schedule_of(16).receive_interval, 1);
  EXPECT_EQ(scenario_of(p).group.precision, "fp8_block");
  p.source = "somebody";
  EXPECT_EQ(schedule_of(16).max_batched_tokens, 8192);
}

TEST(PointLaunch, HoldsWhereAllItsConditionsDo) {
  const LaunchOf point{"s", "e", "1.2", "m", "g", "fp8", 4, false, 16, 1024, 512};
  PointLaunch launch;
  launch.source = "s";
  EXPECT_TRUE(launch.holds_of(point));
  const auto with = [&](auto change) {
    PointLaunch other = launch;
    change(other);
    return other.holds_of(point);
  };
  EXPECT_FALSE(with([](auto& l) { l.source = "t"; }));
  EXPECT_TRUE(with([](auto& l) { l.engines = {"f", "e"}; }));
  EXPECT_FALSE(with([](auto& l) { l.engines = {"f"}; }));
  EXPECT_TRUE(with([](auto& l) { l.versions = {"1.1", "1.2"}; }));
  EXPECT_FALSE(with([](auto& l) { l.versions = {"1.1"}; }));
  EXPECT_FALSE(with([](auto& l) { l.models = {"f"}; }));
  EXPECT_FALSE(with([](auto& l) { l.gpus = {"f"}; }));
  EXPECT_FALSE(with([](auto& l) { l.weights = {"bf16"}; }));
  EXPECT_FALSE(with([](auto& l) { l.tensor = {1, 8}; }));
  EXPECT_TRUE(with([](auto& l) { l.lengths = {"1024/512"}; }));
  EXPECT_FALSE(with([](auto& l) { l.lengths = {"512/1024"}; }));
  EXPECT_FALSE(with([](auto& l) { l.ranks = true; }));
  EXPECT_TRUE(with([](auto& l) { l.least_clients = 16, l.most_clients = 16; }));
  EXPECT_FALSE(with([](auto& l) { l.least_clients = 17; }));
  EXPECT_FALSE(with([](auto& l) { l.most_clients = 15; }));
}

TEST(PointScenarios, LengthsOfOtherSourcesAreAllAlikeAndKvIsOfSixteenBits) {
  ServingPoint p = described();
  p.source = "aiconfigurator";
  p.requests = 7;
  const scenario::Scenario s = loaded(p);
  EXPECT_EQ(s.workload.context->distribution, models::Distribution::fixed);
  EXPECT_EQ(s.workload.context->mean, 1024);
  EXPECT_EQ(s.workload.requests, 7);
  EXPECT_EQ(s.serving.model.kv_bytes_per_element, 2);
  EXPECT_EQ(std::count(s.assumptions.begin(), s.assumptions.end(), "KV in 16 bit"), 1);
  EXPECT_EQ(scenario_of(p).group.precision, "fp8");
}

TEST(PointScenarios, WeightsAreThoseOfTheRowElseOfTheCheckpoint) {
  const auto format = [](const std::string& model, const std::string& precision, const std::string& weights,
                         const std::string& experts) {
    ServingPoint p = described();
    p.model = model;
    p.precision = precision;
    p.weights = weights;
    p.experts = experts;
    p.tensor = 8;
    return loaded(p).serving.model.weight_format();
  };
  using models::NumberFormat;
  EXPECT_EQ(format("Qwen/Qwen3-32B", "", "", ""), NumberFormat::bf16);
  EXPECT_EQ(format("nvidia/Qwen3-32B-NVFP4", "", "", ""), NumberFormat::nvfp4);
  EXPECT_EQ(format("Qwen/Qwen3-32B", "fp4", "", ""), NumberFormat::nvfp4);
  EXPECT_EQ(format("Qwen/Qwen3-32B", "fp8", "fp8_block", "fp8"), NumberFormat::fp8_block);
  // Experts are most of a mixture; checkpoints in blocks are called fp8, too.
  EXPECT_EQ(format("deepseek-ai/DeepSeek-R1", "fp8", "fp8", "nvfp4"), NumberFormat::nvfp4);
  EXPECT_EQ(format("deepseek-ai/DeepSeek-R1", "fp8", "fp8", "fp8"), NumberFormat::fp8_block);
}

TEST(PointScenarios, WhatCannotBeDescribedIsOutOfScopeWithItsReason) {
  const auto reason = [](auto change) {
    ServingPoint p = described();
    change(p);
    return scenario_of(p).out_of_scope;
  };
  EXPECT_EQ(reason([](ServingPoint&) {}), "");
  EXPECT_EQ(reason([](ServingPoint& p) { p.mode = "disagg"; }), "prefill and decode on GPUs of their own");
  EXPECT_EQ(reason([](ServingPoint& p) { p.model = "org/unknown"; }), "model not in the catalogue: org/unknown");
  EXPECT_EQ(reason([](ServingPoint& p) { p.model = "openai/gpt-oss-120b"; }),
            "weights in a format that no kernels were measured in: openai/gpt-oss-120b");
  for (const char* model : {"Qwen/Qwen3.5-397B-A17B", "zhipuai/GLM-5"}) {  // a state; an indexer
    EXPECT_EQ(reason([model](ServingPoint& p) { p.model = model; }),
              std::string("layers that no kernels were measured of: ") + model);
  }
  EXPECT_EQ(reason([](ServingPoint& p) { p.gpu = "tpu"; }), "GPU not in the catalogue: tpu");
  EXPECT_EQ(reason([](ServingPoint& p) { p.weights = "int4_wo"; }), "weights in int4_wo");
  EXPECT_EQ(reason([](ServingPoint& p) { p.model = "MiniMaxAI/MiniMax-M2.5", p.expert_tensor = 8; }),
            "experts on more GPUs than attention");
  EXPECT_EQ(reason([](ServingPoint& p) { p.clients = 0; }), "no concurrency is given");
  EXPECT_EQ(reason([](ServingPoint& p) { p.rate_per_s = 2; }), "requests at a rate, not in a closed loop");
  ServingPoint p = described();
  p.model = "MiniMaxAI/MiniMax-M2.5";
  p.attention_data = 4;
  p.expert_tensor = 1;
  p.expert = 8;
  p.expert_tensor = 1;
  p.source = "somebody";
  const PointScenario cut = scenario_of(p);
  EXPECT_EQ(cut.group.parallelism, "tp2 dp4 ep8");
  const schema::ConfigNode* gpu = cut.document.find("cluster")->find("gpu");
  EXPECT_EQ(gpu->find("tensor_parallel")->text(), "2");
  EXPECT_EQ(gpu->find("attention_data_parallel")->text(), "4");
  EXPECT_EQ(gpu->find("expert_parallel")->text(), "8");

  const auto launched = [&p](std::int64_t tensor, std::int64_t data, std::int64_t expert_tensor, std::int64_t expert) {
    p.tensor = tensor, p.attention_data = data, p.expert_tensor = expert_tensor, p.expert = expert;
    return scenario_of(p).group.parallelism;
  };
  EXPECT_EQ(launched(64, 1, 8, 8), "tp64 ep8");
  p.source = "inferencex";  // numbers of GPUs are multiplied
  EXPECT_EQ(launched(64, 1, 8, 8), "tp8 ep8");
  EXPECT_EQ(launched(1, 64, 8, 8), "tp1 dp8 ep8");
  EXPECT_EQ(launched(4, 4, 1, 16), "tp1 dp4 ep4");
  EXPECT_EQ(launched(8, 1, 1, 8), "tp8 ep8");
  EXPECT_EQ(launched(4, 1, 4, 1), "tp4");
  EXPECT_EQ(launched(16, 1, 4, 2), "tp16 ep2");
}

TEST(PointScenarios, NamesOfFilesStayText) {
  for (const char* id : {"no", "1: 2", "{a: b}", "- x", "\"q\" # c", "a\tb", "&a *b !c"}) {
    ServingPoint p = described();
    p.id = id;
    EXPECT_EQ(loaded(p).name, id);
  }
}

// Errors.

BacktestPoint predicted(const std::string& engine, double tpot, double ttft) {
  BacktestPoint p;
  p.point = described();  // 20 ms, 200 ms
  p.group = {"m", "g", engine, "fp8", "tp1"};
  p.predicted.emplace();
  p.predicted->tpot_s = tpot;
  p.predicted->ttft_s = ttft;
  return p;
}

TEST(BacktestErrors, AreOfTheRatioToWhatWasMeasured) {
  Backtest b;
  // Of TPOT +10, -50, +30 %; of TTFT 0, +100, -20 %.
  b.points = {predicted("a", 0.022, 0.2), predicted("a", 0.01, 0.4), predicted("b", 0.026, 0.16)};
  b.points.emplace_back();
  b.points.back().out_of_scope = "why";
  EXPECT_EQ(b.simulated(), 3U);
  const PointErrors all = b.overall();
  EXPECT_EQ(all.tpot.count, 3U);
  EXPECT_NEAR(all.tpot.median, 0.3, 1e-12);
  EXPECT_NEAR(all.tpot.bias, 0.1, 1e-12);
  EXPECT_NEAR(all.tpot.max, 0.5, 1e-12);
  EXPECT_NEAR(all.ttft.median, 0.2, 1e-12);
  EXPECT_NEAR(all.ttft.bias, 0, 1e-12);
  EXPECT_EQ(all.throughput.count, 0U);
  const auto engines = b.by_engine();
  ASSERT_EQ(engines.size(), 2U);
  EXPECT_EQ(engines[0].group.engine, "a");
  EXPECT_EQ(engines[0].points, 2U);
  EXPECT_EQ(engines[1].group.engine, "b");
  EXPECT_NEAR(engines[1].errors.tpot.bias, 0.3, 1e-12);
}

TEST(BacktestErrors, OfWhatAPointLacksThereIsNone) {
  BacktestPoint p = predicted("a", 0.022, 0.2);
  EXPECT_FALSE(p.throughput_error());
  p.point.output_tokens_per_s = 100;
  p.predicted->output_tokens_per_s = 90;
  EXPECT_NEAR(*p.throughput_error(), -0.1, 1e-12);
  p.point.ttft_s.reset();
  EXPECT_FALSE(p.ttft_error());
  p.predicted.reset();
  EXPECT_FALSE(p.tpot_error());
}

TEST(BacktestErrors, ReasonsAreCountedTheMostFrequentFirst) {
  Backtest b;
  for (const char* reason : {"x", "y", "y", "y", "y"}) {
    b.points.emplace_back();
    b.points.back().out_of_scope = reason;
    b.points.back().point.id = std::to_string(b.points.size());
  }
  const auto reasons = b.out_of_scope();
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_EQ(reasons[0].reason, "y");
  EXPECT_EQ(reasons[0].points, 4U);
  EXPECT_EQ(reasons[0].first, (std::vector<std::string>{"2", "3", "4"}));
  EXPECT_EQ(reasons[1].points, 1U);
}

TEST(Backtests, APointThatMeasuredWhatIsPredictedHasNoErrorHoweverManyThreads) {
  ServingPoint first = described(), second = described();
  second.clients = 1;
  const Backtest once = run_backtest({first, second}, {});
  ASSERT_EQ(once.simulated(), 2U);
  for (const std::size_t i : {0U, 1U}) (i == 0 ? first : second).tpot_s = once.points[i].predicted->tpot_s;
  BacktestOptions two;
  two.jobs = 2;
  const Backtest again = run_backtest({first, second}, two);
  EXPECT_EQ(again.overall().tpot.max, 0);
  EXPECT_LT(again.points[1].predicted->tpot_s, again.points[0].predicted->tpot_s);
  const Prediction& p = *again.points[0].predicted;
  const serving::Bottleneck& b = p.bound_by;
  EXPECT_GT(b.hbm_bandwidth.share, b.compute.share + b.host.share + b.launches.share);
  EXPECT_GT(b.host.share, 0);
  double all = 0;
  for (const serving::TimePartName& part : serving::kTimeParts) all += (b.*part.part).share;
  EXPECT_NEAR(all, 1, 1e-9);
  EXPECT_GT(p.output_tokens_per_s, 0);
}

TEST(Backtests, SayWhichEnginesAreNotKnown) {
  ServingPoint p = described();
  p.output_tokens = 8;
  std::vector<ServingPoint> points(3, p);
  points[1].engine = "of-somebody";
  points[2].engine.clear();
  const Backtest b = run_backtest(points, {});
  const auto said = [&b](std::size_t i, const std::string& what) {
    const auto& all = b.points[i].fallbacks;
    return std::count_if(all.begin(), all.end(), [&](const std::string& f) { return f.find(what) == 0; });
  };
  EXPECT_EQ(said(0, "engine"), 0);
  EXPECT_EQ(said(1, "engine of-somebody is not in the catalogue"), 1);
  EXPECT_EQ(said(2, "points that name no engine"), 1);
}

TEST(Backtests, WhatDoesNotFitIsOutOfScope) {
  ServingPoint p = described();
  p.precision = p.weights = "bf16";
  p.tensor = p.expert_tensor = 1;  // 141 GB of weights on one H200
  ServingPoint shards = described();
  shards.tensor = shards.expert_tensor = 3;  // 64 heads
  const Backtest b = run_backtest({p, shards}, {});
  EXPECT_EQ(b.points[0].out_of_scope, "kvsim cannot simulate it: the model does not fit");
  EXPECT_NE(b.points[0].detail, "");
  EXPECT_EQ(b.points[1].out_of_scope, "kvsim cannot simulate it: cluster.gpu.tensor_parallel");
}

TEST(Backtests, ChangesAreOfEveryScenario) {
  BacktestOptions options;
  options.changes = {"cluster.gpu.tensor_parallel=8"};
  const Backtest slow = run_backtest({described()}, {}), fast = run_backtest({described()}, options);
  EXPECT_LT(fast.points[0].predicted->tpot_s, slow.points[0].predicted->tpot_s);
  options.changes = {"schedule.max_request=1"};
  EXPECT_THROW(static_cast<void>(run_backtest({described()}, options)), schema::InputError);
}

TEST(Backtests, AreInterruptedBetweenPointsAndWithinThem) {
  BacktestOptions options;
  options.proceed = [] { return false; };
  EXPECT_TRUE(run_backtest({described()}, options).interrupted);
}

}  // namespace
}  // namespace kvsim::planner::backtest::KVSIM_FILE
