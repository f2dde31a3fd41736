// Numbered things in an order, from the newest to the oldest, whose links lie in the things' own entries, so that
// moving one allocates nothing: orders of use, of blocks and of stored objects.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kvsim::engine {

/// A thing is in one order at a time, of those that share the entries.
struct OrderLinks {
  static constexpr std::uint32_t none = UINT32_MAX;
  std::uint32_t newer = none;
  std::uint32_t older = none;
};

/// `Linked` has the members of OrderLinks, and `bytes` where the order is to know their sum. `Nodes` has a Linked by
/// number.
template <class Linked>
class LinkedOrder {
 public:
  template <class Nodes>
  void push_newest(Nodes& nodes, std::uint32_t id) {
    Linked& node = nodes[id];
    node.newer = OrderLinks::none;
    node.older = newest_;
    (newest_ == OrderLinks::none ? oldest_ : nodes[newest_].newer) = id;
    newest_ = id;
    ++size_;
    if constexpr (kSized) bytes_ += node.bytes;
  }

  template <class Nodes>
  void erase(Nodes& nodes, std::uint32_t id) {
    const Linked& node = nodes[id];
    (node.newer == OrderLinks::none ? newest_ : nodes[node.newer].older) = node.older;
    (node.older == OrderLinks::none ? oldest_ : nodes[node.older].newer) = node.newer;
    --size_;
    if constexpr (kSized) bytes_ -= node.bytes;
  }

  /// The oldest one that is not pinned(id), or none.
  template <class Nodes, class Pinned>
  [[nodiscard]] std::uint32_t oldest_free(const Nodes& nodes, const Pinned& pinned) const {
    std::uint32_t id = oldest_;
    while (id != OrderLinks::none && pinned(id)) id = nodes[id].newer;
    return id;
  }

  [[nodiscard]] std::uint32_t newest() const { return newest_; }
  [[nodiscard]] std::uint32_t oldest() const { return oldest_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  static constexpr bool kSized = requires(Linked node) { node.bytes; };

  std::uint32_t newest_ = OrderLinks::none;
  std::uint32_t oldest_ = OrderLinks::none;
  std::size_t size_ = 0;
  std::int64_t bytes_ = 0;  // stays 0 where the entries hold no sizes
};

}  // namespace kvsim::engine
