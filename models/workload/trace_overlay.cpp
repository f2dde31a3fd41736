#include "models/workload/trace_overlay.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "models/schema/error.h"
#include "models/workload/distributions.h"
#include "models/workload/shared_prefixes.h"

namespace kvsim::models {

std::vector<RequestSpec> overlaid(const std::vector<TracePart>& parts) {
  std::vector<RequestSpec> all;
  std::size_t total = 0;
  for (const TracePart& part : parts) total += part.requests->size();
  all.reserve(total);
  std::int64_t sessions = 0;
  for (const TracePart& part : parts) {
    std::int64_t own = 0;
    for (const RequestSpec& r : *part.requests) {
      if (r.arrival_ns > max_arrival_ns - part.later_ns) {
        throw schema::InputError("overlaid so late, the trace lasts beyond a hundred years: expected an earlier time");
      }
      RequestSpec& added = all.emplace_back(r);
      added.arrival_ns += part.later_ns;
      if (part.prompts > 0) {
        for (std::uint64_t& block : added.prefix_blocks) block = mixed_hash(block + mixed_hash(part.prompts));
      }
      if (r.session < 0) continue;
      own = std::max(own, std::int64_t{r.session} + 1);
      if (sessions + own > std::numeric_limits<std::int32_t>::max()) {
        throw schema::InputError("overlaid traces have more than 2,147,483,647 sessions, expected fewer");
      }
      added.session += static_cast<std::int32_t>(sessions);
      if (r.parent >= 0) added.parent += static_cast<std::int32_t>(sessions);
    }
    sessions += own;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const RequestSpec& a, const RequestSpec& b) { return a.arrival_ns < b.arrival_ns; });
  std::uint64_t id = 0;
  for (RequestSpec& r : all) r.id = id++;
  return all;
}

}  // namespace kvsim::models
