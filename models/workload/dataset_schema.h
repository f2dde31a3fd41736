// How a data set of contexts is written in YAML.
#pragma once

#include "models/schema/object_schema.h"
#include "models/workload/dataset.h"

namespace kvsim::models {

const schema::ObjectSchema<DatasetSpec>& dataset_schema();

}  // namespace kvsim::models
