#include "sim/transport/network.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/engine/time.h"

namespace kvsim::transport {

using engine::Callback;
using engine::Duration;

namespace {

void check_bandwidth(const std::string& link, double bytes_per_s) {
  if (!(bytes_per_s >= 0) || std::isinf(bytes_per_s)) {
    throw std::invalid_argument("link '" + link + "': bandwidth must be finite and not negative");
  }
}

}  // namespace

void check_link(const std::string& name, double bytes_per_s, Duration latency, Duration setup) {
  check_bandwidth(name, bytes_per_s);
  if (bytes_per_s == 0) throw std::invalid_argument("link '" + name + "': bandwidth must be positive at the start");
  if (latency < Duration{} || setup < Duration{}) {
    throw std::invalid_argument("link '" + name + "': latency and setup must not be negative");
  }
}

void check_transfer(const Transfer& transfer) {
  KVSIM_ALWAYS(transfer.bytes >= 0, "a transfer must not be negative");
  KVSIM_ALWAYS(transfer.slowdown >= 1, "a transfer must not be faster than its link");
}

void check_bytes_conserved(const std::string& link, const LinkStatistics& statistics, std::int64_t outstanding) {
  KVSIM_ALWAYS(statistics.bytes_submitted == statistics.bytes_delivered + statistics.bytes_cancelled + outstanding,
               "link '" + link + "': bytes put on differ from bytes taken off");
}

LinkId Network::add_link(std::string name, double bytes_per_s) {
  check_link(name, bytes_per_s);
  NetworkLink& link = links_.emplace_back();
  link.name = std::move(name);
  link.bytes_per_s = bytes_per_s;
  return {static_cast<std::uint32_t>(links_.size() - 1)};
}

void Network::check_route(std::span<const LinkId> route) const {
  for (auto hop = route.begin(); hop != route.end(); ++hop) {
    const auto same = [hop](LinkId other) { return other.index == hop->index; };
    if (hop->index >= links_.size()) throw std::invalid_argument("a route over an unknown link");
    if (std::any_of(route.begin(), hop, same)) throw std::invalid_argument("a route crosses a link twice");
  }
}

FlowId Network::submit(std::span<const LinkId> route, const Transfer& transfer, Duration setup) {
  check_transfer(transfer);
  check_route(route);
  const auto [id, flow] = flows_.acquire();
  flow.transfer = transfer;
  flow.remaining = work_of(transfer);
  flow.rate = 0;
  flow.updated = simulator_.now();
  flow.event = {};
  flow.moving = false;
  flow.route.clear();
  for (const LinkId hop : route) {
    flow.route.push_back({hop.index, 0});
    NetworkLink& link = links_[hop.index];
    if (link.occupying++ == 0) {
      link.busy_since = simulator_.now();
      if (link.on_change) link.on_change();
    }
    link.statistics.bytes_submitted += transfer.bytes;
    ++link.statistics.transfers_started;
  }
  if (setup > Duration{}) {
    flow.event = simulator_.schedule_in(setup, Callback::to<&Network::start>(this, id));
  } else {
    start(id);
  }
  return {id};
}

void Network::start(std::uint64_t id) {
  Flow& flow = flows_[id];
  flow.moving = true;
  flow.updated = simulator_.now();
  for (std::uint32_t i = 0; i < flow.route.size(); ++i) {
    NetworkLink& link = links_[flow.route[i].link];
    flow.route[i].place = static_cast<std::uint32_t>(link.flows.size());
    link.flows.push_back({id, i});
  }
  if (alone(flow)) {  // nobody else's rate changes, and its own is known
    double narrowest = std::numeric_limits<double>::infinity();
    for (const Hop& hop : flow.route) narrowest = std::min(narrowest, links_[hop.link].bytes_per_s);
    flow.rate = narrowest;
    schedule_end(id, flow);
    return;
  }
  for (const Hop& hop : flow.route) touch(hop.link);
  if (flow.remaining == 0) schedule_end(id, flow);  // at whatever rate
}

bool Network::alone(const Flow& flow) const {
  return std::all_of(flow.route.begin(), flow.route.end(),
                     [this](const Hop& hop) { return links_[hop.link].flows.size() == 1; });
}

void Network::leave(Flow& flow) {
  for (const Hop& hop : flow.route) {
    NetworkLink& link = links_[hop.link];
    if (--link.occupying == 0) {
      link.busy += simulator_.now() - link.busy_since;
      if (link.on_change) link.on_change();
    }
    if (!flow.moving) continue;
    const Crossing last = link.flows.back();
    link.flows[hop.place] = last;
    flows_[last.flow].route[last.hop].place = hop.place;
    link.flows.pop_back();
    if (!link.flows.empty()) touch(hop.link);
  }
}

// New rates are due before time moves on, but not before everything else that happens now has happened: a thousand
// flows that start together cost one recomputation.
void Network::touch(std::uint32_t link) {
  touched_.push_back(link);
  if (!simulator_.pending(recompute_event_)) {
    recompute_event_ = simulator_.schedule_in({}, Callback::to<&Network::recompute>(this));
  }
}

void Network::schedule_end(std::uint64_t id, Flow& flow) {
  simulator_.cancel(flow.event);
  // Nothing was rounded where all is left, at the bandwidth of a link.
  const bool exact = flow.remaining == work_of(flow.transfer) &&
                     std::any_of(flow.route.begin(), flow.route.end(),
                                 [&](const Hop& hop) { return links_[hop.link].bytes_per_s == flow.rate; });
  const Duration left =
      engine::transfer_time(exact ? flow.remaining : flow.remaining - engine::negligible_bytes, flow.rate);
  if (left == engine::forever) return;  // stalled; the next recomputation schedules it
  flow.event = simulator_.schedule_in(left, Callback::to<&Network::on_last_byte>(this, id));
}

void Network::on_last_byte(std::uint64_t id) {
  Flow& flow = flows_[id];
  leave(flow);
  for (const Hop& hop : flow.route) {
    links_[hop.link].statistics.bytes_delivered += flow.transfer.bytes;
    ++links_[hop.link].statistics.transfers_completed;
  }
  const Callback on_complete = flow.transfer.on_complete;
  flows_.release(id);
  if (on_complete) on_complete();
}

bool Network::cancel(FlowId id) {
  Flow* flow = flows_.find(id.value);
  if (flow == nullptr) return false;
  simulator_.cancel(flow->event);
  leave(*flow);
  for (const Hop& hop : flow->route) links_[hop.link].statistics.bytes_cancelled += flow->transfer.bytes;
  flows_.release(id.value);
  return true;
}

void Network::set_bandwidth(LinkId id, double bytes_per_s) {
  NetworkLink& link = links_.at(id.index);
  check_bandwidth(link.name, bytes_per_s);
  link.bytes_per_s = bytes_per_s;
  if (!link.flows.empty()) touch(id.index);
}

double Network::bandwidth(std::span<const LinkId> route) const {
  double narrowest = std::numeric_limits<double>::infinity();
  for (const LinkId link : route) narrowest = std::min(narrowest, bandwidth(link));
  return narrowest;
}

double Network::rate(FlowId id) {
  if (!touched_.empty()) recompute();
  const Flow* flow = flows_.find(id.value);
  return flow == nullptr ? 0 : flow->rate;
}

double Network::remaining(FlowId id) const {
  const Flow* flow = flows_.find(id.value);
  if (flow == nullptr) return 0;
  if (flow->rate == 0 || simulator_.now() == flow->updated) return flow->remaining;
  return std::max(0.0, flow->remaining - flow->rate * (simulator_.now() - flow->updated).seconds());
}

LinkStatistics Network::statistics(LinkId id) const {
  const NetworkLink& link = links_.at(id.index);
  LinkStatistics statistics = link.statistics;
  const Duration busy = link.occupying == 0 ? link.busy : link.busy + (simulator_.now() - link.busy_since);
  statistics.busy_s = busy.seconds();
  return statistics;
}

void Network::check_conservation() const {
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
    // Between a change and the recomputation that it asked for the rates are the old ones.
    KVSIM_ALWAYS(!touched_.empty() || rates[i] <= links_[i].bytes_per_s * (1 + 1e-9),
                 "more bandwidth given out than there is");
  }
}

// Max-min fair rates by progressive filling: the link with the smallest equal share among its transfers without a rate
// fixes theirs at that share; what they take is gone from their other links; repeat. The rates of a component depend
// on nothing outside it.

void Network::recompute() {
  simulator_.cancel(recompute_event_);  // where rate() was asked before the event ran
  collect_component();
  fill();
  for (const std::uint64_t id : component_flows_) {
    Flow& flow = flows_[id];
    set_rate(id, flow, flow.new_rate);
  }
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

void Network::set_rate(std::uint64_t id, Flow& flow, double rate) {
  if (flow.rate == rate) return;  // its end stays where it is
  flow.remaining = remaining({id});
  flow.updated = simulator_.now();
  flow.rate = rate;
  schedule_end(id, flow);
}

}  // namespace kvsim::transport
