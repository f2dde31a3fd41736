// Ranks, experts and stages: what one GPU has of a step, by hand and against the same work on fewer GPUs.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "models/kernels/shared_work.h"
#include "models/kernels/step_time.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

Parallelism cut(std::int64_t tensor, std::int64_t data, std::int64_t expert = 1, std::int64_t pipeline = 1) {
  Parallelism p(tensor);
  p.attention_data = data;
  p.expert = expert;
  p.pipeline = pipeline;
  return p;
}

StepWork decoding(double requests, double context, double token_bytes) {
  StepWork w;
  w.decode = {requests, requests * context * token_bytes, requests * context, requests, context};
  w.logit_tokens = requests;
  return w;
}

TEST(SharedWork, TheFullestRankHasAWholeRequestMore) {
  const SharedWork s = shared_work(decoding(10, 100, 2), cut(1, 4));
  EXPECT_DOUBLE_EQ(s.rank.decode.query_tokens, 3);
  EXPECT_DOUBLE_EQ(s.rank.decode.requests, 3);
  EXPECT_DOUBLE_EQ(s.rank.decode.kv_bytes, 600);
  EXPECT_DOUBLE_EQ(s.rank.decode.pairs, 300);
  EXPECT_DOUBLE_EQ(s.rank.logit_tokens, 3);
  EXPECT_DOUBLE_EQ(s.tokens, 10);
  EXPECT_DOUBLE_EQ(s.microbatches, 1);
}

TEST(SharedWork, AChunkIsOnOneRank) {
  StepWork w;
  w.chunks = {{100, 0}, {10, 500}, {60, 0}};
  for (const PrefillChunk& c : w.chunks) {
    w.prefill.query_tokens += c.tokens;
    w.prefill.pairs += c.tokens * (c.before + (c.tokens + 1) / 2);
  }
  const SharedWork s = shared_work(w, cut(1, 2));  // 100 and 60 against 10
  EXPECT_NEAR(s.rank.prefill.query_tokens, 160, 1e-9);
  EXPECT_NEAR(s.rank.prefill.pairs, 100 * 50.5 + 60 * 30.5, 1e-6);
  EXPECT_NEAR(rank_tokens(w, cut(1, 8)), 100, 1e-9);
  EXPECT_DOUBLE_EQ(rank_tokens(w, cut(8, 1)), 170);
}

// The rank with most tokens is not the slowest where another one's chunk has far more context.
TEST(SharedSteps, WaitForTheRankWhoseAttentionIsSlowest) {
  static const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec gpu = catalogue.gpu("h200");
  const LlmSpec model = catalogue.model("qwen3-32b");
  const StepTimer timer(gpu, catalogue.link(gpu.peer_link), catalogue.profile("h200-vllm"), model, cut(2, 4));
  const auto chunks = [](std::vector<PrefillChunk> all) {
    StepWork w;
    for (const PrefillChunk& c : all) {
      w.prefill.query_tokens += c.tokens;
      w.prefill.pairs += c.tokens * (c.before + (c.tokens + 1) / 2);
    }
    w.chunks = std::move(all);
    return w;
  };
  const double deep_s = timer.time(chunks({{512, 60'000}})).attention_s;
  EXPECT_EQ(timer.time(chunks({{512, 60'000}, {513, 0}})).attention_s, deep_s);
  EXPECT_EQ(timer.time(chunks({{513, 0}, {512, 60'000}})).attention_s, deep_s);
}

// A pipeline's passes are alike, but no stage has a part of a chunk; and each stage launches its own kernels.
TEST(SharedSteps, OfAPipelineWaitForTheLargestChunkAndShareLaunches) {
  static const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec gpu = catalogue.gpu("h200");
  const LlmSpec model = catalogue.model("qwen3-32b");
  KernelProfile profile = catalogue.profile("h200-vllm");
  const auto step = [&](double requests, double tokens) {
    StepWork w = decoding(requests, 500, static_cast<double>(model.kv_bytes_per_token()));
    w.chunks = {{tokens, 0}};
    w.prefill = {tokens, 0, tokens * (tokens + 1) / 2, 1};
    w.logit_tokens += 1;
    return StepTimer(gpu, catalogue.link(gpu.peer_link), profile, model, cut(4, 1, 1, 2)).time(w);
  };
  EXPECT_GE(step(1, 4096).total_s, step(0, 4096).total_s * (1 - 1e-9));
  profile.launch.kernel_s.value = 1e-4;  // so that launching decides: half of it in each of two stages
  const StepTime one = step(0, 1024), two = step(64, 1024);
  EXPECT_GT(two.launch_s, 0.5 * two.total_s);
  EXPECT_LT(two.total_s, 1.2 * one.total_s);
}

RC_GTEST_PROP(SharedWork, NoRankHasMoreThanAllAndTheFullestHasTheMeanOrMore, ()) {
  const double requests = *rc::gen::inRange(1, 500);
  const Parallelism p = cut(1, *rc::gen::inRange(1, 65), 1, *rc::gen::inRange(1, 9));
  const SharedWork s = shared_work(decoding(requests, 1000, 100), p);
  RC_ASSERT(s.microbatches <= static_cast<double>(p.pipeline));
  RC_ASSERT(s.microbatches <= requests);
  const double of_all = s.rank.decode.query_tokens * s.microbatches;
  RC_ASSERT(of_all <= requests * (1 + 1e-12));
  RC_ASSERT(of_all >= requests / static_cast<double>(p.attention_data) * (1 - 1e-12));
  const auto places = static_cast<double>(p.attention_data * p.pipeline);
  if (requests >= places) {
    RC_ASSERT(std::abs(s.tokens * s.microbatches - requests) <= 1e-9 * requests);
  } else {  // ranks wait for others' requests in some passes
    RC_ASSERT(s.tokens * s.microbatches >= requests * (1 - 1e-9));
    RC_ASSERT(s.tokens <= static_cast<double>(p.attention_data) * (1 + 1e-9));
  }
}

TEST(Pipeline, IsAPassThroughAllStagesOrTheSlowestStageForEveryPass) {
  const Parallelism p = cut(1, 1, 1, 4);
  const PipelinePass pass{8, 1, 3 * 0.5, 0.5};  // ten layers: three, three, two, two with the head
  EXPECT_DOUBLE_EQ(pipeline_s(pass, 1, 10, p), 8 + 1 + 3 * 0.5);
  EXPECT_DOUBLE_EQ(pipeline_s(pass, 4, 10, p), 4 * (2.6 + 0.5));                    // last: 1.6 + 1
  EXPECT_DOUBLE_EQ(pipeline_s({8, 0.5, 3 * 0.5, 0.5}, 4, 10, p), 4 * (2.4 + 0.5));  // first: three of ten layers
}

TEST(Routing, ChanceFillsTheFullestOfSeveralGpus) {
  EXPECT_EQ(largest_of_normal(1), 0);
  const double of_two = 1 / std::sqrt(std::acos(-1.0));
  EXPECT_NEAR(largest_of_normal(2), of_two, 1e-4);
  EXPECT_NEAR(largest_of_normal(3), 1.5 * of_two, 1e-4);
  EXPECT_NEAR(largest_of_normal(64), 2.3442, 1e-3);  // tables of normal order statistics
}

TEST(Routing, TheFullestGpuIsThatOfDrawnTokens) {
  ExpertLayer layer;
  layer.top_k = 8;
  layer.experts = 128;
  layer.expert_parallel = 8;
  std::mt19937_64 random(1);
  for (const int tokens : {16, 256, 2048}) {
    constexpr int kDraws = 200;
    double sum = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<int> pairs(8);
      for (int t = 0; t < tokens; ++t) {
        std::vector<bool> taken(128);
        for (int k = 0; k < 8;) {
          const auto expert = static_cast<std::size_t>(random() % 128);
          if (taken[expert]) continue;
          taken[expert] = true;
          ++pairs[expert / 16];
          ++k;
        }
      }
      sum += *std::max_element(pairs.begin(), pairs.end());
    }
    const MoeCall call{layer, static_cast<double>(tokens), routed_at_random_to_fullest(layer, tokens, 1)};
    EXPECT_NEAR(call.pairs() / (sum / kDraws), 1, 0.05) << tokens;
    const MoeCall skewed{layer, static_cast<double>(tokens), routed_at_random_to_fullest(layer, tokens, 2)};
    EXPECT_NEAR(skewed.pairs() / call.pairs(), 2, 1e-9) << tokens;
  }
  layer.expert_parallel = 1;
  EXPECT_DOUBLE_EQ((MoeCall{layer, 256, routed_at_random_to_fullest(layer, 256, 1)}).pairs(),
                   (MoeCall{layer, 256, routed_at_random(layer, 256)}).pairs());
}

class Shares : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] StepTime time(const Parallelism& p, const StepWork& w) const {
    const GpuSpec gpu = catalogue_.gpu("h200");
    return StepTimer(gpu, catalogue_.link(gpu.peer_link), catalogue_.profile(profile()), model_, p).time(w);
  }
  [[nodiscard]] std::string profile() const { return GetParam(); }
  [[nodiscard]] StepWork work(double requests) const {
    return decoding(requests, 2000, static_cast<double>(model_.kv_bytes_per_token()));
  }

  Catalogue catalogue_ = Catalogue::built_in();
  LlmSpec model_ = catalogue_.model("deepseek-v3");
};

LinkSpec link_of(const char* name, double bytes_per_s, double latency_s) {
  LinkSpec link;
  link.name = name;
  link.read_bytes_per_s.value = link.write_bytes_per_s.value = bytes_per_s;
  link.latency_s.value = latency_s;
  return link;
}

// Several prompts are no long one: each token attends to its own prompt alone.
TEST_P(Shares, ARankAttendsWithinEachOfItsPrompts) {
  const auto prompts = [](int number, double tokens) {
    StepWork w;
    for (int i = 0; i < number; ++i) w.chunks.push_back({tokens, 0});
    w.prefill.query_tokens = number * tokens;
    w.prefill.pairs = number * tokens * (tokens + 1) / 2;
    w.logit_tokens = number;
    return w;
  };
  EXPECT_DOUBLE_EQ(time(cut(1, 8), prompts(64, 1000)).attention_s, time(1, prompts(8, 1000)).attention_s);
  EXPECT_DOUBLE_EQ(time(cut(1, 8), prompts(60, 1000)).attention_s, time(1, prompts(8, 1000)).attention_s);
  EXPECT_LT(time(cut(1, 8), prompts(64, 1000)).attention_s, 0.5 * time(cut(1, 8), prompts(8, 8000)).attention_s);
  // Each pass of a pipeline has its part of the prompts.
  EXPECT_DOUBLE_EQ(time(cut(1, 1, 1, 4), prompts(16, 1000)).attention_s, time(1, prompts(4, 1000)).attention_s);
}

// Messages between nodes alone differ: what they take is a closed form.
TEST_P(Shares, AReplicaOnSeveralNodesTalksOverTheirLink) {
  const GpuSpec gpu = catalogue_.gpu("h200");
  const auto timer = [&](const Interconnect& links, const Parallelism& p) {
    return StepTimer(gpu, links, catalogue_.profile(profile()), model_, p);
  };
  Interconnect one(link_of("near", 400e9, 1e-6)), two = one;
  two.node_gpus = 8;
  two.between_nodes = link_of("far", 40e9, 10e-6);
  const StepWork w = work(64);

  // Two stages of eight GPUs, a node each: each of a stage's 8 GPUs sends its 8th part over its own link.
  const double bytes = 2 * static_cast<double>(model_.hidden);  // of a token
  const Parallelism stages = cut(8, 1, 1, 2);
  const StepTime near = timer(one, stages).time(work(1)), far = timer(two, stages).time(work(1));
  EXPECT_NEAR(far.total_s - near.total_s, (10e-6 + bytes / 8 / 40e9) - (1e-6 + bytes / 8 / 400e9), 1e-9);
  // Of four stages of four GPUs one border of three is between nodes.
  const Parallelism short_stages = cut(4, 1, 1, 4);
  EXPECT_NEAR(timer(two, short_stages).time(work(1)).total_s - timer(one, short_stages).time(work(1)).total_s,
              (10e-6 + bytes / 4 / 40e9) - (1e-6 + bytes / 4 / 400e9), 1e-9);

  // Sixteen GPUs that share every matrix: as eight of a node, and the nodes on an eighth of each message.
  EXPECT_GT(timer(two, 16).time(w).collectives_s, timer(Interconnect(one.peer), 8).time(w).collectives_s);
  EXPECT_EQ(timer(two, 8).time(w).total_s, timer(one, 8).time(w).total_s) << "they lie on one";

  const auto says = [](const StepTimer& t, const std::string& words) {
    const auto& all = t.fallbacks();
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& f) { return f.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(
      says(timer(two, 16), "all_reduce of 16 GPUs on 2 nodes: within nodes over near, then between them over far"));
  EXPECT_FALSE(says(timer(two, 16), "as if they were one node"));
  two.between_nodes.reset();
  EXPECT_TRUE(says(timer(two, 16),
                   "16 GPUs of a replica on nodes of 8: joined by near as if they were one node, which is "
                   "too fast; cluster.node.link says what joins nodes"));
  EXPECT_FALSE(says(timer(two, 8), "as if they were one node"));
  EXPECT_EQ(timer(two, 16).time(w).total_s, timer(one, 16).time(w).total_s);
}

TEST_P(Shares, ARankAttendsToItsOwnRequestsAlone) {
  EXPECT_NEAR(time(cut(1, 8), work(64)).attention_s, time(1, work(8)).attention_s, 1e-12);
  EXPECT_NEAR(time(cut(2, 4), work(61)).attention_s, time(2, work(16)).attention_s, 1e-12);
}

TEST_P(Shares, ALatentIsReadOnceByRanksAndByEveryGpuOfATensorParallelGroup) {
  const auto streamed = [&](const Parallelism& p) {
    return time(p, work(1024)).attention_s - time(p, decoding(1024, 10, 1)).attention_s;
  };
  EXPECT_GT(streamed(8), 4 * streamed(cut(1, 8)));
}

TEST_P(Shares, RanksTellEachOtherTokensOfRoutedLayersAndReduceNothing) {
  const StepTime ranks = time(cut(1, 8), work(64)), group = time(8, work(64));
  EXPECT_GT(ranks.collectives_s, 0);
  EXPECT_EQ(ranks.gathering_s, 0);  // every rank has all of its logits
  EXPECT_GT(group.gathering_s, 0);
  EXPECT_EQ(time(1, work(64)).collectives_s, 0);
}

TEST_P(Shares, APipelineWithOneRequestIsAPassAndWhatItSends) {
  const StepTime one = time(1, work(1)), staged = time(cut(1, 1, 1, 4), work(1));
  EXPECT_GT(staged.total_s, one.total_s);
  EXPECT_LT(staged.total_s, one.total_s + 3 * 50e-6);
  EXPECT_NEAR(staged.linear_s, one.linear_s, 1e-12);
  EXPECT_NEAR(staged.total_s, staged.linear_s + staged.attention_s + staged.collectives_s + staged.overhead_s, 1e-12);
}

TEST_P(Shares, AFullPipelineTakesItsPassesTimesTheSlowestStage) {
  const StepTime pass = time(1, work(16)), staged = time(cut(1, 1, 1, 4), work(64));
  EXPECT_GE(staged.total_s, pass.total_s);
  // 61 layers: 16 in the first stage, so that at most 16 / 61 x 4 of the layers and four heads come after each other.
  EXPECT_LE(staged.total_s, pass.total_s * 4 * 16 / 61 + 4 * (pass.head_s + pass.overhead_s) + 1e-3);
}

TEST_P(Shares, ImbalanceOfExpertsTakesLonger) {
  Parallelism even = cut(1, 8, 8), skewed = even;
  skewed.expert_imbalance = 3;
  const StepWork many = work(4096);
  if (profile() == std::string("datasheet-generic")) return;  // a roofline knows no experts
  EXPECT_GT(time(skewed, many).linear_s, time(even, many).linear_s);
  EXPECT_GT(time(even, many).linear_s, time(cut(1, 8), many).linear_s * 0.5);
}

INSTANTIATE_TEST_SUITE_P(Profiles, Shares, ::testing::Values("h200-vllm", "datasheet-generic"));

TEST(SharedWork, ARankSendsItsOwnRequestsThroughTheStages) {
  const SharedWork s = shared_work(decoding(2, 100, 2), cut(1, 2, 1, 4));
  EXPECT_DOUBLE_EQ(s.microbatches, 1);  // one request a rank: nothing of it can overlap
  EXPECT_DOUBLE_EQ(s.rank.decode.requests, 1);
  EXPECT_DOUBLE_EQ(shared_work(decoding(6, 100, 2), cut(1, 2, 1, 4)).microbatches, 3);
  EXPECT_DOUBLE_EQ(shared_work(decoding(12, 100, 2), cut(1, 2, 1, 4)).microbatches, 4);
}

TEST(SharedSteps, MoreRequestsNeverTakeLess) {
  static const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec gpu = catalogue.gpu("h200");
  const LlmSpec model = catalogue.model("qwen3-30b-a3b");
  const auto token = static_cast<double>(model.kv_bytes_per_token());
  for (const std::int64_t ranks : {1, 2, 4})
    for (const std::int64_t experts : {1, 2, 4})
      for (const std::int64_t stages : {1, 2, 3, 4}) {
        if (ranks % experts != 0) continue;
        const StepTimer timer(gpu, catalogue.link(gpu.peer_link), catalogue.profile("datasheet-generic"), model,
                              cut(1, ranks, experts, stages));
        double before_s = 0;
        for (double requests = 1; requests <= 400; ++requests) {
          const double s = timer.time(decoding(requests, 1000, token)).total_s;
          EXPECT_GE(s, before_s * (1 - 1e-12)) << ranks << " " << experts << " " << stages << " " << requests;
          before_s = s;
        }
      }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
