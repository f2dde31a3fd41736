#include "models/workload/latency_curve.h"

#include <algorithm>
#include <iterator>

#include "models/workload/stack_distances.h"

namespace kvsim::models {

std::int64_t LatencyCurve::found_tokens(std::uint64_t capacity) const {
  const auto above = std::upper_bound(steps.begin(), steps.end(), capacity,
                                      [](std::uint64_t blocks, const Step& s) { return blocks < s.capacity; });
  return above == steps.begin() ? 0 : std::prev(above)->found_tokens;
}

double LatencyCurve::mean_ttft_s(std::uint64_t capacity, const PromptTimes& times) const {
  if (requests == 0) return 0;
  const std::int64_t found = found_tokens(capacity);
  const double seconds =
      static_cast<double>(found) * times.load_s + static_cast<double>(prompt_tokens - found) * times.prefill_s;
  return seconds / static_cast<double>(requests);
}

LatencyCurve latency_curve(std::span<const RequestSpec> requests, std::int64_t block_tokens) {
  LatencyCurve curve;
  StackDistances stack(block_count(requests));
  // A token's time is the same in every request, so the sum over requests needs only the sum of tokens: what each
  // capacity finds that the one before did not.
  std::vector<std::int64_t> more_tokens_at;
  for (const RequestSpec& r : requests) {
    curve.requests += 1;
    curve.prompt_tokens += r.prompt_tokens;
    std::uint64_t needed = 0;  // the capacity that holds this block and all before it
    std::int64_t left = r.prompt_tokens;
    for (const std::uint64_t distance : stack.next(r)) {
      if (distance == kNeverUsed || left == 0) break;
      needed = std::max(needed, distance);
      if (more_tokens_at.size() <= needed) more_tokens_at.resize(needed + 1, 0);
      const std::int64_t tokens = std::min(block_tokens, left);
      more_tokens_at[needed] += tokens;
      left -= tokens;
    }
  }
  std::int64_t found = 0;
  for (std::size_t capacity = 1; capacity < more_tokens_at.size(); ++capacity) {
    if (more_tokens_at[capacity] == 0) continue;
    found += more_tokens_at[capacity];
    curve.steps.push_back({capacity, found});
  }
  return curve;
}

}  // namespace kvsim::models
