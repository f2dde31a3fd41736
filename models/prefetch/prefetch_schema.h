// How prefetching and attention profiles are written in YAML.
#pragma once

#include "models/prefetch/prefetch_spec.h"
#include "models/schema/object_schema.h"

namespace kvsim::models {

/// The catalogue entry that stands for `attention` where a scenario leaves it out; looking it up is the scenario's.
inline constexpr const char* default_attention_profile = "specache-published";

const schema::ObjectSchema<AttentionProfile>& attention_profile_schema();

/// Without `attention` the profile is empty.
const schema::ObjectSchema<PrefetchSpec>& prefetch_schema();

}  // namespace kvsim::models
