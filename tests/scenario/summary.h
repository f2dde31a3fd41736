// Everything a simulation measured, as text: equal texts mean equal results, bit for bit.
#pragma once

#include <string>

#include "planner/experiment.h"
#include "sim/serving/measurements.h"

namespace kvsim::testing {

std::string summary(const serving::Measurements& m);

/// With the intervals, the fall-backs and the refusals; without the wall clock.
std::string summary(const planner::ExperimentResult& result);

}  // namespace kvsim::testing
