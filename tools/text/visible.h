// Words from files as they may be shown: what would drive a terminal, or turn the order of letters on a page, is not a
// letter.
#pragma once

#include <string>
#include <string_view>

namespace kvsim::text {

/// The text with U+FFFD in place of control characters (C0 but for line feeds and tabs, DEL, C1) and of the characters
/// that override or isolate the direction of writing (U+202A to U+202E, U+2066 to U+2069). Precondition: UTF-8.
[[nodiscard]] std::string visible(std::string_view text);

}  // namespace kvsim::text
