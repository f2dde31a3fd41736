#include "models/schema/text_check.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "models/schema/error.h"

namespace kvsim::schema {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}
bool is_continuation(std::string_view text, std::size_t i) {
  return i < text.size() && (byte_at(text, i) & 0xC0U) == 0x80U;
}

/// Bytes of the well-formed UTF-8 sequence at i (RFC 3629, section 4), 0 where there is none.
std::size_t sequence_length(std::string_view text, std::size_t i) {
  const unsigned lead = byte_at(text, i);
  if (lead < 0x80U) return 1;
  const std::size_t length = lead >= 0xC2U && lead <= 0xDFU   ? 2
                             : lead >= 0xE0U && lead <= 0xEFU ? 3
                             : lead >= 0xF0U && lead <= 0xF4U ? 4
                                                              : 0;
  for (std::size_t k = 1; k < length; ++k) {
    if (!is_continuation(text, i + k)) return 0;
  }
  if (length < 3) return length;
  const unsigned second = byte_at(text, i + 1);
  const bool overlong = (lead == 0xE0U && second < 0xA0U) || (lead == 0xF0U && second < 0x90U);
  const bool surrogate = lead == 0xEDU && second > 0x9FU;
  const bool beyond = lead == 0xF4U && second > 0x8FU;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

bool is_clean(std::string_view value) {
  for (std::size_t i = 0; i < value.size();) {
    const std::size_t length = sequence_length(value, i);
    if (length == 0 || value[i] == '\0') return false;
    i += length;
  }
  return true;
}

TextPositions::TextPositions(std::string_view text) : text_(text), line_starts_{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line_starts_.push_back(i + 1);
  }
}

Origin TextPositions::origin(const Origin& source, int line, int byte_column) const {
  const auto index = std::min(static_cast<std::size_t>(std::max(line, 0)), line_starts_.size() - 1);
  const std::size_t start = line_starts_[index];
  const std::size_t end = std::min(text_.size(), start + static_cast<std::size_t>(std::max(byte_column, 0)));
  int column = 1;
  for (std::size_t i = start; i < end; ++i) column += is_continuation(text_, i) ? 0 : 1;
  return source.at(static_cast<int>(index) + 1, column);
}

void check_text(std::string_view text, const Origin& source) {
  const auto fail_at = [&](std::size_t offset, std::string_view message) {
    const TextPositions positions(text.substr(0, offset));
    const auto newline = text.substr(0, offset).rfind('\n');
    const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
    throw InputError(positions.origin(source, static_cast<int>(line), static_cast<int>(offset - start)), message);
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text, i);
    const unsigned byte = byte_at(text, i);
    if (length == 0) fail_at(i, fmt::format("the byte 0x{:02X} is not valid UTF-8; save the file as UTF-8", byte));
    const bool line_end = byte == '\n' || (byte == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
    if ((byte < 0x20U && byte != '\t' && !line_end) || byte == 0x7FU) {
      fail_at(i, fmt::format("the control character 0x{:02X} is not allowed, expected printable text", byte));
    }
    if (text.substr(i).starts_with("\xEF\xBB\xBF")) fail_at(i, "a byte order mark within the text is not allowed");
    i += length;
  }
}

}  // namespace kvsim::schema
