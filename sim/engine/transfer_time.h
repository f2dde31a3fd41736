// How long a number of bytes takes, in whole nanoseconds: every link asks here, so that all round alike.
#pragma once

#include "sim/engine/time.h"

namespace kvsim::engine {

/// The fewest whole nanoseconds n with n * bytes_per_s >= bytes * 1e9, the products compared exactly (for operands
/// below 2^53): no transfer ends earlier than it could, nor a nanosecond late because of rounding. 0 for bytes <= 0 or
/// an infinite bandwidth. `forever` when the bytes will not be across within a century (a link that is down).
Duration transfer_time(double bytes, double bytes_per_s);

/// transfer_time() never returns longer than this, except for `forever`.
constexpr Duration longest_transfer{4'000'000'000'000'000'000};
constexpr Duration forever{std::numeric_limits<std::int64_t>::max()};

/// A remainder that went through floating point is taken as moved when less than this is left: under a hundredth of a
/// bit. Without it, a split transfer would end a nanosecond later than a whole one.
constexpr double negligible_bytes = 1.0 / 1024;

}  // namespace kvsim::engine
