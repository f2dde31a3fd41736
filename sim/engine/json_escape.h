// Internal: text as the inside of a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace kvsim::engine {

/// Appends `text` escaped. Bytes that are not UTF-8 become U+FFFD, since JSON knows no others.
void append_json_escaped(std::string& to, std::string_view text);

}  // namespace kvsim::engine
