// Slots of a table in order of use. A slot is in the list at most once; every operation takes constant time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvsim::pools {

class LruList {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// Adds a slot that is not in the list, as the one used last.
  void add(std::uint32_t slot) {
    if (slot >= links_.size()) links_.resize(std::size_t{slot} + 1);
    links_[slot] = {newest_, none};
    (newest_ == none ? oldest_ : links_[newest_].newer) = slot;
    newest_ = slot;
  }

  /// Takes a slot that is in the list out of it.
  void remove(std::uint32_t slot) {
    const Links at = links_[slot];
    (at.older == none ? oldest_ : links_[at.older].newer) = at.newer;
    (at.newer == none ? newest_ : links_[at.newer].older) = at.older;
  }

  /// The slot that was not used for longest; none where the list is empty.
  [[nodiscard]] std::uint32_t oldest() const { return oldest_; }
  /// The slot used next after one in the list; none for the last.
  [[nodiscard]] std::uint32_t newer(std::uint32_t slot) const { return links_[slot].newer; }

 private:
  struct Links {
    std::uint32_t older = none;
    std::uint32_t newer = none;
  };

  std::vector<Links> links_;  ///< by slot
  std::uint32_t oldest_ = none;
  std::uint32_t newest_ = none;
};

}  // namespace kvsim::pools
