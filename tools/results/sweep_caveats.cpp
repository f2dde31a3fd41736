#include "tools/results/sweep.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/provenance.h"

namespace kvsim::results {
namespace {

using planner::sweep::Axis;
using planner::sweep::PointResult;

constexpr std::size_t kMostValues = 8;   // of an axis in front of a sentence
constexpr std::size_t kMostNumbers = 5;  // of points in front of a sentence

/// The points that were simulated, and the values that their axes have there.
class Simulated {
 public:
  explicit Simulated(const Sweep& sweep) : axes_(sweep.plan.design.axes()) {
    for (const PointResult& point : sweep.points) {
      if (!point.simulated()) continue;
      points_.push_back(&point);
      values_.push_back(sweep.plan.design.at(point.point));
    }
  }

  [[nodiscard]] const std::vector<const PointResult*>& points() const { return points_; }

  /// Which of the points `rows` names: nothing for all, "axis=values: ", or their numbers.
  [[nodiscard]] std::string prefix(const std::vector<std::size_t>& rows) const {
    if (rows.size() == points_.size()) return {};
    std::vector<std::set<std::uint32_t>> there(axes_.size());
    for (const std::size_t row : rows) {
      for (std::size_t a = 0; a < axes_.size(); ++a) there[a].insert(values_[row][a]);
    }
    std::vector<std::size_t> all(axes_.size());
    for (std::size_t a = 0; a < all.size(); ++a) all[a] = a;
    for (const std::size_t a : all) {
      if (there[a].size() <= kMostValues && count({a}, there) == rows.size()) return values_text({a}, there);
    }
    std::vector<std::size_t> telling = all;
    for (const std::size_t a : all) {
      std::vector<std::size_t> fewer = telling;
      std::erase(fewer, a);
      if (count(fewer, there) == rows.size()) telling = std::move(fewer);
    }
    const bool short_enough =
        std::all_of(telling.begin(), telling.end(), [&](std::size_t a) { return there[a].size() <= kMostValues; });
    return short_enough && count(telling, there) == rows.size() ? values_text(telling, there) : numbers_text(rows);
  }

 private:
  /// Points at which each of these axes has one of its values. They hold all rows that the values were taken from.
  [[nodiscard]] std::size_t count(const std::vector<std::size_t>& axes,
                                  const std::vector<std::set<std::uint32_t>>& there) const {
    return static_cast<std::size_t>(std::count_if(values_.begin(), values_.end(), [&](const auto& at) {
      return std::all_of(axes.begin(), axes.end(), [&](std::size_t a) { return there[a].contains(at[a]); });
    }));
  }

  [[nodiscard]] std::string values_text(const std::vector<std::size_t>& axes,
                                        const std::vector<std::set<std::uint32_t>>& there) const {
    std::vector<std::string> parts;
    for (const std::size_t a : axes) {
      std::vector<std::string_view> values;
      for (const std::uint32_t value : there[a]) values.emplace_back(axes_[a].values[value]);
      parts.push_back(fmt::format("{}={}", axes_[a].path, fmt::join(values, ",")));
    }
    return fmt::format("{}: ", fmt::join(parts, ", "));
  }

  [[nodiscard]] std::string numbers_text(const std::vector<std::size_t>& rows) const {
    std::vector<std::size_t> numbers;
    for (const std::size_t row : rows) {
      if (numbers.size() < kMostNumbers) numbers.push_back(points_[row]->point);
    }
    const std::string more =
        rows.size() > numbers.size() ? fmt::format(" and {}", counted(rows.size() - numbers.size(), "other")) : "";
    return fmt::format("point{} {}{}: ", rows.size() == 1 ? "" : "s", fmt::join(numbers, ", "), more);
  }

  const std::vector<Axis>& axes_;
  std::vector<const PointResult*> points_;
  std::vector<std::vector<std::uint32_t>> values_;
};

/// Every sentence once, with the points that it is about.
template <class Said>
std::vector<std::string> sentences(const Sweep& sweep, const Said& said) {
  const Simulated simulated(sweep);
  std::vector<std::pair<std::string, std::vector<std::size_t>>> found;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t row = 0; row < simulated.points().size(); ++row) {
    for (const std::string& text : said(*simulated.points()[row])) {
      const auto [at, added] = known.emplace(text, found.size());
      if (added) found.push_back({text, {}});
      std::vector<std::size_t>& rows = found[at->second].second;
      if (rows.empty() || rows.back() != row) rows.push_back(row);
    }
  }
  std::vector<std::string> result;
  for (const auto& [text, rows] : found) result.push_back(simulated.prefix(rows) + text);
  return result;
}

}  // namespace

std::vector<std::string> assumptions_of(const Sweep& sweep) {
  return sentences(sweep, [](const PointResult& point) { return point.assumptions; });
}

std::vector<std::string> fallbacks_of(const Sweep& sweep) {
  return sentences(sweep, [](const PointResult& point) { return point.fallbacks; });
}

std::vector<std::string> how_sure_of(const Sweep& sweep) {
  return sentences(sweep, [](const PointResult& point) { return point.how_sure; });
}

std::vector<std::string> sketched_percentiles_of(const Sweep& sweep) {
  constexpr std::string_view kKey = "percentiles.sketched.";
  return sentences(sweep, [kKey](const PointResult& point) {
    std::vector<std::string> keys;
    for_each_figure(Json::parse(point.result), [&](const std::string& name, const Json&) {
      if (name.starts_with(kKey)) keys.push_back(name.substr(kKey.size()));
    });
    return keys.empty() ? keys : std::vector{sketched_percentiles(keys)};
  });
}

}  // namespace kvsim::results
