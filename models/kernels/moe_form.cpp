#include "models/kernels/moe_form.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kvsim::models {
namespace {

double experts_here(const ExpertLayer& layer) {
  return layer.experts / layer.expert_parallel;
}

/// A generator that gives the same numbers everywhere (SplitMix64).
class Draws {
 public:
  double next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    constexpr double kUnit = 0x1p-53;
    return static_cast<double>((z ^ (z >> 31U)) >> 11U) * kUnit;
  }

 private:
  std::uint64_t state_ = 0;
};

/// Groups of like numbers, from all numbers of `draws` draws.
std::vector<ExpertGroup> grouped(std::vector<double> tokens, double draws) {
  constexpr std::size_t kGroups = 8;
  tokens.erase(std::remove_if(tokens.begin(), tokens.end(), [](double n) { return n <= 0; }), tokens.end());
  std::sort(tokens.begin(), tokens.end());
  std::vector<ExpertGroup> groups;
  for (std::size_t i = 0; i < kGroups; ++i) {
    const std::size_t from = tokens.size() * i / kGroups;
    const std::size_t to = tokens.size() * (i + 1) / kGroups;
    if (from == to) continue;
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = tokens.begin() + static_cast<std::ptrdiff_t>(to);
    const auto count = static_cast<double>(to - from);
    groups.push_back({count / draws, std::accumulate(first, last, 0.0) / count});
  }
  return groups;
}

/// Adds whole tokens one by one to the expert that has fewest, or takes them from the one that has most (amount < 0).
void level(std::vector<double>& tokens, double amount) {
  std::sort(tokens.begin(), tokens.end());
  if (amount < 0) std::reverse(tokens.begin(), tokens.end());
  const double sign = amount < 0 ? -1 : 1;
  double left = std::abs(amount);
  for (std::size_t i = 1; left > 0 && i <= tokens.size(); ++i) {  // the first i are alike: up (down) to the next
    const auto alike = static_cast<double>(i);
    const double step = i < tokens.size() ? std::abs(tokens[i] - tokens[0]) : left;
    const double each = std::min(step, std::floor(left / alike));
    for (std::size_t j = 0; j < i; ++j) tokens[j] += sign * each;
    left -= each * alike;
    if (each >= step && i < tokens.size()) continue;
    for (std::size_t j = 0; j < i && left > 0; ++j, --left) tokens[j] += sign;
    return;
  }
}

}  // namespace

std::vector<ExpertGroup> routed_evenly(const ExpertLayer& layer, double tokens) {
  const double pairs = tokens * layer.top_k / layer.expert_parallel;
  const double reached = std::min(std::max(pairs, 1.0), experts_here(layer));
  return {{reached, std::max(pairs / reached, 1.0)}};
}

std::vector<ExpertGroup> routed_at_random(const ExpertLayer& layer, double tokens) {
  const double here = experts_here(layer);
  const double reached = here * (1 - std::pow(1 - layer.top_k / layer.experts, tokens));
  const double mean = std::max(tokens * layer.top_k / layer.expert_parallel / reached, 1.0);
  // Gauss-Hermite: exact for mean and variance; of few tokens only those beyond an expert's first vary.
  const double apart = std::sqrt(3 * (mean - 1));
  if (apart >= mean - 1) return {{reached, mean}};
  return {{reached / 6, mean - apart}, {reached * 2 / 3, mean}, {reached / 6, mean + apart}};
}

double largest_of_normal(std::int64_t n) {
  if (n <= 1) return 0;
  // E max = integral of (1 - F^n) over x > 0 - integral of F^n over x < 0, F the distribution of one.
  constexpr double kFar = 8, kStep = 1.0 / 64;
  constexpr auto kSteps = static_cast<int>(kFar / kStep);
  const auto below = [n](double x) { return std::pow(0.5 * std::erfc(-x / std::sqrt(2.0)), static_cast<double>(n)); };
  double sum = (1 - 2 * below(0)) / 2;
  for (int i = 1; i <= kSteps; ++i) sum += 1 - below(i * kStep) - below(-i * kStep);
  return sum * kStep;
}

std::vector<ExpertGroup> routed_at_random_to_fullest(const ExpertLayer& layer, double tokens, double imbalance) {
  const double share = 1 / layer.expert_parallel;
  const double unlike = layer.experts > 1 ? (layer.experts - layer.top_k) / (layer.experts - 1) : 0;
  const double mean = tokens * layer.top_k * share;
  const double deviation = std::sqrt(mean * (1 - share) * unlike);
  const double beyond = largest_of_normal(std::llround(layer.expert_parallel)) * deviation / mean;
  return routed_at_random(layer, tokens * (1 + beyond) * imbalance);
}

std::vector<ExpertGroup> routed_by_power_law(const ExpertLayer& layer, double tokens, double alpha) {
  constexpr int kDraws = 10;
  const auto here = static_cast<std::size_t>(experts_here(layer));
  const auto gpus = static_cast<std::size_t>(layer.expert_parallel);
  const double pairs = tokens * layer.top_k;
  const bool many = pairs > layer.experts;
  const double low = std::pow(many ? 1 : 0.01, 1 - alpha);
  const double high = std::pow(many ? std::max(tokens * 0.8, 1.0) : 2, 1 - alpha);
  Draws draws;
  std::vector<double> all;
  for (int n = 0; n < kDraws; ++n) {
    std::vector<double> counts(here * gpus);
    for (double& x : counts) x = std::pow((high - low) * draws.next() + low, 1 / (1 - alpha));
    const double scale = pairs / std::accumulate(counts.begin(), counts.end(), 0.0);
    double left = pairs;
    for (double& x : counts) left -= x = std::min(std::round(x * scale), tokens);
    std::vector<double> fullest;
    double most = -1;
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      std::vector<double> own(counts.begin() + static_cast<std::ptrdiff_t>(gpu * here),
                              counts.begin() + static_cast<std::ptrdiff_t>((gpu + 1) * here));
      const double share = std::round(left / static_cast<double>(gpus - gpu));
      left -= share;
      level(own, share);
      const double load = std::accumulate(own.begin(), own.end(), 0.0);
      if (load <= most) continue;
      most = load;
      fullest = std::move(own);
    }
    all.insert(all.end(), fullest.begin(), fullest.end());
  }
  return grouped(std::move(all), kDraws);
}

double MoeCall::reached() const {
  return std::accumulate(routed.begin(), routed.end(), 0.0,
                         [](double sum, const ExpertGroup& g) { return sum + g.experts; });
}

double MoeCall::pairs() const {
  return std::accumulate(routed.begin(), routed.end(), 0.0,
                         [](double sum, const ExpertGroup& g) { return sum + g.experts * g.tokens; });
}

FormTime MoeForm::time(const MoeCall& call, const Machine& machine, bool warm) const {
  constexpr double kBf16Bytes = 2;  // of activations
  const ExpertLayer& layer = call.layer;
  const double inner = layer.intermediate / layer.tensor_parallel;
  const double first = layer.gated ? 2 : 1;  // matrices before the activation
  const double pairs = call.pairs();
  const double bytes = call.reached() * (first + 1) * layer.hidden * inner * bytes_per_element(weights);
  const double memory_s = stream.seconds(bytes, machine, !warm);
  const double rate = machine.flops_per_s(weights) / machine.multiprocessors;
  const auto product_s = [&](const GemmTile& tile, double row_tiles, double n, double k) {
    const double even = row_tiles * std::ceil(n / tile.columns) / machine.multiprocessors;
    const double waves = even + wave_quantisation * (std::ceil(even) - even);
    return waves * 2 * tile.rows * tile.columns * (k + tile_overhead_k) / (tile.efficiency * rate);
  };
  double compute_s = std::numeric_limits<double>::infinity();
  for (const GemmTile& tile : tiles) {
    double row_tiles = 0;
    for (const ExpertGroup& group : call.routed) row_tiles += group.experts * std::ceil(group.tokens / tile.rows);
    compute_s = std::min(compute_s, product_s(tile, row_tiles, first * inner, layer.hidden) +
                                        product_s(tile, row_tiles, layer.hidden, inner));
  }
  // In and out: the hidden states; of every pair, both sides of the activation twice and the output twice.
  const double moved = pairs + foreign_share * std::max(call.tokens * layer.top_k - pairs, 0.0);
  const double activations =
      kBf16Bytes * (2 * call.tokens * layer.hidden + moved * (2 * (first + 1) * inner + 2 * layer.hidden));
  const double io_s = activations / (io_efficiency * machine.memory_bytes_per_s);
  const double fixed_s = t0_s + per_expert_s * experts_here(layer) + per_doubling_s * std::log2(1 + call.tokens);
  return {fixed_s + blend(memory_s, compute_s, blend_power) + io_s, memory_s >= compute_s};
}

}  // namespace kvsim::models
