// How many tokens of a prompt's chunks each method computes again, and where they stand.
#include "sim/reuse/prompt_assembly.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>

#include "sim/reuse/reuse_times.h"

namespace kvsim::reuse::KVSIM_FILE {
namespace {

using models::ReuseMethod;
using models::ReuseSpec;
using models::RowAttention;
using models::ScoredPrompt;

ReuseSpec spec_of(ReuseMethod method) {
  ReuseSpec spec;
  spec.method = method;
  return spec;
}

ChunkRows rows(const ReuseSpec& spec, std::int64_t chunks, std::int64_t chunk_tokens, std::uint64_t request = 0,
               std::uint64_t seed = 1) {
  return ChunkRowCounter(spec, nullptr, seed).rows(request, chunks, chunk_tokens);
}

ChunkRows rows_of_file(const ReuseSpec& spec, const std::vector<ScoredPrompt>& prompts, std::int64_t chunks,
                       std::int64_t chunk_tokens, std::uint64_t request = 0) {
  return ChunkRowCounter(spec, std::make_shared<const std::vector<ScoredPrompt>>(prompts), 1)
      .rows(request, chunks, chunk_tokens);
}

/// 0 + 1 + ... of all tokens of a prompt.
double all_places(std::int64_t tokens) {
  return static_cast<double>(tokens) * static_cast<double>(tokens - 1) / 2;
}

TEST(ChunkRows, FullReuseComputesNothingAgain) {
  const ChunkRows r = rows(spec_of(ReuseMethod::full_reuse), 10, 512);
  EXPECT_EQ(r.count, 0);
  EXPECT_EQ(r.positions, 0);
}

TEST(ChunkRows, EpicComputesTheFirstTokensOfEveryChunk) {
  ReuseSpec spec = spec_of(ReuseMethod::epic);
  spec.link_tokens = 2;
  // Three chunks of 5 tokens: places 0 1, 5 6, 10 11.
  const ChunkRows r = rows(spec, 3, 5);
  EXPECT_EQ(r.count, 6);
  EXPECT_DOUBLE_EQ(r.positions, 33);
}

TEST(ChunkRows, EpicWithMoreTokensThanAChunkHasComputesAllOfIt) {
  ReuseSpec spec = spec_of(ReuseMethod::epic);
  for (const std::int64_t most : {5, 6, 512}) {
    spec.link_tokens = most;
    const ChunkRows r = rows(spec, 3, 5);
    EXPECT_EQ(r.count, 15);
    EXPECT_DOUBLE_EQ(r.positions, all_places(15));
  }
}

TEST(ChunkRows, EpicWithoutTokensIsFullReuse) {
  ReuseSpec spec = spec_of(ReuseMethod::epic);
  spec.link_tokens = 0;
  EXPECT_EQ(rows(spec, 3, 5).count, 0);
  EXPECT_EQ(rows(spec, 3, 5).positions, 0);
}

TEST(ChunkRows, CacheBlendComputesAShareOfTheTokensAllOverThePrompt) {
  ReuseSpec spec = spec_of(ReuseMethod::cacheblend);
  spec.rho = 0.2;
  // ceil(0.2 x 16) = 4 of 16 tokens, in the mean at place 7.5.
  const ChunkRows r = rows(spec, 4, 4);
  EXPECT_EQ(r.count, 4);
  EXPECT_DOUBLE_EQ(r.positions, 30);
  spec.rho = 1;
  EXPECT_EQ(rows(spec, 4, 4).count, 16);
  EXPECT_DOUBLE_EQ(rows(spec, 4, 4).positions, all_places(16));
}

TEST(ChunkRows, SelectiveNeverComputesMoreThanItsShare) {
  ReuseSpec spec = spec_of(ReuseMethod::selective);
  for (const double rho : {0.0, 0.001, 0.05, 0.15, 0.5, 0.99, 1.0}) {
    spec.rho = rho;
    for (std::uint64_t request = 0; request < 20; ++request) {
      const ChunkRows r = rows(spec, 5, 100, request);
      EXPECT_LE(r.count, models::selection_budget(rho, 500)) << rho;
      EXPECT_GE(r.positions, all_places(r.count));
      EXPECT_LE(r.positions, static_cast<double>(r.count) * 499 - all_places(r.count));
    }
  }
}

TEST(ChunkRows, SelectiveWithoutSpansComputesItsShareToTheToken) {
  ReuseSpec spec = spec_of(ReuseMethod::selective);
  spec.spans.enabled = false;
  spec.rho = 0.15;
  for (std::uint64_t request = 0; request < 20; ++request) EXPECT_EQ(rows(spec, 5, 100, request).count, 75);
}

TEST(ChunkRows, SelectiveComputesNothingAtZeroAndEverythingAtOne) {
  ReuseSpec spec = spec_of(ReuseMethod::selective);
  spec.rho = 0;
  EXPECT_EQ(rows(spec, 5, 100).count, 0);
  spec.rho = 1;
  EXPECT_EQ(rows(spec, 5, 100).count, 500);
  EXPECT_DOUBLE_EQ(rows(spec, 5, 100).positions, all_places(500));
}

TEST(ChunkRows, RequestsTakeTheSignalsInTurn) {
  ReuseSpec spec = spec_of(ReuseMethod::selective);
  spec.importance.signals = 3;
  std::set<double> places;
  for (std::uint64_t request = 0; request < 3; ++request) {
    const ChunkRows r = rows(spec, 10, 512, request);
    places.insert(r.positions);
    for (const std::uint64_t later : {request + 3, request + 300}) {
      EXPECT_EQ(rows(spec, 10, 512, later).count, r.count);
      EXPECT_EQ(rows(spec, 10, 512, later).positions, r.positions);
    }
  }
  EXPECT_EQ(places.size(), 3U);
}

TEST(ChunkRows, WhatWasAskedForBeforeChangesNothing) {
  ReuseSpec spec = spec_of(ReuseMethod::selective);
  const ChunkRowCounter counter(spec, {}, 1);
  for (const std::uint64_t request : {7U, 3U, 7U, 71U}) {
    for (const std::int64_t chunks : {4, 2, 4}) {
      const ChunkRows known = counter.rows(request, chunks, 100), fresh = rows(spec, chunks, 100, request);
      EXPECT_EQ(known.count, fresh.count);
      EXPECT_EQ(known.positions, fresh.positions);
    }
  }
}

TEST(ChunkRows, AnotherSeedBringsOtherSignals) {
  const ReuseSpec spec = spec_of(ReuseMethod::selective);
  EXPECT_NE(rows(spec, 10, 512, 0, 1).positions, rows(spec, 10, 512, 0, 2).positions);
  EXPECT_EQ(rows(spec, 10, 512, 0, 1).positions, rows(spec, 10, 512, 0, 1).positions);
}

// A token of the small model reaches into two or more of the other's wherever their ends differ.
TEST(ChunkRows, ATokenizerOfItsOwnSelectsMoreThanItsShare) {
  ReuseSpec same = spec_of(ReuseMethod::selective), own = same;
  own.speculative.own_tokenizer = true;
  for (std::uint64_t request = 0; request < 20; ++request) {
    const std::int64_t most = models::selection_budget(same.rho, 5120);
    EXPECT_LE(rows(same, 10, 512, request).count, most);
    EXPECT_GT(rows(own, 10, 512, request).count, most);
  }
  own.rho = 1;
  EXPECT_EQ(rows(own, 10, 512).count, 5120);
}

// Each token that is selected brings whole ones of the other tokenizer, however little of them it covers: 15 % of the
// text in pieces of 2 characters touches more tokens of 4 than in pieces of 8.
TEST(ChunkRows, AFinerTokenizerOfItsOwnSelectsMoreInExcess) {
  ReuseSpec coarse = spec_of(ReuseMethod::selective);
  coarse.speculative.own_tokenizer = true;
  coarse.spans.enabled = false;
  coarse.importance.shape.correlation = 0;
  ReuseSpec fine = coarse;
  coarse.speculative.tokens_ratio = 0.5;
  fine.speculative.tokens_ratio = 2;
  for (std::uint64_t request = 0; request < 20; ++request) {
    EXPECT_GT(rows(fine, 10, 512, request).count, rows(coarse, 10, 512, request).count);
  }
}

ReuseSpec half_of_file() {
  ReuseSpec spec = spec_of(ReuseMethod::selective);
  spec.importance.source = models::ImportanceSource::file;
  spec.rho = 0.5;
  spec.spans.enabled = false;
  return spec;
}

TEST(ChunkRows, AScoredPromptIsTakenAsItIsWhereItIsAsLong) {
  // The two largest of four are tokens 1 and 2.
  const ChunkRows r = rows_of_file(half_of_file(), {{{0.1F, 0.9F, 0.8F, 0.2F}, {}, {}}}, 2, 2);
  EXPECT_EQ(r.count, 2);
  EXPECT_DOUBLE_EQ(r.positions, 3);
}

TEST(ChunkRows, AScoredPromptIsStretchedToThePrompt) {
  // Each token stands for three: of 12 tokens, places 3 to 8, whose sum is 33.
  const ChunkRows r = rows_of_file(half_of_file(), {{{0.1F, 0.9F, 0.8F, 0.2F}, {}, {}}}, 3, 4);
  EXPECT_EQ(r.count, 6);
  EXPECT_DOUBLE_EQ(r.positions, 33);
}

TEST(ChunkRows, AllOfAScoredPromptIsAllOfThePromptWhateverTheirLengths) {
  ReuseSpec spec = half_of_file();
  spec.rho = 1;
  for (const std::int64_t chunks : {1, 2, 5, 100}) {
    const ChunkRows r = rows_of_file(spec, {{{0.1F, 0.9F, 0.8F}, {}, {}}}, chunks, 2);
    EXPECT_EQ(r.count, 2 * chunks);
    EXPECT_NEAR(r.positions, all_places(2 * chunks), 1e-9 * all_places(2 * chunks));
  }
}

TEST(ChunkRows, ScoredPromptsAreTakenInTurn) {
  const std::vector<ScoredPrompt> prompts{{{9, 8, 1, 1}, {}, {}}, {{1, 1, 8, 9}, {}, {}}};
  for (const std::uint64_t request : {0U, 2U, 40U}) {
    EXPECT_DOUBLE_EQ(rows_of_file(half_of_file(), prompts, 2, 2, request).positions, 0 + 1);
    EXPECT_DOUBLE_EQ(rows_of_file(half_of_file(), prompts, 2, 2, request + 1).positions, 2 + 3);
  }
}

TEST(ChunkRows, AScoredPromptWithOffsetsCountsTokensOfTheModelThatAnswers) {
  // Two tokens of the small model, of 4 characters each; four of the other. The first is selected: tokens 0 and 1, and
  // 2 which begins within its last character's reach in the second case.
  const ScoredPrompt even{{2, 1}, {{0, 4}, {4, 8}}, {{0, 2}, {2, 4}, {4, 6}, {6, 8}}};
  const ScoredPrompt crooked{{2, 1}, {{0, 4}, {4, 8}}, {{0, 1}, {1, 3}, {3, 6}, {6, 8}}};
  EXPECT_EQ(rows_of_file(half_of_file(), {even}, 2, 2).count, 2);
  EXPECT_DOUBLE_EQ(rows_of_file(half_of_file(), {even}, 2, 2).positions, 0 + 1);
  EXPECT_EQ(rows_of_file(half_of_file(), {crooked}, 2, 2).count, 3);
  EXPECT_DOUBLE_EQ(rows_of_file(half_of_file(), {crooked}, 2, 2).positions, 0 + 1 + 2);
}

TEST(RowsBefore, CausalRowsAttendToWhatComesBeforeEachOfThem) {
  // Rows at places 1, 4 and 6 of 8 attend to 2 + 5 + 7 = 14 tokens, themselves included: 3 x 8/3 + (1 + 2 + 3).
  const double before = rows_before(RowAttention::causal, 8, 3, 1 + 4 + 6);
  EXPECT_DOUBLE_EQ(before, 8.0 / 3);
  EXPECT_DOUBLE_EQ(3 * before + 6, 14);
}

TEST(RowsBefore, CausalRowsAreThoseOfAPlainPrefillWhereTheyFollowOneAnother) {
  // The last 3 of 8 follow 5; all 8 follow none.
  EXPECT_DOUBLE_EQ(rows_before(RowAttention::causal, 8, 3, 5 + 6 + 7), 5);
  EXPECT_DOUBLE_EQ(rows_before(RowAttention::causal, 8, 8, all_places(8)), 0);
}

TEST(RowsBefore, WholeRowsAttendToAllThatIsNotComputed) {
  EXPECT_DOUBLE_EQ(rows_before(RowAttention::whole, 8, 3, 1 + 4 + 6), 5);
  EXPECT_DOUBLE_EQ(rows_before(RowAttention::whole, 8, 3, 0 + 1 + 2), 5);
  EXPECT_DOUBLE_EQ(rows_before(RowAttention::whole, 8, 8, all_places(8)), 0);
}

TEST(RowsBefore, CausalRowsNeverAttendToMoreThanWholeOnes) {
  for (std::int64_t n = 1; n <= 50; ++n) {
    const double last = all_places(50) - all_places(50 - n);  // the last n places
    EXPECT_LE(rows_before(RowAttention::causal, 50, n, last), rows_before(RowAttention::whole, 50, n, last));
    EXPECT_DOUBLE_EQ(rows_before(RowAttention::causal, 50, n, all_places(n)), 0);  // the first n
  }
}

}  // namespace
}  // namespace kvsim::reuse::KVSIM_FILE
