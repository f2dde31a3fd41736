#include "models/drafting/drafter_spec.h"

#include <algorithm>
#include <cmath>

namespace kvsim::models {

std::int64_t DrafterSpec::own_weight_bytes() const {
  if (!shares_head) return network.weight_bytes();
  const auto head = static_cast<double>(network.vocabulary * network.hidden);
  return network.weight_bytes() - std::llround(head * network.weight_bytes_per_parameter);
}

bool DrafterSpec::drafts_for(const std::string& target) const {
  return targets.empty() || std::find(targets.begin(), targets.end(), target) != targets.end();
}

}  // namespace kvsim::models
