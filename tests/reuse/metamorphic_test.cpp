// What must become of a result when one thing changes, whatever the figures: more bandwidth, more tokens computed
// again, more GPUs to score on, chunks that are there beforehand, a higher floor.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "tests/reuse/chunk_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::Measurements;

constexpr double kRounding = 1e-7;  // of event times, which are whole nanoseconds

const Sets kMethods = {"full_reuse", "selective", "cacheblend", "epic"};

double ttft_s(const Sets& sets) {
  return run_chunks(sets).ttft_s.mean();
}

TEST(Metamorphic, MoreBandwidthNeverMakesASingleRequestLater) {
  // All chunks stored, or half of them; a small model on GPUs of its own, or on the replica's.
  const Sets half = {"workload.chunks.count=10", "cluster.host.memory=350 MB", "placement.in_transit=0"};
  for (const std::string& method : kMethods) {
    for (const Sets& stored : {Sets{}, half}) {
      for (const int gpus : {0, 1}) {
        double before_s = 1e9;
        for (const double gigabytes : {0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 200.0}) {
          const double now_s =
              ttft_s(stored + Sets{"prefill.policy=" + method, fmt::format("prefill.speculative.gpus={}", gpus),
                                   fmt::format("cluster.host.link.read={} GB/s", gigabytes)});
          EXPECT_LE(now_s, before_s + kRounding) << method << " at " << gigabytes << " GB/s, " << gpus << " GPUs";
          before_s = now_s;
        }
      }
    }
  }
}

/// `kernels`: what else is set; `fall`: of a time, what more work may save.
void computes_more_for_longer(const Sets& kernels, double fall) {
  for (const char* method : {"selective", "cacheblend"}) {
    for (const char* attention : {"whole", "causal"}) {
      for (const int gpus : {0, 1}) {
        double before_s = 0;
        for (const double rho : {0.0, 0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 0.9}) {
          const double now_s = ttft_s(
              kernels + Sets{fmt::format("prefill.policy={}", method), fmt::format("prefill.attention={}", attention),
                             fmt::format("prefill.speculative.gpus={}", gpus), fmt::format("prefill.rho={}", rho)});
          EXPECT_GE(now_s, before_s * (1 - fall) - kRounding) << method << ", " << attention << ", rho " << rho;
          before_s = now_s;
        }
      }
    }
  }
}

TEST(Metamorphic, ComputingMoreTokensAgainNeverMakesASingleRequestSooner) {
  computes_more_for_longer({"cluster.gpu.profile=datasheet-generic"}, 0);
}

TEST(Metamorphic, CorrectionsByMeasuredRegionSaveMoreWorkNextToNothing) {
  // Corrections never fall with more prompts, but may with longer ones.
  computes_more_for_longer({}, 0.006);
}

TEST(Metamorphic, MoreTokensOfEveryChunkNeverMakeASingleRequestSooner) {
  double before_s = 0;
  for (const int tokens : {0, 1, 8, 16, 32, 64, 128, 256, 512}) {
    const double now_s = ttft_s({"prefill.policy=epic", fmt::format("prefill.link_tokens={} tokens", tokens)});
    EXPECT_GE(now_s, before_s - kRounding) << tokens;
    before_s = now_s;
  }
}

// All arrive at once and nothing is decoded, so that every choice can only come earlier; a row may still find a step
// under way that it just missed.
TEST(Metamorphic, MoreGpusToScoreOnNeverMakeABatchLaterByMoreThanAStep) {
  const auto batch = [](int gpus) {
    return run_chunks(
        {"workload={closed: {concurrency: 30}, chunks: {count: 100, popularity: 0.9, per_request: 10, "
         "tokens: 512 tokens}, context: 64 tokens, output: 1 tokens, requests: 30}",
         "schedule.max_batched_tokens=256", "prefill.speculative.model=llama-3-8b",
         fmt::format("prefill.speculative.gpus={}", gpus)});
  };
  const Measurements one = batch(1);
  Measurements before = one;
  for (const int gpus : {2, 3, 4, 8, 16}) {
    const Measurements now = batch(gpus);
    EXPECT_LE(now.ttft_s.mean(), before.ttft_s.mean() + now.iteration_s.quantile(1)) << gpus;
    EXPECT_LE(now.reuse.select_s, before.reuse.select_s + 30 * now.iteration_s.quantile(1)) << gpus;
    EXPECT_NEAR(now.reuse.scorers_busy_s, one.reuse.scorers_busy_s, 1e-6);
    before = now;
  }
  EXPECT_LT(before.ttft_s.mean(), one.ttft_s.mean() / 1.5);
}

TEST(Metamorphic, MoreGpusToScoreOnShortenTheQueueAtHighLoad) {
  const auto at = [](int gpus) {
    return ttft_s({"workload.arrivals.rate=3/s", "workload.requests=300", "prefill.speculative.model=llama-3-8b",
                   fmt::format("prefill.speculative.gpus={}", gpus)});
  };
  const double one_s = at(1), two_s = at(2), four_s = at(4);
  EXPECT_LT(two_s, one_s);
  EXPECT_LE(four_s, two_s * 1.01);
}

TEST(Metamorphic, ChunksThatAreThereBeforehandNeverMakeItSlower) {
  for (const std::string& method : kMethods) {
    const Sets sets = {"workload.requests=200", "workload.chunks.count=1000", "prefill.policy=" + method};
    const Measurements warm = run_chunks(sets), cold = run_chunks(sets + Sets{"placement.preload=false"});
    EXPECT_EQ(warm.reuse.apart_tokens, 0) << method;
    EXPECT_GT(cold.reuse.apart_tokens, 0) << method;
    EXPECT_EQ(warm.reuse.chunk_tokens, cold.reuse.chunk_tokens) << method;
    EXPECT_EQ(warm.reuse.recomputed_tokens, cold.reuse.recomputed_tokens) << method;
    EXPECT_LT(warm.ttft_s.mean(), cold.ttft_s.mean()) << method;
  }
}

// Answers of tasks as they are in the catalogue, which scatter.

Measurements answers(const Sets& sets) {
  return run_chunks(Sets{"workload.requests=300"} + sets);
}

TEST(Metamorphic, AHigherFloorNeverLetsMoreAnswersCount) {
  std::uint64_t before = 300;
  for (const double floor : {0.01, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0}) {
    const Measurements m = answers({fmt::format("slo={{quality_floor: {}}}", floor)});
    EXPECT_LE(m.good, before) << floor;
    EXPECT_EQ(m.good, m.answers.good) << floor;
    before = m.good;
  }
  EXPECT_EQ(answers({"slo={quality_floor: 0.01}"}).good, 300U);
  EXPECT_GT(answers({"slo={quality_floor: 0.8}"}).good, 150U);
  EXPECT_LT(answers({"slo={quality_floor: 0.8}"}).good, 300U);
}

constexpr const char* kScattered =
    "workload.tasks=[{{name: scattered, description: by hand, full_score: 0.5, scores: [{{rho: 0.15, score: 0.45, "
    "without_spans: {}}}], full_reuse: 0.5, cacheblend_below: {}, epic_below: {}, spread: 0.25}}]";

TEST(Metamorphic, MethodsWithEqualMeansHaveTheSameAnswers) {
  const Sets sets = {fmt::format(kScattered, 0.45, 0, 0), "slo={quality_floor: 0.8}", "workload.requests=300"};
  const Measurements selective = answers(sets);
  for (const Sets& other : {Sets{"prefill.policy=cacheblend"}, Sets{"prefill.policy=epic"},
                            Sets{"prefill.spans.enabled=false"}, Sets{"workload.arrivals.rate=3/s"}}) {
    const Measurements m = answers(sets + other);
    EXPECT_NEAR(m.answers.score, selective.answers.score, 1e-9) << other.front();
    EXPECT_EQ(m.answers.good, selective.answers.good) << other.front();
  }
  EXPECT_NE(answers(sets + Sets{"run.seed=2"}).answers.score, selective.answers.score);
}

TEST(Metamorphic, MethodsWithALowerMeanHaveNoMoreGoodAnswers) {
  for (const double floor : {0.5, 0.7, 0.8, 0.9, 1.0}) {
    std::map<double, std::uint64_t> good;  // by mean score
    for (const Sets& method : {Sets{"prefill.policy=full_recompute"}, Sets{"prefill.policy=full_reuse"},
                               Sets{"prefill.policy=epic"}, Sets{"prefill.policy=cacheblend"},
                               Sets{"prefill.policy=selective"}, Sets{"prefill.policy=selective", "prefill.rho=0.25"},
                               Sets{"prefill.policy=epic", "prefill.link_tokens=16 tokens"}}) {
      const Measurements m = answers(method + Sets{fmt::format("slo={{quality_floor: {}}}", floor)});
      good[m.quality] = std::max(good[m.quality], m.good);
    }
    EXPECT_GE(good.size(), 6U);
    std::uint64_t before = 0;
    for (const auto& [mean, count] : good) {
      EXPECT_GE(count, before) << "mean " << mean / 300 << ", floor " << floor;
      before = count;
    }
  }
}

TEST(Metamorphic, EverythingComputedAgainScoresLikeEverythingComputed) {
  const Measurements full = answers({"prefill.policy=full_recompute", "slo={quality_floor: 0.8}"});
  for (const Sets& all : {Sets{"prefill.rho=1"}, Sets{"prefill.policy=cacheblend", "prefill.rho=1"},
                          Sets{"prefill.policy=epic", "prefill.link_tokens=512 tokens"}}) {
    const Measurements m = answers(all + Sets{"slo={quality_floor: 0.8}"});
    EXPECT_EQ(m.quality, 300) << all.front();
    EXPECT_EQ(m.same_output, 300) << all.front();
    EXPECT_EQ(m.answers.score, full.answers.score) << all.front();
    EXPECT_EQ(m.answers.good, full.answers.good) << all.front();
    EXPECT_EQ(m.reuse.recomputed_tokens, m.reuse.chunk_tokens) << all.front();
    EXPECT_EQ(m.reuse.scorers_busy_s, 0) << all.front();
  }
}

TEST(Metamorphic, HowMuchIsComputedAgainChangesNeitherArrivalsNorChunks) {
  const auto requests = [](const Sets& sets) {
    const scenario::Scenario scenario = chunk_scenario(Sets{"workload.requests=100"} + sets);
    const auto feed = scenario::make_feed(scenario, scenario.serving.run.seed);
    std::vector<models::RequestSpec> all;
    while (auto spec = feed->next()) all.push_back(*spec);
    return all;
  };
  const auto usual = requests({});
  ASSERT_EQ(usual.size(), 100U);
  for (const Sets& other :
       {Sets{"prefill.rho=0.5"}, Sets{"prefill.policy=epic"}, Sets{"prefill.policy=full_recompute"}}) {
    const auto all = requests(other);
    ASSERT_EQ(all.size(), usual.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].arrival_ns, usual[i].arrival_ns);
      EXPECT_EQ(all[i].chunks, usual[i].chunks);
      EXPECT_EQ(all[i].prompt_tokens, usual[i].prompt_tokens);
      EXPECT_EQ(all[i].output_tokens, usual[i].output_tokens);
    }
  }
}

TEST(SmallModel, FitsOnAGpuOfItsOwnOrIsRefused) {
  const auto complaint = [](const std::string& model) {
    try {
      chunk_scenario({"prefill.speculative={gpus: 1, model: " + model + "}"});
    } catch (const schema::InputError& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(complaint("llama-3.1-8b"), "none");
  // 141 GB of weights; 40 GiB x 0.9 = 38.7 GB.
  EXPECT_NE(complaint("llama-3.1-70b")
                .find("llama-3.1-70b does not fit on a GPU of its own: 141.1 GB of weights, "
                      "a100-40gb leaves 38.2 GB at memory_fraction 0.9"),
            std::string::npos)
      << complaint("llama-3.1-70b");
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
