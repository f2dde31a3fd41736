// On which machines, and up to which batch, decoding a speculative token beside each token is nearly free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/kernels/two_tokens.h"
#include "planner/plan/traffic.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// A second token that costs less than this share of a step counts as free.
inline constexpr double kFreeShare = 0.05;
/// No larger batch is looked at.
inline constexpr std::int64_t kLargestBatch = 1 << 16;

struct TwoTokenMachine {
  std::string gpu;
  models::TwoTokenBatches not_free;  ///< at which batches the second token costs kFreeShare, up to kLargestBatch
  std::int64_t fits = 0;             ///< batch by memory
  double cost_at_fits = 0;           ///< T(2 tokens) / T(1 token) - 1 at that batch
};

/// Every GPU of the catalogue that holds the model and one request, with the scenario's tensor_parallel and its own
/// profile and links, at the traffic's average context; by name. Precondition: the scenario's policy keeps a low-bit
/// copy.
[[nodiscard]] std::vector<TwoTokenMachine> two_token_machines(const scenario::Scenario& scenario,
                                                              const Traffic& traffic,
                                                              const models::Catalogue& catalogue);

}  // namespace kvsim::planner
