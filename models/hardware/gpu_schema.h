// How a GPU is written in YAML.
#pragma once

#include "models/hardware/gpu.h"
#include "models/schema/object_schema.h"

namespace kvsim::models {

const schema::ObjectSchema<GpuSpec>& gpu_schema();

}  // namespace kvsim::models
