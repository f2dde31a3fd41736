#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "sim/engine/time.h"
#include "tests/engine/completions.h"
#include "tests/transport/own_link.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;
using namespace kvsim::transport;

namespace {

struct Arrival {
  std::int64_t at;
  std::int64_t bytes;
};

rc::Gen<std::vector<Arrival>> arrivals() {
  return rc::gen::map(rc::gen::container<std::vector<std::pair<int, int>>>(
                          rc::gen::pair(rc::gen::inRange(0, 5000), rc::gen::inRange(0, 3000))),
                      [](std::vector<std::pair<int, int>> raw) {
                        std::sort(raw.begin(), raw.end());
                        std::vector<Arrival> result;
                        for (const auto& [at, bytes] : raw) result.push_back({at, bytes});
                        return result;
                      });
}

rc::Gen<Queueing> disciplines() {
  return rc::gen::element(Queueing::serialised, Queueing::fair_share);
}

std::unique_ptr<OwnLink> link_of(Simulator& simulator, Queueing discipline, double bytes_per_s) {
  return make_link(simulator,
                   {.name = "link", .bytes_per_s = bytes_per_s, .latency = {3}, .setup = {}, .queueing = discipline},
                   nullptr);
}

std::vector<std::int64_t> completion_times(Queueing discipline, double bytes_per_s, const std::vector<Arrival>& all) {
  Simulator simulator;
  Completions done(simulator);
  const auto link = link_of(simulator, discipline, bytes_per_s);
  for (std::size_t i = 0; i < all.size(); ++i) {
    simulator.run_until({all[i].at});
    link->submit({.bytes = all[i].bytes, .on_complete = done.record(i)});
  }
  simulator.run();
  link->check_conservation();
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < all.size(); ++i) times.push_back(done.time_of(i));
  return times;
}

// Equal sharing the slow way: from one arrival or completion to the next, everyone moves at bandwidth / n.
std::vector<double> naive_equal_sharing(double bytes_per_ns, const std::vector<Arrival>& all) {
  std::vector<double> left(all.size());
  std::vector<double> end(all.size(), -1);
  for (std::size_t i = 0; i < all.size(); ++i) left[i] = static_cast<double>(all[i].bytes);
  double now = 0;
  std::size_t arrived = 0;
  while (true) {
    while (arrived < all.size() && static_cast<double>(all[arrived].at) <= now) ++arrived;
    std::vector<std::size_t> active;
    for (std::size_t i = 0; i < arrived; ++i) {
      if (end[i] >= 0) continue;
      if (left[i] <= 1e-9) {
        end[i] = now;
      } else {
        active.push_back(i);
      }
    }
    double step = arrived < all.size() ? static_cast<double>(all[arrived].at) - now : HUGE_VAL;
    const double share = bytes_per_ns / static_cast<double>(active.size());
    for (const std::size_t i : active) step = std::min(step, left[i] / share);
    if (std::isinf(step)) return end;
    for (const std::size_t i : active) left[i] -= share * step;
    now += step;
  }
}

RC_GTEST_PROP(LinkProperty, equalSharingAgreesWithASimulationStepByStep, ()) {
  const auto all = *arrivals();
  const double bytes_per_ns = *rc::gen::element(0.1, 1.0, 3.0, 7.0);
  const auto ours = completion_times(Queueing::fair_share, bytes_per_ns * 1e9, all);
  const auto naive = naive_equal_sharing(bytes_per_ns, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double left_link = static_cast<double>(ours[i] - 3);
    // Each completion before this one may have been rounded up, and its share with it: at most a nanosecond each.
    // The last thousandth of a byte of each of them does not count.
    RC_ASSERT(left_link >= naive[i] - 0.01 - static_cast<double>(all.size()) * negligible_bytes / bytes_per_ns);
    RC_ASSERT(left_link <= naive[i] + static_cast<double>(all.size()) + 1);
  }
}

RC_GTEST_PROP(LinkProperty, noTransferEndsEarlierThanItsBytesAloneWouldTake, ()) {
  const auto all = *arrivals();
  const double bytes_per_s = *rc::gen::element(1e8, 1e9, 3e9, 7.3e9);
  const auto times = completion_times(*disciplines(), bytes_per_s, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double moved = static_cast<double>(times[i] - 3 - all[i].at) * bytes_per_s / 1e9;
    RC_ASSERT(moved >= static_cast<double>(all[i].bytes) - 1e-3);
  }
}

RC_GTEST_PROP(LinkProperty, moreBandwidthNeverMakesATransferLater, ()) {
  const auto all = *arrivals();
  const Queueing discipline = *disciplines();
  const double slow = *rc::gen::element(1e8, 1e9, 3e9);
  const double factor = *rc::gen::element(1.001, 1.5, 2.0, 10.0);
  const auto before = completion_times(discipline, slow, all);
  const auto after = completion_times(discipline, slow * factor, all);
  // Rounding up to whole nanoseconds may cost the faster link up to one per transfer.
  for (std::size_t i = 0; i < all.size(); ++i) {
    RC_ASSERT(after[i] <= before[i] + static_cast<std::int64_t>(all.size()));
  }
}

RC_GTEST_PROP(LinkProperty, bytesAreConservedThroughStallsResumptionsAndCancellations, ()) {
  const Queueing discipline = *disciplines();
  Simulator simulator;
  const auto link = link_of(simulator, discipline, 1e9);
  std::vector<TransferId> ids;
  std::int64_t submitted = 0;
  std::uint64_t cancelled = 0;
  const auto operations = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::inRange(0, 1000)));
  for (const auto& [operation, argument] : operations) {
    if (operation < 4) {
      ids.push_back(link->submit({.bytes = argument, .priority = argument % 3}));
      submitted += argument;
    } else if (operation == 4 && !ids.empty()) {
      if (link->cancel(ids[static_cast<std::size_t>(argument) % ids.size()])) ++cancelled;
    } else if (operation == 5) {
      link->set_bandwidth(argument % 4 * 0.7e9);  // a quarter of the changes stall it
    } else {
      simulator.run_until(simulator.now() + Duration{argument});
    }
    RC_ASSERT(link->backlog_bytes() >= 0);
    RC_ASSERT(link->backlog_bytes() <= submitted);
    link->check_conservation();
  }
  link->set_bandwidth(1e9);
  simulator.run();
  link->check_conservation();
  const LinkStatistics statistics = link->statistics();
  RC_ASSERT(link->in_flight_or_queued() == 0U);
  RC_ASSERT(link->backlog_bytes() == 0);
  RC_ASSERT(statistics.bytes_submitted == submitted);
  RC_ASSERT(statistics.bytes_delivered + statistics.bytes_cancelled == submitted);
  RC_ASSERT(statistics.transfers_completed + cancelled == ids.size());
}

RC_GTEST_PROP(LinkProperty, aWorkConservingLinkIsBusyExactlyAsLongAsItsBytesTake, ()) {
  const auto all = *arrivals();
  Simulator simulator;
  const auto link = link_of(simulator, *disciplines(), 1e9);
  std::int64_t bytes = 0;
  for (const Arrival& arrival : all) {
    simulator.run_until({arrival.at});
    link->submit({.bytes = arrival.bytes});
    bytes += arrival.bytes;
  }
  simulator.run();
  const double busy_ns = link->statistics().busy_s * 1e9;
  RC_ASSERT(busy_ns >= static_cast<double>(bytes) - 0.01);
  RC_ASSERT(busy_ns <= static_cast<double>(bytes + static_cast<std::int64_t>(all.size())));
}

}  // namespace
}  // namespace KVSIM_FILE
