// Looks at the bytes of a text before a parser does. Internal to the schema layer.
#pragma once

#include <string_view>
#include <vector>

#include "models/schema/origin.h"

namespace kvsim::schema {

/// Positions of a text: from byte offsets within lines to columns in characters.
class TextPositions {
 public:
  explicit TextPositions(std::string_view text);
  /// 1-based line and column for a 0-based line and a 0-based byte offset in it.
  [[nodiscard]] Origin origin(const Origin& source, int line, int byte_column) const;

 private:
  std::string_view text_;
  std::vector<std::size_t> line_starts_;
};

/// Throws InputError at the first byte that is not valid UTF-8 (overlong forms and surrogates included) or is a control
/// character other than tab and line ends, or a byte order mark.
void check_text(std::string_view text, const Origin& source);

/// Valid UTF-8 without NUL: what a value may hold once its escapes are applied.
bool is_clean(std::string_view value);

}  // namespace kvsim::schema
