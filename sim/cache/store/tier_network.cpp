#include "sim/cache/store/tier_network.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::cache {

using engine::Callback;
using engine::NetworkLinkId;
using engine::SimTime;

TierNetwork::TierNetwork(engine::Simulator& simulator, engine::TraceSink* trace)
    : simulator_(simulator), trace_(trace), network_(simulator, nullptr) {}

NetworkLinkId TierNetwork::add_link(const std::string& kind, double bytes_per_s) {
  links_.push_back({kind, bytes_per_s});
  return network_.add_link({kind, bytes_per_s, {}});
}

LaneId TierNetwork::add_lane(LaneConfig config) {
  Lane lane;
  if (trace_ && config.serial) {
    lane.track = trace_->add_track(config.group, config.name);
  } else {
    lane.rows = engine::TraceLanes(trace_, config.group, config.name);
  }
  lane.config = std::move(config);
  lanes_.push_back(std::move(lane));
  return {static_cast<std::uint32_t>(lanes_.size() - 1)};
}

void TierNetwork::plan_changes(const std::vector<NetworkLinkId>& links, const std::vector<BandwidthChange>& changes,
                               Callback on_change) {
  // In order of time: where one begins as another ends, the end comes first.
  std::vector<BandwidthChange> sorted = changes;
  std::sort(sorted.begin(), sorted.end(),
            [](const BandwidthChange& a, const BandwidthChange& b) { return a.at_s < b.at_s; });
  for (const BandwidthChange& c : sorted) {
    plan_change(c.at_s, {links, c.fraction, on_change});
    plan_change(c.at_s + c.lasting_s, {links, 1, on_change});
  }
}

void TierNetwork::plan_change(double at_s, Change change) {
  changes_.push_back(std::move(change));
  simulator_.schedule_at(SimTime{} + engine::from_seconds(at_s),
                         Callback::to<&TierNetwork::change>(this, changes_.size() - 1));
}

void TierNetwork::change(std::uint64_t index) {
  const Change& c = changes_[index];
  for (const NetworkLinkId link : c.links) network_.set_bandwidth(link, links_[link.index].bytes_per_s * c.fraction);
  if (c.on_change) c.on_change();
}

void TierNetwork::submit(LaneId id, const engine::Transfer& transfer) {
  Lane& lane = lanes_.at(id.index);
  lane.submitted_bytes += transfer.bytes;
  lane.waiting.push_back({transfer, simulator_.now()});
  start(id.index);
}

void TierNetwork::start(std::uint32_t index) {
  Lane& lane = lanes_[index];
  while (!lane.waiting.empty() && (!lane.config.serial || lane.under_way == 0)) {
    const Waiting next = lane.waiting.front();
    lane.waiting.pop_front();
    lane.under_way += 1;
    lane.started += 1;
    lane.moving_bytes += next.transfer.bytes;
    lane.wait_s += (simulator_.now() - next.submitted).seconds();
    const auto slot = moving_.acquire();
    slot.value = {index, next.transfer, simulator_.now(), lane.rows.acquire()};
    simulator_.schedule_in(lane.config.setup, Callback::to<&TierNetwork::move>(this, slot.id));
  }
}

void TierNetwork::move(std::uint64_t id) {
  const Moving& moving = moving_[id];
  engine::Transfer flow = moving.transfer;
  flow.on_complete = Callback::to<&TierNetwork::on_last_byte>(this, id);
  network_.submit(lanes_[moving.lane].config.route, flow);
}

void TierNetwork::on_last_byte(std::uint64_t id) {
  const Moving done = moving_[id];
  moving_.release(id);
  Lane& lane = lanes_[done.lane];
  lane.under_way -= 1;
  lane.moving_bytes -= done.transfer.bytes;
  lane.arrived_bytes += done.transfer.bytes;
  const auto bytes = static_cast<double>(done.transfer.bytes);
  if (trace_ && lane.config.serial) {
    trace_->slice(lane.track, done.transfer.kind, done.began, simulator_.now(), done.transfer.owner, bytes);
  } else {
    lane.rows.release(done.row, done.transfer.kind, done.began, simulator_.now(), done.transfer.owner, bytes);
  }
  if (done.transfer.on_complete) simulator_.schedule_in(lane.config.latency, done.transfer.on_complete);
  start(done.lane);
}

double TierNetwork::bandwidth(LaneId id) const {
  double least = std::numeric_limits<double>::infinity();
  for (const NetworkLinkId link : lanes_.at(id.index).config.route) least = std::min(least, network_.bandwidth(link));
  return least;
}

std::map<std::string, LinkTotals> TierNetwork::totals() const {
  std::map<std::string, LinkTotals> totals;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const engine::LinkStatistics s = network_.statistics({i});
    LinkTotals& t = totals[links_[i].kind];
    t.links += 1;
    t.busy_s += s.busy_s;
    t.bytes += s.bytes_delivered;
  }
  for (const Lane& lane : lanes_) {
    if (lane.config.route.empty()) continue;
    LinkTotals& t = totals[links_[lane.config.route.front().index].kind];
    t.wait_s += lane.wait_s;
    t.transfers += lane.started;
  }
  return totals;
}

void TierNetwork::check_conservation() {
  network_.check_conservation();
  for (const Lane& lane : lanes_) {
    std::int64_t waiting = 0;
    for (const Waiting& w : lane.waiting) waiting += w.transfer.bytes;
    KVSIM_ALWAYS(lane.submitted_bytes == lane.arrived_bytes + lane.moving_bytes + waiting,
                 "bytes given to a tier's link were lost");
  }
}

}  // namespace kvsim::cache
