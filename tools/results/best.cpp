#include "tools/results/comparison.h"

#include <algorithm>
#include <cmath>

namespace kvsim::results {
namespace {

bool competes(const Column& column, const Competitor& row, std::size_t i) {
  if (!std::isfinite(column.values[i]) || !row.served) return false;
  return column.kind != Kind::latency || row.all_finished;
}

/// Rows of `among` that print as the best of them does; none where all do, or there are fewer than two.
std::vector<std::size_t> best_of(const Column& column, const std::vector<std::size_t>& among) {
  if (among.size() < 2) return {};
  const auto worse = [&column](std::size_t a, std::size_t b) {
    return column.better == Better::less ? column.values[a] > column.values[b] : column.values[a] < column.values[b];
  };
  const std::string& best = column.cells[*std::max_element(among.begin(), among.end(), worse)];
  std::vector<std::size_t> rows;
  for (const std::size_t i : among) {
    if (column.cells[i] == best) rows.push_back(i);
  }
  return rows.size() == among.size() ? std::vector<std::size_t>{} : rows;
}

}  // namespace

std::vector<Mark> marks_of(const Column& column, const std::vector<Competitor>& rows) {
  std::vector<Mark> marks(rows.size(), Mark::none);
  if (column.better == Better::neither) return marks;
  std::vector<std::size_t> all, lossless;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!competes(column, rows[i], i)) continue;
    all.push_back(i);
    if (rows[i].lossless) lossless.push_back(i);
  }
  const std::vector<std::size_t> best = best_of(column, all);
  for (const std::size_t i : best) marks[i] = Mark::best;
  const bool all_lossy = std::none_of(best.begin(), best.end(), [&rows](std::size_t i) { return rows[i].lossless; });
  if (best.empty() || !all_lossy || column.kind == Kind::quality) return marks;
  for (const std::size_t i : best_of(column, lossless)) marks[i] = Mark::best_lossless;
  return marks;
}

char mark_character(Mark mark) {
  if (mark == Mark::none) return ' ';
  return mark == Mark::best ? '*' : '+';
}

}  // namespace kvsim::results
