#include "tools/validation/groups/figure_rows.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace kvsim::validation {

FigureRows::FigureRows(std::string group, std::string source, std::vector<std::string> assumptions, std::string order)
    : group_(std::move(group)),
      source_(std::move(source)),
      order_(std::move(order)),
      assumptions_(std::move(assumptions)) {}

Figure& FigureRows::within(const std::string& name, std::string what, double low, double high, double simulated) {
  Figure& f = add(name, std::move(what), (low + high) / 2, simulated);
  f.tolerance = std::floor((high - low) / (high + low) * 1e4) * 1e-4;  // never more than published
  f.assumptions.push_back(fmt::format("published as {} to {}: judged against the middle, within the range", low, high));
  return f;
}

Figure& FigureRows::less(const std::string& name, std::string what, double than, double simulated) {
  Figure& f = add(name, std::move(what), than, simulated);
  f.claim = Claim::at_most;
  f.measure = Measure::absolute;
  f.tolerance = 0;
  f.assumptions.push_back(order_);
  return f;
}

Figure& FigureRows::prediction(const std::string& name, std::string what, double simulated) {
  Figure& f = add(name, std::move(what), std::numeric_limits<double>::quiet_NaN(), simulated);
  f.claim = Claim::none;
  return f;
}

Figure& FigureRows::add(const std::string& name, std::string what, double expected, double simulated) {
  Figure& f = figures_.emplace_back();
  f.id = fmt::format("{}/{}", group_, name);
  f.what = std::move(what);
  f.expected = expected;
  f.simulated = simulated;
  f.source = source_;
  f.assumptions = assumptions_;
  return f;
}

}  // namespace kvsim::validation
