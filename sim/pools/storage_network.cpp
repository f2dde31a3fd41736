#include "sim/pools/storage_network.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/engine/invariant.h"

namespace kvsim::pools {

using engine::Callback;
using engine::SimTime;

const char* name_of(Pool pool) {
  return pool == Pool::local ? "local" : "remote";
}

std::string node_name(Pool pool, std::size_t index) {
  return fmt::format("{} node {}", name_of(pool), index);
}

StorageNetwork::StorageNetwork(engine::Simulator& simulator, const serving::PoolsConfig& pools,
                               engine::TraceSink* trace)
    : simulator_(simulator), trace_(trace), network_(simulator, nullptr) {
  if (pools.storage.read_bytes_per_s) egress_ = network_.add_link({"storage", *pools.storage.read_bytes_per_s, {}});
  add_pool(pools.local, Pool::local);
  add_pool(pools.remote, Pool::remote);
  before_.resize(lanes_.size());
}

void StorageNetwork::add_pool(const serving::PoolConfig& pool, Pool which) {
  PoolLinks& links = pools_.at(static_cast<std::size_t>(which));
  links.first_lane = lanes_.size();
  if (pool.nodes > 0 && pool.shared_bytes_per_s) {
    links.shared_bytes_per_s = *pool.shared_bytes_per_s;
    links.shared = network_.add_link({fmt::format("storage to {} pool", name_of(which)), *pool.shared_bytes_per_s, {}});
  }
  for (std::int64_t node = 0; node < pool.nodes; ++node) {
    add_lane(pool, which, node, Direction::read);
    add_lane(pool, which, node, Direction::write);
  }
  links.lanes = lanes_.size() - links.first_lane;
  // In order of time: where one begins as another ends, the end comes first.
  std::vector<serving::Outage> outages = pool.outages;
  std::sort(outages.begin(), outages.end(),
            [](const serving::Outage& a, const serving::Outage& b) { return a.at_s < b.at_s; });
  for (const serving::Outage& outage : outages) {
    plan_change(outage.at_s, {which, outage.bandwidth_fraction});
    plan_change(outage.at_s + outage.lasting_s, {which, 1});
  }
}

void StorageNetwork::add_lane(const serving::PoolConfig& pool, Pool which, std::int64_t node, Direction direction) {
  const bool read = direction == Direction::read;
  const std::string group = node_name(which, static_cast<std::size_t>(node));
  const char* name = read ? "from storage" : "to storage";
  Lane lane;
  lane.pool = which;
  lane.reads = read;
  lane.bytes_per_s = (read ? pool.link.read_bytes_per_s : pool.link.write_bytes_per_s).value;
  lane.latency = engine::from_seconds(pool.link.latency_s.value);
  lane.setup = engine::from_seconds(pool.link.setup_s.value);
  lane.link = network_.add_link({fmt::format("{} {}", group, name), lane.bytes_per_s, {}});
  lane.route.push_back(lane.link);
  if (read && links_of(which).shared) lane.route.push_back(*links_of(which).shared);
  if (read && egress_) lane.route.push_back(*egress_);
  if (trace_) lane.track = trace_->add_track(group, name);
  lanes_.push_back(std::move(lane));
}

void StorageNetwork::plan_change(double at_s, Change change) {
  changes_.push_back(change);
  simulator_.schedule_at(SimTime{} + engine::from_seconds(at_s),
                         Callback::to<&StorageNetwork::change_bandwidth>(this, changes_.size() - 1));
}

void StorageNetwork::change_bandwidth(std::uint64_t index) {
  const Change& change = changes_[index];
  const PoolLinks& links = links_of(change.pool);
  for (std::size_t i = links.first_lane; i < links.first_lane + links.lanes; ++i) {
    network_.set_bandwidth(lanes_[i].link, lanes_[i].bytes_per_s * change.fraction);
  }
  if (links.shared) network_.set_bandwidth(*links.shared, links.shared_bytes_per_s * change.fraction);
}

LaneId StorageNetwork::lane(Pool pool, std::size_t node, Direction direction) const {
  return {static_cast<std::uint32_t>(links_of(pool).first_lane + 2 * node + (direction == Direction::read ? 0 : 1))};
}

std::uint64_t StorageNetwork::submit(LaneId id, const engine::Transfer& transfer, Urgency urgency) {
  Lane& lane = lanes_.at(id.index);
  // One is set up at a time, while the one before it moves.
  lane.set_up = std::max(lane.set_up, simulator_.now()) + lane.setup;
  lane.waiting.at(static_cast<std::size_t>(urgency)).push_back({next_id_, transfer, simulator_.now(), lane.set_up});
  lane.submitted_bytes += transfer.bytes;
  if (urgency == Urgency::prompt) lane.prompt_bytes += transfer.bytes;
  if (!lane.busy) pump_at(id.index, lane.set_up);  // later than now, or after all that happens now
  return next_id_++;
}

void StorageNetwork::pump_at(std::uint32_t lane, SimTime at) {
  simulator_.schedule_at(at, Callback::to<&StorageNetwork::pump>(this, lane));
}

void StorageNetwork::pump(std::uint64_t index) {
  Lane& lane = lanes_[index];
  if (lane.busy) return;
  auto* queue = &lane.waiting[0];
  if (queue->empty()) queue = &lane.waiting[1];
  if (queue->empty()) return;
  if (queue->front().ready > simulator_.now()) {
    pump_at(static_cast<std::uint32_t>(index), queue->front().ready);
    return;
  }
  lane.current = queue->front();
  queue->pop_front();
  lane.current_is_prompt = queue == &lane.waiting[0];
  lane.busy = true;
  count_read(lane, 1);
  lane.began = simulator_.now();
  lane.started += 1;
  lane.started_bytes += lane.current.transfer.bytes;
  lane.wait_s += (simulator_.now() - lane.current.submitted).seconds();
  engine::Transfer moving = lane.current.transfer;
  moving.on_complete = Callback::to<&StorageNetwork::on_last_byte>(this, index);
  lane.flow = network_.submit(lane.route, moving);
}

void StorageNetwork::on_last_byte(std::uint64_t index) {
  Lane& lane = lanes_[index];
  const engine::Transfer& done = lane.current.transfer;
  if (lane.current_is_prompt) lane.prompt_bytes -= done.bytes;
  if (trace_) {
    trace_->slice(lane.track, done.kind, lane.began, simulator_.now(), done.owner, static_cast<double>(done.bytes));
  }
  if (done.on_complete) simulator_.schedule_in(lane.latency, done.on_complete);
  release(lane, index);
}

void StorageNetwork::release(Lane& lane, std::uint64_t index) {
  lane.busy = false;
  count_read(lane, -1);
  pump(index);
}

bool StorageNetwork::cancel(LaneId id, std::uint64_t transfer) {
  Lane& lane = lanes_.at(id.index);
  if (lane.busy && lane.current.id == transfer) {
    network_.cancel(lane.flow);
    if (lane.current_is_prompt) lane.prompt_bytes -= lane.current.transfer.bytes;
    release(lane, id.index);
    return true;
  }
  for (auto* queue : {&lane.waiting[0], &lane.waiting[1]}) {
    const auto it = std::find_if(queue->begin(), queue->end(), [&](const Waiting& w) { return w.id == transfer; });
    if (it == queue->end()) continue;
    lane.withdrawn_bytes += it->transfer.bytes;
    if (queue == &lane.waiting[0]) lane.prompt_bytes -= it->transfer.bytes;
    queue->erase(it);
    if (!lane.busy) pump(id.index);
    return true;
  }
  return false;
}

double StorageNetwork::backlog_s(LaneId id) const {
  const Lane& lane = lanes_.at(id.index);
  double bytes = static_cast<double>(lane.prompt_bytes);
  if (lane.busy && lane.current_is_prompt && bandwidth(lane) == lane.bytes_per_s) {
    bytes -= std::min(bytes, (simulator_.now() - lane.began).seconds() * lane.bytes_per_s);
  }
  return bytes / bandwidth(lane);
}

/// As it is now; a dead link is a very slow one to whoever plans with it.
double StorageNetwork::bandwidth(const Lane& lane) const {
  constexpr double kDead = 1e-6;  // of its bandwidth
  double now = network_.bandwidth(lane.link);
  const PoolLinks& links = links_of(lane.pool);
  if (lane.reads && links.shared) {
    now = std::min(now, links.reads.left_for(lane.bytes_per_s, network_.bandwidth(*links.shared), lane.busy));
  }
  if (lane.reads && egress_) {
    now = std::min(now, egress_reads_.left_for(lane.bytes_per_s, network_.bandwidth(*egress_), lane.busy));
  }
  return std::max(now, kDead * lane.bytes_per_s);
}

double StorageNetwork::Shared::left_for(double own, double bytes_per_s, bool is_busy) const {
  const double others = own_bytes_per_s - (is_busy ? own : 0);
  return std::max(bytes_per_s - others, bytes_per_s / static_cast<double>(busy + (is_busy ? 0 : 1)));
}

void StorageNetwork::count_read(const Lane& lane, int change) {
  if (!lane.reads) return;
  for (Shared* shared : {&egress_reads_, &links_of(lane.pool).reads}) {
    shared->busy += change;
    shared->own_bytes_per_s += change * lane.bytes_per_s;
  }
}

double StorageNetwork::transfer_s(LaneId id, std::int64_t bytes) const {
  const Lane& lane = lanes_.at(id.index);
  return static_cast<double>(bytes) / bandwidth(lane) + lane.latency.seconds() + lane.setup.seconds();
}

void StorageNetwork::start_measuring() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    before_[i] = {network_.statistics(lanes_[i].link), lanes_[i].wait_s, lanes_[i].started};
  }
}

void StorageNetwork::finish_measuring(serving::Measurements& measured, double measured_s) const {
  for (const Pool pool : {Pool::local, Pool::remote}) {
    const PoolLinks& links = links_of(pool);
    for (std::size_t i = 0; i < links.lanes; ++i) {
      const Lane& lane = lanes_[links.first_lane + i];
      const Snapshot& before = before_[links.first_lane + i];
      const engine::LinkStatistics s = network_.statistics(lane.link);
      serving::LinkMeasurement& l = measured.links[link_name(lane)];
      l.busy_s += s.busy_s - before.link.busy_s;
      l.capacity_s += measured_s;
      l.bytes += s.bytes_delivered - before.link.bytes_delivered;
      l.wait_s += lane.wait_s - before.wait_s;
      l.transfers += lane.started - before.started;
    }
  }
}

std::string StorageNetwork::link_name(const Lane& lane) {
  return lane.reads ? fmt::format("storage_to_{}", name_of(lane.pool))
                    : fmt::format("{}_to_storage", name_of(lane.pool));
}

serving::LinkTimes StorageNetwork::link_times() const {
  serving::LinkTimes times;
  for (const Lane& lane : lanes_) {
    serving::LinkTime& time = times[link_name(lane)];
    time.links += 1;
    time.busy_s += network_.statistics(lane.link).busy_s;
  }
  return times;
}

void StorageNetwork::check_conservation() {
  network_.check_conservation();
  for (const Lane& lane : lanes_) {
    std::int64_t waiting = 0;
    for (const auto& queue : lane.waiting) {
      for (const Waiting& w : queue) waiting += w.transfer.bytes;
    }
    KVSIM_ALWAYS(lane.submitted_bytes == lane.started_bytes + lane.withdrawn_bytes + waiting,
                 "bytes given to a storage link were lost before they moved");
    KVSIM_ALWAYS(network_.statistics(lane.link).bytes_submitted == lane.started_bytes,
                 "bytes moved over a storage link differ from those started");
  }
}

}  // namespace kvsim::pools
