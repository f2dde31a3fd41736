// A verification that begins while the last layers of its KV are on their way (schedule.arrival: layerwise), on
// replicas and nodes of pools alike. Layers are alike in time and bytes, and come in order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/kernels/step_time.h"
#include "sim/engine/time.h"

namespace kvsim::serving {

/// Layer j of L starts j V/L into a forward pass of length V and needs the share (j + 1)/L of the transfer. With `left`
/// of a transfer of length D to go, that holds for every layer if it holds for the first and the last: left <= D (L -
/// 1)/L and left <= V (L - 1)/L. Returns the most that may be left, seconds.
inline double most_left_s(double transfer_s, double pass_s, std::int64_t layers) {
  const auto l = static_cast<double>(layers);
  return (l - 1) / l * std::min(transfer_s, pass_s);
}

/// What a pass takes after the last bytes have arrived: its last layer.
inline engine::Duration last_layer(const models::StepTime& pass, std::int64_t layers) {
  return std::max(engine::from_seconds(pass.total_s / static_cast<double>(layers)), engine::Duration{1});
}

}  // namespace kvsim::serving
