// Load over time as JSON. Internal to the result document.
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/serving/request_log.h"
#include "tools/results/section.h"

namespace kvsim::results {

/// The first replication's, warm-up included. Requests and bytes are of the time that `time_s` names, shares of the
/// period that ends there, means over replicas or nodes, or over the links of a name.
Json timeline_json(const serving::Timeline& t, const scenario::Scenario& scenario);

}  // namespace kvsim::results
