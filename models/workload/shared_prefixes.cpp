#include "models/workload/shared_prefixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/schema/error.h"

namespace kvsim::models {
namespace {

constexpr std::int64_t most_prefixes = 1'000'000;

LengthSpec lengths_of(const DatasetSpec& dataset, const SharedPrefixSpec& spec) {
  LengthSpec lengths = models::lengths_of(dataset);
  lengths.mean *= spec.scale;
  lengths.max = spec.longest;
  return lengths;
}

}  // namespace

std::string problem_with(const SharedPrefixSpec& spec) {
  if (spec.count < 1 || spec.count > most_prefixes) {
    return fmt::format("count is {}, expected 1 to {} prefixes", spec.count, most_prefixes);
  }
  if (!(spec.popularity >= 0 && spec.popularity <= kSteepestPopularity)) {
    return fmt::format("popularity is {}, expected 0 to {}", spec.popularity, kSteepestPopularity);
  }
  if (spec.datasets.empty()) {
    const std::string problem = problem_with(spec.tokens);
    return problem.empty() ? problem : "tokens: " + problem;
  }
  if (!(spec.scale > 0)) return fmt::format("scale is {}, expected above 0", spec.scale);
  for (const DatasetSpec& dataset : spec.datasets) {
    const std::string problem = problem_with(lengths_of(dataset, spec));
    if (!problem.empty()) return fmt::format("{}: {}", dataset.name, problem);
  }
  return {};
}

std::vector<PrefixKind> prefix_kinds(const SharedPrefixSpec& spec) {
  if (spec.datasets.empty()) return {{spec.tokens, 1}};
  std::vector<PrefixKind> kinds;
  for (const DatasetSpec& dataset : spec.datasets) kinds.push_back({lengths_of(dataset, spec), 0});
  double sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(spec.count); ++i) {
    const double of_prefix = zipf_weight(static_cast<double>(i + 1), spec.popularity);
    kinds[i % kinds.size()].requests += of_prefix;
    sum += of_prefix;
  }
  for (PrefixKind& kind : kinds) kind.requests /= sum;
  return kinds;
}

double mean_prefix_tokens(const SharedPrefixSpec& spec) {
  double mean = 0;
  for (const PrefixKind& kind : prefix_kinds(spec)) mean += kind.requests * LengthSampler(kind.tokens).mean();
  return mean;
}

SharedPrefixes::SharedPrefixes(const SharedPrefixSpec& spec, RandomSource& lengths, std::size_t first) : first_(first) {
  if (const std::string problem = problem_with(spec); !problem.empty()) throw schema::InputError(problem);
  std::vector<LengthSampler> samplers;
  for (PrefixKind& kind : prefix_kinds(spec)) samplers.emplace_back(std::move(kind.tokens));
  const auto count = static_cast<std::size_t>(spec.count);
  cumulative_.reserve(count);
  tokens_.reserve(count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += zipf_weight(static_cast<double>(i + 1), spec.popularity);
    cumulative_.push_back(sum);
    tokens_.push_back(samplers[i % samplers.size()].sample(lengths));
  }
}

std::size_t SharedPrefixes::draw(RandomSource& random) const {
  const double at = random.uniform() * cumulative_.back();
  const auto above = std::upper_bound(cumulative_.begin(), cumulative_.end(), at);
  // Rounding may take the product to the very end.
  return std::min(static_cast<std::size_t>(above - cumulative_.begin()), count() - 1);
}

std::vector<std::uint64_t> SharedPrefixes::blocks(std::size_t prefix, std::int64_t prompt_tokens,
                                                  std::uint64_t request) const {
  const auto total = static_cast<std::size_t>((prompt_tokens + block_tokens - 1) / block_tokens);
  const auto shared = static_cast<std::size_t>(std::min(tokens_[prefix], prompt_tokens) / block_tokens);
  std::vector<std::uint64_t> hashes(total);
  std::uint64_t hash = mixed_hash(first_ + prefix);
  for (std::size_t i = 0; i < total; ++i) {
    if (i == shared) hash ^= mixed_hash(~request);  // here the prompt becomes its own
    hashes[i] = hash = mixed_hash(hash);
  }
  return hashes;
}

}  // namespace kvsim::models
