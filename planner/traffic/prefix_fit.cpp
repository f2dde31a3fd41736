// Beginnings that prompts share: how many, how popular, how long.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/traffic/traffic_fit.h"
#include "sim/engine/random.h"

namespace kvsim::planner::traffic {
namespace {

constexpr std::uint64_t kDraws = 199;
constexpr std::int64_t kMostPrefixes = 1'000'000;  // that workload.prefixes takes

/// Sum of f(weight) over ranks 1 to count; beyond the first 500 by means of f over a hundredth of the ranks before,
/// which is near as Zipf's law is smooth.
template <class F>
double over_ranks(std::int64_t count, double popularity, F&& f) {
  double sum = 0;
  for (std::int64_t k = 1; k <= count;) {
    const std::int64_t many = std::min<std::int64_t>(k < 500 ? 1 : k / 100, count - k + 1);
    const double middle = static_cast<double>(k) + static_cast<double>(many - 1) / 2;
    sum += static_cast<double>(many) * f(models::zipf_weight(middle, popularity));
    k += many;
  }
  return sum;
}

double total_weight(std::int64_t count, double popularity) {
  return over_ranks(count, popularity, [](double weight) { return weight; });
}

/// Different prefixes among n draws, expected.
double seen(std::int64_t count, double popularity, double n) {
  const double total = total_weight(count, popularity);
  return over_ranks(count, popularity,
                    [&](double weight) { return -std::expm1(n * std::log1p(-std::min(weight / total, 1 - 1e-12))); });
}

/// How many prefixes there are, so that n draws have `different` ones, expected; the most possible where they do not.
std::int64_t count_for(double popularity, double n, double different) {
  auto low = static_cast<std::int64_t>(different), high = kMostPrefixes;
  if (seen(high, popularity, n) < different) return high;
  if (seen(low, popularity, n) >= different) return low;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (seen(middle, popularity, n) < different ? low : high) = middle;
  }
  return high;
}

struct Popularity {
  std::int64_t count = 1;
  double exponent = 0;
};

/// Popularity by the draws of each different prefix, the most often drawn first: the likeliest exponent, with as many
/// prefixes as give that many different ones.
Popularity popularity_of(const std::vector<std::int64_t>& draws) {
  double n = 0;
  for (const std::int64_t d : draws) n += static_cast<double>(d);
  const auto different = static_cast<double>(draws.size());
  const auto likelihood = [&](double exponent, std::int64_t count) {
    const double total = total_weight(count, exponent);
    double sum = 0;
    for (std::size_t k = 0; k < draws.size(); ++k) {
      sum +=
          static_cast<double>(draws[k]) * std::log(models::zipf_weight(static_cast<double>(k + 1), exponent) / total);
    }
    return sum;
  };
  Popularity best;
  double most = -INFINITY;
  double low = 0, high = 3;
  for (int round = 0; round < 3; ++round) {
    constexpr int kSteps = 10;
    const double step = (high - low) / kSteps;
    for (int i = 0; i <= kSteps; ++i) {
      const double exponent = low + step * i;
      const std::int64_t count = count_for(exponent, n, different);
      const double here = likelihood(exponent, count);
      if (here <= most) continue;
      most = here;
      best = {count, exponent};
    }
    low = std::max(best.exponent - step, 0.0);
    high = best.exponent + step;
  }
  best.exponent = std::round(best.exponent * 1000) / 1000;
  return best;
}

/// Expected of n requests of a law, once lengths of prefixes are drawn.
struct DrawnLaw {
  double token_reuse = 0;
  double prompt_mean = 0;
  double prompt_cv = 0;
};

class Draws {
 public:
  Draws(const models::SharedPrefixSpec& law, const models::LengthSpec& own, double n, std::int64_t block_tokens)
      : law_(law), own_(drawn_by(own)), n_(n), block_tokens_(block_tokens) {
    const double total = total_weight(law.count, law.popularity);
    const std::int64_t drawn = std::min(law.count, kDrawnOneByOne);
    double rest = 1, reused = n - seen(law.count, law.popularity, n);
    for (std::int64_t k = 1; k <= drawn; ++k) {
      const double p = models::zipf_weight(static_cast<double>(k), law.popularity) / total;
      chances_.push_back(p);
      again_.push_back(n * p + std::expm1(n * std::log1p(-std::min(p, 1 - 1e-12))));
      rest -= p;
      reused -= again_.back();
    }
    rest_ = std::max(rest, 0.0);
    rest_again_ = drawn < law.count ? std::max(reused, 0.0) : 0;
  }

  [[nodiscard]] DrawnLaw draw(std::uint64_t seed) const {
    const models::LengthSampler sampler(law_.tokens);
    models::RandomSourceOf<engine::RandomStream> random(engine::RandomStream(seed, "fit prefix lengths"));
    const Drawn tokens = drawn_by(law_.tokens);
    // Those that hardly anybody has, together.
    double mean = rest_ * tokens.mean;
    double square = rest_ * tokens.mean * tokens.mean * (1 + tokens.cv * tokens.cv);
    double reused = rest_again_ * std::max(tokens.mean - static_cast<double>(block_tokens_) / 2, 0.0);
    for (std::size_t k = 0; k < chances_.size(); ++k) {
      const std::int64_t length = sampler.sample(random);
      const auto t = static_cast<double>(length);
      mean += chances_[k] * t;
      square += chances_[k] * t * t;
      reused += again_[k] * static_cast<double>(length / block_tokens_ * block_tokens_);
    }
    const double own_square = own_.mean * own_.mean * (1 + own_.cv * own_.cv);
    const double prompt = mean + own_.mean, prompt_square = square + 2 * mean * own_.mean + own_square;
    return {reused / (n_ * prompt), prompt, std::sqrt(std::max(prompt_square - prompt * prompt, 0.0)) / prompt};
  }

 private:
  static constexpr std::int64_t kDrawnOneByOne = 10'000;

  models::SharedPrefixSpec law_;
  Drawn own_;
  double n_;
  std::int64_t block_tokens_;
  std::vector<double> chances_, again_;  // of each prefix: to be drawn; expected draws after the first
  double rest_ = 0, rest_again_ = 0;     // the same of all others
};

/// `chance`: what n requests vary by beside, relative, at 99 %.
Estimate range_of(const std::vector<DrawnLaw>& draws, double DrawnLaw::*figure, double chance) {
  std::vector<double> values;
  for (const DrawnLaw& draw : draws) values.push_back(draw.*figure);
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front() * (1 - chance), values.back() * (1 + chance)};
}

}  // namespace

std::optional<PrefixFit> fit_prefixes(const TrafficSample& sample) {
  const std::vector<TrafficSample::Beginning> beginnings = sample.shared_beginnings();
  std::unordered_map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> groups;  // requests, tokens
  std::int64_t alone = 0;
  for (const auto& b : beginnings) {
    if (b.tokens == 0) {
      ++alone;
    } else {
      ++groups.try_emplace(b.block, 0, b.tokens).first->second.first;
    }
  }
  if (groups.empty()) return std::nullopt;
  std::vector<std::pair<std::int64_t, std::int64_t>> by_use;
  by_use.reserve(groups.size());
  for (const auto& [block, group] : groups) by_use.push_back(group);
  std::sort(by_use.begin(), by_use.end(), std::greater<>());

  PrefixFit fit;
  std::vector<std::int64_t> draws;
  std::vector<std::int32_t> lengths, own;
  // A beginning is known in whole blocks: it ends half of one later, on average.
  const std::int64_t rest = sample.block_tokens() / 2;
  for (const auto& [requests, tokens] : by_use) {
    draws.push_back(requests);
    // The law's lengths do not depend on popularity: as requests have them, so that their mean stays.
    lengths.insert(lengths.end(), static_cast<std::size_t>(requests),
                   static_cast<std::int32_t>(std::min(tokens + rest, models::max_request_tokens)));
  }
  draws.insert(draws.end(), static_cast<std::size_t>(alone), 1);
  // Those that are alone begin with a prefix, too, in the law: one of the mean length.
  const std::int64_t mean =
      std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) / static_cast<std::int64_t>(lengths.size());
  for (std::size_t i = 0; i < beginnings.size(); ++i) {
    const std::int64_t shared = beginnings[i].tokens > 0 ? beginnings[i].tokens + rest : mean;
    own.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(sample.prompts()[i] - shared, 1)));
  }
  const Popularity popularity = popularity_of(draws);
  fit.law.count = popularity.count;
  fit.law.popularity = popularity.exponent;
  fit.law.tokens = fit_lengths(lengths).law;
  fit.own = fit_lengths(own);
  fit.token_reuse = sample.statistics().token_reuse;
  const auto n = static_cast<double>(beginnings.size());
  const Draws law(fit.law, fit.own.law, n, sample.block_tokens());
  std::vector<DrawnLaw> draws_of_law;
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) draws_of_law.push_back(law.draw(seed));
  const Moments whole = moments_of(std::vector<std::int64_t>(sample.prompts().begin(), sample.prompts().end()));
  const auto chance = [](const Estimate& e) { return e.value > 0 ? (e.high - e.value) / e.value : 0; };
  fit.law_token_reuse = range_of(draws_of_law, &DrawnLaw::token_reuse, chance(whole.mean));
  fit.law_prompt_mean = range_of(draws_of_law, &DrawnLaw::prompt_mean, chance(whole.mean));
  fit.law_prompt_cv = range_of(draws_of_law, &DrawnLaw::prompt_cv, chance(whole.cv));
  return fit;
}

}  // namespace kvsim::planner::traffic
