#include "tools/text/visible.h"

#include <algorithm>

namespace kvsim::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_control(unsigned char byte) {
  constexpr unsigned char space = 0x20, del = 0x7F;
  return (byte < space && byte != '\n' && byte != '\t') || byte == del;
}

/// Bytes that a character takes which is not to be shown and is longer than one: C1 as C2 80 to C2 9F, directions as
/// E2 80 AA to E2 80 AE and E2 81 A6 to E2 81 A9. 0: it may be shown.
std::size_t hidden_at(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) <= 0x9F) return 2;
  if (byte(0) != 0xE2) return 0;
  const bool overrides = byte(1) == 0x80 && byte(2) >= 0xAA && byte(2) <= 0xAE;
  const bool isolates = byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
  return overrides || isolates ? 3 : 0;
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t taken = 1;
    if (is_control(static_cast<unsigned char>(text.front()))) {
      out += kReplacement;
    } else if (const std::size_t hidden = hidden_at(text); hidden > 0) {
      out += kReplacement;
      taken = std::min(hidden, text.size());
    } else {
      out += text.front();
    }
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace kvsim::text
