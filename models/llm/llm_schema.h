// How a language model's architecture is written in YAML.
#pragma once

#include "models/llm/llm_spec.h"
#include "models/schema/object_schema.h"

namespace kvsim::models {

const schema::ObjectSchema<LlmSpec>& llm_schema();

}  // namespace kvsim::models
