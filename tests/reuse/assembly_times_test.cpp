// One prompt alone on an idle replica: its time to first token is what loading, scoring, computing and moving chunks
// take by themselves, added up or side by side as the pipeline of spec "selective reuse" says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/reuse/prompt_assembly.h"
#include "sim/reuse/reuse_times.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"
#include "tests/reuse/chunk_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using models::ReuseMethod;
using serving::ServingConfig;

/// What one prompt takes, part by part, from the models alone.
class OnePrompt {
 public:
  explicit OnePrompt(const scenario::Scenario& scenario)
      : config_(scenario.serving),
        times_(config_),
        geometry_(serving::configured_geometry(config_, config_.cluster.groups.front())),
        timer_(config_.cluster.groups.front().gpu, config_.cluster.groups.front().peer_link,
               config_.cluster.groups.front().profile, config_.model, config_.cluster.groups.front().parallel.tensor) {
    spec_ = *scenario::make_feed(scenario, config_.run.seed)->next();
    rows_ = reuse::ChunkRowCounter(*config_.reuse, nullptr, config_.run.seed)
                .rows(0, static_cast<std::int64_t>(spec_.chunks.size()), spec_.chunk_tokens);
  }

  [[nodiscard]] std::int64_t prompt() const { return spec_.prompt_tokens; }
  [[nodiscard]] std::int64_t chunk_tokens() const {
    return static_cast<std::int64_t>(spec_.chunks.size()) * spec_.chunk_tokens;
  }
  [[nodiscard]] std::int64_t rows() const { return rows_.count + prompt() - chunk_tokens(); }
  [[nodiscard]] const std::vector<std::uint64_t>& chunks() const { return spec_.chunks; }

  /// So many chunks over the link to host memory, as one transfer.
  [[nodiscard]] double load_s(std::int64_t chunks) const {
    const models::LinkSpec& link = config_.cluster.groups.front().host_link;
    const auto bytes = static_cast<double>(chunks * geometry_.full_transfer(spec_.chunk_tokens));
    return link.setup_s.value + bytes / link.read_bytes_per_s.value + link.latency_s.value;
  }

  /// On GPUs of its own: the prompt in one pass, then the choice.
  [[nodiscard]] double select_elsewhere_s() const { return times_.score_s(prompt()) + times_.align_s(prompt()); }

  /// On the replica's GPUs, beside `apart` tokens of chunks: iterations of max_batched_tokens of either, until both are
  /// done. Returns when the tokens are chosen and when the last chunk is computed.
  struct Iterations {
    double chosen_s = 0;
    double computed_s = 0;
  };
  [[nodiscard]] Iterations iterations(std::int64_t apart, std::int64_t scored) const {
    Iterations result;
    const std::int64_t most = config_.schedule.max_batched_tokens, unit = spec_.chunk_tokens;
    double now_s = 0;
    for (std::int64_t done = 0, read = 0; done < apart || read < scored;) {
      models::StepWork work;
      for (std::int64_t left = std::min(most, apart - done); left > 0;) {
        const std::int64_t tokens = std::min(left, unit - done % unit);
        serving::add_chunk(work, geometry_, done % unit, tokens, false);  // after what there is of the same chunk
        left -= tokens;
        done += tokens;
      }
      if (const std::int64_t tokens = std::min(most, scored - read); tokens > 0) {
        const models::PrefillChunk chunk{static_cast<double>(tokens), static_cast<double>(read)};
        work.extra_gpu_s = times_.scoring_s({&chunk, 1});
        read += tokens;
        now_s += timer_.time(work).total_s;
        if (read == scored) result.chosen_s = now_s + times_.align_s(prompt());
      } else {
        now_s += timer_.time(work).total_s;
      }
      if (apart > 0 && done == apart && result.computed_s == 0) result.computed_s = now_s;
    }
    return result;
  }

  /// The rows, in steps of max_batched_tokens, the last one with logits. `moved`: stored tokens that stand elsewhere
  /// than they did when they were stored.
  [[nodiscard]] double rows_s(std::int64_t moved) const {
    const std::int64_t most = config_.schedule.max_batched_tokens, others = prompt() - chunk_tokens();
    double positions = rows_.positions;
    for (std::int64_t i = 0; i < others; ++i) positions += static_cast<double>(chunk_tokens() + i);
    const double before = reuse::rows_before(config_.reuse->attention, prompt(), rows(), positions);
    double sum_s = times_.recover_s(moved);
    for (std::int64_t done = 0; done < rows(); done += most) {
      const std::int64_t tokens = std::min(most, rows() - done);
      models::StepWork work;
      serving::add_rows(work, geometry_, tokens, before + static_cast<double>(done), prompt(), done + tokens == rows());
      sum_s += timer_.time(work).total_s;
    }
    if (config_.reuse->method != ReuseMethod::cacheblend) return sum_s;
    return sum_s + times_.first_layer_s(prompt(), rows(), static_cast<double>(prompt() - rows()));
  }

 private:
  ServingConfig config_;
  reuse::ReuseTimes times_;
  serving::KvGeometry geometry_;
  models::StepTimer timer_;
  models::RequestSpec spec_;
  reuse::ChunkRows rows_;
};

double ttft_of(const scenario::Scenario& scenario) {
  const serving::Measurements m = planner::run_experiment(scenario).measured;
  EXPECT_EQ(m.completed, 1U);
  return m.ttft_s.mean();
}

double ttft_s(const Sets& sets) {
  return ttft_of(chunk_scenario(sets));
}

constexpr double kRounding = 1e-7;  // of event times, which are whole nanoseconds

const Sets kMethods = {"full_reuse", "selective", "cacheblend", "epic"};
const Sets kElsewhere = {"prefill.speculative.gpus=1"};
const Sets kOnReplica = {"prefill.speculative.gpus=0"};
const Sets kNothingStored = {"placement.preload=false"};

/// One of these settings, under every method and both kinds of attention.
template <class Check>
void under_every_method(const Sets& sets, const Check& check) {
  for (const std::string& method : kMethods) {
    for (const char* attention : {"whole", "causal"}) {
      SCOPED_TRACE(method + ", " + attention);
      const scenario::Scenario scenario =
          chunk_scenario(sets + Sets{"prefill.policy=" + method, fmt::format("prefill.attention={}", attention)});
      check(scenario, OnePrompt(scenario), method == "selective");
    }
  }
}

constexpr std::int64_t kMovedChunks = 9 * 512;  // of ten stored ones, all but the first

TEST(AssemblyTimes, StoredChunksAreLoadedBesideTheChoiceAndTheRowsFollow) {
  // On the fast link the choice may take longer than loading, on the slow one loading does.
  for (const char* link : {"cluster.host.link.read=200 GB/s", "cluster.host.link.read=1 GB/s"}) {
    SCOPED_TRACE(link);
    under_every_method(kElsewhere + Sets{link}, [](const auto& scenario, const OnePrompt& p, bool selects) {
      const double select_s = selects ? p.select_elsewhere_s() : 0;
      EXPECT_NEAR(ttft_of(scenario), std::max(p.load_s(10), select_s) + p.rows_s(kMovedChunks), kRounding);
    });
  }
}

TEST(AssemblyTimes, TheChoiceIsLongerThanLoadingOnAFastLinkAndShorterOnASlowOne) {
  const OnePrompt fast(chunk_scenario({"cluster.host.link.read=200 GB/s"}));
  EXPECT_GT(fast.select_elsewhere_s(), fast.load_s(10));
  const OnePrompt slow(chunk_scenario({"cluster.host.link.read=1 GB/s"}));
  EXPECT_LT(slow.select_elsewhere_s(), slow.load_s(10));
}

TEST(AssemblyTimes, ASmallModelOnTheReplicaScoresInItsIterations) {
  for (const char* link : {"cluster.host.link.read=200 GB/s", "cluster.host.link.read=1 GB/s"}) {
    for (const int most : {700, 2048, 8192}) {
      SCOPED_TRACE(fmt::format("{}, {} tokens a step", link, most));
      const Sets sets = kOnReplica + Sets{link, fmt::format("schedule.max_batched_tokens={}", most)};
      under_every_method(sets, [](const auto& scenario, const OnePrompt& p, bool selects) {
        const double select_s = selects ? p.iterations(0, p.prompt()).chosen_s : 0;
        EXPECT_NEAR(ttft_of(scenario), std::max(p.load_s(10), select_s) + p.rows_s(kMovedChunks), kRounding);
      });
    }
  }
}

TEST(AssemblyTimes, ChunksThatAreNotStoredAreComputedAloneFirst) {
  for (const int most : {700, 2048}) {  // cut within chunks, and between them
    SCOPED_TRACE(most);
    const Sets sets = kNothingStored + Sets{fmt::format("schedule.max_batched_tokens={}", most)};
    under_every_method(sets, [](const auto& scenario, const OnePrompt& p, bool selects) {
      const double select_s = selects ? p.select_elsewhere_s() : 0;
      const double computed_s = p.iterations(p.chunk_tokens(), 0).computed_s;
      EXPECT_NEAR(ttft_of(scenario), std::max(computed_s, select_s) + p.rows_s(0), kRounding);
    });
  }
}

TEST(AssemblyTimes, ComputingChunksAndScoringOnOneGpuShareItsIterations) {
  for (const int most : {700, 2048}) {
    SCOPED_TRACE(most);
    const Sets sets = kNothingStored + kOnReplica + Sets{fmt::format("schedule.max_batched_tokens={}", most)};
    const scenario::Scenario scenario = chunk_scenario(sets);
    const OnePrompt p(scenario);
    const OnePrompt::Iterations both = p.iterations(p.chunk_tokens(), p.prompt());
    EXPECT_NEAR(ttft_of(scenario), std::max(both.chosen_s, both.computed_s) + p.rows_s(0), kRounding);
    EXPECT_GT(both.computed_s, p.iterations(p.chunk_tokens(), 0).computed_s);
  }
}

// Of ten chunks, 0 to 4 are stored. Loading, computing and choosing go side by side; what was stored elsewhere than
// first in its prompt moves.
TEST(AssemblyTimes, SomeChunksAreLoadedWhileTheOthersAreComputed) {
  for (const char* link : {"cluster.host.link.read=200 GB/s", "cluster.host.link.read=0.2 GB/s"}) {
    bool first_is_stored[] = {false, false};
    for (const int seed : {1, 5, 6, 7}) {
      SCOPED_TRACE(fmt::format("{}, seed {}", link, seed));
      // 5 chunks of 2^26 bytes are 335.5 MB.
      const Sets sets = {"workload.chunks={count: 10, popularity: 0, per_request: 10, tokens: 512 tokens}",
                         "cluster.host.memory=350 MB", "placement.in_transit=0", link,
                         fmt::format("run.seed={}", seed)};
      under_every_method(sets, [&](const auto& scenario, const OnePrompt& p, bool selects) {
        const double select_s = selects ? p.select_elsewhere_s() : 0;
        const double computed_s = p.iterations(5 * 512, 0).computed_s;
        const bool first = p.chunks().front() < 5;
        first_is_stored[first ? 1 : 0] = true;
        const std::int64_t moved = (first ? 4 : 5) * 512;
        EXPECT_NEAR(ttft_of(scenario), std::max({p.load_s(5), computed_s, select_s}) + p.rows_s(moved), kRounding);
      });
    }
    EXPECT_TRUE(first_is_stored[0] && first_is_stored[1]);
  }
}

TEST(AssemblyTimes, EverythingComputedAgainIsNeitherScoredNorShort) {
  // Rho 1: loaded in vain, then as long as a plain prefill and a pass over the keys.
  const scenario::Scenario all = chunk_scenario({"prefill.rho=1", "prefill.attention=causal"});
  const OnePrompt p(all);
  const double plain_s = ttft_s({"prefill.policy=full_recompute"});
  EXPECT_NEAR(ttft_of(all), p.load_s(10) + p.rows_s(kMovedChunks), kRounding);
  EXPECT_GT(ttft_of(all), plain_s);
  EXPECT_EQ(p.rows(), p.prompt());
}

TEST(AssemblyTimes, ChoosingCostsNothingWhereLoadingTakesLonger) {
  // 800 of 5120 tokens either way: 80 of each chunk of 512, or the share 0.15625.
  const Sets slow = {"cluster.host.link.read=1 GB/s", "prefill.rho=0.15625", "prefill.spans.enabled=false",
                     "prefill.link_tokens=80 tokens"};
  const double selected_s = ttft_s(slow);
  const double told_s = ttft_s(slow + Sets{"prefill.policy=epic"});
  EXPECT_NEAR(selected_s, told_s, 1e-9);
  const double fast_s = ttft_s(slow + Sets{"cluster.host.link.read=200 GB/s"});
  const double fast_told_s = ttft_s(slow + Sets{"cluster.host.link.read=200 GB/s", "prefill.policy=epic"});
  const OnePrompt fast(chunk_scenario(slow + Sets{"cluster.host.link.read=200 GB/s"}));
  EXPECT_NEAR(fast_s - fast_told_s, fast.select_elsewhere_s() - fast.load_s(10), kRounding);
  EXPECT_GT(fast_s, fast_told_s);
}

TEST(AssemblyTimes, CacheBlendComputesOneLayerOfEverythingElseToo) {
  // Equal rows, equal attention: the difference to EPIC is one layer in 32 of the 4320 + 64 - 64 others.
  const Sets slow = {"cluster.host.link.read=1 GB/s", "prefill.rho=0.15625", "prefill.link_tokens=80 tokens"};
  const scenario::Scenario blend = chunk_scenario(slow + Sets{"prefill.policy=cacheblend"});
  const reuse::ReuseTimes times(blend.serving);
  const double layer_s = times.first_layer_s(5184, 864, 5184 - 864);
  EXPECT_NEAR(ttft_of(blend) - ttft_s(slow + Sets{"prefill.policy=epic"}), layer_s, kRounding);
  // All of the prompt less its rows, over 32 layers: between a 64th and a 16th of computing everything.
  EXPECT_GT(layer_s, times.prefill_s(5184, 0) / 64);
  EXPECT_LT(layer_s, times.prefill_s(5184, 0) / 32);
  // In several steps it is spread over them and adds up to the same.
  const Sets steps = slow + Sets{"schedule.max_batched_tokens=100"};
  EXPECT_NEAR(ttft_s(steps + Sets{"prefill.policy=cacheblend"}) - ttft_s(steps + Sets{"prefill.policy=epic"}), layer_s,
              kRounding);
}

scenario::Scenario published(const Sets& sets) {
  return scenario::load_scenario(source_path("scenarios/selective_reuse/published.yaml"),
                                 Sets{"workload.requests=1", "run.warmup=0 s"} + sets);
}

TEST(AssemblyTimes, ThePublishedOrderOfMethods) {
  const auto with = [](const char* method) { return ttft_of(published({fmt::format("prefill.policy={}", method)})); };
  const double epic_s = with("epic"), blend_s = with("cacheblend"), selective_s = with("selective");
  EXPECT_LT(epic_s, blend_s);
  EXPECT_LT(epic_s, selective_s);
  // Much nearer to one another than to computing everything.
  const double full_s = with("full_recompute");
  EXPECT_LT(2 * std::max(blend_s, selective_s), full_s);
  EXPECT_LT(4 * std::abs(selective_s - blend_s), full_s - std::max(blend_s, selective_s));
}

TEST(AssemblyTimes, ThePublishedModelsAnswerAsMuchSoonerAsPublished) {
  for (const char* model : {"mistral-7b", "llama-3-8b", "yi-coder-9b"}) {
    const Sets sets = {fmt::format("model={}", model)};
    const double ratio = ttft_of(published(sets + Sets{"prefill.policy=full_recompute"})) / ttft_of(published(sets));
    EXPECT_GE(ratio, 2.17) << model;
    EXPECT_LE(ratio, 3.95) << model;
  }
}

// The link is waited for while chunks arrive; after that the GPU idles, whoever else works.
TEST(AssemblyTimes, WaitingForAScorerIsNotWaitingForTheLink) {
  const Sets unhurried{"workload.arrivals.process=constant", "workload.arrivals.rate=1/s"};
  const OnePrompt one(chunk_scenario(unhurried));
  const serving::Measurements m = run_chunks(unhurried);
  EXPECT_NEAR(m.link_bound_s, one.load_s(10), 1e-7);
  EXPECT_GT(one.select_elsewhere_s(), 1.5 * one.load_s(10));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
