// When each object is used next, for the policy that knows the future (Belady).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "models/workload/request_spec.h"

namespace kvsim::cache {

class FutureUses {
 public:
  /// Adds the next request of the workload, in order of arrival. `keys`: what it uses.
  void add(std::uint64_t request, const std::vector<std::uint64_t>& keys);

  /// The first request after `request` that uses the object; UINT64_MAX: none.
  [[nodiscard]] std::uint64_t next(std::uint64_t key, std::uint64_t request) const;

 private:
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> uses_;  ///< requests by key, ascending
};

}  // namespace kvsim::cache
