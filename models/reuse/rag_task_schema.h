// How a task over retrieved chunks is written in YAML.
#pragma once

#include "models/reuse/rag_task.h"
#include "models/schema/object_schema.h"

namespace kvsim::models {

const schema::ObjectSchema<RagTask>& rag_task_schema();

}  // namespace kvsim::models
