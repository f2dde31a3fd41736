#include "planner/explain/margins.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "planner/explain/difference.h"
#include "planner/parallel.h"

namespace kvsim::planner {
namespace {

constexpr std::array kSteps{1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, kFarthest};
constexpr double kPrecision = 0.001;      // of the factor
constexpr double kShareOfMargin = 0.05;   // where that is finer
constexpr double kLeastPrecision = 1e-6;  // of the factor: nearer changes count as here and now

class Side {
 public:
  Side(const scenario::Scenario& scenario, const ScenarioPlan& plan, Factor factor, bool up)
      : scenario_(scenario), plan_(plan), factor_(factor), up_(up) {}

  [[nodiscard]] MarginSide search(const std::function<bool()>& go_on) const {
    double unchanged = 1;
    for (const double step : kSteps) {
      if (go_on && !go_on()) return {};
      std::optional<OperatingPoint> there = optimum_at(step);
      if (!changed(there)) {
        unchanged = step;
        continue;
      }
      return bisect(unchanged, step, std::move(there));
    }
    return {};
  }

 private:
  [[nodiscard]] std::optional<OperatingPoint> optimum_at(double step) const {
    return optimum_of(scaled(scenario_, factor_, up_ ? step : 1 / step), plan_.request);
  }

  [[nodiscard]] bool changed(const std::optional<OperatingPoint>& there) const {
    return !there || !same_plan(*there, plan_.optimum);
  }

  [[nodiscard]] MarginSide bisect(double unchanged, double beyond, std::optional<OperatingPoint> there) const {
    while (std::log(beyond / unchanged) >
           std::max(std::min(kPrecision, kShareOfMargin * std::log(beyond)), kLeastPrecision)) {
      const double middle = std::sqrt(unchanged * beyond);
      std::optional<OperatingPoint> at_middle = optimum_at(middle);
      if (changed(at_middle)) {
        beyond = middle;
        there = std::move(at_middle);
      } else {
        unchanged = middle;
      }
    }
    const std::string change = there ? difference(plan_.optimum, *there) : "nothing fits";
    return {up_ ? beyond : 1 / beyond, std::move(there), change};
  }

  const scenario::Scenario& scenario_;
  const ScenarioPlan& plan_;
  Factor factor_;
  bool up_;
};

}  // namespace

std::vector<Margin> margins(const scenario::Scenario& scenario, const ScenarioPlan& plan, int jobs,
                            const std::function<bool()>& go_on) {
  std::vector<Margin> result(kFactors.size());
  for_each_index(2 * kFactors.size(), jobs, [&](std::size_t i) {
    Margin& margin = result[i / 2];
    const bool up = i % 2 == 1;
    const Factor factor = kFactors[i / 2].factor;
    (up ? margin.up : margin.down) = Side(scenario, plan, factor, up).search(go_on);
  });
  for (std::size_t i = 0; i < kFactors.size(); ++i) result[i].factor = kFactors[i].factor;
  return result;
}

std::string margins_searched(const ScenarioPlan& plan) {
  return fmt::format(
      "by the closed forms ({}): the whole search of the plan, x from {} to {}, {} keep ratios, every batch, repeated "
      "with each factor in turn at steps of {} and their inverses, and bisected to {:g} % (or a twentieth of the "
      "margin) at the first change of x, c, "
      "B_c, B_g or l",
      name_of(plan.request.model), plan.request.least_draft_length, plan.request.most_draft_length,
      plan.request.keep_ratios.size(), fmt::join(kSteps, ", "), kPrecision * 100);
}

}  // namespace kvsim::planner
