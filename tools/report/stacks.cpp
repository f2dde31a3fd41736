#include "tools/report/stacks.h"

#include <fmt/format.h>

#include "tools/report/tables.h"

namespace kvsim::report {

Plot stacked(const std::vector<Simulated>& runs, Stacks stacks) {
  Plot p;
  p.id = std::move(stacks.id);
  p.title = std::move(stacks.title);
  p.caption = std::move(stacks.caption);
  p.data = table(p.title, {{"policy"}});
  plot::Bars bars;
  bars.title = p.title;
  bars.description = p.caption;
  bars.x_title = std::move(stacks.x_title);
  for (const std::string& part : stacks.parts) p.data.add({part, true});
  for (const Simulated& run : runs) {
    std::vector<Cell> row{run.policy};
    plot::Bar bar{run.policy, {}, stacks.behind ? stacks.behind(run.result) : std::string()};
    double end = 0;
    for (std::size_t i = 0; i < stacks.parts.size(); ++i) {
      const double size = stacks.of(run.result, i);
      row.push_back(cell(size, stacks.print));
      if (!(size > 0)) continue;
      bar.parts.push_back({end / stacks.unit, (end + size) / stacks.unit, i,
                           fmt::format("{}: {}: {}", run.policy, stacks.parts[i], stacks.print(size))});
      end += size;
    }
    p.data.rows.push_back(std::move(row));
    bars.bars.push_back(std::move(bar));
  }
  p.legend = std::move(stacks.parts);
  p.drawing = std::move(bars);
  return p;
}

}  // namespace kvsim::report
