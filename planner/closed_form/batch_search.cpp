#include "planner/closed_form/batch_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvsim::planner::detail {
namespace {

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

}  // namespace

BatchSearch::BatchSearch(TransferModel model, const Cycle& cycle, const BatchLimits& limits, std::uint64_t& evaluated)
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

double BatchSearch::largest_batch(std::int64_t B_c) const {
  const auto offloaded = static_cast<double>(B_c);
  const double free = cycle_.room_bytes * kRoom - offloaded * least_offloaded_bytes_;
  const double resident = std::max(0.0, free / cycle_.resident_bytes);
  return std::min(offloaded + resident, static_cast<double>(most_requests_));
}

std::int64_t BatchSearch::largest_resident(std::int64_t B_c) const {
  return whole(largest_batch(B_c), most_requests_) - B_c;
}

double BatchSearch::gpu_bound(std::int64_t B_c) const {
  const double requests = largest_batch(B_c);
  if (cycle_.gpu.is_linear()) {
    return cycle_.tokens * requests / (cycle_.gpu.fixed_s() + cycle_.gpu.per_request_s() * requests);
  }
  return cycle_.tokens * cycle_.gpu.best_rate(static_cast<std::int64_t>(requests));
}

double BatchSearch::link_bound(std::int64_t B_c) const {
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

double BatchSearch::bound(std::int64_t B_c) const {
  return std::min(gpu_bound(B_c), link_bound(B_c));
}

std::int64_t BatchSearch::crossing() const {
  return first_where(0, most_offloaded_, [this](std::int64_t B_c) { return link_bound(B_c) < gpu_bound(B_c); });
}

double BatchSearch::upper_bound() const {
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

BatchSearch::Range BatchSearch::candidates(double threshold) const {
  if (!shaped_) return {0, most_offloaded_};
  return {first_where(0, most_offloaded_, [&](std::int64_t B_c) { return gpu_bound(B_c) >= threshold; }),
          first_where(0, most_offloaded_, [&](std::int64_t B_c) { return link_bound(B_c) < threshold; }) - 1};
}

std::int64_t BatchSearch::largest_span(std::int64_t B_c) const {
  return model_ == TransferModel::published && B_c > 0 ? std::max<std::int64_t>(1, (cycle_.x + 1) / B_c) : 1;
}

std::optional<OperatingPoint> BatchSearch::evaluated(const Batch& batch) const {
  ++evaluated_;
  return evaluate(model_, cycle_, limits_, batch);
}

double BatchSearch::best_of(std::int64_t B_c, double best) const {
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

double BatchSearch::improve(double best) const {
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

std::optional<OperatingPoint> BatchSearch::first_reaching(double threshold) const {
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

}  // namespace kvsim::planner::detail
