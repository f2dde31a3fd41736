// Fitted forms by hand, on a machine of 100 B/s, 1000 FLOP/s and 10 multiprocessors.
#include <gtest/gtest.h>

#include <cmath>

#include "models/kernels/elementwise_kernels.h"
#include "models/kernels/forms.h"
#include "models/kernels/profile.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr double kSharp = 64;  // a blend that is a maximum for all but equal times

Machine small_machine() {
  Machine m;
  m.memory_bytes_per_s = 100;
  m.bf16_flops_per_s = 1000;
  m.fp8_flops_per_s = 2000;
  m.l2_bytes = 1000;
  m.multiprocessors = 10;
  return m;
}

LinearForm one_tile(double rows, double columns) {
  LinearForm f;
  f.blend_power = kSharp;
  f.tiles = {{rows, columns, 1}};
  return f;
}

TEST(Blend, IsTheSumForOneAndTheMaximumForLargePowers) {
  EXPECT_DOUBLE_EQ(blend(3, 4, 1), 7);
  EXPECT_DOUBLE_EQ(blend(3, 4, 2), 5);
  EXPECT_NEAR(blend(3, 4, kSharp), 4, 1e-6);
  EXPECT_DOUBLE_EQ(blend(0, 4, 2), 4);
  EXPECT_DOUBLE_EQ(blend(0, 0, 2), 0);
}

TEST(LinearForm, FewTokensStreamWeightsInputsAndOutputs) {
  // (8 x 4 weights + 1 x 4 inputs) of 2 B and 1 x 8 outputs of 2 B: 88 B; arithmetic is 64 FLOPs.
  const FormTime t = one_tile(1, 8).time(1, 8, 4, small_machine());
  EXPECT_NEAR(t.seconds, 0.88, 1e-9);
  EXPECT_TRUE(t.memory_bound);
}

TEST(LinearForm, OneTileMoreThanMultiprocessorsTakesASecondWave) {
  // A tile of 1 x 1 over k = 1000 is 2000 FLOPs on a tenth of 1000 FLOP/s: 20 s; bytes take far less with m = 1.
  LinearForm f = one_tile(1, 1);
  f.bandwidth_efficiency = 1000;  // out of the way
  f.wave_quantisation = 1;
  Machine machine = small_machine();
  EXPECT_NEAR(f.time(10, 1, 1000, machine).seconds, 20, 1);  // ten tiles, ten multiprocessors; no gain from splitting k
  const double two_waves = f.time(11, 1, 1000, machine).seconds;
  EXPECT_GT(two_waves, 22);  // 11 tiles: a second wave, shortened by splitting k
  f.wave_quantisation = 0;
  EXPECT_NEAR(f.time(11, 1, 1000, machine).seconds, 22, 0.1);
}

TEST(LinearForm, TakesTheBestOfItsTiles) {
  LinearForm f = one_tile(100, 100);
  const double large = f.time(1, 10, 1000, small_machine()).seconds;
  f.tiles.push_back({1, 1, 1});
  EXPECT_LT(f.time(1, 10, 1000, small_machine()).seconds, large);
}

TEST(LinearForm, Fp8HalvesTheBytesAndDoublesTheRate) {
  LinearForm f = one_tile(1, 1);
  f.weights = NumberFormat::fp8;
  // (100 x 100 + 100) of 1 B and 100 x 2 B.
  EXPECT_NEAR(f.time(1, 100, 100, small_machine()).seconds, 103, 0.1);
  f.extra_input_bytes = 3;
  EXPECT_NEAR(f.time(1, 100, 100, small_machine()).seconds, 106, 0.1);
}

TEST(LinearForm, InputsAndOutputsMoveAtARateOfTheirOwn) {
  LinearForm f = one_tile(1, 8);
  f.io_efficiency = 0.5;
  // 64 B of weights at 100 B/s, 8 B of inputs and 16 B of outputs at 50 B/s.
  EXPECT_NEAR(f.time(1, 8, 4, small_machine()).seconds, 0.64 + 0.48, 1e-9);
  f.per_doubling_s = 3;
  EXPECT_NEAR(f.time(1, 8, 1024, small_machine()).seconds - f.time(1, 8, 4, small_machine()).seconds,
              3 * (1 - std::log2(1 + 4.0 / 1024)) + 1020 * (16 / 100.0 + 2 / 50.0), 1e-6);
}

TEST(LinearForm, OneMultiprocessorReadsNoFasterThanItsShareAllows) {
  LinearForm f = one_tile(1, 8);
  f.sm_bandwidth = 2;
  f.wave_quantisation = 1;
  // One tile: (1 + 1) x 4 x 2 B on one of ten multiprocessors at 2 x 100 B/s / 10 = 20 B/s. Splitting k in two halves
  // that and moves 2 x 4 B of partial sums at 100 B/s, in three a third for 12 B, in four, the least, a quarter for 16
  // B.
  EXPECT_NEAR(f.time(1, 1, 4, small_machine()).seconds, 0.8 / 4 + 0.16, 1e-6);
}

TEST(LinearForm, InputsAreQuantisedBeforeIt) {
  LinearForm f = one_tile(1, 8);
  f.weights = NumberFormat::fp8;
  const double before = f.time(2, 8, 4, small_machine()).seconds;
  f.quantise = {1, 0, 0.5};
  // 2 x 4 inputs, two bytes read and one written each, at 50 B/s.
  EXPECT_NEAR(f.time(2, 8, 4, small_machine()).seconds - before, 1 + 24 / 50.0, 1e-9);
  f.quantise = {1, 10, 0.5};  // a block a token takes longer than the bytes
  EXPECT_NEAR(f.time(2, 8, 4, small_machine()).seconds - before, 1 + 20, 1e-3);
}

TEST(LinearForm, OnlyBenchmarksFindTheirWeightsInL2OrWaitForLaunches) {
  LinearForm f = one_tile(1, 8);
  f.io_efficiency = 1e9;
  f.benchmark = {.l2_efficiency = 4, .l2_share = 1, .l2_width = 0.01, .launch_s = 7, .launch_few_s = 5};
  const auto seconds = [&](double n, const LinearRun& run) { return f.time(1, n, 4, small_machine(), run).seconds; };
  EXPECT_NEAR(seconds(80, {}), 6.4, 1e-6);          // 640 B at 100 B/s: a step's weights come from memory
  EXPECT_NEAR(seconds(80, {1, false}), 1.6, 1e-6);  // all of L2's 1000 B hold them
  EXPECT_NEAR(seconds(80, {6, false}), 6.4, 1e-6);  // but not six layers of that size
  EXPECT_NEAR(seconds(8, {0, true}), 5, 1e-3);      // launched: no less than that
  EXPECT_NEAR(f.time(17, 8, 4, small_machine(), {0, true}).seconds, 7, 0.1);
}

TEST(LinearForm, ACorrectionHoldsWithinTheArchitecture) {
  LinearForm f = one_tile(1, 8);
  const double plain = f.time(1, 8, 4, small_machine()).seconds;
  f.correction.axes = {std::vector<double>{1}, {8}, {4}, {}};
  f.correction.factors = {1.5};
  EXPECT_NEAR(f.time(1, 8, 4, small_machine()).seconds, 1.5 * plain, 1e-9);
  Machine other = small_machine();
  other.as_measured = false;
  EXPECT_NEAR(f.time(1, 8, 4, other).seconds, plain, 1e-9);
}

TEST(Machine, NarrowProductsRunAtTheirRateWhereThereAreUnits) {
  Machine m = small_machine();
  EXPECT_EQ(m.flops_per_s(NumberFormat::fp8_block), 2000);
  EXPECT_EQ(m.flops_per_s(NumberFormat::nvfp4), 1000);  // no fp4 units: widened to 16 bits
  m.fp4_flops_per_s = 4000;
  EXPECT_EQ(m.flops_per_s(NumberFormat::nvfp4), 4000);
  EXPECT_EQ(m.flops_per_s(NumberFormat::bf16), 1000);
  EXPECT_DOUBLE_EQ(bytes_per_element(NumberFormat::nvfp4), 0.5625);
  EXPECT_DOUBLE_EQ(bytes_per_element(NumberFormat::fp8_block), 1);
}

TEST(Correction, IsInterpolatedInLogarithmsAndHeldAtItsEnds) {
  Correction c;
  EXPECT_EQ(c.at({5, 5}), 1);
  c.axes = {std::vector<double>{1, 16}, {2, 8}, {}, {}};
  c.factors = {1, 2, 3, 4};  // (1, 2), (1, 8), (16, 2), (16, 8)
  EXPECT_NEAR(c.at({1, 2}), 1, 1e-12);
  EXPECT_NEAR(c.at({1, 4}), 1.5, 1e-12);
  EXPECT_NEAR(c.at({4, 4}), 2.5, 1e-12);
  EXPECT_NEAR(c.at({0.5, 100}), 2, 1e-12);
  const Correction first = c.with_last({4});
  EXPECT_EQ(first.dimensions(), 1U);
  EXPECT_NEAR(first.at({4}), 2.5, 1e-12);
  const CorrectionPlane plane(c);  // the same, prepared
  for (const double x : {0.5, 1.0, 3.0, 16.0, 99.0}) {
    for (const double y : {1.0, 2.0, 5.0, 8.0, 99.0}) EXPECT_NEAR(plane.at(x, y), c.at({x, y}), 1e-12);
  }
  const CorrectionPlane by_threes(c, 3);
  for (const double x : {3.0, 4.0, 6.0, 12.0, 1536.0, 1539.0}) {
    EXPECT_NEAR(by_threes.at(x, 5), c.at({x, 5, 7, 9}), 1e-12) << x;  // what its axes do not know is ignored
  }
}

TEST(CachedStream, HalfOfTheReadsHitAtTheGivenShareOfL2) {
  CachedStream s{.bandwidth_efficiency = 0.5, .l2_efficiency = 2, .l2_share = 0.8, .l2_width = 0.1};
  const Machine m = small_machine();
  EXPECT_NEAR(s.miss_share(800, m), 0.5, 1e-12);
  EXPECT_LT(s.miss_share(400, m), 0.01);
  EXPECT_GT(s.miss_share(1600, m), 0.99);
  EXPECT_NEAR(s.seconds(800, m, false), 0.5 * 800 / 50 + 0.5 * 800 / 200, 1e-9);
  EXPECT_NEAR(s.seconds(800, m, true), 16, 1e-12);
  s.l2_efficiency = 0;
  EXPECT_NEAR(s.seconds(100, m, false), 2, 1e-12);
}

TEST(DecodeForm, AddsItsTermsAndKeepsServingStepsCold) {
  DecodeForm f;
  f.t0_s = 1;
  f.per_doubling_s = 2;
  f.per_head_s = 0.5;
  f.cold_s = 3;
  f.stream = {.bandwidth_efficiency = 1, .l2_efficiency = 4, .l2_share = 1, .l2_width = 0.05};
  const DecodeCall call{2, 3, 100, 1024, 0};
  // 1 + 2 log2(2) + 0.5 x 6; cold: 3 + 100/100; warm: 100/400.
  EXPECT_NEAR(f.time(call, small_machine(), false).seconds, 6 + 4, 1e-9);
  EXPECT_NEAR(f.time(call, small_machine(), true).seconds, 6 + 0.25, 1e-6);
}

TEST(DecodeForm, UnevenLengthsCostAShareOfTheLongest) {
  DecodeForm f;
  f.uneven_share = 0.1;
  const DecodeCall even{4, 1, 400, 100, 100};
  DecodeCall uneven = even;
  uneven.longest_kv = 300;  // all as long as that: 8 s more
  EXPECT_NEAR(f.time(even, small_machine(), false).seconds, 4, 1e-12);
  EXPECT_NEAR(f.time(uneven, small_machine(), false).seconds, 4.8, 1e-12);
}

TEST(DecodeForm, OneMultiprocessorWalksThroughOneKvHeadUnlessItIsSplit) {
  DecodeForm f;
  f.stream.bandwidth_efficiency = 1;
  f.walk = {
      .sm_bandwidth = 1, .efficiency = 1, .wave_quantisation = 1, .unit_s = 2, .least_keys = 50, .blend_power = 64};
  // One KV head, two query heads of width 1: 100 keys of 4 B; 16 rows are 64 FLOPs a key. A multiprocessor reads 10 B/s
  // and computes 100 FLOP/s: 0.64 s a key. Two parts of 50 keys: 2 + 32 s, and all bytes at 100 B/s take 4 s.
  const DecodeCall call{1, 2, 400, 100, 0, 1, 1};
  EXPECT_NEAR(f.time(call, small_machine(), false).seconds, 2 + 32, 1e-6);
  f.walk.join_s = 10;  // two parts on ten multiprocessors, two query heads: 10 x 0.2 x 2
  EXPECT_NEAR(f.time(call, small_machine(), false).seconds, 34 + 4, 1e-6);
  const DecodeCall alone{1, 1, 400, 100, 0, 1, 1};
  EXPECT_NEAR(f.time(alone, small_machine(), false).seconds, 34 + 2, 1e-6);
  f.walk.splits_single_heads = false;  // FlashAttention 2
  EXPECT_NEAR(f.time(alone, small_machine(), false).seconds, 2 + 64, 1e-6);
  // Eleven walks on ten multiprocessors take two waves; several requests of several groups are laid out anew.
  f.walk.regroup_s = 5;
  const DecodeCall many{5.5, 4, 4400, 100, 0, 2, 1};
  EXPECT_NEAR(f.time(many, small_machine(), false).seconds, 2 * 66 + 5, 1e-6);
}

TEST(DecodeForm, WalksTooManyToBeSplitTakeNoLessThanThoseThatAreJoined) {
  DecodeForm f;
  f.stream.bandwidth_efficiency = 1;
  f.walk = {.sm_bandwidth = 1, .efficiency = 1, .wave_quantisation = 1, .unit_s = 2, .least_keys = 1};
  const auto seconds = [&f](double requests) {
    return f.time({requests, 1, requests * 400, 100, 0, 1, 1}, small_machine(), false).seconds;
  };
  const double unsplit_s = seconds(10), two_waves_s = seconds(20);  // as many as multiprocessors, and twice as many
  f.walk.join_s = 10;
  double before = 0;
  for (double requests = 1; requests <= 20; ++requests) {
    EXPECT_GE(seconds(requests), before) << requests;
    before = seconds(requests);
  }
  EXPECT_NEAR(seconds(10), unsplit_s + 10, 1e-9);
  EXPECT_NEAR(seconds(20), two_waves_s, 1e-9) << "which take longer by themselves";
  f.walk.least_keys = 100;
  EXPECT_NEAR(seconds(10), unsplit_s, 1e-9) << "too short to be split at any number";
}

TEST(DecodeForm, SharesOfAStepAreWholeRequestsWhateverTheRounding) {
  DecodeForm f;
  f.stream.bandwidth_efficiency = 1;
  f.walk = {.sm_bandwidth = 1, .efficiency = 1, .wave_quantisation = 1, .unit_s = 2, .least_keys = 1000};
  const auto seconds = [&](double requests, double queries) {
    return f.time({requests, 16, 4000, 100, 0, 1, 1, queries}, small_machine(), false).seconds;
  };
  EXPECT_NEAR(seconds(std::nextafter(10, 11), 1), seconds(10, 1), 1e-9);
  EXPECT_NEAR(seconds(10, std::nextafter(4, 5)), seconds(10, 4), 1e-9);
}

TEST(DecodeForm, PartsThatFillTheGpuAreOneWaveWhateverTheRounding) {
  DecodeForm f;
  f.stream.bandwidth_efficiency = 1;
  f.walk = {.sm_bandwidth = 1, .efficiency = 1, .wave_quantisation = 1, .unit_s = 2, .least_keys = 1};
  Machine machine = small_machine();
  machine.multiprocessors = 108;
  double before = 0;
  for (double requests = 1; requests <= machine.multiprocessors; requests += 1) {
    const double seconds = f.time({requests, 1, requests * 400, 100, 0, 1, 1}, machine, false).seconds;
    EXPECT_GE(seconds, before) << requests;
    before = seconds;
  }
}

TiledForm plain_tiles(double rows) {
  TiledForm f;
  f.tile_rows = rows;
  f.blend_power = kSharp;
  f.io_efficiency = 1e9;
  f.stream.bandwidth_efficiency = 1;
  return f;
}

// One head of width 1: a tile of 5 rows is 20 FLOPs per KV token, 0.2 s on one of ten multiprocessors.
constexpr HeadShape kOneHead{1, 1, 1};

TEST(TiledForm, AChunkWalksThroughWhatIsThereAndHalfOfItself) {
  const TiledForm f = plain_tiles(5);
  TiledCall call;
  f.add_chunk(call, 100, 1000, kOneHead);
  ASSERT_EQ(call.tiles.size(), 1U);
  EXPECT_DOUBLE_EQ(call.tiles.front().tiles, 20);
  EXPECT_DOUBLE_EQ(call.tiles.front().tokens, 20 * (1000 + 52.5));
  // Balanced: 20 tiles over ten multiprocessors, 1052.5 tokens each; the longest tile alone takes 1100 x 0.2 = 220 s.
  EXPECT_NEAR(f.time(call, kOneHead, small_machine()).seconds, 0.2 * 2 * 1052.5, 0.1);
  EXPECT_FALSE(f.time(call, kOneHead, small_machine()).memory_bound);
}

TEST(TiledForm, WholeWavesLeaveMultiprocessorsIdle) {
  TiledForm f = plain_tiles(5);
  TiledCall call;
  f.add_chunk(call, 55, 100'000, kOneHead);  // 11 tiles
  const double balanced = f.time(call, kOneHead, small_machine()).seconds;
  f.wave_quantisation = 1;
  const double waves = f.time(call, kOneHead, small_machine()).seconds;
  EXPECT_NEAR(waves / balanced, 2 / 1.1, 0.01);
}

TEST(TiledForm, ShortRequestsFillIdleMultiprocessors) {
  TiledForm f = plain_tiles(5);
  f.wave_quantisation = 1;
  TiledCall alone;
  f.add_chunk(alone, 5, 10'000, kOneHead);
  TiledCall both = alone;
  f.add_decodes(both, 9, 1, 100, 100, 0, kOneHead);
  EXPECT_NEAR(f.time(alone, kOneHead, small_machine()).seconds, f.time(both, kOneHead, small_machine()).seconds, 1e-6);
}

TEST(TiledForm, ShortChunksFillWhatLongOnesLeaveIdleAndNeverShortenThem) {
  TiledForm f = plain_tiles(5);
  f.wave_quantisation = 1;
  TiledCall alone;
  f.add_chunk(alone, 5, 10'000, kOneHead);
  const double long_s = f.time(alone, kOneHead, small_machine()).seconds;
  TiledCall behind = alone, before;
  f.add_chunk(behind, 40, 0, kOneHead);
  f.add_chunk(before, 40, 0, kOneHead);
  f.add_chunk(before, 5, 10'000, kOneHead);
  EXPECT_NEAR(f.time(behind, kOneHead, small_machine()).seconds, long_s, 1e-6);
  EXPECT_EQ(f.time(before, kOneHead, small_machine()).seconds, f.time(behind, kOneHead, small_machine()).seconds);
  // As many long ones as there are multiprocessors, and one more: another wave.
  TiledCall full;
  f.add_chunk(full, 5, 10'000, kOneHead, 10);
  f.add_chunk(full, 5, 10'000, kOneHead);
  EXPECT_NEAR(f.time(full, kOneHead, small_machine()).seconds / long_s, 2, 0.03);  // the blend's rounding
}

TEST(TiledForm, MoreOfAnythingNeverTakesLess) {
  TiledForm f = plain_tiles(64);
  f.wave_quantisation = 1;
  f.empty_tile_s = 1e-3;
  f.stream = {.bandwidth_efficiency = 0.8, .l2_efficiency = 3, .l2_share = 0.8, .l2_width = 0.3};
  const HeadShape shape{32, 8, 128};
  const auto seconds = [&](double chunk, double before, double requests, double kv) {
    TiledCall call;
    if (chunk > 0) f.add_chunk(call, chunk, before, shape);
    f.add_decodes(call, requests, 1, kv, kv, requests * kv * 4096, shape);
    return f.time(call, shape, small_machine()).seconds;
  };
  for (const double chunk : {0.0, 1.0, 64.0, 200.0, 2000.0}) {
    for (const double requests : {0.0, 1.0, 7.0, 64.0, 300.0}) {
      for (const double kv : {16.0, 500.0, 9000.0}) {
        if (chunk + requests == 0) continue;
        const double t = seconds(chunk, 100, requests, kv);
        EXPECT_GE(seconds(chunk + 64, 100, requests, kv), t);
        EXPECT_GE(seconds(chunk, 200, requests, kv), t);
        EXPECT_GE(seconds(chunk, 100, requests + 1, kv), t) << chunk << " " << requests << " " << kv;
        EXPECT_GE(seconds(chunk, 100, requests, kv * 1.1), t);
      }
    }
  }
}

TEST(TiledForm, HeadsOfAGroupThatRunApartReadTheKvAgain) {
  TiledForm f = plain_tiles(64);
  f.efficiency = 1e12;  // only memory counts
  f.stream = {.bandwidth_efficiency = 1, .l2_efficiency = 10, .l2_share = 1, .l2_width = 0.01};
  const HeadShape shape{4, 1, 1};
  const auto seconds = [&](double requests, double kv_bytes) {
    TiledCall call;
    f.add_decodes(call, requests, 1, 10, 10, kv_bytes, shape);
    return f.time(call, shape, small_machine()).seconds;
  };
  EXPECT_NEAR(seconds(2, 500), 5, 1e-6);           // eight tiles run at once and share one read
  EXPECT_NEAR(seconds(5, 500), 5 + 0.5, 1e-6);     // two waves; 500 B are still in an L2 of 1000 B
  EXPECT_NEAR(seconds(5, 5000), 50 + 50, 1e-6);    // they are not
  EXPECT_NEAR(seconds(99, 5000), 4 * 50.0, 1e-6);  // at most once a head
}

TEST(CompressionKernels, PassOverTheirBytes) {
  const CompressionKernels kernels{{1, {.bandwidth_efficiency = 0.5}, {}}};
  const Machine m = small_machine();
  // Three passes over 25 scores of 4 B at 50 B/s and three launches a layer.
  EXPECT_NEAR(top_k_s(kernels, m, 25, 1, 2), 6 + 6, 1e-9);
  EXPECT_NEAR(gather_s(kernels.passes, m, 50, 2), 2 + 2, 1e-9);
  EXPECT_NEAR(quantise_s(kernels, m, 160, 40, 2), 2 + 4, 1e-9);
  EXPECT_NEAR(dequantise_s(kernels, m, 160, 40, 2), 2 + 4, 1e-9);
  EXPECT_NEAR(compression_s(kernels, m, {160, 50, 25, 2, false}), 12 + 4, 1e-9);  // chosen, then copied together
  EXPECT_NEAR(compression_s(kernels, m, {160, 40, 0, 2, true}), 6, 1e-9);
  EXPECT_NEAR(compression_s(kernels, m, {160, 40, 25, 2, true}), 12 + 6, 1e-9);  // what is kept is quantised on the way
}

TEST(CompressionKernels, TakeWhatWasMeasuredOfThem) {
  CompressionKernels kernels{{1, {.bandwidth_efficiency = 0.5}, {}}};
  kernels.top_k = TopKForm{0.25, 0.01, 2, {}};
  kernels.quantise = ElementwiseForm{3, {.bandwidth_efficiency = 0.25}, {}};
  kernels.dequantise = ElementwiseForm{2, {.bandwidth_efficiency = 1}, {}};
  const Machine m = small_machine();  // 10 multiprocessors: 20 rows at once
  EXPECT_NEAR(top_k_s(kernels, m, 2 * 20 * 100, 20, 2), 2 * (0.25 + 100 * 0.01), 1e-9);
  EXPECT_NEAR(top_k_s(kernels, m, 2 * 1 * 100, 1, 2), 2 * (0.25 + 100 * 0.01), 1e-9);
  EXPECT_NEAR(top_k_s(kernels, m, 2 * 60 * 100, 60, 2), 2 * (0.25 + 3 * 100 * 0.01), 1e-9);
  EXPECT_NEAR(quantise_s(kernels, m, 160, 40, 2), 2 * 3 + 200 / 25.0, 1e-9);
  EXPECT_NEAR(dequantise_s(kernels, m, 160, 40, 2), 2 * 2 + 200 / 100.0, 1e-9);
  EXPECT_NEAR(compression_s(kernels, m, {160, 40, 2 * 60 * 100, 2, true, 60}), 6.5 + 14, 1e-9);
}

TEST(TiledForm, GroupsPackedIntoATileSaveItsEmptyRows) {
  TiledForm f = plain_tiles(8);
  const HeadShape shape{4, 1, 1};
  const auto seconds = [&](double tokens) {
    TiledCall call;
    f.add_chunk(call, tokens, 0, shape);
    return f.time(call, shape, small_machine()).seconds;
  };
  // A tile of 8 rows is 32 FLOPs a key, 0.32 s. Four heads of 2 tokens: four tiles of 8 keys on ten multiprocessors, or
  // one tile of 2 keys, its longest walk.
  EXPECT_NEAR(seconds(2), 0.32 * 8 * 4 / 10, 1e-6);
  f.packs_groups = true;
  EXPECT_NEAR(seconds(2), 0.32 * 2, 1e-6);
}

/// Of 4 tokens of one head, behind 100.
double written_s(const TiledForm& f) {
  const HeadShape shape{1, 1, 1};
  TiledCall call;
  f.add_chunk(call, 4, 100, shape);
  return f.time(call, shape, small_machine()).seconds;
}

TEST(TiledForm, NewKeysAndValuesAreWrittenIntoPages) {
  TiledForm f = plain_tiles(8);
  const double before = written_s(f);
  f.write_efficiency = 0.1;  // 4 tokens x 2 x 2 B at 10 B/s; what is there already is not written again
  EXPECT_NEAR(written_s(f) - before, 1.6, 1e-9);
  f.tile_s = 3;
  f.per_doubling_s = 2;
  EXPECT_NEAR(written_s(f) - before, 1.6 + 3 + 2 * std::log2(1 + 104.0 / 1024), 1e-6);
}

TEST(TiledForm, NewTokensAreWrittenByABlockEachOverTheMultiprocessors) {
  TiledForm f = plain_tiles(8);
  const double before = written_s(f);
  f.write_block_s = 5;  // 4 blocks on 10 multiprocessors; what is there already is not written again
  EXPECT_NEAR(written_s(f) - before, 4 * 5 / 10.0, 1e-9);
}

TEST(TiledForm, GroupsThatAreNoPowerOfTwoTakeLongerToCompute) {
  TiledForm f = plain_tiles(8);
  const auto seconds = [&](double heads) {
    TiledCall call;
    const HeadShape shape{heads, 1, 1};
    f.add_chunk(call, 64, 0, shape);
    return f.time(call, shape, small_machine()).seconds;
  };
  const double of_six = seconds(6), of_eight = seconds(8);
  f.uneven_group_share = 0.25;
  EXPECT_NEAR(seconds(6), 1.25 * of_six, 1e-6 * of_six);
  EXPECT_EQ(seconds(8), of_eight);
}

TEST(TiledForm, WiderHeadsComeNearerToThePeak) {
  TiledForm f = plain_tiles(8);
  f.efficiency = 0.5;
  f.head_dim_power = 1;
  const auto seconds = [&](double dim) {
    TiledCall call;
    const HeadShape shape{1, 1, dim};
    f.add_chunk(call, 8, 0, shape);
    return f.time(call, shape, small_machine()).seconds;
  };
  EXPECT_NEAR(seconds(256) / seconds(128), 1, 1e-6);  // twice the work at twice the rate
}

TEST(MachineFor, CorrectionsStayWithinAnArchitecture) {
  KernelProfile p;
  p.machine.emplace();
  p.machine->memory_bytes_per_s.value = 100;
  p.machine->architecture = "one";
  p.measured_on = "card";
  GpuSpec gpu;
  gpu.memory_bytes_per_s.value = 200;
  gpu.architecture = "one";
  EXPECT_TRUE(machine_for(gpu, p).as_measured);
  gpu.architecture = "two";
  EXPECT_FALSE(machine_for(gpu, p).as_measured);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
