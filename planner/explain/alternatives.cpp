#include "planner/explain/alternatives.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kvsim::planner {
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
