#include "planner/explain/difference.h"

#include <fmt/format.h>

namespace kvsim::planner {

namespace {

/// Without reloads there is nothing to spread.
bool spans_differ(const OperatingPoint& a, const OperatingPoint& b) {
  return a.batch.l != b.batch.l && (a.batch.B_c > 0 || b.batch.B_c > 0);
}

}  // namespace

bool same_plan(const OperatingPoint& a, const OperatingPoint& b) {
  return a.x == b.x && a.c == b.c && a.batch.B_c == b.batch.B_c && a.batch.B_g == b.batch.B_g && !spans_differ(a, b);
}

std::string difference(const OperatingPoint& from, const OperatingPoint& to) {
  std::string text;
  const auto add = [&text](const char* symbol, auto a, auto b) {
    if (a != b) text += fmt::format("{}{} {:g} -> {:g}", text.empty() ? "" : ", ", symbol, a, b);
  };
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  add("x", real(from.x), real(to.x));
  add("c", from.c, to.c);
  add("B_c", real(from.batch.B_c), real(to.batch.B_c));
  add("B_g", real(from.batch.B_g), real(to.batch.B_g));
  if (spans_differ(from, to)) add("l", real(from.batch.l), real(to.batch.l));
  return text;
}

}  // namespace kvsim::planner
