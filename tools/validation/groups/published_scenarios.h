// The scenarios whose figures are published, and the figures themselves: one definition for `kvsim validate` and tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "tools/validation/figure.h"

namespace kvsim::validation {

/// A scenario that the binary carries, by its path in the repository, with changes as of --set.
scenario::Scenario carried_scenario(const std::string& path, const std::vector<std::string>& overrides = {});

/// The worked example of staggered verification, scenarios/long_context/worked_example.yaml: every figure within 5 %.
std::vector<Figure> worked_example_figures();

/// scenarios/long_context/headline.yaml at this seed.
std::vector<Figure> headline_figures(std::uint64_t seed);

}  // namespace kvsim::validation
