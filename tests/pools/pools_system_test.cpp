// Two pools as a whole: dispatchers, sharing of prefixes, batches of verifications, outages, saturation.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "models/catalogue/catalogue.h"
#include "sim/engine/recording_trace.h"
#include "sim/pools/pool_request.h"
#include "sim/systems/systems.h"
#include "tests/pools/pools_runs.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

double tokens_per_s(const serving::Measurements& m) {
  return static_cast<double>(m.output_tokens) / m.measured_s;
}

std::vector<std::uint64_t> chain(std::uint64_t first, std::size_t length) {
  std::vector<std::uint64_t> blocks(length);
  std::iota(blocks.begin(), blocks.end(), first);
  return blocks;
}

// --- Dispatchers.

TEST(PoolsDispatch, WeightedFollowsItsWeights) {
  const auto m = simulated(pools_scenario(
      {"dispatch={policy: weighted, weights: {B1: 1, P1_stateless: 2, B2: 3}}", "workload.requests=120"}));
  EXPECT_EQ(m.paths.at(models::index_of(models::Path::B1)).started, 20U);
  EXPECT_EQ(m.paths.at(models::index_of(models::Path::P1_stateless)).started, 40U);
  EXPECT_EQ(m.paths.at(models::index_of(models::Path::B2)).started, 60U);
}

TEST(PoolsDispatch, OnlineIsNoWorseThanEachPathAlone) {
  const std::vector<std::string> busy = {"workload.closed.concurrency=40", "workload.requests=400"};
  const auto with = [&](const std::string& dispatch) {
    auto sets = busy;
    sets.push_back("dispatch=" + dispatch);
    return tokens_per_s(simulated(pools_scenario(sets)));
  };
  const double online = with("{policy: online}");
  for (const models::Path path : models::kAllPaths) {
    EXPECT_GE(online, with("{policy: online, paths: [" + std::string(path_name(path)) + "]}")) << path_name(path);
  }
}

TEST(PoolsDispatch, OnlineLeavesRoomForReloadsWhereDraftingIsAllThatTheRemotePoolCanDo) {
  // B1 alone would fill the local node, and nobody could ever draft.
  const std::vector<std::string> busy = {"workload.closed.concurrency=40", "workload.requests=400"};
  auto with = busy, without = busy;
  with.emplace_back("dispatch={policy: online, paths: [B1, P1_stateless]}");
  without.emplace_back("dispatch={policy: online, paths: [B1]}");
  EXPECT_GT(tokens_per_s(simulated(pools_scenario(with))), 1.1 * tokens_per_s(simulated(pools_scenario(without))));
}

TEST(PoolsDispatch, OnlineKeepsNoRoomForDraftsThatDoNotPay) {
  // Of twenty drafts one is accepted: everybody is served with the full KV, and by all of the local node's memory, of
  // which room for a reload is a good part.
  const std::vector<std::string> poor = {"workload.closed.concurrency=40", "workload.requests=400",
                                         "cluster.gpu.memory_fraction=0.3",
                                         "decode.acceptance={model: constant, agreement: 0.5}"};
  auto all = poor, full_kv = poor;
  all.emplace_back("dispatch={policy: online}");
  full_kv.emplace_back("dispatch={policy: online, paths: [B1, B2]}");
  EXPECT_GE(tokens_per_s(simulated(pools_scenario(all))), 0.99 * tokens_per_s(simulated(pools_scenario(full_kv))));
}

TEST(PoolsDispatch, FallsBackToTheFullKvWhereDraftingHasNoRoom) {
  // ADMIT refuses reloads that are longer than all its windows: full KV is left.
  const std::vector<std::string> sets = {"dispatch={policy: admit}", "schedule.window=2",
                                         "cluster.pools.local.link.read=1 GB/s"};
  const auto m = simulated(pools_scenario(sets));
  EXPECT_EQ(m.paths.at(models::index_of(models::Path::P1_stateless)).started, 0U);
  EXPECT_EQ(m.completed, 60U);
}

TEST(PoolsDispatch, AdmitServesMoreWithMoreNodes) {
  // Forty requests at once: what the one local link cannot reload for goes to the remote pool with its full KV.
  const auto with = [](const char* nodes) {
    return tokens_per_s(
        simulated(pools_scenario({"dispatch={policy: admit}", "workload.closed.concurrency=40", "workload.requests=400",
                                  std::string("cluster.pools.remote.nodes=") + nodes})));
  };
  const double four = with("4"), eight = with("8"), sixteen = with("16");
  EXPECT_GT(eight, four);
  EXPECT_GT(sixteen, eight);
}

TEST(PoolsDispatch, AdmitDraftsWhereItsRingsHaveRoom) {
  const auto m = simulated(pools_scenario({"dispatch={policy: admit}"}));
  EXPECT_GT(m.paths.at(models::index_of(models::Path::P1_stateless)).started, 0U);
  EXPECT_GT(m.rounds, 0U);
}

TEST(PoolsDispatch, AdmitReservesTheLinkUntilTheVerificationWhereLayersArriveInTime) {
  // Its reload ends a window before the one that verifies if all of it must be there, else within that: it begins a
  // window of one local iteration later. Alone on a node that has not decoded, that is a step of one token.
  const auto reload_begin_s = [](const char* arrival) {
    const auto s = pools_scenario(alone_on("P1_stateless", {"dispatch={policy: admit, paths: [P1_stateless]}",
                                                            std::string("schedule.arrival=") + arrival}));
    const auto feed = make_feed(s, 1);
    engine::RecordingTrace trace;
    systems::simulate(s.serving, *feed, {&trace, {}});
    return trace.track("local node 0/from storage").front().begin_s;
  };
  constexpr double kNanosecond = 1.5e-9;
  EXPECT_NEAR(reload_begin_s("layerwise") - reload_begin_s("whole"), Parts(pools_scenario()).shortest_step_s(),
              kNanosecond);
}

// --- Batching.

TEST(PoolsBatching, VerifiesSeveralRequestsInOnePassWhileOthersDraft) {
  auto s = pools_scenario({"dispatch={policy: online, paths: [P1_cached]}"});
  const auto feed = make_feed(s, 1);
  engine::RecordingTrace trace;
  const auto m = systems::simulate(s.serving, *feed, {&trace, {}}).measured;
  // Fewer passes of the local node than verifications: some share one. (Only verifications happen there.)
  EXPECT_LT(m.pools.at("local").iterations, m.pools.at("local").verifications);
  EXPECT_EQ(m.pools.at("local").verifications, m.rounds);
  EXPECT_EQ(m.pools.at("remote").draft_tokens, m.drafted_tokens);
  EXPECT_EQ(m.pools.at("local").draft_tokens + m.pools.at("local").decode_tokens, 0);
}

// --- Prefixes.

scenario::Scenario shared_prefix_scenario(const std::string& path, const std::string& prefill) {
  return pools_scenario(
      {"dispatch={policy: online, paths: [" + path + "]}", "cluster.pools.local.nodes=1",
       "cluster.pools.remote.nodes=1", "prefill=" + prefill,
       "workload={closed: {concurrency: 1}, context: 1k tokens, output: 5 tokens, prefixes: {count: 1, "
       "tokens: 1k tokens}, requests: 1}"});
}

TEST(PoolsBatching, AsynchronousIterationsTakeInPromptsThatCameBeforeTheOneAheadOfThemBegan) {
  // The second request comes while the first one's prompt is computed.
  const auto first_token_s = [](const char* asynchronous, std::size_t iterations) {
    const auto m =
        simulated(pools_scenario({"cluster.pools={local: {nodes: 1, link: storage-node-fast}}",
                                  "decode={policy: full_kv}", "dispatch={policy: online}", "prefill=recompute",
                                  std::string("schedule.asynchronous=") + asynchronous}),
                  {{0, 0, 1000, 4, {}}, {1, 1'000'000, 100, 1, {}}}, 0);
    double s = -1e-3;
    for (std::size_t i = 0; i < iterations; ++i) s += m.iteration_s.values()[i];
    EXPECT_NEAR(m.ttft_s.values()[0], s, 1e-9) << asynchronous;  // it is the first to finish
    return m.ttft_s.values()[0];
  };
  EXPECT_LT(first_token_s("false", 2), first_token_s("true", 3));
}

TEST(PoolsBatching, AsynchronousIterationsLeaveNoNodeIdleWhileAPromptWaits) {
  const auto e2e_s = [](const char* asynchronous) {
    return simulated(pools_scenario(alone_on("B1", {"prefill=recompute", "workload.requests=3",
                                                    std::string("schedule.asynchronous=") + asynchronous})))
        .e2e_s.mean();
  };
  EXPECT_EQ(e2e_s("true"), e2e_s("false"));
}

TEST(PoolsPrefixes, AreLoadedOnceByAllWhoWantThemAtATime) {
  // Eight requests at once with the same 10 blocks of 1,000 tokens: one transfer, seven who join it.
  for (const char* path : {"B1", "B2", "P1_cached"}) {
    const auto s = shared_prefix_scenario(path, "stored");
    std::vector<models::RequestSpec> requests;
    for (std::uint64_t id = 0; id < 8; ++id) requests.push_back({id, 0, 10'000, 5, chain(100, 10)});
    const auto m = simulated(s, requests, 1000);
    // Each prompt counts once, also where one node loads it in full and another compressed.
    EXPECT_EQ(m.prefix.loaded_tokens, 10'000) << path;
    EXPECT_EQ(m.prefix.joined_tokens, 7 * 10'000) << path;
    EXPECT_EQ(m.completed, 8U) << path;
  }
}

TEST(PoolsPrefixes, StayOnTheNodeForLaterRequests) {
  const auto s = shared_prefix_scenario("B2", "stored");
  const auto m = simulated(s, {{0, 0, 10'000, 5, chain(100, 10)}, {1, 60 * kSecond, 11'000, 5, chain(100, 11)}}, 1000);
  EXPECT_EQ(m.prefix.loaded_tokens, 11'000);  // the second brings one block more
  EXPECT_EQ(m.prefix.on_node_tokens, 10'000);
  EXPECT_EQ(m.links.at("storage_to_remote").bytes, Parts(s).geometry().full_transfer(11'000));
}

TEST(PoolsPrefixes, ShareMemoryToo) {
  // Two of these contexts do not fit beside each other, unless they share their 40 blocks.
  const auto peak = [](bool shared) {
    const auto s = shared_prefix_scenario("B1", "stored");
    std::vector<models::RequestSpec> requests = {{0, 0, 40'000, 5, chain(100, 40)},
                                                 {1, 0, 40'000, 5, chain(shared ? 100 : 500, 40)}};
    return simulated(s, requests, 1000).pools.at("local").reserved_peak_bytes;
  };
  EXPECT_LT(static_cast<double>(peak(true)), 0.51 * static_cast<double>(peak(false)));
}

TEST(PoolsPrefixes, CompressedTakeNoMemoryForAFrameworksCopiesOfFullKv) {
  const auto peak = [](double factor) {
    auto s = shared_prefix_scenario("P1_cached", "stored");
    s.serving.decode.compressor = models::Catalogue::built_in().compressor("kvzip");
    s.serving.decode.keep_ratio = 0.2;
    s.serving.cluster.groups.front().profile.framework.emplace().full_kv_factor.value = factor;
    return simulated(s, {{0, 0, 10'000, 5, chain(100, 10)}}, 1000).pools.at("remote").reserved_peak_bytes;
  };
  EXPECT_EQ(peak(1), peak(2));
}

TEST(PoolsPrefixes, AreWrittenToTheStorageNodeByWhoeverPrefillsThem) {
  for (const char* path : {"B1", "B2", "P1_stateless"}) {
    const auto s = shared_prefix_scenario(path, "prefix_cache");
    const auto m =
        simulated(s, {{0, 0, 10'000, 5, chain(100, 10)}, {1, 60 * kSecond, 12'000, 5, chain(100, 12)}}, 1000);
    EXPECT_EQ(m.prefix.prefilled_tokens, 12'000) << path;
    EXPECT_EQ(m.tiers.at("storage").hits, 10U) << path;
    EXPECT_EQ(m.tiers.at("storage").misses, 12U) << path;
    EXPECT_EQ(m.completed, 2U) << path;
  }
}

TEST(PoolsPrefixes, AreForgottenWhereTheStorageNodeIsTooSmall) {
  auto s = shared_prefix_scenario("B2", "prefix_cache");
  s.serving.cluster.pools->storage.capacity_bytes = 0;
  const auto m = simulated(s, {{0, 0, 10'000, 5, chain(100, 10)}, {1, 60 * kSecond, 10'000, 5, chain(100, 10)}}, 1000);
  EXPECT_EQ(m.prefix.prefilled_tokens, 20'000);
  EXPECT_EQ(m.tiers.at("storage").hits, 0U);
}

// --- Links.

TEST(PoolsLinks, ADeadLinkDelaysAndLosesNothing) {
  for (const models::Path path : models::kAllPaths) {
    const std::string dispatch = "dispatch={policy: online, paths: [" + std::string(path_name(path)) + "]}";
    const auto whole = simulated(pools_scenario({dispatch}));
    const auto broken = simulated(pools_scenario({dispatch, "cluster.pools.local.outages=[{at: 2 s, lasting: 20 s}]",
                                                  "cluster.pools.remote.outages=[{at: 2 s, lasting: 20 s}]"}));
    EXPECT_EQ(broken.completed, whole.completed) << path_name(path);
    EXPECT_EQ(broken.output_tokens, whole.output_tokens) << path_name(path);
    EXPECT_GT(broken.measured_s, whole.measured_s) << path_name(path);
    EXPECT_LT(broken.measured_s, whole.measured_s + 25) << path_name(path);
  }
}

TEST(PoolsLinks, OutagesMayBeWrittenInAnyOrder) {
  const auto with = [](const char* outages) {
    return simulated(pools_scenario(
        {"dispatch={policy: online, paths: [B2]}", std::string("cluster.pools.remote.outages=") + outages}));
  };
  const auto whole = with("[{at: 2 s, lasting: 4 s}]");
  const auto halves = with("[{at: 4 s, lasting: 2 s}, {at: 2 s, lasting: 2 s}]");
  EXPECT_TRUE(std::ranges::equal(whole.e2e_s.values(), halves.e2e_s.values()));
}

TEST(PoolsLinks, WhereTheLocalLinkIsDeadOnlineServesWithoutIt) {
  const auto m =
      simulated(pools_scenario({"cluster.pools.local.outages=[{at: 0 s, lasting: 10 min}]", "run.duration=1 min"}));
  EXPECT_GT(m.paths.at(models::index_of(models::Path::B2)).completed, 20U);
}

TEST(PoolsLinks, AdmitGoesOnAsSoonAsALinkIsBack) {
  const auto end = [](const char* outages) {
    return simulated(
               pools_scenario({"dispatch={policy: admit}", std::string("cluster.pools.local.outages=") + outages}))
        .measured_s;
  };
  const double whole = end("[]"), broken = end("[{at: 3 s, lasting: 10 s}]");
  EXPECT_GT(broken, whole);
  EXPECT_LT(broken, whole + 12);
}

TEST(PoolsLinks, AnOutageAfterTheEndChangesNothing) {
  const auto whole = simulated(pools_scenario());
  const auto broken = simulated(pools_scenario({"cluster.pools.remote.outages=[{at: 1 h, lasting: 20 s}]"}));
  EXPECT_TRUE(std::ranges::equal(broken.e2e_s.values(), whole.e2e_s.values()));
}

TEST(PoolsLinks, WhatAllNodesShareIsShared) {
  // Two remote nodes at 1.2 GB/s each, 1.2 GB/s together: B2 takes twice as long where the link is all there is.
  const std::vector<std::string> sets = {"dispatch={policy: online, paths: [B2]}", "workload.output=1 tokens"};
  auto shared = sets, storage = sets;
  shared.emplace_back("cluster.pools.remote.shared=1.2 GB/s");
  storage.emplace_back("cluster.pools.storage.read=1.2 GB/s");
  const double alone_s = simulated(pools_scenario(sets)).measured_s;
  EXPECT_NEAR(simulated(pools_scenario(shared)).measured_s, 2 * alone_s, 0.02 * alone_s);
  EXPECT_NEAR(simulated(pools_scenario(storage)).measured_s, 2 * alone_s, 0.02 * alone_s);
}

// --- Saturation: nobody waits for ever.

TEST(PoolsLiveness, EverybodyFinishesUnderSaturation) {
  // Memory for two contexts a node, and sixty requests at once, long and short.
  for (const char* dispatch : {"{policy: online}", "{policy: admit}",
                               "{policy: weighted, weights: {B1: 1, B2: 1, P1_cached: 1, P1_stateless: 1, "
                               "P2_cached: 1, P2_stateless: 1}}"}) {
    for (const char* prefill : {"stored", "recompute"}) {
      const auto s = pools_scenario({"cluster.gpu.memory_fraction=0.27", std::string("dispatch=") + dispatch,
                                     std::string("prefill=") + prefill,
                                     "workload={closed: {concurrency: 60}, context: {distribution: lognormal, mean: "
                                     "12k tokens, cv: 0.8, max: 30k "
                                     "tokens}, output: {distribution: exponential, mean: 200 tokens}, requests: 240}"});
      const auto m = simulated(s);
      EXPECT_EQ(m.completed + m.refused, 240U) << dispatch << ", " << prefill;
      EXPECT_LT(m.refused, 60U) << dispatch;
    }
  }
}

TEST(PoolsLiveness, AdmitServesWhoseReloadsAreLongerThanItsWindowsWhereNobodyElseIs) {
  // A reload takes 2.1 s, and 24 drafts are due within 0.3: there is no window from which it would be in time, ever.
  const auto m = simulated(
      pools_scenario({"dispatch={policy: admit, paths: [P1_stateless]}", "schedule.window=4",
                      "cluster.pools.local.link.read=1 GB/s", "workload.requests=6", "workload.closed.concurrency=6"}));
  EXPECT_EQ(m.completed, 6U);
  EXPECT_EQ(m.late_reloads, m.rounds);
}

TEST(PoolsLiveness, ALongRequestIsNotPassedForEver) {
  // One context that fills a node, among short ones that keep coming as long as it has not been served.
  const auto s = pools_scenario({"cluster.gpu.memory_fraction=0.27", "cluster.pools.remote.nodes=1",
                                 "dispatch={policy: weighted, weights: {B1: 1, B2: 1, P1_stateless: 1}}"});
  std::vector<models::RequestSpec> requests;
  for (std::uint64_t id = 0; id < 900; ++id) {
    const bool giant = id == 30;
    requests.push_back({id, static_cast<std::int64_t>(id) * kSecond / 4, giant ? 34'000 : 4'000, giant ? 10 : 50, {}});
  }
  const auto m = simulated(s, requests, 0);
  EXPECT_EQ(m.completed, 900U);
  // It arrived after 8 s and the last after 225.
  EXPECT_LT(m.e2e_s.max(), 60);
}

TEST(PoolsRuns, AreTheSameEveryTime) {
  const auto a = simulated(pools_scenario());
  const auto b = simulated(pools_scenario());
  EXPECT_TRUE(std::ranges::equal(a.e2e_s.values(), b.e2e_s.values()));
  EXPECT_EQ(a.events, b.events);
}

TEST(PoolsRuns, CompressorsThatDropTokensKeepRemoteMemoryFree) {
  const std::vector<std::string> sets = {"dispatch={policy: online, paths: [P1_stateless]}"};
  auto dropping = sets;
  dropping.insert(dropping.begin(),
                  "decode={policy: draft_verify, compressor: kvzip, keep_ratio: 0.3125, draft_length: 20}");
  EXPECT_LT(simulated(pools_scenario(dropping)).pools.at("remote").reserved_mean_bytes,
            0.6 * simulated(pools_scenario(sets)).pools.at("remote").reserved_mean_bytes);
}

TEST(RequestSize, AWaitingRequestTakesAtMost500BytesBetweenPools) {
  // Two tables: 16 for its place in each, up to 16 to find it there. And 8 in the queue.
  EXPECT_LE(sizeof(serving::Request) + sizeof(pools::PoolRequest), std::size_t{500 - 2 * (16 + 16) - 8});
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
