// How a KV compressor is written in YAML.
#pragma once

#include "models/compression/compressor_spec.h"
#include "models/schema/object_schema.h"

namespace kvsim::models {

const schema::ObjectSchema<CompressorSpec>& compressor_schema();

}  // namespace kvsim::models
