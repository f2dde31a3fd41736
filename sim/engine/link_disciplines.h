// Internal: one maker for each link discipline. Use make_link() (link.h), which checks the configuration first.
#pragma once

#include <memory>

#include "sim/engine/link.h"

namespace kvsim::engine {

std::unique_ptr<Link> make_serial_link(Simulator& simulator, LinkConfig config, TraceSink* trace);
std::unique_ptr<Link> make_priority_link(Simulator& simulator, LinkConfig config, TraceSink* trace);
std::unique_ptr<Link> make_fair_share_link(Simulator& simulator, LinkConfig config, TraceSink* trace);

/// Throws std::invalid_argument unless 0 <= bytes_per_s < infinity.
void check_bandwidth(const std::string& link, double bytes_per_s);

/// Throws std::invalid_argument for a configuration no link can have.
void check_link(const LinkConfig& config);

/// Throws InvariantViolation for a transfer no link can carry.
void check_transfer(const Transfer& transfer);

/// submitted = delivered + cancelled + outstanding; throws InvariantViolation.
void check_bytes_conserved(const std::string& link, const LinkStatistics& statistics, std::int64_t outstanding);

}  // namespace kvsim::engine
