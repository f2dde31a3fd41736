// Characters that are not to be seen in what is written: they drive a terminal, or turn the order of letters on a page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kvsim::schema {

/// Bytes of the character at the beginning of `text` where it is such a one: C1 (U+0080 to U+009F), overrides and
/// isolates of the direction of writing (U+202A to U+202E, U+2066 to U+2069); 0: it may be shown. Precondition: UTF-8.
[[nodiscard]] std::size_t unseen_at(std::string_view text);

/// The text with \uXXXX, which JSON and quoted YAML read alike, in place of such characters and of DEL.
[[nodiscard]] std::string with_unseen_escaped(std::string_view text);

}  // namespace kvsim::schema
