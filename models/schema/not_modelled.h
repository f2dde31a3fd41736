// What people look for in a scenario and kvsim has not.
#pragma once

#include <string_view>

namespace kvsim::schema {

/// Where the list is, for the end of a message.
inline constexpr std::string_view kWhereNotModelled =
    "docs/overview.md lists what is not modelled, and what to use instead";

/// Whether a word that is no key of a map is on the list of docs/overview.md: "disaggregated", "lora". Case, `_` and
/// `-` do not matter.
[[nodiscard]] bool is_not_modelled(std::string_view word);

}  // namespace kvsim::schema
