// Internal: lists of objects whose links lie in the objects' entries, so that moving one allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/cache/eviction/eviction_policy.h"
#include "sim/cache/eviction/policies/per_object.h"

namespace kvsim::cache {

/// An object is in one list at a time, of those that share the entries.
struct Links {
  ObjectId newer = kNoObject;
  ObjectId older = kNoObject;
};

struct SizedLinks : Links {
  std::int64_t bytes = 0;
};

/// From the newest to the oldest. `Node` has the members of Links.
template <class Node>
class ObjectList {
 public:
  void push_newest(PerObject<Node>& nodes, ObjectId id) {
    Node& node = nodes[id];
    node.newer = kNoObject;
    node.older = newest_;
    (newest_ == kNoObject ? oldest_ : nodes[newest_].newer) = id;
    newest_ = id;
    ++size_;
    if constexpr (kSized) bytes_ += node.bytes;
  }

  void erase(PerObject<Node>& nodes, ObjectId id) {
    const Node& node = nodes[id];
    (node.newer == kNoObject ? newest_ : nodes[node.newer].older) = node.older;
    (node.older == kNoObject ? oldest_ : nodes[node.older].newer) = node.newer;
    --size_;
    if constexpr (kSized) bytes_ -= node.bytes;
  }

  /// The oldest object that is not pinned, or kNoObject.
  [[nodiscard]] ObjectId oldest_free(const PerObject<Node>& nodes, const Pins& pins) const {
    ObjectId id = oldest_;
    while (id != kNoObject && pins(id)) id = nodes[id].newer;
    return id;
  }

  [[nodiscard]] ObjectId newest() const { return newest_; }
  [[nodiscard]] ObjectId oldest() const { return oldest_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  static constexpr bool kSized = requires(Node node) { node.bytes; };

  ObjectId newest_ = kNoObject;
  ObjectId oldest_ = kNoObject;
  std::size_t size_ = 0;
  std::int64_t bytes_ = 0;  // stays 0 where the entries hold no sizes
};

}  // namespace kvsim::cache
