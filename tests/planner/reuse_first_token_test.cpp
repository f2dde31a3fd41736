// The closed form of a prompt's first token against the simulator: the same prompt, alone on the same machine.
#include "planner/reuse/first_token.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "planner/experiment.h"
#include "planner/policy_words.h"
#include "tests/planner/reuse_scenario.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

constexpr double kAgreement = 0.01;
constexpr double kSameSelection = 1e-6;  // a nanosecond for each step, of milliseconds

using Sets = std::vector<std::string>;

Sets joined(Sets a, const Sets& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

PromptShape shape_of(const scenario::Scenario& s) {
  return {s.workload.chunks->per_request, s.workload.chunks->tokens, 64};
}

double planned_s(const scenario::Scenario& s, PromptMethod method, double hit_rate) {
  const FirstTokenModel model(s, method);
  return model.at(shape_of(s), hit_rate).ttft_s(load_path(s.serving));
}

double simulated_s(const scenario::Scenario& s, std::size_t requests = 1) {
  const serving::Measurements m = run_experiment(s).measured;
  EXPECT_EQ(m.ttft_s.count(), requests);
  return m.ttft_s.min();
}

std::map<std::string, Sets> machines() {
  return {
      {"mistral-7b on a100-40gb", {}},
      {"small model on a GPU of its own", {"prefill.speculative.gpus=1"}},
      {"llama-3.1-8b on h100-sxm, a slow link",
       {"model=llama-3.1-8b", "cluster.gpu.type=h100-sxm", "cluster.host.link=pcie3-x16"}},
      {"llama-3.1-70b on four h200", {"model=llama-3.1-70b", "cluster.gpu.type=h200", "cluster.gpu.tensor_parallel=4"}},
      {"deepseek's latent KV", {"model=deepseek-v3", "cluster.gpu.type=b200", "cluster.gpu.tensor_parallel=8"}},
      {"a tokenizer of its own, tokens that pass over what is later",
       {"prefill.attention=causal", "prefill.speculative={own_tokenizer: true, tokens_ratio: 1.2}"}},
  };
}

std::map<std::string, Sets> prompts() {
  return {
      {"ten chunks of 512", {}},
      {"one chunk", {"workload.chunks={count: 1, per_request: 1, tokens: 512 tokens}"}},
      {"40 chunks, small iterations",
       {"workload.chunks={count: 40, per_request: 40, tokens: 512 tokens}", "schedule.max_batched_tokens=1000"}},
      {"chunks longer than an iteration", {"workload.chunks={count: 3, per_request: 3, tokens: 5000 tokens}"}},
  };
}

/// Worst over what it was given.
class Worst {
 public:
  void add(const std::string& name, double planned, double simulated, double most = kAgreement) {
    const double difference = std::abs(planned / simulated - 1);
    EXPECT_LE(difference, most) << name << ": planned " << planned << ", simulated " << simulated;
    cases_ += 1;
    if (difference < difference_) return;
    difference_ = difference;
    name_ = name;
  }
  ~Worst() {
    fmt::print("{} cases, worst: {:.2g} ({})\n", cases_, difference_, name_);
    ::testing::Test::RecordProperty("worst", fmt::format("{:.2g}", difference_));
  }
  Worst() = default;
  Worst(const Worst&) = delete;
  Worst& operator=(const Worst&) = delete;

 private:
  std::size_t cases_ = 0;
  double difference_ = 0;
  std::string name_;
};

/// Every method that the simulator runs for a first request. With one signal that is the one which the plan's mean is
/// of; requests of several differ from the mean.
void compare_all(double hit_rate, int signals, double most) {
  Worst worst;
  const std::string importance = fmt::format("prefill.importance={{signals: {}}}", signals);
  for (const auto& [machine, machine_sets] : machines()) {
    for (const auto& [prompt, prompt_sets] : prompts()) {
      Sets sets = joined(joined(machine_sets, prompt_sets), {importance});
      if (hit_rate == 0) sets.emplace_back("placement.preload=false");
      const scenario::Scenario s = testing::one_prompt(sets);
      for (const PromptMethod method : prompt_methods()) {
        if (method == PromptMethod::load || (signals > 1 && method != PromptMethod::selective)) continue;
        const auto one = scenario::with(s, prefill_changes(FirstTokenModel(s, method).config().prefill));
        worst.add(fmt::format("{}, {}, {}", machine, prompt, name_of(method)), planned_s(s, method, hit_rate),
                  simulated_s(one), most);
      }
    }
  }
}

TEST(ReuseFirstToken, WithEveryChunkStoredItIsAsSimulated) {
  compare_all(1, 1, kSameSelection);
}

TEST(ReuseFirstToken, WithNoChunkStoredItIsAsSimulated) {
  compare_all(0, 1, kSameSelection);
}

TEST(ReuseFirstToken, WhatIsSelectedInTheMeanIsWithinAPercentOfOneRequest) {
  compare_all(1, 64, kAgreement);
}

/// Host memory for some of the chunks: 512 tokens of 131,072 bytes are 67 MB, of which a tenth more is kept for what
/// leaves.
TEST(ReuseFirstToken, WithSomeChunksStoredItIsAsSimulated) {
  Worst worst;
  for (const char* gpus : {"prefill.speculative.gpus=0", "prefill.speculative.gpus=1"}) {
    for (const int stored : {2, 5, 9}) {
      const double bytes = (stored + 0.5) * 512 * 131072 / 0.9;
      const scenario::Scenario s = testing::one_prompt({gpus, fmt::format("cluster.host.memory={:.0f} B", bytes)});
      for (const PromptMethod method : prompt_methods()) {
        if (!blends(method)) continue;
        const auto one = scenario::with(s, prefill_changes(FirstTokenModel(s, method).config().prefill));
        worst.add(fmt::format("{} of 10 stored, {}, {}", stored, gpus, name_of(method)),
                  planned_s(s, method, stored / 10.0), simulated_s(one));
      }
    }
  }
}

/// One chunk, which the first request stores and the second one, long after it, finds: prompts begin alike.
TEST(ReuseFirstToken, ALoadedBeginningIsAsSimulated) {
  Worst worst;
  for (const auto& [machine, sets] : machines()) {
    const scenario::Scenario s = testing::one_prompt(
        joined(sets, {"workload.chunks={count: 1, per_request: 1, tokens: 8192 tokens}", "workload.requests=2",
                      "workload.arrivals.rate=0.001/s", "prefill=prefix_cache", "placement={policy: lru}"}));
    worst.add(machine, planned_s(s, PromptMethod::load, 1), simulated_s(s, 2), kSameSelection);
    EXPECT_DOUBLE_EQ(planned_s(s, PromptMethod::load, 0), planned_s(s, PromptMethod::recompute, 0));
  }
}

/// Two prompts of two chunks, which have the first one in common.
TEST(ReuseFirstToken, AHalfLoadedBeginningIsAsSimulated) {
  const auto with_seed = [](int seed) {
    return testing::one_prompt({"workload.chunks={count: 3, per_request: 2, tokens: 3000 tokens}",
                                "workload.requests=2", "workload.arrivals.rate=0.001/s", "prefill=prefix_cache",
                                "placement={policy: lru}", fmt::format("run.seed={}", seed)});
  };
  const auto half_alike = [](const scenario::Scenario& s) {
    const auto feed = scenario::make_feed(s, s.serving.run.seed);
    const auto first = feed->next(), second = feed->next();
    return first->chunks[0] == second->chunks[0] && first->chunks[1] != second->chunks[1];
  };
  int seed = 1;
  while (seed < 100 && !half_alike(with_seed(seed))) ++seed;
  const scenario::Scenario s = with_seed(seed);
  ASSERT_TRUE(half_alike(s));
  Worst worst;
  const FirstToken t = FirstTokenModel(s, PromptMethod::load).at(shape_of(s), 0.5);
  worst.add("half", t.ttft_s(load_path(s.serving)), simulated_s(s, 2), kSameSelection);
}

TEST(ReuseFirstToken, ATierBelowHostMemoryIsAsSimulated) {
  Worst worst;
  for (const char* storage : {"{name: ssd, read: 3 GB/s, latency: 5 ms}", "{name: ssd, read: 200 GB/s}"}) {
    const scenario::Scenario s =
        testing::one_prompt({"cluster.host.memory=0 B", fmt::format("cluster.storage=[{}]", storage)});
    for (const PromptMethod method : prompt_methods()) {
      if (!blends(method)) continue;
      const auto one = scenario::with(s, prefill_changes(FirstTokenModel(s, method).config().prefill));
      const FirstToken planned = FirstTokenModel(s, method).at(shape_of(s), 1);
      worst.add(fmt::format("{}, {}", storage, name_of(method)), planned.ttft_s(load_path(s.serving, "ssd")),
                simulated_s(one));
    }
  }
}

/// Loading, scoring and missing chunks are side by side: what takes longest sets the pace, the rest comes on top.
TEST(ReuseFirstToken, PartsSideBySideDoNotAddUp) {
  FirstToken t;
  t.loaded_bytes = 100;
  t.select_s = 3;
  t.alone_s = 2;
  t.after_s = 1;
  LoadPath path;
  path.bytes_per_s = 25;  // 4 s
  path.fixed_s = 0.5;
  EXPECT_DOUBLE_EQ(t.ttft_s(path), 5.5);
  EXPECT_EQ(t.binding(path), Binding::loading);
  path.bytes_per_s = 1000;
  EXPECT_DOUBLE_EQ(t.ttft_s(path), 4);
  EXPECT_EQ(t.binding(path), Binding::scoring);
  t.after_s = 3.5;
  EXPECT_EQ(t.binding(path), Binding::computing);
}

TEST(ReuseFirstToken, MoreBandwidthIsNeverSlower) {
  const scenario::Scenario s = testing::one_prompt();
  for (const PromptMethod method : prompt_methods()) {
    for (const double hit_rate : {0.0, 0.3, 1.0}) {
      const FirstToken t = FirstTokenModel(s, method).at(shape_of(s), hit_rate);
      LoadPath path = load_path(s.serving);
      double before = INFINITY;
      for (path.bytes_per_s = 1e7; path.bytes_per_s < 1e13; path.bytes_per_s *= 1.7) {
        EXPECT_LE(t.ttft_s(path), before) << name_of(method) << " " << hit_rate;
        before = t.ttft_s(path);
      }
    }
  }
}

/// On a link that is not what it waits for: what is loaded need not be computed. Positions are recovered of loaded
/// chunks alone, which takes a little.
TEST(ReuseFirstToken, MoreHitsAreNotSlowerWhereTheLinkIsFast) {
  const scenario::Scenario s = testing::one_prompt();
  LoadPath path = load_path(s.serving);
  path.bytes_per_s = 1e13;
  for (const PromptMethod method : prompt_methods()) {
    const FirstTokenModel model(s, method);
    double before = INFINITY;
    for (int hits = 0; hits <= 10; ++hits) {
      const double now = model.at(shape_of(s), hits / 10.0).ttft_s(path);
      EXPECT_LE(now, before * 1.005) << name_of(method) << " " << hits;
      before = now;
    }
  }
}

TEST(ReuseFirstToken, FullReuseComputesNothingOfItsChunksAgain) {
  const scenario::Scenario s = testing::one_prompt();
  EXPECT_EQ(FirstTokenModel(s, PromptMethod::full_reuse).at(shape_of(s), 1).computed_tokens, 0);
  EXPECT_EQ(FirstTokenModel(s, PromptMethod::epic).at(shape_of(s), 1).computed_tokens, 320);
  EXPECT_EQ(FirstTokenModel(s, PromptMethod::cacheblend).at(shape_of(s), 1).computed_tokens, 768);
  EXPECT_EQ(FirstTokenModel(s, PromptMethod::recompute).at(shape_of(s), 1).computed_tokens, 5120);
  EXPECT_EQ(FirstTokenModel(s, PromptMethod::load).at(shape_of(s), 0.9).computed_tokens, 512);
}

TEST(ReuseFirstToken, NobodyScoresWhereAllOrNothingIsChosen) {
  for (const char* rho : {"prefill.rho=0", "prefill.rho=1"}) {
    const scenario::Scenario s = testing::one_prompt({rho});
    EXPECT_EQ(FirstTokenModel(s, PromptMethod::selective).at(shape_of(s), 1).select_s, 0) << rho;
  }
  EXPECT_EQ(FirstTokenModel(testing::one_prompt({"prefill.rho=1"}), PromptMethod::selective).relative_score(10), 1);
}

TEST(ReuseFirstToken, WhatDoesNotFitIsSaid) {
  const scenario::Scenario s = testing::one_prompt();
  const FirstTokenModel selective(s, PromptMethod::selective);
  EXPECT_EQ(selective.problem(shape_of(s), 4), "");
  EXPECT_NE(selective.problem({64, 512, 64}, 4).find("mistral-7b allows 32768"), std::string::npos);
  const scenario::Scenario tight = testing::one_prompt({"cluster.gpu.memory_fraction=0.413"});
  EXPECT_NE(FirstTokenModel(tight, PromptMethod::selective).problem(shape_of(tight), 4).find("of KV memory"),
            std::string::npos);
  EXPECT_EQ(FirstTokenModel(tight, PromptMethod::recompute).problem(shape_of(tight), 4), "");
}

TEST(ReuseFirstToken, ChunksAreFoundWhole) {
  const scenario::Scenario s = testing::one_prompt({});
  const PromptShape prompt = shape_of(s);
  EXPECT_EQ(prompt.found(0), 0);
  EXPECT_EQ(prompt.found(1), prompt.chunks);
  const FirstTokenModel load(s, PromptMethod::load);
  const double little = 0.4 / static_cast<double>(prompt.chunks);
  EXPECT_EQ(load.at(prompt, little).loaded_tokens, 0);
  EXPECT_EQ(load.at(prompt, little).after_s, load.at(prompt, 0).after_s);
  EXPECT_EQ(load.at(prompt, 1 - little).loaded_tokens, prompt.context());
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
