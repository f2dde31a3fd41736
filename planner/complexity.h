// How much there is to a scenario beside decoding with the full KV in GPU memory: of alternatives that come to the same
// and cost the same, the simpler one is chosen (tools/results/choice.h, planner/capacity).
#pragma once

#include <compare>
#include <cstdint>

#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// Neither the decode policy nor placement nor prefill can make a request's output another: full KV decides every
/// token, what is stored of prompts is stored whole, and chunks are not put together.
[[nodiscard]] bool lossless(const scenario::Scenario& scenario);

/// Whether what is stored of prompts, if anything, is stored whole.
[[nodiscard]] bool stores_whole(const scenario::Scenario& scenario);

/// The order of simplicity: what stands first counts first, and less of it is simpler.
struct Complexity {
  bool lossy = false;  ///< outputs differ from those of full-KV decoding
  /// How many of these there are: compressed KV is read, drafts are verified, an auxiliary drafter, draft lengths that
  /// adapt, KV fetched for every step, prompts that are stored, or put together from chunks, compression of what is
  /// stored, GPUs that score, pools.
  std::int64_t mechanisms = 0;
  std::int64_t tiers = 0;   ///< in which prompts are stored
  double memory_bytes = 0;  ///< of all GPUs, hosts and storage tiers with a capacity, as configured

  auto operator<=>(const Complexity&) const = default;
};

[[nodiscard]] Complexity complexity_of(const scenario::Scenario& scenario);

}  // namespace kvsim::planner
