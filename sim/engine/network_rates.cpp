// Max-min fair rates by progressive filling: the link with the smallest equal share among its transfers without a rate
// fixes theirs at that share; what they take is gone from their other links; repeat. The rates of a component depend
// on nothing outside it.
#include <algorithm>
#include <functional>

#include "sim/engine/network.h"

namespace kvsim::engine {

void Network::recompute() {
  simulator_.cancel(recompute_event_);  // where rate() was asked before the event ran
  collect_component();
  fill();
  for (const std::uint64_t id : component_flows_) apply(id);
  if (trace_ == nullptr) return;
  for (const std::uint32_t link : component_links_) show(links_[link]);
}

void Network::collect_component() {
  ++epoch_;
  component_links_.clear();
  component_flows_.clear();
  for (const std::uint32_t link : touched_) visit(link);
  touched_.clear();
  for (std::size_t next = 0; next < component_links_.size(); ++next) {
    for (const Crossing& crossing : links_[component_links_[next]].flows) {
      Flow& flow = flows_[crossing.flow];
      if (flow.epoch == epoch_) continue;
      flow.epoch = epoch_;
      flow.rated = false;
      component_flows_.push_back(crossing.flow);
      for (const Hop& hop : flow.route) visit(hop.link);
    }
  }
}

void Network::visit(std::uint32_t link) {
  NetworkLink& visited = links_[link];
  if (visited.epoch == epoch_) return;
  visited.epoch = epoch_;
  visited.left = visited.bytes_per_s;
  visited.unrated = visited.flows.size();
  component_links_.push_back(link);
}

void Network::push_share(std::uint32_t link) {
  const NetworkLink& shared = links_[link];
  if (shared.unrated == 0) return;
  shares_.push_back({shared.left / static_cast<double>(shared.unrated), link});
  std::push_heap(shares_.begin(), shares_.end(), std::greater<>{});
}

void Network::fill() {
  shares_.clear();
  for (const std::uint32_t link : component_links_) push_share(link);
  while (!shares_.empty()) {
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>{});
    const Share smallest = shares_.back();
    shares_.pop_back();
    const NetworkLink& link = links_[smallest.link];
    if (link.unrated == 0) continue;
    // Shares only grow as smaller ones are given out, so an outdated one is put back with its present value.
    const double share = link.left / static_cast<double>(link.unrated);
    if (share > smallest.bytes_per_s) {
      push_share(smallest.link);
    } else {
      rate_crossings(smallest.link, share);
    }
  }
}

void Network::rate_crossings(std::uint32_t link, double share) {
  for (const Crossing& crossing : links_[link].flows) {
    Flow& flow = flows_[crossing.flow];
    if (flow.rated) continue;
    flow.rated = true;
    flow.new_rate = share;
    for (const Hop& hop : flow.route) {
      NetworkLink& crossed = links_[hop.link];
      crossed.left = std::max(0.0, crossed.left - share);
      --crossed.unrated;
    }
  }
}

void Network::apply(std::uint64_t id) {
  Flow& flow = flows_[id];
  if (flow.rate == flow.new_rate) return;  // its end stays where it is
  flow.remaining = std::max(0.0, flow.remaining - flow.rate * (simulator_.now() - flow.updated).seconds());
  flow.updated = simulator_.now();
  flow.rate = flow.new_rate;
  schedule_end(id, flow);
}

void Network::show(NetworkLink& link) {
  const double carried = link.bytes_per_s - link.left;
  if (carried == link.shown) return;
  link.shown = carried;
  trace_->counter(link.counter, simulator_.now(), carried);
}

}  // namespace kvsim::engine
