#include "planner/reuse/break_even.h"

#include <cmath>

#include <fmt/format.h>

namespace kvsim::planner {
namespace {

double middle_of(double a, double b, BisectIn in) {
  switch (in) {
    case BisectIn::linear:
      return a + (b - a) / 2;
    case BisectIn::logarithmic:
      return std::sqrt(a) * std::sqrt(b);
    case BisectIn::whole:
      break;
  }
  return std::floor(a + (b - a) / 2);
}

bool narrow(double a, double b, double from, double to, BisectIn in) {
  constexpr double kClose = 1e-9;
  if (in == BisectIn::whole) return b - a <= 1;
  return b - a <= kClose * (in == BisectIn::linear ? to - from : b);
}

/// Holds (or does not) at `from`, and is the other way round at `to`; returns where that is so first.
double change_between(const std::function<bool(double)>& holds, double from, double to, bool at_from, BisectIn in) {
  double a = from, b = to;
  while (!narrow(a, b, from, to, in)) {
    const double middle = middle_of(a, b, in);
    (holds(middle) == at_from ? a : b) = middle;
  }
  return b;
}

}  // namespace

HoldsWhere holds_where(const std::function<bool(double)>& holds, std::span<const double> grid, BisectIn in) {
  HoldsWhere where;
  where.at_first = holds(grid.front());
  bool before = where.at_first;
  for (std::size_t i = 1; i < grid.size(); ++i) {
    const bool now = holds(grid[i]);
    if (now != before) where.changes.push_back(change_between(holds, grid[i - 1], grid[i], before, in));
    before = now;
  }
  return where;
}

std::string words_of(const HoldsWhere& where, const std::function<std::string(double)>& print) {
  if (where.changes.empty()) return where.at_first ? "always" : "never";
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : " and ") + words; };
  std::size_t next = 0;
  if (where.at_first) add("below " + print(where.changes[next++]));
  for (; next + 1 < where.changes.size(); next += 2) {
    add(fmt::format("from {} to below {}", print(where.changes[next]), print(where.changes[next + 1])));
  }
  if (next < where.changes.size()) add("at least " + print(where.changes[next]));
  return text;
}

}  // namespace kvsim::planner
