#include "models/kernels/shared_work.h"

#include <algorithm>
#include <cmath>

namespace kvsim::models {
namespace {

AttentionWork scaled(AttentionWork w, double share) {
  return w *= share;
}

/// Of `n` things, the share that the rank with most of them has.
double largest_share(double n, double ranks) {
  return n > 0 ? std::ceil(n / ranks) / n : 1 / ranks;
}

/// The rank whose chunks have most tokens, and these and their query-key pairs as shares of all.
struct ChunkShare {
  std::size_t rank = 0;
  double tokens = 1, pairs = 1;
};

ChunkShare fullest_rank(const StepWork& work, std::size_t ranks) {
  const std::vector<PrefillChunk>& chunks = work.chunks;
  if (chunks.empty() || work.prefill.query_tokens <= 0) return {};
  std::size_t fullest = 0;
  double most = -1, pairs_of_most = 0;
  for (std::size_t rank = 0; rank < std::min(ranks, chunks.size()); ++rank) {
    double tokens = 0, pairs = 0;
    for (std::size_t i = rank; i < chunks.size(); i += ranks) {
      const double of_these = chunks[i].alike * chunks[i].tokens;
      tokens += of_these;
      pairs += of_these * (chunks[i].before + (chunks[i].tokens + 1) / 2);
    }
    if (tokens <= most) continue;
    fullest = rank;
    most = tokens;
    pairs_of_most = pairs;
  }
  return {fullest, most / work.prefill.query_tokens, work.prefill.pairs > 0 ? pairs_of_most / work.prefill.pairs : 1};
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

}  // namespace

SharedWork shared_work(const StepWork& work, const Parallelism& parallel) {
  const auto ranks = static_cast<double>(parallel.attention_data);
  SharedWork s;
  const Passes pass = passes(work, parallel);
  s.microbatches = pass.fullest;
  s.tokens = work.tokens() / pass.mean;
  s.rank.decode = scaled(work.decode, largest_share(work.decode.number_of_requests(), ranks) / s.microbatches);
  s.rank.verify = scaled(work.verify, largest_share(work.verify.number_of_requests(), ranks) / s.microbatches);
  const auto stride = static_cast<std::size_t>(parallel.attention_data);
  const ChunkShare chunks = fullest_rank(work, stride);
  s.rank.prefill = scaled(work.prefill, chunks.tokens / s.microbatches);
  s.rank.prefill.pairs = work.prefill.pairs * chunks.pairs / s.microbatches;
  for (std::size_t i = chunks.rank; i < work.chunks.size(); i += stride) {
    s.rank.chunks.push_back(work.chunks[i]);
    s.rank.chunks.back().alike /= s.microbatches;
  }
  s.rank.logit_tokens = work.logit_tokens * largest_share(work.logit_tokens, ranks) / s.microbatches;
  s.rank.sampled = work.sampled * largest_share(work.sampled, ranks) / s.microbatches;
  s.rank.extra_gpu_s = work.extra_gpu_s;
  return s;
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
