// Equal sharing (processor sharing): n transfers under way get bandwidth / n each. In virtual time V, the bytes that
// each of them has received since the link was last idle, dV/dt = bandwidth / n, and a transfer that starts at V with b
// bytes ends at V + b, whoever comes and goes meanwhile. So arrivals and completions cost one heap operation, O(log n).
// Source: A. K. Parekh and R. G. Gallager, "A generalized processor sharing approach to flow control", IEEE/ACM ToN
// 1(3), 1993 (virtual time).
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/engine/link.h"
#include "sim/engine/ordered_queue.h"
#include "sim/engine/slot_table.h"
#include "sim/engine/time.h"
#include "sim/engine/trace.h"

namespace kvsim::engine {
namespace {

// V is kept in 1/65536 byte as an integer plus a fraction, so that no rounding accumulates however long the link stays
// busy. Before it could overflow, it is taken off every key.
constexpr double units_per_byte = 65536;
constexpr std::int64_t max_bytes = std::int64_t{1} << 45;  // of one transfer: 35 TB
constexpr std::int64_t rebase_threshold = std::int64_t{1} << 61;

std::int64_t units_of(std::int64_t bytes) {
  return bytes * static_cast<std::int64_t>(units_per_byte);
}

__extension__ typedef __int128 WideInteger;

struct VirtualTime {
  std::int64_t units = 0;
  double fraction = 0;  // in [0, 1) units

  [[nodiscard]] bool exact() const { return fraction == 0; }
  [[nodiscard]] double bytes_until(std::int64_t key) const {
    return (static_cast<double>(key - units) - fraction) / units_per_byte;
  }
};

class FairShareLink final : public Link {
 public:
  FairShareLink(Simulator& simulator, LinkConfig config, TraceSink* trace);

  TransferId submit(const Transfer& transfer) override;
  bool cancel(TransferId id) override;
  void set_bandwidth(double bytes_per_s) override;
  [[nodiscard]] double bandwidth() const override { return config_.bytes_per_s; }
  [[nodiscard]] std::size_t in_flight_or_queued() const override { return flows_.size(); }
  [[nodiscard]] std::int64_t backlog_bytes() const override;
  [[nodiscard]] LinkStatistics statistics() const override;
  [[nodiscard]] std::optional<Duration> time_left(TransferId) const override { return std::nullopt; }  // shared
  [[nodiscard]] const std::string& name() const override { return config_.name; }
  void check_conservation() const override;

 private:
  // Setup delays a transfer's first byte and counts as busy, but takes no bandwidth from the others.
  enum class State : std::uint8_t { setting_up, moving, arriving };

  struct Flow {
    Transfer transfer;
    SimTime begin;
    std::uint64_t moving = 0;  // its place in moving_
    WideInteger end = 0;       // base_ + its key there
    EventHandle event;         // the end of setup, or the arrival
    int lane = TraceLanes::no_lane;
    State state = State::setting_up;
  };

  void start_moving(std::uint64_t id);
  void on_completion();
  void deliver(std::uint64_t id);
  void leave_link(const Flow& flow, std::string_view what);
  void set_occupying(std::size_t transfers);
  [[nodiscard]] VirtualTime virtual_now() const;
  void advance();
  void restart_when_idle();
  void schedule_completion();

  Simulator& simulator_;
  LinkConfig config_;
  TraceSink* trace_;
  TraceLanes lanes_;
  int counter_ = -1;

  SlotTable<Flow> flows_;
  OrderedQueue<std::uint64_t> moving_;  // identifiers in flows_, by the virtual time at which they end
  std::vector<std::uint64_t> ending_;   // scratch of on_completion()
  WideInteger base_ = 0;                // what was taken off the keys in moving_ since the link was last idle
  WideInteger end_sum_ = 0;             // of Flow::end over moving_
  std::int64_t setting_up_bytes_ = 0;

  VirtualTime virtual_time_;  // at advanced_
  SimTime advanced_;
  EventHandle completion_;

  std::size_t occupying_ = 0;
  SimTime busy_since_;
  Duration busy_;
  LinkStatistics statistics_;
};

FairShareLink::FairShareLink(Simulator& simulator, LinkConfig config, TraceSink* trace)
    : simulator_(simulator),
      config_(std::move(config)),
      trace_(trace),
      lanes_(trace, std::string(trace_name(config_.name, "links").group),
             std::string(trace_name(config_.name, "links").row)) {
  if (trace_ == nullptr) return;
  const TraceName row = trace_name(config_.name, "links");
  counter_ = trace_->add_counter(row.group, std::string(row.row) + ": transfers under way");
}

TransferId FairShareLink::submit(const Transfer& transfer) {
  check_transfer(transfer);
  KVSIM_ALWAYS(transfer.slowdown == 1, "a shared link moves every transfer's bytes alike");
  KVSIM_ALWAYS(transfer.bytes <= max_bytes, "a transfer over a shared link is limited to 2^45 bytes");
  const auto [id, flow] = flows_.acquire();
  flow = {transfer, simulator_.now(), 0, 0, {}, lanes_.acquire(), State::setting_up};
  statistics_.bytes_submitted += transfer.bytes;
  ++statistics_.transfers_started;
  setting_up_bytes_ += transfer.bytes;
  set_occupying(occupying_ + 1);
  if (config_.setup > Duration{}) {
    flow.event = simulator_.schedule_in(config_.setup, Callback::to<&FairShareLink::start_moving>(this, id));
  } else {
    start_moving(id);
  }
  return {id};
}

void FairShareLink::start_moving(std::uint64_t id) {
  advance();
  Flow& flow = flows_[id];
  const std::int64_t end = virtual_time_.units + units_of(flow.transfer.bytes);
  flow.state = State::moving;
  flow.moving = moving_.push(end, id);
  flow.end = base_ + end;
  end_sum_ += flow.end;
  setting_up_bytes_ -= flow.transfer.bytes;
  schedule_completion();
}

VirtualTime FairShareLink::virtual_now() const {
  if (moving_.empty() || simulator_.now() == advanced_) return virtual_time_;
  const double share = config_.bytes_per_s / static_cast<double>(moving_.size());
  const double units = share * (simulator_.now() - advanced_).seconds() * units_per_byte + virtual_time_.fraction;
  const double whole = std::floor(units);
  return {virtual_time_.units + static_cast<std::int64_t>(whole), units - whole};
}

void FairShareLink::advance() {
  virtual_time_ = virtual_now();
  advanced_ = simulator_.now();
  if (virtual_time_.units > rebase_threshold) {
    moving_.shift_keys(-virtual_time_.units);
    base_ += virtual_time_.units;
    virtual_time_.units = 0;
  }
}

void FairShareLink::restart_when_idle() {
  if (!moving_.empty()) return;
  virtual_time_ = {};
  base_ = 0;
}

// The first completion is when the smallest key is reached if nothing changes. Call after advance().
void FairShareLink::schedule_completion() {
  simulator_.cancel(completion_);
  if (moving_.empty()) return;
  const double exact = virtual_time_.bytes_until(moving_.top_key());
  const double each = virtual_time_.exact() ? exact : exact - negligible_bytes;
  const Duration left = transfer_time(each * static_cast<double>(moving_.size()), config_.bytes_per_s);
  if (left == forever) return;  // stalled; set_bandwidth() schedules it
  completion_ = simulator_.schedule_in(left, Callback::to<&FairShareLink::on_completion>(this));
}

void FairShareLink::on_completion() {
  advance();
  // The transfer this event was scheduled for ends now whatever rounding says, so that every event ends one. Virtual
  // time stays where it is: what rounding forgives one transfer is not given to the others.
  const std::int64_t reached = std::max(virtual_time_.units, moving_.top_key());
  ending_.clear();
  while (!moving_.empty() && moving_.top_key() <= reached) {
    const auto [key, id] = moving_.pop();
    end_sum_ -= base_ + key;
    ending_.push_back(id);
  }
  for (const std::uint64_t id : ending_) {
    Flow& flow = flows_[id];
    leave_link(flow, flow.transfer.kind);
    flow.state = State::arriving;
    if (config_.latency > Duration{}) {
      flow.event = simulator_.schedule_in(config_.latency, Callback::to<&FairShareLink::deliver>(this, id));
    }
  }
  set_occupying(occupying_ - ending_.size());
  restart_when_idle();
  schedule_completion();
  if (config_.latency > Duration{}) return;
  for (const std::uint64_t id : ending_) {
    if (flows_.contains(id)) deliver(id);  // one delivered before may have cancelled it
  }
}

void FairShareLink::leave_link(const Flow& flow, std::string_view what) {
  lanes_.release(flow.lane, what, flow.begin, simulator_.now(), flow.transfer.owner,
                 static_cast<double>(flow.transfer.bytes));
}

void FairShareLink::set_occupying(std::size_t transfers) {
  if (occupying_ == 0) busy_since_ = simulator_.now();
  if (occupying_ != 0 && transfers == 0) busy_ += simulator_.now() - busy_since_;
  occupying_ = transfers;
  if (trace_ != nullptr) trace_->counter(counter_, simulator_.now(), static_cast<double>(transfers));
}

void FairShareLink::deliver(std::uint64_t id) {
  const Transfer transfer = flows_[id].transfer;
  flows_.release(id);
  statistics_.bytes_delivered += transfer.bytes;
  ++statistics_.transfers_completed;
  if (transfer.on_complete) transfer.on_complete();
}

bool FairShareLink::cancel(TransferId id) {
  const Flow* flow = flows_.find(id.value);
  if (flow == nullptr) return false;
  statistics_.bytes_cancelled += flow->transfer.bytes;
  simulator_.cancel(flow->event);
  if (flow->state == State::moving) {
    advance();
    end_sum_ -= flow->end;
    moving_.cancel(flow->moving);
    restart_when_idle();
    schedule_completion();
  } else if (flow->state == State::setting_up) {
    setting_up_bytes_ -= flow->transfer.bytes;
  }
  if (flow->state != State::arriving) {
    leave_link(*flow, "cancelled");
    set_occupying(occupying_ - 1);
  }
  flows_.release(id.value);
  return true;
}

void FairShareLink::set_bandwidth(double bytes_per_s) {
  check_bandwidth(config_.name, bytes_per_s);
  advance();
  config_.bytes_per_s = bytes_per_s;
  schedule_completion();
}

std::int64_t FairShareLink::backlog_bytes() const {
  const VirtualTime now = virtual_now();
  const auto moving = static_cast<std::int64_t>(moving_.size());
  const double units =
      static_cast<double>(end_sum_ - (base_ + now.units) * moving) - now.fraction * static_cast<double>(moving);
  return setting_up_bytes_ + static_cast<std::int64_t>(std::ceil(std::max(0.0, units) / units_per_byte));
}

LinkStatistics FairShareLink::statistics() const {
  LinkStatistics statistics = statistics_;
  const Duration busy = occupying_ != 0 ? busy_ + (simulator_.now() - busy_since_) : busy_;
  statistics.busy_s = busy.seconds();
  return statistics;
}

void FairShareLink::check_conservation() const {
  std::int64_t outstanding = 0;
  flows_.for_each([&](std::uint64_t, const Flow& flow) { outstanding += flow.transfer.bytes; });
  check_bytes_conserved(config_.name, statistics_, outstanding);
}

}  // namespace

std::unique_ptr<Link> make_fair_share_link(Simulator& simulator, LinkConfig config, TraceSink* trace) {
  return std::make_unique<FairShareLink>(simulator, std::move(config), trace);
}

}  // namespace kvsim::engine
