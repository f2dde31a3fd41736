#include "sim/cache/future_uses.h"

#include <algorithm>

namespace kvsim::cache {

void FutureUses::add(std::uint64_t request, const std::vector<std::uint64_t>& keys) {
  for (const std::uint64_t key : keys) uses_[key].push_back(request);
}

std::uint64_t FutureUses::next(std::uint64_t key, std::uint64_t request) const {
  const auto uses = uses_.find(key);
  if (uses == uses_.end()) return UINT64_MAX;
  const auto at = std::upper_bound(uses->second.begin(), uses->second.end(), request);
  return at == uses->second.end() ? UINT64_MAX : *at;
}

}  // namespace kvsim::cache
