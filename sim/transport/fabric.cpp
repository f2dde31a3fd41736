#include "sim/transport/fabric.h"

#include <algorithm>
#include <utility>

namespace kvsim::transport {

using engine::Callback;

Fabric::Fabric(engine::Simulator& simulator, engine::TraceSink* trace)
    : simulator_(simulator), trace_(trace), network_(simulator) {}

LinkId Fabric::link(const std::string& kind, const std::string& owner, double bytes_per_s) {
  const std::size_t number = number_of(kind);
  const auto same = [&](const NamedLink& l) { return l.kind == number && l.owner == owner; };
  const auto found = std::find_if(links_.begin(), links_.end(), same);
  if (found != links_.end()) return {static_cast<std::uint32_t>(found - links_.begin())};
  links_.push_back({.kind = number, .owner = owner, .bytes_per_s = bytes_per_s});
  return network_.add_link(owner + "/" + kind, bytes_per_s);
}

std::size_t Fabric::number_of(const std::string& kind) {
  const auto found = std::find(kinds_.begin(), kinds_.end(), kind);
  const auto number = static_cast<std::size_t>(found - kinds_.begin());
  if (found == kinds_.end()) kinds_.push_back(kind);
  return number;
}

Lane& Fabric::add_lane(LaneConfig config) {
  return *lanes_.emplace_back(std::make_unique<Lane>(simulator_, network_, trace_, std::move(config)));
}

namespace {

constexpr const char* kToGpu = "host_to_gpu";
constexpr const char* kFromGpu = "gpu_to_host";

LaneConfig host_lane(const std::string& group, const HostWay& way, const char* name) {
  return {group, name, {}, way.latency, way.setup, way.queueing};
}

LaneConfig lane_to_gpu(const std::string& group, const HostWay& way) {
  return host_lane(group, way, "host link, to the GPU");
}

LaneConfig lane_from_gpu(const std::string& group, const HostWay& way) {
  return host_lane(group, way, "host link, from the GPU");
}

}  // namespace

GroupLanes Fabric::add_host_lanes(const std::string& group, const HostWay& way) {
  LaneConfig to_gpu = lane_to_gpu(group, way), from_gpu = lane_from_gpu(group, way);
  to_gpu.route = {link(kToGpu, group, way.to_gpu_bytes_per_s)};
  from_gpu.route = {link(kFromGpu, group, way.from_gpu_bytes_per_s)};
  if (way.both_bytes_per_s > 0) {
    const LinkId both = link("", group + ", both ways", way.both_bytes_per_s);
    to_gpu.route.push_back(both);
    from_gpu.route.push_back(both);
  }
  Lane& in = add_lane(std::move(to_gpu));
  return {&in, &add_lane(std::move(from_gpu))};
}

Fabric::PlannedLanes Fabric::add_planned_host_lanes(const std::string& group, const HostWay& way) {
  PlannedLink& in = add_planned(kToGpu, way.to_gpu_bytes_per_s, lane_to_gpu(group, way));
  return {in, add_planned(kFromGpu, way.from_gpu_bytes_per_s, lane_from_gpu(group, way))};
}

PlannedLink& Fabric::add_planned(const std::string& kind, double bytes_per_s, const LaneConfig& config) {
  return *planned_
              .emplace_back(
                  Planned{number_of(kind), std::make_unique<PlannedLink>(simulator_, trace_, config, bytes_per_s)})
              .link;
}

void Fabric::plan_outages(const std::vector<LinkId>& links, std::vector<Outage> outages, Callback on_change) {
  // In order of time: where one begins as another ends, the end comes first.
  std::sort(outages.begin(), outages.end(), [](const Outage& a, const Outage& b) { return a.at_s < b.at_s; });
  for (const Outage& o : outages) {
    plan_change(o.at_s, {links, o.bandwidth_fraction, on_change});
    plan_change(o.at_s + o.lasting_s, {links, 1, on_change});
  }
}

void Fabric::plan_change(double at_s, Change change) {
  changes_.push_back(std::move(change));
  simulator_.schedule_at(engine::SimTime{} + engine::from_seconds(at_s),
                         Callback::to<&Fabric::change>(this, changes_.size() - 1));
}

void Fabric::change(std::uint64_t index) {
  const Change& c = changes_[index];
  for (const LinkId link : c.links) {
    links_[link.index].fraction = c.fraction;
    set_bandwidth(link);
  }
  if (c.on_change) c.on_change();
}

void Fabric::slow(LinkId link, double slowdown) {
  if (std::exchange(links_[link.index].slowdown, slowdown) != slowdown) set_bandwidth(link);
}

void Fabric::set_bandwidth(LinkId link) {
  const NamedLink& l = links_[link.index];
  network_.set_bandwidth(link, l.bytes_per_s * l.fraction / l.slowdown);
}

Fabric::Counts Fabric::count() const {
  Counts c;
  c.at = simulator_.now();
  for (std::uint32_t i = 0; i < links_.size(); ++i) c.links.push_back(network_.statistics({i}));
  for (const auto& lane : lanes_) c.lanes.push_back(lane->statistics());
  for (const Planned& p : planned_) c.planned.push_back(p.link->statistics());
  return c;
}

void Fabric::start_measuring() {
  before_ = count();
}

std::map<std::string, LinkTotals> Fabric::measured() const {
  return since(before_);
}

std::map<std::string, LinkTotals> Fabric::totals() const {
  return since({});
}

std::map<std::string, LinkTotals> Fabric::since(const Counts& before) const {
  std::vector<LinkTotals> totals(kinds_.size());
  const auto at = [](const std::vector<LinkStatistics>& all, std::size_t i) {
    return i < all.size() ? all[i] : LinkStatistics{};
  };
  const auto was_busy = [](LinkTotals& t, const LinkStatistics& s, const LinkStatistics& b) {
    t.links += 1;
    t.busy_s += s.busy_s - b.busy_s;
  };
  const auto carried = [](LinkTotals& t, const LinkStatistics& s, const LinkStatistics& b) {
    t.bytes += s.bytes_delivered - b.bytes_delivered;
  };
  const auto waited = [](LinkTotals& t, const LinkStatistics& s, const LinkStatistics& b) {
    t.wait_s += s.total_wait_s - b.total_wait_s;
    t.transfers += s.transfers_started - b.transfers_started;
  };
  for (std::size_t i = 0; i < links_.size(); ++i) {
    was_busy(totals[links_[i].kind], network_.statistics({static_cast<std::uint32_t>(i)}), at(before.links, i));
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const std::vector<LinkId>& route = lanes_[i]->config().route;
    const LinkStatistics now = lanes_[i]->statistics();
    for (const LinkId link : route) {
      LinkTotals& t = totals[links_[link.index].kind];
      carried(t, now, at(before.lanes, i));
      if (link.index == route.front().index) waited(t, now, at(before.lanes, i));
    }
  }
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    LinkTotals& t = totals[planned_[i].kind];
    const LinkStatistics now = planned_[i].link->statistics();
    was_busy(t, now, at(before.planned, i));
    carried(t, now, at(before.planned, i));
    waited(t, now, at(before.planned, i));
  }
  std::map<std::string, LinkTotals> by_kind;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i].empty()) continue;
    totals[i].capacity_s = (simulator_.now() - before.at).seconds() * static_cast<double>(totals[i].links);
    by_kind[kinds_[i]] = totals[i];
  }
  return by_kind;
}

void Fabric::check_conservation() const {
  network_.check_conservation();
  for (const auto& lane : lanes_) lane->check_conservation();
  for (const Planned& p : planned_) p.link->check_conservation();
}

}  // namespace kvsim::transport
