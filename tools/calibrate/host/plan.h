// Plan of measurements: lists of shapes. The lists are run in a random order drawn from the seed, so that a benchmark
// that runs out of its budget has measured a fair part of everything, and the files are sorted afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/collectives.h"
#include "tools/calibrate/host/shapes.h"
#include "tools/calibrate/kernels/experts.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {

struct LinearCase {
  LinearShape shape;
  std::int64_t tokens = 1;
  bool fp8 = false;
};

/// How lengths within a batch differ around their mean.
enum class Lengths {
  equal,
  spread,   ///< evenly from near nothing to twice the mean
  one_long  ///< one sequence has half of all tokens
};

std::string_view name_of(Lengths lengths);

struct AttentionCase {
  HeadShape shape;
  int batch = 1;
  int kv_len = 1024;  ///< tokens of KV, query tokens included; their mean where lengths differ
  int query_tokens = 1;
  int kv_bits = 16;              ///< 8: e4m3
  bool keys_by_channel = false;  ///< of few bits: scales of keys, as KIVI has them; else by token
  Lengths lengths = Lengths::equal;
};

std::vector<LinearCase> linear_cases(std::span<const models::LlmSpec> models, bool fp8, bool quick);
std::vector<AttentionCase> decode_cases(std::span<const models::LlmSpec> models, bool quick);
std::vector<AttentionCase> uneven_cases(std::span<const models::LlmSpec> models, bool quick);
std::vector<AttentionCase> verify_cases(std::span<const models::LlmSpec> models, bool quick);
std::vector<AttentionCase> quantised_cases(std::span<const models::LlmSpec> models, bool quick);
std::vector<AttentionCase> prefill_cases(std::span<const models::LlmSpec> models, bool quick);
/// Decoding, absorbed, and prompts, expanded, over latents of 16 bits.
std::vector<AttentionCase> latent_cases(std::span<const models::LlmSpec> models, bool quick);

struct ExpertCase {
  ExpertShape shape;
  std::int64_t tokens = 1;  ///< of all GPUs that share the experts
};
std::vector<ExpertCase> expert_cases(std::span<const models::LlmSpec> models, bool quick);

/// Pairs of a token and an expert of one GPU, sorted by expert: tokens choose the experts one after the other, and the
/// GPUs hold them in turns.
struct Routing {
  std::vector<int> sources;       ///< token of each pair
  std::vector<ExpertTile> tiles;  ///< of at most 16 row_tiles pairs
  int row_tiles = 1;
};
Routing route_evenly(const ExpertCase& c);

/// One collective of bf16 in a group of GPUs.
struct CollectiveCase {
  models::Collective operation = models::Collective::all_reduce;
  int gpus = 2;
  std::int64_t elements = 1;  ///< of the whole message
};
/// Messages of 1 KiB to 512 MiB in groups of 2, 4, 8 and so on of `gpus` GPUs; none for one.
std::vector<CollectiveCase> collective_cases(int gpus, bool quick);

/// The first GPUs' element `index` after a collective of random_value() by rank: seed + rank.
double collective_element(const CollectiveCase& c, int rank, std::int64_t index, std::uint64_t seed);

/// Tokens of each sequence; they add up to batch * kv_len, give or take one each, and none is under query_tokens.
std::vector<int> lengths_of(const AttentionCase& c);

/// Pages of 16 tokens for all sequences, of each KV head.
std::int64_t pages_of(const AttentionCase& c);

/// Whether values are the first elements of the keys, as those of a latent are.
bool shares_pool(const AttentionCase& c);

/// Bytes that the pools of keys and of values need, without scales, and those of the scales of each.
std::int64_t key_pool_bytes(const AttentionCase& c);
std::int64_t value_pool_bytes(const AttentionCase& c);
std::int64_t key_scale_bytes(const AttentionCase& c);
std::int64_t value_scale_bytes(const AttentionCase& c);

/// Bytes of KV that the kernel has to read: whole vectors of both pools, and scales.
std::int64_t kv_bytes_read(const AttentionCase& c);

/// The format of the KV, as tables name it: bfloat16, fp8_e4m3, int4 and so on.
std::string kv_dtype_of(const AttentionCase& c);

/// How keys of few bits are scaled, as tables name it: channel, token; none of 8 and 16 bits.
std::string_view key_scales_of(const AttentionCase& c);

/// Powers of two from `low` to `high`, or of four with `coarse`, and always `high`.
std::vector<std::int64_t> sizes_between(std::int64_t low, std::int64_t high, bool coarse);

/// Fisher-Yates with random_data's generator: the same on every platform.
template <class Case>
void shuffle(std::vector<Case>& cases, std::uint64_t seed) {
  for (std::size_t i = cases.size(); i > 1; --i) {
    std::swap(cases[i - 1], cases[random_bits(seed, i) % i]);
  }
}

/// A page table: which page of the pool holds each page of each sequence, every page used once.
std::vector<int> random_page_table(std::int64_t pages, std::uint64_t seed);

/// How long a benchmark may go on.
class Budget {
 public:
  explicit Budget(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  [[nodiscard]] bool spent() const { return Clock::now() >= end_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_;
};

}  // namespace kvsim::calibrate
