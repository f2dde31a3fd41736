// Reading a page as a browser would: whether it is well-formed, its attributes, its tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvsim::report {

/// Empty, or what is wrong: tags that do not balance, attributes without quotes, unknown entities, more than one style
/// or script.
[[nodiscard]] std::string page_fault(const std::string& html);

/// The values of an attribute, in order. Precondition: the page is well-formed.
[[nodiscard]] std::vector<std::string> values_of(std::string_view html, std::string_view attribute);

/// What lies between the first `begin` and the first `end` behind it; empty where they are not there.
[[nodiscard]] std::string between(std::string_view text, std::string_view begin, std::string_view end);

/// All parts between `begin` and `end`.
[[nodiscard]] std::vector<std::string> all_between(std::string_view text, std::string_view begin, std::string_view end);

[[nodiscard]] std::size_t count(std::string_view text, std::string_view part);

}  // namespace kvsim::report
