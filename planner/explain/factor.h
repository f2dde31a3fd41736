// What an explanation changes of a scenario, one thing at a time.
#pragma once

#include <array>
#include <string_view>

#include "sim/scenario/scenario.h"

namespace kvsim::planner {

enum class Factor {
  hbm_bandwidth,   ///< peak bandwidth of GPU memory
  hbm_capacity,    ///< GPU memory
  link_bandwidth,  ///< host link, both directions
  compute,         ///< peak arithmetic rates, bf16 and fp8
  agreement,       ///< of drafted tokens: the survival S(i) of a draft becomes S(i)^(1/f), so -ln a is divided by f
  context          ///< prompt tokens
};

struct FactorName {
  Factor factor;
  std::string_view key;   ///< in documents
  std::string_view name;  ///< in prose
  std::string_view description;
  bool of_machine;      ///< a resource that binds and that can be bought
  bool has_elasticity;  ///< more of it is better
};

inline constexpr std::array<FactorName, 6> kFactors{{
    {Factor::hbm_bandwidth, "hbm_bandwidth", "HBM bandwidth", "peak bandwidth of GPU memory", true, true},
    {Factor::hbm_capacity, "hbm_capacity", "HBM capacity", "GPU memory", true, true},
    {Factor::link_bandwidth, "link_bandwidth", "link bandwidth", "host link, both directions", true, true},
    {Factor::compute, "compute", "compute", "peak arithmetic rates", true, true},
    {Factor::agreement, "agreement", "agreement", "-ln a of drafted tokens is divided by the factor", false, true},
    {Factor::context, "context", "context length", "prompt tokens of every request", false, false},
}};

[[nodiscard]] const FactorName& name_of(Factor factor);

/// The scenario with `by` (> 0) times as much of it. Machines change as datasheets do: the kernel profile stays, and
/// its forms scale with the peaks. On a GPU of another architecture than the profile's, fixed kernel times scale with
/// memory bandwidth too (models/kernels/profile.h, machine_for), which counts as HBM bandwidth here.
[[nodiscard]] scenario::Scenario scaled(const scenario::Scenario& scenario, Factor factor, double by);

}  // namespace kvsim::planner
