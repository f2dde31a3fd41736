#include "sim/engine/network.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "sim/engine/link_disciplines.h"
#include "sim/engine/transfer_time.h"

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

}  // namespace kvsim::engine
