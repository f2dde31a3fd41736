#include "planner/closed_form/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kvsim::planner {
namespace {

// The batches of one cycle: bounds on what they can reach, and the best of them.

class ConfigurationSearch {
 public:
  /// `evaluated` counts the batches worked out. All arguments outlive the search.
  ConfigurationSearch(TransferModel model, const Cycle& cycle, const BatchLimits& limits, std::uint64_t& evaluated);

  /// No batch of this cycle has a higher throughput. 0 where none fits.
  [[nodiscard]] double upper_bound() const;

  /// The best throughput above `best`, or `best` itself.
  [[nodiscard]] double improve(double best) const;

  /// The first batch, in the order of B_c, B_g, l, that reaches `threshold`.
  [[nodiscard]] std::optional<OperatingPoint> first_reaching(double threshold) const;

 private:
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = -1;
  };
  /// B_g + B_c at most, not rounded down to a whole number.
  [[nodiscard]] double largest_batch(std::int64_t B_c) const;
  [[nodiscard]] std::int64_t largest_resident(std::int64_t B_c) const;
  /// Bounds on the throughput of B_c: by the GPU, never falling in B_c where shaped_; by the link, never rising.
  [[nodiscard]] double gpu_bound(std::int64_t B_c) const;
  [[nodiscard]] double link_bound(std::int64_t B_c) const;
  [[nodiscard]] double bound(std::int64_t B_c) const;
  /// The first B_c at which the link bounds more than the GPU; most_offloaded_ + 1 if there is none.
  [[nodiscard]] std::int64_t crossing() const;
  /// All B_c that may reach `threshold`.
  [[nodiscard]] Range candidates(double threshold) const;
  [[nodiscard]] std::int64_t largest_span(std::int64_t B_c) const;
  [[nodiscard]] std::optional<OperatingPoint> evaluated(const Batch& batch) const;
  [[nodiscard]] double best_of(std::int64_t B_c, double best) const;

  TransferModel model_;
  const Cycle& cycle_;
  const BatchLimits& limits_;
  std::uint64_t& evaluated_;
  double least_offloaded_bytes_ = 0;  // HBM of an offloaded request, at least
  std::int64_t most_offloaded_ = 0;
  std::int64_t most_requests_ = 0;
  bool resident_first_ = true;  // for fixed B_c, throughput never falls with B_g
  bool shaped_ = true;          // gpu_bound and link_bound are monotone
};

constexpr double kRoom = 1 + 1e-11;  // bounds on counts are a little generous; evaluate() decides

std::int64_t whole(double count, std::int64_t most) {
  if (!(count > 0)) return 0;
  return count >= static_cast<double>(most) ? most : static_cast<std::int64_t>(std::floor(count));
}

/// The first i in [first, last] for which `holds`, which never turns false again; last + 1 if there is none.
template <class Predicate>
std::int64_t first_where(std::int64_t first, std::int64_t last, Predicate holds) {
  while (first <= last) {
    const std::int64_t middle = first + (last - first) / 2;
    if (holds(middle)) {
      last = middle - 1;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

ConfigurationSearch::ConfigurationSearch(TransferModel model, const Cycle& cycle, const BatchLimits& limits,
                                         std::uint64_t& evaluated)
    : model_(model), cycle_(cycle), limits_(limits), evaluated_(evaluated) {
  const auto iterations = static_cast<double>(cycle.x + 1);
  most_requests_ = std::min(limits.requests, cycle.gpu.most());
  least_offloaded_bytes_ = cycle.average_bytes;
  if (model == TransferModel::rings) {  // l_r >= 1
    least_offloaded_bytes_ = cycle.compressed_bytes + cycle.streaming_bytes / iterations;
  }
  if (cycle.x > 0) {
    most_offloaded_ =
        whole(cycle.room_bytes * kRoom / least_offloaded_bytes_, std::min(most_requests_, limits.offloaded));
    if (model == TransferModel::published) most_offloaded_ = std::min(most_offloaded_, cycle.x + 1);
  }
  const double per_offloaded_s = cycle.reload_s / iterations + cycle.other_per_offloaded_s;
  resident_first_ =
      cycle.gpu.rate_grows() && (cycle.other_per_resident_s <= cycle.other_per_offloaded_s ||
                                 (model != TransferModel::published && cycle.other_per_resident_s <= per_offloaded_s));
  // In whole iterations, a larger B_g may fit where a smaller one does not: a longer iteration holds fewer reloads.
  if (model == TransferModel::rings && cycle.whole_iterations) resident_first_ = false;
  shaped_ = cycle.gpu.is_linear() && resident_first_ && model != TransferModel::published &&
            least_offloaded_bytes_ <= cycle.resident_bytes;
}

double ConfigurationSearch::largest_batch(std::int64_t B_c) const {
  const auto offloaded = static_cast<double>(B_c);
  const double free = cycle_.room_bytes * kRoom - offloaded * least_offloaded_bytes_;
  const double resident = std::max(0.0, free / cycle_.resident_bytes);
  return std::min(offloaded + resident, static_cast<double>(most_requests_));
}

std::int64_t ConfigurationSearch::largest_resident(std::int64_t B_c) const {
  return whole(largest_batch(B_c), most_requests_) - B_c;
}

double ConfigurationSearch::gpu_bound(std::int64_t B_c) const {
  const double requests = largest_batch(B_c);
  if (cycle_.gpu.is_linear()) {
    return cycle_.tokens * requests / (cycle_.gpu.fixed_s() + cycle_.gpu.per_request_s() * requests);
  }
  return cycle_.tokens * cycle_.gpu.best_rate(static_cast<std::int64_t>(requests));
}

double ConfigurationSearch::link_bound(std::int64_t B_c) const {
  const double requests = largest_batch(B_c);
  const auto offloaded = static_cast<double>(B_c);
  double reloads_s = offloaded * cycle_.reload_s / static_cast<double>(cycle_.x + 1);
  if (model_ == TransferModel::published) reloads_s /= static_cast<double>(largest_span(B_c));
  // Resident requests can only add to the link's time; those bounds hold where resident_first_, else without them.
  const double residents_s = resident_first_ ? (requests - offloaded) * cycle_.other_per_resident_s : 0.0;
  const double busy_s = std::max(reloads_s + offloaded * cycle_.other_per_offloaded_s + residents_s,
                                 offloaded * cycle_.back_per_offloaded_s);
  return busy_s > 0 ? cycle_.tokens * requests / busy_s : std::numeric_limits<double>::infinity();
}

double ConfigurationSearch::bound(std::int64_t B_c) const {
  return std::min(gpu_bound(B_c), link_bound(B_c));
}

std::int64_t ConfigurationSearch::crossing() const {
  return first_where(0, most_offloaded_, [this](std::int64_t B_c) { return link_bound(B_c) < gpu_bound(B_c); });
}

double ConfigurationSearch::upper_bound() const {
  if (largest_batch(most_offloaded_) < 1 && largest_batch(0) < 1) return 0;
  if (shaped_) {
    const std::int64_t at = crossing();
    double best = at <= most_offloaded_ ? bound(at) : 0.0;
    if (at > 0) best = std::max(best, bound(at - 1));
    return best;
  }
  double best = 0;
  for (std::int64_t B_c = 0; B_c <= most_offloaded_; ++B_c) best = std::max(best, bound(B_c));
  return best;
}

ConfigurationSearch::Range ConfigurationSearch::candidates(double threshold) const {
  if (!shaped_) return {0, most_offloaded_};
  return {first_where(0, most_offloaded_, [&](std::int64_t B_c) { return gpu_bound(B_c) >= threshold; }),
          first_where(0, most_offloaded_, [&](std::int64_t B_c) { return link_bound(B_c) < threshold; }) - 1};
}

std::int64_t ConfigurationSearch::largest_span(std::int64_t B_c) const {
  return model_ == TransferModel::published && B_c > 0 ? std::max<std::int64_t>(1, (cycle_.x + 1) / B_c) : 1;
}

std::optional<OperatingPoint> ConfigurationSearch::evaluated(const Batch& batch) const {
  ++evaluated_;
  return evaluate(model_, cycle_, limits_, batch);
}

double ConfigurationSearch::best_of(std::int64_t B_c, double best) const {
  const std::int64_t l = largest_span(B_c);  // under `published`, no smaller one is faster
  const std::int64_t most = largest_resident(B_c);
  if (!resident_first_) {
    for (std::int64_t B_g = 0; B_g <= most; ++B_g) {
      if (const auto point = evaluated({B_c, B_g, l})) best = std::max(best, point->throughput_tokens_per_s);
    }
    return best;
  }
  // Memory grows with B_g (`rings`: l_r shrinks, by less), so those that fit are the first ones.
  const std::int64_t B_g =
      evaluated({B_c, most, l}) ? most : first_where(B_c > 0 ? 0 : 1, most - 1, [&](std::int64_t n) {
                                           return !evaluated({B_c, n, l});
                                         }) - 1;
  if (B_g < 0) return best;
  const auto point = evaluated({B_c, B_g, l});
  return point ? std::max(best, point->throughput_tokens_per_s) : best;
}

double ConfigurationSearch::improve(double best) const {
  if (shaped_) {  // start where the optimum should be: the better the first value, the fewer are left to try
    const std::int64_t at = crossing();
    if (at > 0) best = best_of(at - 1, best);
    if (at <= most_offloaded_) best = best_of(at, best);
  }
  const Range range = candidates(best);
  for (std::int64_t B_c = range.first; B_c <= range.last; ++B_c) {
    if (bound(B_c) > best) best = best_of(B_c, best);
  }
  return best;
}

std::optional<OperatingPoint> ConfigurationSearch::first_reaching(double threshold) const {
  const Range range = candidates(threshold);
  for (std::int64_t B_c = range.first; B_c <= range.last; ++B_c) {
    if (bound(B_c) < threshold) continue;
    const std::int64_t most = largest_resident(B_c);
    for (std::int64_t B_g = 0; B_g <= most; ++B_g) {
      const std::int64_t spans = largest_span(B_c);
      for (std::int64_t l = 1; l <= spans; ++l) {
        const auto point = evaluated({B_c, B_g, l});
        if (point && point->throughput_tokens_per_s >= threshold) return point;
      }
    }
  }
  return std::nullopt;
}

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
    bounds.push_back(ConfigurationSearch(model, cycle, limits, result.evaluated).upper_bound());
  }
  // Most promising first: a high value early leaves few others.
  std::vector<std::size_t> by_promise(cycles.size());
  std::iota(by_promise.begin(), by_promise.end(), std::size_t{0});
  std::stable_sort(by_promise.begin(), by_promise.end(),
                   [&bounds](std::size_t a, std::size_t b) { return bounds[a] > bounds[b]; });
  double best = 0;
  for (const std::size_t i : by_promise) {
    if (bounds[i] <= best) break;
    best = ConfigurationSearch(model, cycles[i], limits, result.evaluated).improve(best);
  }
  if (best <= 0) return result;
  const double threshold = best * (1 - kTieShare);
  for (const std::size_t i : tie_order(cycles)) {
    if (bounds[i] < threshold) continue;
    result.optimum = ConfigurationSearch(model, cycles[i], limits, result.evaluated).first_reaching(threshold);
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
    const ConfigurationSearch batches(model, cycle, limits, evaluated);
    const double best = batches.improve(0);
    points.push_back(best > 0 ? batches.first_reaching(best * (1 - kTieShare)) : std::nullopt);
  }
  return points;
}

}  // namespace kvsim::planner
