// Plain numbers in texts, without a unit.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace kvsim::schema {

/// The number that the whole text is, as std::from_chars reads it; none where it is no such number, or one beyond the
/// type.
template <class Number>
[[nodiscard]] std::optional<Number> number_from(std::string_view text) {
  Number value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace kvsim::schema
