// Reading result documents. They may be written by hand, cut short or older: what is not there, or is of another type,
// reads as absent, and nothing here throws.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/results/section.h"

namespace kvsim::report {

using results::Json;
using Path = std::initializer_list<std::string_view>;

/// The member at the end of the path; an empty object or array where there is none.
[[nodiscard]] const Json& at(const Json& document, Path path);
[[nodiscard]] bool has(const Json& document, Path path);
[[nodiscard]] std::optional<double> number(const Json& document, Path path);
/// Not a number where there is none.
[[nodiscard]] double number_or_nan(const Json& document, Path path);
/// Empty where there is none.
[[nodiscard]] std::string text(const Json& document, Path path);
[[nodiscard]] bool truth(const Json& document, Path path);
/// The elements of an array; not a number for those that are none.
[[nodiscard]] std::vector<double> numbers(const Json& document, Path path);
[[nodiscard]] std::vector<std::string> texts(const Json& document, Path path);

}  // namespace kvsim::report
