// How a kernel profile is written in YAML, and the physics it must respect: efficiencies in (0, 1.05], no negative
// times, tables that ascend. A profile that breaks this is refused at the offending figure.
#pragma once

#include "models/kernels/profile.h"
#include "models/schema/object_schema.h"

namespace kvsim::models {

const schema::ObjectSchema<KernelProfile>& profile_schema();

}  // namespace kvsim::models
