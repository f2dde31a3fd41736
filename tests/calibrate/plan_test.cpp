// Shapes, plans and the schedule that is replayed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include <yaml-cpp/yaml.h>

#include "models/kernels/moe_form.h"
#include "models/schema/error.h"
#include "tools/calibrate/host/plan.h"
#include "tools/calibrate/host/replay.h"
#include "tools/calibrate/host/shapes.h"

namespace kvsim::calibrate::KVSIM_FILE {
namespace {

TEST(LayerShapes, OfLlama31_8bAreThoseOfItsConfiguration) {
  const auto models = catalogue_models(std::vector<std::string>{"llama-3.1-8b"});
  const LayerShapes whole = layer_shapes(models.front(), 1);
  EXPECT_EQ((LinearShape{6144, 4096}), whole.qkv);  // (32 + 2 x 8) x 128
  EXPECT_EQ((LinearShape{4096, 4096}), whole.output);
  EXPECT_EQ((LinearShape{28672, 4096}), whole.gate_up);  // 2 x 14336
  EXPECT_EQ((LinearShape{4096, 14336}), whole.down);
  const LayerShapes eighth = layer_shapes(models.front(), 8);
  EXPECT_EQ((LinearShape{768, 4096}), eighth.qkv);  // (4 + 2 x 1) x 128
  EXPECT_EQ((LinearShape{4096, 512}), eighth.output);
}

TEST(Shapes, OfTheWholeCatalogueAreDistinctAndMultiplyable) {
  const auto models = catalogue_models({});
  const auto linear = linear_shapes(models);
  EXPECT_EQ(linear.size(), std::set<LinearShape>(linear.begin(), linear.end()).size());
  EXPECT_GT(linear.size(), 50U);
  for (const LinearShape& shape : linear) {
    EXPECT_GT(shape.n, 0);
    EXPECT_EQ(0, shape.k % 16) << shape.k;
    EXPECT_EQ(0, shape.n % 8) << shape.n;
  }
  const auto heads = head_shapes(models);
  EXPECT_EQ(heads.size(), std::set<HeadShape>(heads.begin(), heads.end()).size());
  for (const HeadShape& shape : heads) EXPECT_EQ(0, shape.heads % shape.kv_heads);
  EXPECT_NE(heads.end(), std::find(heads.begin(), heads.end(), HeadShape{8, 1})) << "70B on eight GPUs";
}

TEST(Shapes, AnUnknownModelIsToldTheNearest) {
  EXPECT_THROW(catalogue_models(std::vector<std::string>{"llama-3.1-8B"}), schema::InputError);
}

TEST(Plan, QuickIsAPartOfTheWhole) {
  const auto models = catalogue_models({});
  EXPECT_LT(linear_cases(models, true, true).size() * 20, linear_cases(models, true, false).size());
  for (const auto cases : {decode_cases, uneven_cases, verify_cases, quantised_cases, prefill_cases, latent_cases}) {
    EXPECT_FALSE(cases(models, true).empty());
    EXPECT_LT(cases(models, true).size() * 2, cases(models, false).size());
  }
}

TEST(Plan, Fp8IsPlannedOnlyWhereTheDeviceHasIt) {
  const auto models = catalogue_models(std::vector<std::string>{"llama-3.1-8b"});
  const auto fp8 = [](const LinearCase& c) { return c.fp8; };
  const auto without = linear_cases(models, false, false);
  const auto with = linear_cases(models, true, false);
  EXPECT_EQ(0, std::count_if(without.begin(), without.end(), fp8));
  EXPECT_EQ(static_cast<std::ptrdiff_t>(without.size()), std::count_if(with.begin(), with.end(), fp8));
}

TEST(RouteEvenly, EveryPairOfTheGpusExpertsIsInOneTile) {
  // The form's own account of as many tokens: reached experts, and tokens of each.
  for (const std::int64_t tokens : {1, 3, 64, 4096}) {
    const ExpertCase c{{7168, 2048, 8, 256, 1, 8}, tokens};
    const Routing routing = route_evenly(c);
    const models::ExpertLayer layer{7168, 2048, 8, 256, 1, 8};
    const auto groups = models::routed_evenly(layer, static_cast<double>(tokens));
    std::set<int> reached;
    int rows = 0;
    for (const ExpertTile& tile : routing.tiles) {
      reached.insert(tile.expert);
      EXPECT_EQ(tile.first, rows);
      EXPECT_LE(tile.rows, 16 * routing.row_tiles);
      rows += tile.rows;
    }
    EXPECT_EQ(static_cast<double>(reached.size()), groups.front().experts) << tokens;
    EXPECT_EQ(rows, static_cast<int>(routing.sources.size()));
    EXPECT_EQ(rows, static_cast<int>(groups.front().experts * groups.front().tokens)) << tokens;
  }
}

TEST(LengthsOf, KeepTheirMean) {
  for (const Lengths lengths : {Lengths::equal, Lengths::spread, Lengths::one_long}) {
    for (const int batch : {1, 4, 7, 64}) {
      AttentionCase c;
      c.batch = batch;
      c.kv_len = 2048;
      c.lengths = lengths;
      const auto all = lengths_of(c);
      const std::int64_t sum = std::accumulate(all.begin(), all.end(), std::int64_t{0});
      EXPECT_NEAR(2048.0 * batch, static_cast<double>(sum), batch) << name_of(lengths);
      EXPECT_GT(*std::min_element(all.begin(), all.end()), 0);
    }
  }
}

TEST(AttentionCase, BytesAreThoseOfWholeVectorsAndScales) {
  AttentionCase c;
  c.shape = {32, 8};
  c.batch = 2;
  c.kv_len = 100;  // 7 pages each
  EXPECT_EQ(14, pages_of(c));
  EXPECT_EQ(14 * 16 * 8 * 256, key_pool_bytes(c));
  EXPECT_EQ(0, key_scale_bytes(c));
  EXPECT_EQ(2 * 200 * 8 * 256, kv_bytes_read(c));
  c.kv_bits = 4;
  EXPECT_EQ(14 * 16 * 8 * 64, key_pool_bytes(c));
  EXPECT_EQ(14 * 16 * 8 * 8, key_scale_bytes(c));
  EXPECT_EQ(2 * 200 * 8 * 72, kv_bytes_read(c));  // 64 B and two scales of 4 B
  c.keys_by_channel = true;
  EXPECT_EQ(14 * 8 * 128 * 4, key_scale_bytes(c));
  EXPECT_EQ(14 * 16 * 8 * 8, value_scale_bytes(c));
  EXPECT_EQ(2 * 200 * 8 * 64 + 200 * 8 * 8 + 2 * 4 * 8 * 512, kv_bytes_read(c)) << "four times 32 tokens in each";
}

TEST(RandomPageTable, NamesEveryPageOnceInAnOrderOfTheSeed) {
  const auto table = random_page_table(100, 1);
  EXPECT_EQ(100U, std::set<int>(table.begin(), table.end()).size());
  EXPECT_EQ(table, random_page_table(100, 1));
  EXPECT_NE(table, random_page_table(100, 2));
}

class Replay : public ::testing::TestWithParam<ReplayKind> {};

TEST_P(Replay, EveryVerificationHasItsReloadInASlotOfItsOwn) {
  ReplayParameters p;
  p.kind = GetParam();
  const ReplaySchedule schedule = replay_schedule(p);
  EXPECT_EQ(static_cast<std::size_t>(p.rounds * (p.draft_length + 1)), schedule.iterations.size());
  std::map<int, Reload> in_slot;  // by slot: from the reload's start to its verification
  for (int t = 0; t < static_cast<int>(schedule.iterations.size()); ++t) {
    const ReplayIteration& now = schedule.iterations[static_cast<std::size_t>(t)];
    EXPECT_EQ(static_cast<std::size_t>(p.requests), now.drafting.size() + now.verifying.size());
    for (const Reload& reload : now.reloads) {
      EXPECT_EQ(t + p.reload_iterations, reload.needed_by);
      EXPECT_LT(reload.slot, schedule.slots);
      EXPECT_TRUE(in_slot.emplace(reload.slot, reload).second) << "slot in use";
    }
    for (std::size_t i = 0; i < now.verifying.size(); ++i) {
      const auto at = in_slot.find(now.verifying_slots[i]);
      ASSERT_NE(in_slot.end(), at);
      EXPECT_EQ(now.verifying[i], at->second.request);
      EXPECT_EQ(t, at->second.needed_by);
      in_slot.erase(at);
    }
  }
  EXPECT_TRUE(in_slot.empty()) << "no reload for nothing";
}

INSTANTIATE_TEST_SUITE_P(Kinds, Replay, ::testing::Values(ReplayKind::lock_step, ReplayKind::staggered));

TEST(Replay, StaggeringSpreadsVerificationsAndNeedsFewerSlots) {
  ReplayParameters p;  // 12 requests, x = 5: two verify in each iteration, reloads span two iterations
  p.kind = ReplayKind::staggered;
  const ReplaySchedule staggered = replay_schedule(p);
  EXPECT_EQ(2U, staggered.iterations[8].verifying.size());
  EXPECT_EQ(10 + 2 * 6, staggered.iterations[8].tokens(p.draft_length));
  EXPECT_EQ(6, staggered.slots) << "two being verified, four being loaded";
  p.kind = ReplayKind::lock_step;
  const ReplaySchedule lock_step = replay_schedule(p);
  EXPECT_EQ(12, lock_step.slots);
  EXPECT_EQ(12U, lock_step.iterations[5].verifying.size());
  EXPECT_EQ(0U, lock_step.iterations[4].verifying.size());
}

TEST(Replay, RefusesWhatMakesNoSense) {
  ReplayParameters p;
  p.reload_iterations = p.draft_length + 1;
  EXPECT_THROW(replay_schedule(p), std::invalid_argument);
  p = {};
  p.requests = 0;
  EXPECT_THROW(replay_schedule(p), std::invalid_argument);
}

TEST(ReplaySize, OfLlama31_8bAgreesWithTheCatalogue) {
  const auto models = catalogue_models(std::vector<std::string>{"mistral-7b", "llama-3.1-8b"});
  const ReplaySize size = replay_size(models, false);
  EXPECT_EQ("llama-3.1-8b", size.model);
  EXPECT_EQ(models[1].kv_bytes_per_token() * 8192, size.full_kv_bytes());
  // Two of sixteen bits, and 32 bits of scale and offset for every 64 elements: (2 + 0.5) / 16.
  EXPECT_EQ(size.full_kv_bytes() * 25 / 160, size.compressed_kv_bytes());
  // All but the embedding table and the norms' vectors.
  const std::int64_t weights = 2 * (size.layers * size.layer_weights() + size.lm_head.n * size.lm_head.k);
  EXPECT_NEAR(models[1].weight_bytes_read(1), static_cast<double>(weights), 1e-3 * static_cast<double>(weights));
}

TEST(ReplaySize, RunsTheLayersThatFit) {
  const auto models = catalogue_models(std::vector<std::string>{"llama-3.1-8b"});
  ReplaySize size = replay_size(models, false);
  const std::int64_t plenty = std::int64_t{1} << 40;
  EXPECT_EQ(32, layers_that_fit(size, 12, 12, plenty, plenty));
  EXPECT_EQ(32, layers_that_fit(size, 12, 12, size.device_bytes(12, 12), plenty));
  EXPECT_EQ(31, layers_that_fit(size, 12, 12, size.device_bytes(12, 12) - 1, plenty));
  EXPECT_EQ(16, layers_that_fit(size, 12, 12, plenty, size.full_kv_bytes() / 2)) << "pinned memory for half a KV";
  EXPECT_EQ(0, layers_that_fit(size, 12, 12, 1, plenty));
}

TEST(ReplaySize, NeedsADenseModelWithHeadsOf128) {
  EXPECT_THROW(
      replay_size(catalogue_models(std::vector<std::string>{"deepseek-v3", "llama-3.2-1b", "qwen3-30b-a3b"}), false),
      schema::InputError);
}

TEST(ReplaySize, WritesWhatASimulatorNeeds) {
  const auto models = catalogue_models(std::vector<std::string>{"llama-3.1-8b"});
  const YAML::Node yaml = YAML::Load(replay_yaml(replay_size(models, true), {}, 12, 6));
  EXPECT_EQ("llama-3.1-8b", yaml["model"].as<std::string>());
  EXPECT_EQ(8, yaml["layers"].as<int>());
  EXPECT_EQ(5, yaml["draft_length"].as<int>());
  EXPECT_EQ(4096, yaml["context_tokens"].as<int>());
  EXPECT_EQ(6, yaml["slots"]["staggered"].as<int>());
}

}  // namespace
}  // namespace kvsim::calibrate::KVSIM_FILE
