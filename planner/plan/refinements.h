// What a plan for a scenario takes into account beyond bytes over peak bandwidth, each of which can be left out.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace kvsim::planner {

struct Refinements {
  bool reservations = true;  ///< KV in whole blocks, with room for drafts
  bool iterations = true;    ///< reloads are whole and take whole iterations, and the largest one always fits
  bool compute = true;       ///< arithmetic at its peak may bind, as verification does at a large B
  bool kernels = true;       ///< the profile's kernel times, launches and all-reduces in place of both
  bool lengths = true;       ///< the distribution of context lengths in place of one length
  bool outputs = true;       ///< outputs end: first loads or prefills of the next request, shorter last rounds
};

struct RefinementName {
  bool Refinements::*member;
  std::string_view name;
  std::string_view description;
};

/// In the order in which they are added to the closed form.
inline constexpr std::array<RefinementName, 6> kRefinements{{
    {&Refinements::reservations, "reservations", "KV in whole blocks, with room for drafts"},
    {&Refinements::iterations, "iterations", "reloads are whole and take whole iterations, as ADMIT places them"},
    {&Refinements::compute, "compute", "arithmetic at its peak may bind"},
    {&Refinements::kernels, "kernels", "kernel times of the profile, launches and all-reduces included"},
    {&Refinements::lengths, "lengths", "the distribution of context lengths"},
    {&Refinements::outputs, "outputs", "outputs end and requests are replaced: first loads, prefill, last rounds"},
}};

inline constexpr Refinements kNoRefinements{false, false, false, false, false, false};

inline const RefinementName* find_refinement(std::string_view name) {
  for (const RefinementName& entry : kRefinements) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace kvsim::planner
