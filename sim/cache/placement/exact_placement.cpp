#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "sim/cache/placement/placement_problem.h"

namespace kvsim::cache {

namespace {

using models::OptionIndex;

struct Choice {
  Configurations::Place place;
  std::int64_t bytes = 0;
  double utility = 0;
};

// Prices of a byte in each tier, >= 0, in s of utility.
using Prices = std::vector<double>;

double reduced(const Choice& c, const Prices& prices) {
  if (c.place.tier == kNoTier) return c.utility;
  return c.utility - prices[c.place.tier] * static_cast<double>(c.bytes);
}

class Search {
 public:
  Search(const PlacementProblem& problem, std::int64_t node_limit) : problem_(problem), node_limit_(node_limit) {
    for (const TierFacts& tier : problem.tiers) left_.push_back(tier.capacity_bytes);
    for (std::size_t i = 0; i < problem.objects.size(); ++i) choices_.push_back(choices_of(i));
    chosen_.resize(choices_.size(), 0);
    order_.resize(choices_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    best_.assign(choices_.size(), {});
    best_utility_ = total_utility(problem, best_);  // everything dropped
  }

  ExactPlacement run() {
    Prices prices(problem_.tiers.size(), 0);
    order_by_size();
    // A bound above the best by no more than rounding is no reason to go on.
    tolerance_ = 1e-12 * (1 + std::abs(best_utility_));
    visit(0, 0, prices, 300);
    ExactPlacement result;
    result.assignment = best_;
    result.utility = total_utility(problem_, best_);
    result.nodes = nodes_;
    result.proven_best = !cut_off_;
    result.bound = cut_off_ ? std::max(result.utility, open_bound_) : result.utility;
    return result;
  }

 private:
  // All places of an object but those for which another in the same tier takes no more and is worth no less.
  [[nodiscard]] std::vector<Choice> choices_of(std::size_t object) const {
    std::vector<Choice> kept{{{}, 0, place_utility(problem_, object, {})}};
    for (std::size_t t = 0; t < problem_.tiers.size(); ++t) {
      std::vector<Choice> here;
      for (std::size_t o = 0; o < problem_.pool.size(); ++o) {
        const Configurations::Place place{static_cast<TierIndex>(t), static_cast<OptionIndex>(o)};
        const std::int64_t bytes = problem_.pool.bytes(place.option, problem_.objects[object].full_bytes);
        if (bytes <= problem_.tiers[t].capacity_bytes) {
          here.push_back({place, bytes, place_utility(problem_, object, place)});
        }
      }
      std::stable_sort(here.begin(), here.end(), [](const Choice& a, const Choice& b) {
        return a.bytes < b.bytes || (a.bytes == b.bytes && a.utility > b.utility);
      });
      double most = -std::numeric_limits<double>::infinity();
      for (const Choice& c : here) {
        if (c.utility <= most) continue;
        most = c.utility;
        kept.push_back(c);
      }
    }
    return kept;
  }

  // Large objects first: what they leave decides most.
  void order_by_size() {
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return problem_.objects[a].full_bytes > problem_.objects[b].full_bytes;
    });
  }

  [[nodiscard]] bool possible(const Choice& c) const {
    return c.place.tier == kNoTier || c.bytes <= left_[c.place.tier];
  }
  void take(const Choice& c, int sign) {
    if (c.place.tier != kNoTier) left_[c.place.tier] -= sign * c.bytes;
  }

  // L(prices) = sum over objects of max(utility - price bytes) + sum over tiers of price x capacity left, for the
  // objects order_[depth..]; chosen_ holds the maxima.
  double lagrangian(std::size_t depth, const Prices& prices) {
    double value = 0;
    for (std::size_t t = 0; t < prices.size(); ++t) {
      if (prices[t] > 0) value += prices[t] * static_cast<double>(left_[t]);
    }
    for (std::size_t k = depth; k < order_.size(); ++k) {
      const auto& choices = choices_[order_[k]];
      double most = -std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < choices.size(); ++c) {
        if (!possible(choices[c])) continue;
        const double r = reduced(choices[c], prices);
        if (r <= most) continue;
        most = r;
        chosen_[order_[k]] = c;
      }
      value += most;
    }
    return value;
  }

  // Subgradient descent with Polyak's step towards the best known; keeps the best prices in `prices`. Ends early where
  // the bound is no longer worth improving.
  double tighten(std::size_t depth, double value_above, Prices& prices, int steps) {
    Prices at = prices;
    double least = std::numeric_limits<double>::infinity();
    double scale = 1;
    int idle = 0;
    for (int step = 0; step < steps; ++step) {
      const double value = value_above + lagrangian(depth, at);
      try_chosen(depth, value_above);
      if (value < least) {
        least = value;
        prices = at;
        idle = 0;
      } else if (++idle == 8) {
        scale /= 2;
        idle = 0;
      }
      if (least <= best_utility_ + tolerance_) break;
      if (!descend(depth, value - best_utility_, scale, at)) break;
    }
    return least;
  }

  // Capacity is in bytes and prices in s per byte: each tier's price is moved in units of its capacity left.
  bool descend(std::size_t depth, double gap, double scale, Prices& prices) const {
    std::vector<double> demand(prices.size(), 0);
    for (std::size_t k = depth; k < order_.size(); ++k) {
      const Choice& c = choices_[order_[k]][chosen_[order_[k]]];
      if (c.place.tier != kNoTier) demand[c.place.tier] += static_cast<double>(c.bytes);
    }
    double norm = 0;
    std::vector<double> excess(prices.size(), 0);
    for (std::size_t t = 0; t < prices.size(); ++t) {
      const double unit = std::max(1.0, static_cast<double>(left_[t]));
      excess[t] = (demand[t] - static_cast<double>(left_[t])) / unit;
      if (prices[t] <= 0 && excess[t] <= 0) excess[t] = 0;
      norm += excess[t] * excess[t];
    }
    if (norm <= 0) return false;
    for (std::size_t t = 0; t < prices.size(); ++t) {
      const double unit = std::max(1.0, static_cast<double>(left_[t]));
      prices[t] = std::max(0.0, prices[t] + scale * gap / norm * excess[t] / unit);
    }
    return true;
  }

  // The maxima themselves, where they fit.
  void try_chosen(std::size_t depth, double value_above) {
    double value = value_above;
    std::size_t k = depth;
    for (; k < order_.size(); ++k) {
      const Choice& c = choices_[order_[k]][chosen_[order_[k]]];
      if (!possible(c)) break;
      take(c, 1);
      value += c.utility;
    }
    if (k == order_.size() && value > best_utility_) accept(value);
    while (k-- > depth) take(choices_[order_[k]][chosen_[order_[k]]], -1);
  }

  void accept(double value) {
    best_utility_ = value;
    for (std::size_t i = 0; i < choices_.size(); ++i) best_[i] = choices_[i][chosen_[i]].place;
  }

  void visit(std::size_t depth, double value_above, Prices prices, int steps) {
    if (depth == order_.size()) {
      if (value_above > best_utility_) accept(value_above);
      return;
    }
    ++nodes_;
    double bound = tighten(depth, value_above, prices, steps);
    if (bound <= best_utility_ + tolerance_) return;
    if (nodes_ >= node_limit_) {
      cut_off_ = true;
      open_bound_ = std::max(open_bound_, bound);
      return;
    }
    bound = value_above + lagrangian(depth, prices);
    const std::size_t object = order_[depth];
    const auto& choices = choices_[object];
    const double most = reduced(choices[chosen_[object]], prices);
    std::vector<std::size_t> by_reduced;
    for (std::size_t c = 0; c < choices.size(); ++c) {
      if (possible(choices[c])) by_reduced.push_back(c);
    }
    std::stable_sort(by_reduced.begin(), by_reduced.end(), [&](std::size_t a, std::size_t b) {
      return reduced(choices[a], prices) > reduced(choices[b], prices);
    });
    for (const std::size_t c : by_reduced) {
      // With this choice instead of the best one, the relaxation loses the difference of their reduced utilities.
      const double bound_with = bound - (most - reduced(choices[c], prices));
      if (bound_with <= best_utility_ + tolerance_) break;
      if (cut_off_) {
        open_bound_ = std::max(open_bound_, bound_with);
        break;
      }
      take(choices[c], 1);
      chosen_[object] = c;
      visit(depth + 1, value_above + choices[c].utility, prices, 12);
      take(choices[c], -1);
    }
  }

  const PlacementProblem& problem_;
  std::int64_t node_limit_;
  std::vector<std::vector<Choice>> choices_;  // by object
  std::vector<std::size_t> order_;            // of the objects
  std::vector<std::size_t> chosen_;           // by object: of its choices
  std::vector<std::int64_t> left_;            // bytes by tier
  Assignment best_;
  double best_utility_ = 0;
  double tolerance_ = 0;
  double open_bound_ = -std::numeric_limits<double>::infinity();
  std::int64_t nodes_ = 0;
  bool cut_off_ = false;
};

}  // namespace

ExactPlacement best_placement(const PlacementProblem& problem, std::int64_t node_limit) {
  return Search(problem, node_limit).run();
}

}  // namespace kvsim::cache
