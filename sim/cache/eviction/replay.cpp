#include "sim/cache/eviction/replay.h"

#include <algorithm>
#include <stdexcept>

#include "sim/cache/eviction/replayed_cache.h"

namespace kvsim::cache {
namespace {

void check(const ObjectTrace& trace) {
  const auto too_high = [&trace](ObjectId id) { return id >= trace.objects; };
  if (std::any_of(trace.uses.begin(), trace.uses.end(), too_high)) {
    throw std::invalid_argument("replay: an object's id is not below their number");
  }
  const auto negative = [](std::int64_t bytes) { return bytes < 0; };
  if (!trace.bytes.empty() &&
      (trace.bytes.size() != trace.objects || std::any_of(trace.bytes.begin(), trace.bytes.end(), negative))) {
    throw std::invalid_argument("replay: sizes must be one for each object, and not negative");
  }
}

/// For each use, the position of the next one of the same object.
std::vector<std::uint64_t> next_uses(const ObjectTrace& trace) {
  std::vector<std::uint64_t> next(trace.uses.size()), first(trace.objects, UINT64_MAX);
  for (std::size_t i = trace.uses.size(); i-- > 0;) {
    next[i] = first[trace.uses[i]];
    first[trace.uses[i]] = i;
  }
  return next;
}

}  // namespace

ReplayResult replay(const EvictionPolicyEntry& policy, std::int64_t capacity_bytes, const ObjectTrace& trace) {
  check(trace);
  EvictionContext context{capacity_bytes};
  std::size_t now = 0;
  std::vector<std::uint64_t> next;
  if (policy.needs_future) {
    next = next_uses(trace);
    context.next_use = [&](ObjectId) { return next[now]; };  // asked about the object of this very use
  }
  ReplayedCache cache(policy.make(context), capacity_bytes, trace.objects,
                      trace.bytes.empty() ? nullptr : trace.bytes.data());
  ReplayResult result;
  result.requests = trace.uses.size();
  for (; now < trace.uses.size(); ++now) {
    const ObjectId id = trace.uses[now];
    const std::int64_t bytes = cache.bytes(id);
    result.bytes += bytes;
    if (cache.contains(id)) {
      result.hits += 1;
      result.byte_hits += bytes;
      cache.hit(id);
    } else {
      cache.miss(id);
    }
  }
  return result;
}

}  // namespace kvsim::cache
