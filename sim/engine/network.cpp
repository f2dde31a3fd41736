#include "sim/engine/network.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "sim/engine/link.h"
#include "sim/engine/time.h"

namespace kvsim::engine {

Network::Network(Simulator& simulator, TraceSink* trace) : simulator_(simulator), trace_(trace) {}

NetworkLinkId Network::add_link(NetworkLinkConfig config) {
  check_bandwidth(config.name, config.bytes_per_s);
  if (config.bytes_per_s == 0 || config.latency < Duration{}) {
    throw std::invalid_argument("link '" + config.name + "': bandwidth must be positive and latency not negative");
  }
  const auto index = static_cast<std::uint32_t>(links_.size());
  NetworkLink& link = links_.emplace_back();
  link.name = std::move(config.name);
  link.bytes_per_s = config.bytes_per_s;
  link.latency = config.latency;
  if (trace_ != nullptr) link.counter = trace_->add_counter("network", link.name + ": bytes/s");
  return {index};
}

TransferId Network::submit(std::span<const NetworkLinkId> route, const Transfer& transfer) {
  check_transfer(transfer);
  for (auto hop = route.begin(); hop != route.end(); ++hop) {
    const auto same = [hop](NetworkLinkId other) { return other.index == hop->index; };
    if (hop->index >= links_.size()) throw std::invalid_argument("a route over an unknown link");
    if (std::any_of(route.begin(), hop, same)) throw std::invalid_argument("a route crosses a link twice");
  }
  const auto [id, flow] = flows_.acquire();
  flow.transfer = transfer;
  flow.remaining = static_cast<double>(transfer.bytes);
  flow.rate = 0;
  flow.updated = simulator_.now();
  flow.latency = {};
  flow.event = {};
  flow.route.clear();
  for (const NetworkLinkId link : route) {
    flow.route.push_back({link.index, 0});
    flow.latency += links_[link.index].latency;
    links_[link.index].statistics.bytes_submitted += transfer.bytes;
    ++links_[link.index].statistics.transfers_started;
  }
  join(id, flow);
  // Nothing to move, or nothing to move it over: the last byte leaves at once, at whatever rate.
  if (route.empty()) flow.rate = std::numeric_limits<double>::infinity();
  if (route.empty() || transfer.bytes == 0) schedule_end(id, flow);
  return {id};
}

void Network::join(std::uint64_t id, Flow& flow) {
  flow.moving = true;
  for (std::uint32_t i = 0; i < flow.route.size(); ++i) {
    NetworkLink& link = links_[flow.route[i].link];
    if (link.flows.empty()) link.busy_since = simulator_.now();
    flow.route[i].place = static_cast<std::uint32_t>(link.flows.size());
    link.flows.push_back({id, i});
    touch(flow.route[i].link);
  }
}

void Network::leave(Flow& flow) {
  flow.moving = false;
  flow.rate = 0;
  for (const Hop& hop : flow.route) {
    NetworkLink& link = links_[hop.link];
    const Crossing last = link.flows.back();
    link.flows[hop.place] = last;
    flows_[last.flow].route[last.hop].place = hop.place;
    link.flows.pop_back();
    if (link.flows.empty()) link.busy += simulator_.now() - link.busy_since;
    touch(hop.link);
  }
}

// New rates are due before time moves on, but not before everything else that happens now has happened: a thousand
// transfers that start together cost one recomputation.
void Network::touch(std::uint32_t link) {
  touched_.push_back(link);
  if (!simulator_.pending(recompute_event_)) {
    recompute_event_ = simulator_.schedule_in({}, Callback::to<&Network::recompute>(this));
  }
}

void Network::schedule_end(std::uint64_t id, Flow& flow) {
  simulator_.cancel(flow.event);
  const bool whole = flow.remaining == static_cast<double>(flow.transfer.bytes);
  const Duration left = transfer_time(whole ? flow.remaining : flow.remaining - negligible_bytes, flow.rate);
  if (left == forever) return;  // stalled; the next recomputation schedules it
  flow.event = simulator_.schedule_in(left, Callback::to<&Network::on_last_byte>(this, id));
}

void Network::on_last_byte(std::uint64_t id) {
  Flow& flow = flows_[id];
  leave(flow);
  if (flow.latency > Duration{}) {
    flow.event = simulator_.schedule_in(flow.latency, Callback::to<&Network::deliver>(this, id));
  } else {
    deliver(id);
  }
}

void Network::deliver(std::uint64_t id) {
  const Flow& flow = flows_[id];
  for (const Hop& hop : flow.route) {
    links_[hop.link].statistics.bytes_delivered += flow.transfer.bytes;
    ++links_[hop.link].statistics.transfers_completed;
  }
  const Callback on_complete = flow.transfer.on_complete;
  flows_.release(id);
  if (on_complete) on_complete();
}

bool Network::cancel(TransferId id) {
  Flow* flow = flows_.find(id.value);
  if (flow == nullptr) return false;
  simulator_.cancel(flow->event);
  if (flow->moving) leave(*flow);
  for (const Hop& hop : flow->route) links_[hop.link].statistics.bytes_cancelled += flow->transfer.bytes;
  flows_.release(id.value);
  return true;
}

void Network::set_bandwidth(NetworkLinkId id, double bytes_per_s) {
  NetworkLink& link = links_.at(id.index);
  check_bandwidth(link.name, bytes_per_s);
  link.bytes_per_s = bytes_per_s;
  touch(id.index);
}

double Network::rate(TransferId id) {
  if (!touched_.empty()) recompute();
  const Flow* flow = flows_.find(id.value);
  return flow == nullptr ? 0 : flow->rate;
}

LinkStatistics Network::statistics(NetworkLinkId id) const {
  const NetworkLink& link = links_.at(id.index);
  LinkStatistics statistics = link.statistics;
  const Duration busy = link.flows.empty() ? link.busy : link.busy + (simulator_.now() - link.busy_since);
  statistics.busy_s = busy.seconds();
  return statistics;
}

void Network::check_conservation() {
  if (!touched_.empty()) recompute();
  std::vector<std::int64_t> outstanding(links_.size(), 0);
  std::vector<double> rates(links_.size(), 0);
  flows_.for_each([&](std::uint64_t, const Flow& flow) {
    for (const Hop& hop : flow.route) {
      outstanding[hop.link] += flow.transfer.bytes;
      rates[hop.link] += flow.rate;
    }
  });
  for (std::size_t i = 0; i < links_.size(); ++i) {
    check_bytes_conserved(links_[i].name, links_[i].statistics, outstanding[i]);
    KVSIM_ALWAYS(rates[i] <= links_[i].bytes_per_s * (1 + 1e-9), "more bandwidth given out than there is");
  }
}

// Max-min fair rates by progressive filling: the link with the smallest equal share among its transfers without a rate
// fixes theirs at that share; what they take is gone from their other links; repeat. The rates of a component depend
// on nothing outside it.

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
