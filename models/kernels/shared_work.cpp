#include "models/kernels/shared_work.h"

#include <algorithm>
#include <cmath>

namespace kvsim::models {
namespace {

AttentionWork scaled(AttentionWork w, double share) {
  return w *= share;
}

/// Share of `n` things on the rank that has most of them.
double largest_share(double n, double ranks) {
  return n > 0 ? std::ceil(n / ranks) / n : 1 / ranks;
}

/// A rank's chunks, and their tokens and query-key pairs as shares of all.
struct ChunkShare {
  std::size_t rank = 0;
  double tokens = 1, pairs = 1;
};

double pairs_of(const PrefillChunk& c) {
  return c.tokens * (c.before + (c.tokens + 1) / 2);
}

ChunkShare share_of(const StepWork& work, std::size_t rank, std::size_t ranks) {
  const std::vector<PrefillChunk>& chunks = work.chunks;
  if (chunks.empty() || work.prefill.query_tokens <= 0) return {};
  double tokens = 0, pairs = 0;
  for (std::size_t i = rank; i < chunks.size(); i += ranks) {
    tokens += chunks[i].alike * chunks[i].tokens;
    pairs += chunks[i].alike * pairs_of(chunks[i]);
  }
  return {rank, tokens / work.prefill.query_tokens, work.prefill.pairs > 0 ? pairs / work.prefill.pairs : 1};
}

/// The rank whose chunks have most tokens.
ChunkShare fullest_rank(const StepWork& work, std::size_t ranks) {
  ChunkShare fullest = share_of(work, 0, ranks);
  for (std::size_t rank = 1; rank < std::min(ranks, work.chunks.size()); ++rank) {
    const ChunkShare share = share_of(work, rank, ranks);
    if (share.tokens > fullest.tokens) fullest = share;
  }
  return fullest;
}

/// Passes that the requests and chunks of the rank that has most fill, and those of the mean rank.
struct Passes {
  double fullest = 1, mean = 1;
};

Passes passes(const StepWork& work, const Parallelism& parallel) {
  if (parallel.pipeline == 1) return {};
  const auto ranks = static_cast<double>(parallel.attention_data), stages = static_cast<double>(parallel.pipeline);
  auto chunks = static_cast<double>(work.chunks.size());
  if (work.chunks.empty() && work.prefill.query_tokens > 0) chunks = 1;
  const double decode = work.decode.number_of_requests(), verify = work.verify.number_of_requests();
  const double most = std::ceil(decode / ranks) + std::ceil(verify / ranks) + std::ceil(chunks / ranks);
  return {std::clamp(most, 1.0, stages), std::clamp((decode + verify + chunks) / ranks, 1.0, stages)};
}

/// The work that prompts put on a rank, for one of `passes`.
void put_chunks(const StepWork& work, const ChunkShare& share, std::size_t ranks, double passes, StepWork& rank) {
  rank.prefill = scaled(work.prefill, share.tokens / passes);
  rank.prefill.pairs = work.prefill.pairs * share.pairs / passes;
  rank.chunks.clear();
  for (std::size_t i = share.rank; i < work.chunks.size(); i += ranks) {
    rank.chunks.push_back(work.chunks[i]);
    rank.chunks.back().alike /= passes;
  }
}

}  // namespace

SharedWork shared_work(const StepWork& work, const Parallelism& parallel) {
  const auto ranks = static_cast<double>(parallel.attention_data);
  SharedWork s;
  const Passes pass = passes(work, parallel);
  s.microbatches = pass.fullest;
  s.tokens = work.tokens() / pass.mean;
  if (parallel.pipeline > 1 && !work.chunks.empty()) {  // the pass of a chunk has all of it, beside other ranks' work
    double largest = 0;
    for (const PrefillChunk& c : work.chunks) largest = std::max(largest, c.tokens);
    const double others = work.decode.number_of_requests() + work.verify.number_of_requests() +
                          static_cast<double>(work.chunks.size()) - 1;
    s.tokens = std::max(s.tokens, largest + std::min(others, ranks - 1));
  }
  s.rank.decode = scaled(work.decode, largest_share(work.decode.number_of_requests(), ranks) / s.microbatches);
  s.rank.verify = scaled(work.verify, largest_share(work.verify.number_of_requests(), ranks) / s.microbatches);
  const auto stride = static_cast<std::size_t>(parallel.attention_data);
  const ChunkShare chunks = fullest_rank(work, stride);
  put_chunks(work, chunks, stride, s.microbatches, s.rank);
  s.rank.logit_tokens = work.logit_tokens * largest_share(work.logit_tokens, ranks) / s.microbatches;
  s.rank.sampled = work.sampled * largest_share(work.sampled, ranks) / s.microbatches;
  s.rank.extra_gpu_s = work.extra_gpu_s;
  for (std::size_t rank = 0; rank < std::min(stride, work.chunks.size()); ++rank) {
    if (rank == chunks.rank) continue;
    s.others.push_back(s.rank);
    put_chunks(work, share_of(work, rank, stride), stride, s.microbatches, s.others.back());
  }
  return s;
}

StepWork one_chunk(const StepWork& work, const PrefillChunk& chunk) {
  StepWork one;
  one.prefill = scaled(work.prefill, pairs_of(chunk) / work.prefill.pairs);
  one.prefill.query_tokens = chunk.tokens;
  one.prefill.requests = 1;
  one.chunks.push_back(chunk);
  one.chunks.back().alike = 1;
  one.logit_tokens = std::min(work.logit_tokens, 1.0);
  one.sampled = std::min(work.sampled, 1.0);
  one.extra_gpu_s = work.extra_gpu_s;
  return one;
}

double rank_tokens(const StepWork& work, const Parallelism& parallel) {
  return parallel.tensor_only() ? work.tokens() : shared_work(work, parallel).rank.tokens();
}

double pipeline_s(const PipelinePass& pass, double microbatches, std::int64_t layers, const Parallelism& parallel) {
  const auto stages = static_cast<double>(parallel.pipeline);
  const auto all = static_cast<double>(layers);
  const double first_s = std::ceil(all / stages) / all * pass.layers_s;
  const double last_s = std::floor(all / stages) / all * pass.layers_s + pass.tail_s;
  const double through_s = pass.layers_s + pass.tail_s + pass.sends_s;
  return std::max(through_s, microbatches * (std::max(first_s, last_s) + pass.slowest_send_s));
}

}  // namespace kvsim::models
