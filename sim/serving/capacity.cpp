#include "sim/serving/capacity.h"

#include <algorithm>
#include <cmath>

namespace kvsim::serving {

std::int64_t kv_capacity_bytes(const ServingConfig& config, const KvGeometry& geometry) {
  const ClusterConfig& c = config.cluster;
  const double per_gpu = static_cast<double>(c.gpu.memory_bytes.value) * c.memory_fraction;
  const std::int64_t usable = c.tensor_parallel * (std::llround(std::floor(per_gpu)) - c.activation_bytes);
  const std::int64_t bytes = usable - config.model.weight_bytes();
  return bytes < 0 ? bytes : bytes / geometry.block_bytes() * geometry.block_bytes();
}

std::int64_t draft_limit(const DecodeConfig& decode) {
  const std::int64_t longest =
      decode.adaptive.enabled ? std::max(decode.draft_length, decode.adaptive.maximum) : decode.draft_length;
  return decode.draft_limit > 0 ? std::max(decode.draft_limit, longest) : 2 * longest;
}

}  // namespace kvsim::serving
