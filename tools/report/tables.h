// Cells, names and tips that sections have in common.
#pragma once

#include <string>
#include <string_view>

#include "tools/report/input.h"
#include "tools/report/report.h"

namespace kvsim::report {

/// A number as `print` writes it, sorted by its value; "-" where it is not finite.
[[nodiscard]] Cell cell(double value, std::string (*print)(double));
/// The same with an interval behind it: "233.5 ± 7.1".
[[nodiscard]] Cell cell(double value, double half_width, std::string (*print)(double));
/// A number with its interval, as text.
[[nodiscard]] std::string interval_text(double value, double half_width, std::string (*print)(double));

/// "id" for the first, "id-2", "id-3", ... for those after it.
[[nodiscard]] std::string numbered(std::string_view id, std::size_t index);

/// A figure of results by its dotted path, as people call it: "output tokens/s", "TTFT p99"; the path where it has no
/// other name.
[[nodiscard]] std::string metric_name(std::string_view path);
/// A figure with the unit that its path tells: seconds, bytes, shares in percent.
[[nodiscard]] std::string printed(std::string_view path, double value);

/// The points of a Fact's detail as running text.
[[nodiscard]] std::string on_one_line(std::string points);

/// Dollars: "$6.76", "$1,200".
[[nodiscard]] std::string usd(double value);
/// A plain number of few digits: "0.2", "25".
[[nodiscard]] std::string plain(double value);
/// A scalar of a document as text: strings without quotes.
[[nodiscard]] std::string scalar_text(const Json& value);

/// "x = 27, c = 0.2, as many requests as fit" of an operating point; "full KV, no drafting" where x is 0.
[[nodiscard]] std::string plan_text(const Json& point);

/// The half width of a metric's interval; not a number where there is none.
[[nodiscard]] double half_width(const Json& result, std::string_view metric);

/// Name of a document's scenario.
[[nodiscard]] std::string scenario_of(const Json& document);

}  // namespace kvsim::report
