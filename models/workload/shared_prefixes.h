// Prompts that begin alike: system prompts, documents asked about again and again. Each request has one of a fixed
// number of prefixes, by popularity, before the tokens of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/workload/dataset.h"
#include "models/workload/distributions.h"

namespace kvsim::models {

// Hashes of generated blocks.

/// A bijection of 64 bits that leaves no pattern (the finalizer of SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t mixed_hash(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

struct SharedPrefixSpec {
  std::int64_t count = 1;  ///< different prefixes
  double popularity = 1;   ///< Zipf exponent: the k-th prefix is drawn in proportion to 1/k^popularity; 0: all alike
  LengthSpec tokens{.mean = 0};         ///< of a prefix; mean 0: not given, with datasets
  std::vector<DatasetSpec> datasets{};  ///< in place of tokens: dealt to the prefixes in turn, the first to the most
                                        ///< popular one
  double scale = 1;  ///< lengths of data sets are multiplied by this: another tokenizer, another unit
  std::int64_t longest = max_request_tokens;  ///< of data sets: longer prefixes are cut to so many tokens

  /// The data set that a prefix, numbered from 0, belongs to; null without datasets.
  [[nodiscard]] const DatasetSpec* dataset_of(std::size_t prefix) const {
    return datasets.empty() ? nullptr : &datasets[prefix % datasets.size()];
  }
};

/// Lengths of prefixes of one kind, and the share of all requests that begins with one of them.
struct PrefixKind {
  LengthSpec tokens;
  double requests = 1;
};
/// The kinds that prefixes belong to in turn, the most popular prefix to the first: `tokens` alone, or each data set.
/// A kind beyond the number of prefixes has no requests.
[[nodiscard]] std::vector<PrefixKind> prefix_kinds(const SharedPrefixSpec& spec);

/// Mean length of a request's prefix, before bounds apply.
[[nodiscard]] double mean_prefix_tokens(const SharedPrefixSpec& spec);

/// Problem with the specification and what was expected; empty: none.
std::string problem_with(const SharedPrefixSpec& spec);

class SharedPrefixes {
 public:
  static constexpr std::int64_t block_tokens = 256;

  /// Draws the prefixes' lengths, in order, so that more prefixes leave the lengths of the first ones as they were.
  /// Throws schema::InputError with problem_with(spec). `first`: prefixes of other workloads that those here are told
  /// apart from, numbers below it.
  SharedPrefixes(const SharedPrefixSpec& spec, RandomSource& lengths, std::size_t first = 0);

  /// The prefix of a request, by popularity: 0 is the most popular. Takes one draw, which another count or popularity
  /// reads differently and leaves in step.
  std::size_t draw(RandomSource& random) const;

  [[nodiscard]] std::size_t count() const { return tokens_.size(); }
  [[nodiscard]] std::size_t first() const { return first_; }
  [[nodiscard]] std::int64_t tokens(std::size_t prefix) const { return tokens_[prefix]; }

  /// Chained hashes of the blocks of a prompt of this length that begins with a prefix; the last block may be partly
  /// filled, as in traces. Whole blocks of the prefix are shared by all its prompts; those after them are the
  /// request's own.
  [[nodiscard]] std::vector<std::uint64_t> blocks(std::size_t prefix, std::int64_t prompt_tokens,
                                                  std::uint64_t request) const;

 private:
  std::size_t first_ = 0;
  std::vector<double> cumulative_;  ///< weights of the prefixes up to each
  std::vector<std::int64_t> tokens_;
};

}  // namespace kvsim::models
