// How a drafter is written in YAML.
#pragma once

#include "models/drafting/drafter_spec.h"
#include "models/schema/object_schema.h"

namespace kvsim::models {

const schema::ObjectSchema<DrafterSpec>& drafter_schema();

}  // namespace kvsim::models
