#include "planner/sweep/merge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "models/schema/error.h"

namespace kvsim::planner::sweep {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw schema::InputError("--merge: " + message);
}

void check_complete(const std::vector<std::string>& paths, const MergedSweep& merged) {
  const std::size_t expected = merged.plan.design.size();
  if (merged.points.size() == expected) return;
  std::size_t first = 0;
  while (first < merged.points.size() && merged.points[first].point == first) ++first;
  refuse(fmt::format("{} of {} points are missing from {} journal{}, the first is point {} ({})",
                     expected - merged.points.size(), expected, paths.size(), paths.size() == 1 ? "" : "s", first,
                     merged.plan.design.describe(first)));
}

}  // namespace

MergedSweep merge_journals(const std::vector<std::string>& paths) {
  std::optional<MergedSweep> merged;
  std::vector<std::string> owner;  // of each point: the journal it was in
  for (auto named = paths.begin(); named != paths.end(); ++named) {
    const std::string& path = *named;
    if (std::find(paths.begin(), named, path) != named) refuse(path + " is named twice");
    std::optional<JournalContents> shard = read_journal(path);
    if (!shard) refuse(path + " is empty");
    if (!merged) {
      merged = MergedSweep{shard->plan, {}};
      owner.resize(shard->plan.design.size());
    }
    const std::string other = difference(merged->plan, shard->plan, false);
    if (!other.empty())
      refuse(fmt::format("{} and {} are not of one sweep: they differ in {}", paths.front(), path, other));
    for (PointResult& result : shard->points) {
      std::string& there = owner[result.point];
      if (!there.empty()) refuse(fmt::format("point {} is in both {} and {}", result.point, there, path));
      there = path;
      merged->points.push_back(std::move(result));
    }
  }
  if (!merged) refuse("no folder was named");
  merged->plan.shard = {};
  std::sort(merged->points.begin(), merged->points.end(),
            [](const PointResult& a, const PointResult& b) { return a.point < b.point; });
  check_complete(paths, *merged);
  return std::move(*merged);
}

}  // namespace kvsim::planner::sweep
