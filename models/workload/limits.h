// Bounds that every workload obeys, whoever made it. They keep nonsense (a byte count read as a token count) out.
#pragma once

#include <cstdint>

namespace kvsim::models {

inline constexpr std::int64_t max_request_tokens = 10'000'000;
/// A hundred years: keeps sums of arrival times far from the end of the nanosecond clock.
inline constexpr std::int64_t max_arrival_ns = 3'155'760'000LL * 1'000'000'000LL;
/// Of Zipf exponents: beyond it, all requests ask for the same thing.
inline constexpr double kSteepestPopularity = 10;

}  // namespace kvsim::models
