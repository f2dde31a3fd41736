// How placement is written in YAML.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/placement/placement_spec.h"
#include "models/schema/object_schema.h"

namespace kvsim::models {

/// The policies that read keys of their own.
inline constexpr std::string_view utility_policy = "utility";
inline constexpr std::string_view importance_policy = "importance_chunks";
inline constexpr std::string_view no_store_policy = "none";

/// The compressors that stand for `options.methods` where a scenario leaves it out; looking them up is the scenario's.
inline constexpr std::array<const char*, 3> default_option_methods{"kvzip", "knorm", "snapkv"};

/// Puts the default methods where none are given; `find` looks a compressor up by its name.
void complete_methods(OptionsSpec& options, const std::function<CompressorSpec(const char*)>& find);

/// `policies` are the words of `policy`: who decides what an overflowing tier does is not known here. Without
/// `options.methods` the list is empty: see complete_methods.
schema::ObjectSchema<PlacementSpec> placement_schema(std::vector<schema::Word> policies);

/// A key of placement that a policy does not look at, and what to do instead.
struct ForeignKey {
  std::string_view key;
  std::string_view instead;
};

/// The keys that are refused with a policy where they are written; a scenario that is written out whole leaves them
/// out.
[[nodiscard]] std::vector<ForeignKey> foreign_keys(std::string_view policy);

}  // namespace kvsim::models
