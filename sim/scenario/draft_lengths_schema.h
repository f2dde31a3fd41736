// How the choice of draft lengths is written.
#pragma once

#include "models/schema/object_schema.h"
#include "sim/serving/config.h"

namespace kvsim::scenario {

schema::ObjectSchema<serving::DraftLengthConfig> draft_lengths_schema();

}  // namespace kvsim::scenario
