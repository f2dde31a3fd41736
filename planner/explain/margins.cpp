#include "planner/explain/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/parallel.h"

namespace kvsim::planner {
namespace {

constexpr std::array kFactorSteps{1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, kFarthest};
constexpr double kMarginPrecision = 0.001;  // of the factor
constexpr double kShareOfMargin = 0.05;     // where that is finer
constexpr double kLeastPrecision = 1e-6;    // of the factor: nearer changes count as here and now

class Side {
 public:
  Side(const scenario::Scenario& scenario, const ScenarioPlan& plan, Factor factor, bool up)
      : scenario_(scenario), plan_(plan), factor_(factor), up_(up) {}

  [[nodiscard]] MarginSide search(const std::function<bool()>& go_on) const {
    double unchanged = 1;
    for (const double step : kFactorSteps) {
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
           std::max(std::min(kMarginPrecision, kShareOfMargin * std::log(beyond)), kLeastPrecision)) {
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
      plan.request.keep_ratios.size(), fmt::join(kFactorSteps, ", "), kMarginPrecision * 100);
}

namespace {

class Neighbourhood {
 public:
  Neighbourhood(const scenario::Scenario& scenario, const ScenarioPlan& plan)
      : plan_(plan), best_(plan.optimum), costs_(scenario, plan.request.refinements) {}

  std::vector<Alternative> take() {
    if (best_.x > 0) {
      draft_length(-1);
      draft_length(+1);
      keep_ratio(-1);
      keep_ratio(+1);
    } else {
      best_drafting();
    }
    batch(-1);
    batch(+1);
    if (best_.x > 0) add("full KV, no drafting", plan_.full_kv);
    return std::move(all_);
  }

 private:
  void add(std::string what, const std::optional<OperatingPoint>& point) {
    const double loss = point ? 1 - point->throughput_tokens_per_s / best_.throughput_tokens_per_s : 1.0;
    all_.push_back({std::move(what), point, loss});
  }

  [[nodiscard]] std::size_t lengths() const {
    return static_cast<std::size_t>(plan_.request.most_draft_length - plan_.request.least_draft_length + 1);
  }

  /// Position of the optimum's keep ratio among those of the request.
  [[nodiscard]] std::ptrdiff_t ratio_index() const {
    const auto& ratios = plan_.request.keep_ratios;
    return std::distance(ratios.begin(), std::find(ratios.begin(), ratios.end(), best_.c));
  }

  [[nodiscard]] const std::optional<OperatingPoint>& at(std::ptrdiff_t ratio, std::int64_t x) const {
    return plan_.best_of_each.at(static_cast<std::size_t>(ratio) * lengths() +
                                 static_cast<std::size_t>(x - plan_.request.least_draft_length));
  }

  void draft_length(std::int64_t by) {
    const std::int64_t x = best_.x + by;
    if (x < plan_.request.least_draft_length || x > plan_.request.most_draft_length) return;
    add(fmt::format("x = {}", x), at(ratio_index(), x));
  }

  /// The next smaller or larger ratio, in whatever order the request names them.
  void keep_ratio(int direction) {
    const auto& ratios = plan_.request.keep_ratios;
    std::optional<std::size_t> nearest;
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      if ((ratios[i] - best_.c) * direction <= 0) continue;
      if (!nearest || std::abs(ratios[i] - best_.c) < std::abs(ratios[*nearest] - best_.c)) nearest = i;
    }
    if (nearest) add(fmt::format("c = {:g}", ratios[*nearest]), at(static_cast<std::ptrdiff_t>(*nearest), best_.x));
  }

  void batch(std::int64_t by) {
    const bool offloaded = best_.batch.B_c > 0;
    Batch batch = best_.batch;
    (offloaded ? batch.B_c : batch.B_g) += by;
    if (batch.requests() < 1) return;
    const Cycle cycle = best_.x > 0 ? costs_.drafting(best_.c, best_.x, best_.x).front() : costs_.full_kv();
    const std::string what = offloaded ? fmt::format("B_c = {}", batch.B_c) : fmt::format("B_g = {}", batch.B_g);
    const bool possible = batch.requests() <= cycle.gpu.most();
    add(what, possible ? evaluate(plan_.request.model, cycle, plan_.limits, batch) : std::nullopt);
  }

  void best_drafting() {
    const OperatingPoint* found = nullptr;
    for (const std::optional<OperatingPoint>& point : plan_.best_of_each) {
      if (point && (!found || point->throughput_tokens_per_s > found->throughput_tokens_per_s)) found = &*point;
    }
    add("the best with drafting", found ? std::optional(*found) : std::nullopt);
  }

  const ScenarioPlan& plan_;
  const OperatingPoint& best_;
  ScenarioCosts costs_;
  std::vector<Alternative> all_;
};

}  // namespace

std::vector<Alternative> alternatives(const scenario::Scenario& scenario, const ScenarioPlan& plan) {
  return Neighbourhood(scenario, plan).take();
}

}  // namespace kvsim::planner
