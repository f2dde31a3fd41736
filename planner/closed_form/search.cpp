#include "planner/closed_form/search.h"

#include <algorithm>
#include <numeric>

#include "planner/closed_form/batch_search.h"

namespace kvsim::planner {
namespace {

using detail::BatchSearch;

/// Indices of the cycles, in the order in which they win ties.
std::vector<std::size_t> tie_order(const std::vector<Cycle>& cycles) {
  std::vector<std::size_t> order(cycles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&cycles](std::size_t a, std::size_t b) {
    if (cycles[a].x != cycles[b].x) return cycles[a].x < cycles[b].x;
    if (cycles[a].c != cycles[b].c) return cycles[a].c > cycles[b].c;
    return cycles[a].d_e < cycles[b].d_e;
  });
  return order;
}

}  // namespace

std::optional<OperatingPoint> evaluate(TransferModel model, const Cycle& cycle, const BatchLimits& limits,
                                       const Batch& batch) {
  const std::int64_t requests = batch.requests();
  if (requests < 1 || requests > std::min(limits.requests, cycle.gpu.most())) return std::nullopt;
  if (batch.B_c > (cycle.x > 0 ? limits.offloaded : 0)) return std::nullopt;
  if (model == TransferModel::published && batch.B_c * batch.l > cycle.x + 1) return std::nullopt;
  OperatingPoint point{cycle.x, cycle.c, cycle.d_e, batch, iteration_times(model, cycle, batch), 0, 0};
  const double iteration_s = point.times.iteration_s();
  point.kv_bytes = kv_memory_bytes(model, cycle, batch, iteration_s);
  if (!fits(point.kv_bytes, cycle.room_bytes)) return std::nullopt;
  if (!link_has_room(model, cycle, batch, iteration_s)) return std::nullopt;
  point.throughput_tokens_per_s = throughput(cycle, batch, point.times);
  point.batch.l = reload_span(model, cycle, batch, iteration_s);
  return point;
}

SearchResult search(TransferModel model, const std::vector<Cycle>& cycles, const BatchLimits& limits) {
  SearchResult result;
  std::vector<double> bounds;
  bounds.reserve(cycles.size());
  for (const Cycle& cycle : cycles) {
    bounds.push_back(BatchSearch(model, cycle, limits, result.evaluated).upper_bound());
  }
  // Most promising first: a high value early leaves few others.
  std::vector<std::size_t> by_promise(cycles.size());
  std::iota(by_promise.begin(), by_promise.end(), std::size_t{0});
  std::stable_sort(by_promise.begin(), by_promise.end(),
                   [&bounds](std::size_t a, std::size_t b) { return bounds[a] > bounds[b]; });
  double best = 0;
  for (const std::size_t i : by_promise) {
    if (bounds[i] <= best) break;
    best = BatchSearch(model, cycles[i], limits, result.evaluated).improve(best);
  }
  if (best <= 0) return result;
  const double threshold = best * (1 - kTieShare);
  for (const std::size_t i : tie_order(cycles)) {
    if (bounds[i] < threshold) continue;
    result.optimum = BatchSearch(model, cycles[i], limits, result.evaluated).first_reaching(threshold);
    if (result.optimum) break;
  }
  return result;
}

std::vector<std::optional<OperatingPoint>> best_of_each(TransferModel model, const std::vector<Cycle>& cycles,
                                                        const BatchLimits& limits) {
  std::vector<std::optional<OperatingPoint>> points;
  points.reserve(cycles.size());
  std::uint64_t evaluated = 0;
  for (const Cycle& cycle : cycles) {
    const BatchSearch batches(model, cycle, limits, evaluated);
    const double best = batches.improve(0);
    points.push_back(best > 0 ? batches.first_reaching(best * (1 - kTieShare)) : std::nullopt);
  }
  return points;
}

}  // namespace kvsim::planner
