// How times in which links are slower, or stand still, are written.
#pragma once

#include <vector>

#include "models/schema/object_schema.h"
#include "sim/serving/config.h"

namespace kvsim::scenario {

schema::ObjectSchema<serving::Outage> outage_schema();

/// Reports an outage that begins before another one of the list is over; the list is the field "outages".
void check_outages(const std::vector<serving::Outage>& outages, const schema::Reporter& report);

}  // namespace kvsim::scenario
