// How the law of accepted lengths is written in YAML.
#pragma once

#include "models/acceptance/acceptance.h"
#include "models/schema/object_schema.h"

namespace kvsim::models {

const schema::ObjectSchema<AcceptanceSpec>& acceptance_schema();

}  // namespace kvsim::models
