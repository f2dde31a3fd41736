#include "sim/engine/link.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/engine/link_disciplines.h"

namespace kvsim::engine {

void check_bandwidth(const std::string& link, double bytes_per_s) {
  if (!(bytes_per_s >= 0) || std::isinf(bytes_per_s)) {
    throw std::invalid_argument("link '" + link + "': bandwidth must be finite and not negative");
  }
}

void check_transfer(const Transfer& transfer) {
  KVSIM_ALWAYS(transfer.bytes >= 0, "a transfer must not be negative");
  KVSIM_ALWAYS(transfer.slowdown >= 1, "a transfer must not be faster than its link");
}

void check_bytes_conserved(const std::string& link, const LinkStatistics& statistics, std::int64_t outstanding) {
  KVSIM_ALWAYS(statistics.bytes_submitted == statistics.bytes_delivered + statistics.bytes_cancelled + outstanding,
               "link '" + link + "': bytes put on differ from bytes taken off");
}

void check_link(const LinkConfig& config) {
  check_bandwidth(config.name, config.bytes_per_s);
  if (config.bytes_per_s == 0) {
    throw std::invalid_argument("link '" + config.name + "': bandwidth must be positive at the start");
  }
  if (config.latency < Duration{} || config.setup < Duration{}) {
    throw std::invalid_argument("link '" + config.name + "': latency and setup must not be negative");
  }
}

std::unique_ptr<Link> make_link(Simulator& simulator, LinkConfig config, TraceSink* trace) {
  check_link(config);
  switch (config.discipline) {
    case LinkDiscipline::serialised:
      return make_serial_link(simulator, std::move(config), trace);
    case LinkDiscipline::priority:
      return make_priority_link(simulator, std::move(config), trace);
    case LinkDiscipline::fair_share:
      return make_fair_share_link(simulator, std::move(config), trace);
  }
  throw std::invalid_argument("link '" + config.name + "': unknown discipline");
}

}  // namespace kvsim::engine
