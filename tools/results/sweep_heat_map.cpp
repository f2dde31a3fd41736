#include "tools/results/sweep.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/results/metrics.h"

namespace kvsim::results {
namespace {

using planner::sweep::Axis;
using planner::sweep::Design;
using planner::sweep::DesignKind;

constexpr std::size_t kMostColumns = 12;   // more do not fit a terminal
constexpr std::size_t kMostHeatRows = 60;  // a table that is still read
constexpr std::size_t kWidestValue = 16;   // in columns

/// Whether the grid has two axes with several values each, few enough of them to print.
bool has_map(const Design& design, std::size_t across, std::size_t down) {
  const std::vector<Axis>& axes = design.axes();
  if (axes[0].values.size() < 2 || axes[1].values.size() < 2) return false;
  if (axes[across].values.size() > kMostColumns || axes[down].values.size() > kMostHeatRows) return false;
  const auto fits = [](const std::string& value) { return display_width(value) <= kWidestValue; };
  return std::all_of(axes[across].values.begin(), axes[across].values.end(), fits);
}

Cell looking(std::string text, Look look) {
  Cell cell(std::move(text));
  cell.look = look;
  return cell;
}

class Cells {
 public:
  Cells(const Sweep& sweep, const FigureTable& figures, const Ranking& ranking)
      : sweep_(sweep), figures_(figures), ranking_(ranking), by_value_(figures.ranked(sweep.metric)) {}

  Cell at(std::size_t row) {
    if (!sweep_.points[row].simulated()) {
      infeasible_ = true;
      return looking("- ", {Tone::faint});
    }
    const double value = figures_.at(row, sweep_.metric);
    if (!std::isfinite(value)) {
      missing_ = true;
      return looking("none ", {Tone::faint});
    }
    const bool best = ranking_.marked(row);
    const double shade =
        shade_of(value, figures_.at(by_value_.back(), sweep_.metric), figures_.at(by_value_.front(), sweep_.metric));
    return looking(printed_figure(sweep_.metric, value) + (best ? "*" : " "), {best ? Tone::best : Tone::plain, shade});
  }

  /// Legend of the marks in place of figures.
  [[nodiscard]] std::string legend() const {
    return std::string(infeasible_ ? "; -: infeasible" : "") + (missing_ ? "; none: the run has no such figure" : "");
  }

 private:
  const Sweep& sweep_;
  const FigureTable& figures_;
  const Ranking& ranking_;
  const std::vector<std::size_t> by_value_;
  bool infeasible_ = false;
  bool missing_ = false;
};

}  // namespace

Table heat_map(const Sweep& sweep, const FigureTable& figures, const Ranking& ranking) {
  const Design& design = sweep.plan.design;
  Table t;
  if (design.kind() != DesignKind::grid || design.axes().size() != 2) return t;
  const std::vector<Axis>& axes = design.axes();
  const std::size_t across = axes[1].values.size() <= axes[0].values.size() ? 1 : 0, down = 1 - across;
  if (!has_map(design, across, down)) return t;
  t.header = {""};
  t.header.insert(t.header.end(), axes[across].values.begin(), axes[across].values.end());
  t.align.assign(t.header.size(), Align::right);
  for (const std::string& value : axes[down].values) t.rows.emplace_back(t.header.size(), "").front() = value;
  Cells cells(sweep, figures, ranking);
  for (std::size_t row = 0; row < sweep.points.size(); ++row) {
    const std::vector<std::uint32_t> at = design.at(sweep.points[row].point);
    t.rows[at[down]][at[across] + 1] = cells.at(row);
  }
  const std::vector<std::string> names = axis_labels(axes);
  t.title = fmt::format("{}: {} down, {} across{}", sweep.metric, names[down], names[across], cells.legend());
  return t;
}

}  // namespace kvsim::results
