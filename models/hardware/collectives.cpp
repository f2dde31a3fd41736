#include "models/hardware/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kvsim::models {
namespace {

/// Linear between points, constant below the first, by the last slope beyond.
double at(const std::vector<CollectivePoint>& points, double bytes) {
  if (points.empty()) return 0;
  if (bytes <= points.front().bytes || points.size() == 1) return points.front().seconds;
  const auto above = std::lower_bound(points.begin() + 1, points.end() - 1, bytes,
                                      [](const CollectivePoint& p, double size) { return p.bytes < size; });
  const CollectivePoint& a = *(above - 1);
  const CollectivePoint& b = *above;
  return a.seconds + (bytes - a.bytes) * (b.seconds - a.seconds) / (b.bytes - a.bytes);
}

/// Latencies one after the other.
double steps(Collective operation, double gpus) {
  if (operation == Collective::all_to_all) return 1;
  return (operation == Collective::all_reduce ? 2 : 1) * (gpus - 1);
}

/// Share of the message that crosses each GPU's link.
double crossing(Collective operation, double gpus) {
  return (operation == Collective::all_reduce ? 2 : 1) * (gpus - 1) / gpus;
}

/// Tables of the operation by group size: those of the library, else those of the first library that has any.
std::vector<const CollectiveTable*> tables_of(const LinkSpec& link, Collective operation, const std::string& library) {
  const auto of = [&](const std::string& whose) {
    std::vector<const CollectiveTable*> found;
    for (const CollectiveTable& t : link.collectives) {
      if (t.operation == operation && t.library == whose) found.push_back(&t);
    }
    std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->gpus < b->gpus; });
    return found;
  };
  std::vector<const CollectiveTable*> found = of(library);
  const auto any = std::find_if(link.collectives.begin(), link.collectives.end(),
                                [operation](const CollectiveTable& t) { return t.operation == operation; });
  if (found.empty() && any != link.collectives.end()) found = of(any->library);
  return found;
}

/// Ascending; of points of equally many bytes one.
void sort_by_bytes(std::vector<CollectivePoint>& points) {
  std::ranges::sort(points, {}, &CollectivePoint::bytes);
  const auto equal = [](const CollectivePoint& a, const CollectivePoint& b) { return a.bytes == b.bytes; };
  points.erase(std::unique(points.begin(), points.end(), equal), points.end());
}

/// Two group sizes carried to a third one, linear in its logarithm. A larger group is never faster than both.
std::vector<CollectivePoint> carried(const CollectiveTable& few, const CollectiveTable& many, double gpus) {
  const double share = std::log(gpus / few.gpus) / std::log(static_cast<double>(many.gpus) / few.gpus);
  std::vector<CollectivePoint> points = few.points;
  points.insert(points.end(), many.points.begin(), many.points.end());
  sort_by_bytes(points);
  double before = 0;
  for (CollectivePoint& p : points) {
    const double a = at(few.points, p.bytes), b = at(many.points, p.bytes);
    const double seconds = a + share * (b - a);
    p.seconds = before = std::max({seconds, std::min(a, b), before});
  }
  return points;
}

}  // namespace

CollectiveTimes::CollectiveTimes(const LinkSpec& link, Collective operation, const std::string& library,
                                 std::int64_t gpus) {
  const std::vector<const CollectiveTable*> tables = tables_of(link, operation, library);
  const auto exact = std::find_if(tables.begin(), tables.end(), [gpus](const auto* t) { return t->gpus == gpus; });
  const auto n = static_cast<double>(gpus);
  if (exact != tables.end()) {
    curve_ = (*exact)->points;
    source_ = (*exact)->source;
    measured_ = true;
    return;
  }
  if (tables.empty()) {
    const double fixed_s = steps(operation, n) * link.latency_s.value;
    curve_ = {{0, fixed_s}, {1, fixed_s + crossing(operation, n) / link.read_bytes_per_s.value}};
    estimate_ = fmt::format("link {} has no {} figures: latency and bandwidth alone", link.name, word(operation));
    return;
  }
  if (tables.size() == 1) {
    const CollectiveTable& only = *tables.front();
    curve_ = only.points;
    const double shortest_s = only.points.front().seconds;
    const double more_steps = steps(operation, n) / steps(operation, only.gpus);
    const double more_bytes = crossing(operation, n) / crossing(operation, only.gpus);
    for (CollectivePoint& p : curve_) p.seconds = shortest_s * more_steps + (p.seconds - shortest_s) * more_bytes;
    estimate_ = fmt::format("link {} has {} figures for {} GPUs, not for {}: carried over by steps and bytes",
                            link.name, word(operation), only.gpus, gpus);
    return;
  }
  auto many = std::find_if(tables.begin() + 1, tables.end() - 1, [gpus](const auto* t) { return t->gpus > gpus; });
  curve_ = carried(**(many - 1), **many, n);
  estimate_ =
      fmt::format("link {} has {} figures for {} and {} GPUs, not for {}: carried over by the logarithm of GPUs",
                  link.name, word(operation), (*(many - 1))->gpus, (*many)->gpus, gpus);
}

CollectiveTimes::CollectiveTimes(const Interconnect& links, Collective operation, const std::string& library,
                                 std::int64_t gpus) {
  const std::int64_t nodes = links.nodes_of(gpus);
  if (nodes == 1) {
    *this = CollectiveTimes(links.peer, operation, library, gpus);
    return;
  }
  const std::int64_t of_node = (gpus + nodes - 1) / nodes;
  const CollectiveTimes within =
      of_node > 1 ? CollectiveTimes(links.peer, operation, library, of_node) : CollectiveTimes();
  const CollectiveTimes between(*links.between_nodes, operation, library, nodes);
  const bool to_all = operation == Collective::all_to_all;
  const double share_within = to_all ? 1 / static_cast<double>(nodes) : 1;
  const double share_between = to_all ? 1 : 1 / static_cast<double>(of_node);
  for (const CollectivePoint& p : within.curve_) curve_.push_back({p.bytes / share_within, 0});
  for (const CollectivePoint& p : between.curve_) curve_.push_back({p.bytes / share_between, 0});
  sort_by_bytes(curve_);
  for (CollectivePoint& p : curve_) {
    p.seconds = within.seconds(p.bytes * share_within) + between.seconds(p.bytes * share_between);
  }
  estimate_ = fmt::format("{} of {} GPUs on {} nodes: within nodes over {}, then between them over {}, without overlap",
                          word(operation), gpus, nodes, links.peer.name, links.between_nodes->name);
  for (const CollectiveTimes* part : {&within, &between}) {
    if (!part->estimate_.empty()) estimate_ += "; " + part->estimate_;
  }
}

double CollectiveTimes::seconds(double bytes) const {
  return at(curve_, bytes);
}

}  // namespace kvsim::models
