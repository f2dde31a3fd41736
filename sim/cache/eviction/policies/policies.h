// The factories that the table of eviction_policy.cpp names.
#pragma once

#include "sim/cache/eviction/eviction_policy.h"

namespace kvsim::cache {

std::unique_ptr<EvictionPolicy> make_lru(const EvictionContext& context);
std::unique_ptr<EvictionPolicy> make_lfu(const EvictionContext& context);
std::unique_ptr<EvictionPolicy> make_arc(const EvictionContext& context);
std::unique_ptr<EvictionPolicy> make_s3fifo(const EvictionContext& context);
std::unique_ptr<EvictionPolicy> make_sieve(const EvictionContext& context);
std::unique_ptr<EvictionPolicy> make_gdsf(const EvictionContext& context);
/// Throws std::invalid_argument without context.next_use.
std::unique_ptr<EvictionPolicy> make_belady(const EvictionContext& context);

}  // namespace kvsim::cache
