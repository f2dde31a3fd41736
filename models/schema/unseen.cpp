#include "models/schema/unseen.h"

#include <fmt/format.h>

namespace kvsim::schema {

std::size_t unseen_at(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) <= 0x9F) return 2;  // C2 80 to C2 9F
  if (byte(0) != 0xE2) return 0;
  const bool overrides = byte(1) == 0x80 && byte(2) >= 0xAA && byte(2) <= 0xAE;  // E2 80 AA to E2 80 AE
  const bool isolates = byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;   // E2 81 A6 to E2 81 A9
  return overrides || isolates ? 3 : 0;
}

std::string with_unseen_escaped(std::string_view text) {
  constexpr char kDel = 0x7F;
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = text[i] == kDel ? 1 : unseen_at(text.substr(i));
    if (bytes == 0) {
      out += text[i++];
      continue;
    }
    constexpr unsigned lead_bits[] = {0, 0x7F, 0x1F, 0x0F}, continued = 0x3F;
    unsigned point = static_cast<unsigned char>(text[i]) & lead_bits[bytes];
    for (std::size_t k = 1; k < bytes; ++k) point = point << 6U | (static_cast<unsigned char>(text[i + k]) & continued);
    out += fmt::format("\\u{:04x}", point);
    i += bytes;
  }
  return out;
}

}  // namespace kvsim::schema
