// The best of many candidates without looking at all of them: a tree over candidates by number whose nodes say what is
// at best below them, so that a search leaves out what cannot win (branch and bound).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <vector>

namespace kvsim::engine {

/// `Bounds` says what a candidate can be at best, has a static Bounds worst() for none, and a.take_better(b), after
/// which a is at least as good as b in everything; equal bounds say the same.
template <class Bounds>
class BoundTree {
 public:
  explicit BoundTree(std::size_t candidates)
      : first_(std::bit_ceil(std::max<std::size_t>(candidates, 1))), nodes_(2 * first_, Bounds::worst()) {}

  [[nodiscard]] const Bounds& of(std::size_t candidate) const { return nodes_[first_ + candidate]; }

  /// Takes time in proportion to the logarithm of the number of candidates, or less: as far up as bounds change.
  void set(std::size_t candidate, const Bounds& bounds) {
    std::size_t at = first_ + candidate;
    nodes_[at] = bounds;
    while (at > 1) {
      at /= 2;
      Bounds of_both = nodes_[2 * at];
      of_both.take_better(nodes_[2 * at + 1]);
      if (of_both == nodes_[at]) return;
      nodes_[at] = of_both;
    }
  }

  /// The candidate of least rank(candidate), an std::optional (nothing: not eligible), and of these the first; nothing
  /// where none is eligible. `possible(bounds)` is true of the bounds of every eligible candidate and of all better
  /// ones; `least(bounds)` is no more than the rank of any candidate with these bounds or worse ones.
  template <class Possible, class Least, class RankOf>
  [[nodiscard]] std::optional<std::size_t> best(const Possible& possible, const Least& least,
                                                const RankOf& rank) const {
    Search<Possible, Least, RankOf> search{*this, possible, least, rank, {}, {}};
    if (possible(nodes_[1])) search.descend(1);
    return search.found;
  }

 private:
  template <class Possible, class Least, class RankOf>
  struct Search {
    const BoundTree& tree;
    const Possible& possible;
    const Least& least;
    const RankOf& rank;
    std::optional<std::size_t> found;
    decltype(rank(std::size_t{})) found_rank;

    void descend(std::size_t at) {
      if (at >= tree.first_) return look_at(at - tree.first_);
      const std::size_t left = 2 * at, right = left + 1;
      const auto of_left = least(tree.nodes_[left]), of_right = least(tree.nodes_[right]);
      const bool left_first = !(of_right < of_left);
      if (left_first) descend(left, of_left);
      descend(right, of_right);
      if (!left_first) descend(left, of_left);
    }

    template <class Bound>
    void descend(std::size_t at, const Bound& bound) {
      if (possible(tree.nodes_[at]) && may_win(at, bound)) descend(at);
    }

    template <class Bound>
    [[nodiscard]] bool may_win(std::size_t at, const Bound& bound) const {
      if (!found) return true;
      return bound < *found_rank || (!(*found_rank < bound) && tree.first_below(at) < *found);
    }

    void look_at(std::size_t candidate) {
      const auto now = rank(candidate);
      if (!now) return;
      if (found && (*found_rank < *now || (!(*now < *found_rank) && *found < candidate))) return;
      found = candidate;
      found_rank = now;
    }
  };

  [[nodiscard]] std::size_t first_below(std::size_t at) const {
    while (at < first_) at *= 2;
    return at - first_;
  }

  std::size_t first_;  // place of the first candidate in nodes_; a power of two
  std::vector<Bounds> nodes_;
};

}  // namespace kvsim::engine
