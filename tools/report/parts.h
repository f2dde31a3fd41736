// Cells, names and plots that sections have in common.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/page/page.h"
#include "tools/report/documents.h"

namespace kvsim::report {

using page::Align;
using page::Block;
using page::Cell;
using page::Drawing;
using page::Fact;
using page::Facts;
using page::List;
using page::Page;
using page::Plot;
using page::Prose;
using page::Section;
using page::Table;
using page::table;
using page::tip_of;
using page::Verbatim;

/// A number as `print` writes it, sorted by its value; "-" where it is not finite.
[[nodiscard]] Cell cell(double value, std::string (*print)(double));
/// Cell of a number with an interval behind it: "233.5 ± 7.1".
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
/// "34 %", or "-" where it is not a number.
[[nodiscard]] std::string whole_percent(double share);
/// A scalar of a document as text: strings without quotes.
[[nodiscard]] std::string scalar_text(const Json& value);

/// "x = 27, c = 0.2, as many requests as fit" of an operating point; "full KV, no drafting" where x is 0.
[[nodiscard]] std::string plan_text(const Json& point);

/// The half width of a metric's interval; not a number where there is none.
[[nodiscard]] double half_width(const Json& result, std::string_view metric);

/// Name of a document's scenario.
[[nodiscard]] std::string scenario_of(const Json& document);

/// A plot without its drawing, and its data without rows.
[[nodiscard]] Plot plot_of(std::string id, std::string title, std::string caption, std::vector<page::Column> columns);

/// The plot with its drawing, which has its title and says its caption where it has no description of its own.
template <class D>
[[nodiscard]] Plot with_drawing(Plot p, D drawing) {
  drawing.title = p.title;
  if (drawing.description.empty()) drawing.description = p.caption;
  p.drawing = std::move(drawing);
  return p;
}

struct Stacks {
  std::string id, title, caption;
  std::string x_title;             ///< with the unit of the axis
  double unit = 1;                 ///< what of the figures is one of that unit
  std::vector<std::string> parts;  ///< names, from the left
  std::string (*print)(double) = nullptr;
  /// Figure of a part in a result; not a number where there is none.
  std::function<double(const Json& result, std::size_t part)> of;
  std::function<std::string(const Json& result)> behind = {};  ///< written behind the bar; none: nothing
};

/// A bar a run, labelled with its policy.
[[nodiscard]] Plot stacked(const std::vector<Simulated>& runs, Stacks stacks);

}  // namespace kvsim::report
