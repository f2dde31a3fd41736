// How a link or storage device is written in YAML.
#pragma once

#include "models/hardware/link_spec.h"
#include "models/schema/object_schema.h"

namespace kvsim::models {

const schema::ObjectSchema<LinkSpec>& link_schema();

}  // namespace kvsim::models
