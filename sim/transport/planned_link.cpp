#include "sim/transport/planned_link.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/engine/time.h"
#include "sim/engine/trace.h"

namespace kvsim::transport {

using engine::Duration;
using engine::SimTime;

void ConvexSequence::add(Line line) {
  const std::int64_t end = length_ - 1;
  const auto covers = [end](const Line& upper, const Line& lower) {
    return upper.start >= lower.start && upper.at(end) >= lower.at(end);
  };
  for (const Line& other : lines_) {
    if (covers(other, line)) return;
  }
  std::erase_if(lines_, [&](const Line& other) { return covers(line, other); });
  lines_.push_back(line);
}

void ConvexSequence::shift(std::int64_t by) {
  for (Line& line : lines_) line.start += by;
}

std::int64_t ConvexSequence::at(std::int64_t j) const {
  KVSIM_DEBUG(!lines_.empty(), "a sequence without values");
  std::int64_t largest = lines_.front().at(j);
  for (const Line& line : lines_) largest = std::max(largest, line.at(j));
  return largest;
}

std::int64_t ConvexSequence::first_faster_than(std::int64_t step) const {
  std::int64_t from = 1;
  std::int64_t to = length_;
  while (from < to) {
    const std::int64_t middle = from + (to - from) / 2;
    if (at(middle) - at(middle - 1) > step) {
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  return from;
}

std::int64_t ConvexSequence::sum_above_first() const {
  const std::int64_t base = first();
  std::int64_t sum = 0;
  for (std::int64_t j = 0; j < length_;) {
    // The steepest of the largest lines at j leads until a steeper one passes it.
    Line lead = lines_.front();
    for (const Line& line : lines_) {
      if (line.at(j) > lead.at(j) || (line.at(j) == lead.at(j) && line.step > lead.step)) lead = line;
    }
    std::int64_t until = length_;
    for (const Line& line : lines_) {
      if (line.step > lead.step) until = std::min(until, (lead.start - line.start) / (line.step - lead.step) + 1);
    }
    const std::int64_t count = until - j;
    sum += count * (lead.at(j) - base) + count * (count - 1) / 2 * lead.step;
    j = until;
  }
  return sum;
}

PlannedLink::PlannedLink(engine::Simulator& simulator, engine::TraceSink* trace, LaneConfig config, double bytes_per_s)
    : simulator_(simulator), trace_(trace), config_(std::move(config)), bytes_per_s_(bytes_per_s) {
  check_link(config_.name, bytes_per_s, config_.latency, config_.setup);
  if (trace_ != nullptr) track_ = trace_->add_track(config_.group, config_.name);
}

std::int64_t PlannedLink::Series::service(std::int64_t j) const {
  return std::max(submitted.at(j), j == 0 ? before : leaves(j - 1));
}

TransferId PlannedLink::submit(const Transfer& transfer) {
  const SimTime arrival = submit_at(simulator_.now(), transfer);
  if (transfer.on_complete) simulator_.schedule_at(arrival, transfer.on_complete);
  return {next_id_++};
}

SimTime PlannedLink::submit_at(SimTime at, const Transfer& transfer) {
  ConvexSequence once(1);
  once.add({at.ns, 0});
  Transfer silent = transfer;
  silent.on_complete = {};
  return {submit_series(once, silent).first()};
}

Duration PlannedLink::flowing(const Transfer& transfer) const {
  check_transfer(transfer);
  const Duration d = engine::transfer_time(work_of(transfer), bytes_per_s_);
  KVSIM_ALWAYS(d != engine::forever, "link '" + config_.name + "': a transfer without end");
  return d;
}

Duration PlannedLink::idle_transfer_time(const Transfer& transfer) const {
  return config_.setup + flowing(transfer) + config_.latency;
}

/// Bytes of transfer j flow from b_j = max(b_{j-1} + D, e_j + setup), e_j its submission, D the longer of its duration
/// and the setup. As e is convex, b_j = max(b_0 + j D, e_j + setup).
ConvexSequence PlannedLink::submit_series(const ConvexSequence& submitted, const Transfer& each) {
  const std::int64_t each_ns = flowing(each).ns;
  const std::int64_t apart = std::max(each_ns, config_.setup.ns);
  Series series{submitted, ConvexSequence(submitted.length()), each_ns, last_left_ns_, each.bytes};
  series.begins.add({std::max(free_ns_, submitted.first() + config_.setup.ns), apart});
  for (const ConvexSequence::Line& line : submitted.lines()) {
    series.begins.add({line.start + config_.setup.ns, line.step});
  }
  free_ns_ = series.begins.last() + apart;
  last_left_ns_ = series.begins.last() + each_ns;
  account(series);
  if (trace_ != nullptr) draw(series, each);
  ConvexSequence arrivals = series.begins;
  arrivals.shift(each_ns + config_.latency.ns);
  if (each.on_complete) {
    simulator_.schedule_at(std::max(simulator_.now(), SimTime{arrivals.last()}), each.on_complete);
  }
  retire();
  planned_.push_back(std::move(series));
  return arrivals;
}

/// Idle time before transfer j is e_j less when j - 1 left, where that is positive; its wait the other way round. Once
/// the link idles between two of a series it idles before every later one, so the sums telescope.
void PlannedLink::account(const Series& s) {
  const std::int64_t n = s.submitted.length();
  all_.bytes_submitted += n * s.bytes;
  all_.transfers_started += static_cast<std::uint64_t>(n);
  const std::int64_t first_gap = s.submitted.first() - s.before;
  std::int64_t idle = std::max<std::int64_t>(0, first_gap);
  std::int64_t signed_gaps = first_gap;
  if (n > 1) {
    // Sum over j = 1 .. n-1 of e_j - b_{j-1} - d.
    const std::int64_t submissions = s.submitted.sum_above_first() + (n - 1) * s.submitted.first();
    const std::int64_t begins =
        s.begins.sum_above_first() - (s.begins.last() - s.begins.first()) + (n - 1) * s.begins.first();
    signed_gaps += submissions - begins - (n - 1) * s.each_ns;
    // The first gap is where b grows by more than setup + d; from there on b_j = e_j + setup.
    const std::int64_t pause = config_.setup.ns + s.each_ns;
    const std::int64_t j = std::min(s.begins.first_faster_than(pause), n - 1);
    const std::int64_t gaps = s.submitted.last() - s.begins.at(j - 1) - s.each_ns - (n - 1 - j) * pause;
    idle += std::max<std::int64_t>(0, gaps);
  }
  wait_ns_ += idle - signed_gaps;
  busy_ns_ += last_left_ns_ - s.before - idle;
}

void PlannedLink::retire() {
  const std::int64_t now = simulator_.now().ns;
  while (!planned_.empty()) {
    const Series& s = planned_.front();
    if (s.begins.last() + s.each_ns + config_.latency.ns > now) return;
    planned_.pop_front();
  }
}

void PlannedLink::draw(const Series& series, const Transfer& each) {
  for (std::int64_t j = 0; j < series.submitted.length(); ++j) {
    trace_->slice(track_, each.kind, {series.service(j)}, {series.leaves(j)}, each.owner,
                  static_cast<double>(each.bytes));
  }
}

bool PlannedLink::cancel(TransferId) {
  KVSIM_ALWAYS(false, "link '" + config_.name + "': what was planned cannot be withdrawn");
  return false;
}

std::size_t PlannedLink::in_flight_or_queued() const {
  const std::int64_t now = simulator_.now().ns;
  std::size_t count = 0;
  for (const Series& s : planned_) {
    for (std::int64_t j = 0; j < s.submitted.length(); ++j) {
      if (s.submitted.at(j) <= now && s.leaves(j) + config_.latency.ns > now) ++count;
    }
  }
  return count;
}

std::int64_t PlannedLink::backlog_bytes() const {
  const std::int64_t now = simulator_.now().ns;
  double backlog = 0;
  for (const Series& s : planned_) {
    for (std::int64_t j = 0; j < s.submitted.length(); ++j) {
      if (s.submitted.at(j) > now || s.leaves(j) <= now) continue;
      const std::int64_t left = std::min(s.leaves(j) - now, s.each_ns);
      backlog += static_cast<double>(s.bytes) * static_cast<double>(left) / static_cast<double>(s.each_ns);
    }
  }
  return static_cast<std::int64_t>(std::ceil(backlog));
}

/// Planned statistics, less the part that has not happened yet.
LinkStatistics PlannedLink::statistics() const {
  const std::int64_t now = simulator_.now().ns;
  LinkStatistics s = all_;
  std::int64_t busy = busy_ns_;
  std::int64_t wait = wait_ns_;
  std::uint64_t arriving = 0;
  for (const Series& series : planned_) {
    for (std::int64_t j = 0; j < series.submitted.length(); ++j) {
      const std::int64_t begun = series.service(j);
      const std::int64_t left = series.leaves(j);
      if (series.submitted.at(j) > now) s.bytes_submitted -= series.bytes;
      if (begun > now) {
        --s.transfers_started;
        wait -= begun - series.submitted.at(j);
      }
      busy -= std::max<std::int64_t>(0, left - std::max(begun, now));
      if (left + config_.latency.ns > now) {
        ++arriving;
        if (series.submitted.at(j) <= now) s.bytes_delivered -= series.bytes;
      }
    }
  }
  s.bytes_delivered += s.bytes_submitted;
  s.transfers_completed = all_.transfers_started - arriving;
  s.busy_s = static_cast<double>(busy) * 1e-9;
  s.total_wait_s = static_cast<double>(wait) * 1e-9;
  return s;
}

void PlannedLink::check_conservation() const {
  const std::int64_t now = simulator_.now().ns;
  std::int64_t outstanding = 0;
  for (const Series& s : planned_) {
    KVSIM_ALWAYS(s.begins.at(0) >= s.before, "link '" + config_.name + "': two transfers at once");
    for (std::int64_t j = 0; j < s.submitted.length(); ++j) {
      if (s.submitted.at(j) <= now && s.leaves(j) + config_.latency.ns > now) outstanding += s.bytes;
    }
  }
  check_bytes_conserved(config_.name, statistics(), outstanding);
}

}  // namespace kvsim::transport
