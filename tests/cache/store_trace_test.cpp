// The published hit rates of a real trace, by the store and its policy instead of a replay: one tier of blocks, each
// request found, loaded, used and stored before the next one comes. The trace is not part of the project; see
// tests/workload/shared_traces_test.cpp.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <span>

#include "models/workload/hit_rate_curve.h"
#include "models/workload/trace_reader.h"
#include "sim/engine/random.h"
#include "tests/cache/store_driver.h"

namespace kvsim::cache::KVSIM_FILE {
namespace {

constexpr std::int64_t kBlockBytes = 1000;

TestStore one_tier(std::int64_t blocks) {
  TestStore c = store_of({host_tier(blocks * kBlockBytes)});
  c.host_to_gpu_bytes_per_s = c.gpu_to_host_bytes_per_s = 1e18;
  return c;
}

/// Blocks found.
std::uint64_t hits(std::int64_t blocks, std::span<const models::RequestSpec> requests) {
  StoreDriver d(one_tier(blocks));
  std::uint64_t hits = 0;
  for (const models::RequestSpec& r : requests) {
    std::vector<ObjectId> own, found;
    for (const std::uint64_t block : r.prefix_blocks) own.push_back(d.object(block, kBlockBytes));
    for (const std::uint64_t block : r.prefix_blocks) {
      const Found copy = d.find(block);
      if (copy.id == kNoObject) break;
      found.push_back(copy.id);
    }
    hits += found.size();
    Arrival arrival{&d.simulator, d.simulator.now(), {}, {}};
    if (!found.empty()) {
      d.store->load(0, found, r.id, engine::Callback::to<&Arrival::done>(&arrival));
      d.simulator.run();
      EXPECT_TRUE(arrival.at_s);
    }
    d.store->used(own, found);
    if (found.size() < own.size()) d.store->store(0, std::span(own).subspan(found.size()), found, r.id);
    d.simulator.run();
    d.store->withdraw(r.id);
  }
  d.check();
  return hits;
}

TEST(StoreTrace, MooncakeHitRatesAreThoseOfStackDistances) {
  const char* const folder = std::getenv("KVSIM_SHARED");  // NOLINT(concurrency-mt-unsafe): read before any thread
  const std::string path =
      std::string(folder != nullptr ? folder : KVSIM_SHARED_DEFAULT) + "/traces/mooncake_conversation.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << "; set KVSIM_SHARED to the folder that has it";
  const auto requests = models::read_trace(models::find_trace_format("mooncake"), path);
  const models::HitRateCurve curve = models::hit_rate_curve(requests);
  const std::pair<std::int64_t, double> published[] = {
      {3'000, 0.065}, {10'000, 0.212}, {30'000, 0.326}, {100'000, 0.364}};
  for (const auto& [blocks, hit_rate] : published) {
    const std::uint64_t found = hits(blocks, requests);
    EXPECT_EQ(found, curve.hits(static_cast<std::uint64_t>(blocks))) << blocks << " blocks";
    EXPECT_NEAR(static_cast<double>(found) / static_cast<double>(curve.accesses), hit_rate, 0.001);
  }
}

models::RequestSpec with_blocks(std::vector<std::uint64_t> blocks) {
  models::RequestSpec r;
  r.prefix_blocks = std::move(blocks);
  return r;
}

// Room for four. A chain of three and its continuation stay; what begins another pushes out the end of the oldest: the
// first request's last block goes before its first.
TEST(StoreTrace, AChainLosesItsEndBeforeItsBeginning) {
  const std::vector<models::RequestSpec> requests{with_blocks({1, 2, 3}), with_blocks({7, 8}), with_blocks({1, 2, 3})};
  EXPECT_EQ(hits(4, requests), 2U);
  EXPECT_EQ(models::hit_rate_curve(requests).hits(4), 2U);
}

// Room for less than a chain: it keeps its beginning, and what found no room does not push that out when it is tried
// again. Random chains of one to six blocks that share their beginnings, against stack distances.
TEST(StoreTrace, AChainLongerThanTheRoomKeepsItsBeginning) {
  engine::RandomStream draw(7, "chains");
  std::vector<models::RequestSpec> requests;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::uint64_t> blocks;
    const std::uint64_t family = draw.below(3), length = 1 + draw.below(6), own = draw.below(4);
    for (std::uint64_t b = 0; b < length; ++b) blocks.push_back(1000 * family + (b < 3 ? b : 10 * (own + 1) + b));
    requests.push_back(with_blocks(std::move(blocks)));
  }
  const models::HitRateCurve curve = models::hit_rate_curve(requests);
  for (const std::int64_t room : {1, 2, 3, 4, 5, 7, 12}) {
    EXPECT_EQ(hits(room, requests), curve.hits(static_cast<std::uint64_t>(room))) << room << " blocks";
  }
}

}  // namespace
}  // namespace kvsim::cache::KVSIM_FILE
