// The hold model: with n events pending, take the earliest and schedule one an exponential time later. It measures an
// event queue at constant size (D. W. Jones, "An empirical comparison of priority-queue and event-set implementations",
// CACM 29(4), 1986). Each benchmark times our queue and a plain std::priority_queue in alternating slices of one run
// and reports the median of the slices' ratios, so that a neighbour's load on the machine hits both alike.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <queue>
#include <vector>

#include "sim/engine/random.h"
#include "sim/engine/simulator.h"

namespace {

using kvsim::engine::Callback;
using kvsim::engine::EventHandle;
using kvsim::engine::EventQueue;
using kvsim::engine::RandomStream;
using kvsim::engine::SimTime;

// Drawn beforehand, so that the time is the queue's and not the logarithm's.
std::vector<std::int64_t> exponential_delays() {
  RandomStream stream(1, "hold");
  std::vector<std::int64_t> delays(1 << 16);
  for (auto& delay : delays) delay = 1 + static_cast<std::int64_t>(stream.exponential(1e6));
  return delays;
}

class Delays {
 public:
  std::int64_t next() { return values_[index_++ % values_.size()]; }

 private:
  std::vector<std::int64_t> values_ = exponential_delays();
  std::size_t index_ = 0;
};

// What the baseline holds: a time, a sequence number that orders equal times, and a payload of one word. Ours holds a
// callback of three words and can cancel.
struct PlainEvent {
  std::int64_t time;
  std::uint64_t sequence;
  std::uint64_t payload;

  bool operator<(const PlainEvent& other) const {
    return time != other.time ? time > other.time : sequence > other.sequence;
  }
};

class PlainHold {
 public:
  explicit PlainHold(std::size_t pending) {
    for (std::size_t i = 0; i < pending; ++i) queue_.push({delays_.next(), sequence_++, i});
  }

  void hold(std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      const PlainEvent event = queue_.top();
      queue_.pop();
      checksum_ += event.payload;
      queue_.push({event.time + delays_.next(), sequence_++, event.payload});
    }
    benchmark::DoNotOptimize(checksum_);
  }

 private:
  Delays delays_;
  std::priority_queue<PlainEvent> queue_;
  std::uint64_t sequence_ = 0;
  std::uint64_t checksum_ = 0;
};

class OurHold {
 public:
  explicit OurHold(std::size_t pending) {
    queue_.reserve(pending + 1);
    for (std::size_t i = 0; i < pending; ++i) queue_.push({delays_.next()}, {nullptr, nullptr, i});
  }

  void hold(std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      const EventQueue::Event event = queue_.pop();
      checksum_ += event.callback.word;
      queue_.push({event.time.ns + delays_.next()}, event.callback);
    }
    benchmark::DoNotOptimize(checksum_);
  }

 private:
  Delays delays_;
  EventQueue queue_;
  std::uint64_t checksum_ = 0;
};

// One event in four is cancelled and scheduled anew. The plain queue cannot cancel: it marks the event dead by its
// payload and drops it when it surfaces, which is what a program on top of it would do.
class PlainHoldWithCancellation {
 public:
  explicit PlainHoldWithCancellation(std::size_t pending) : current_(pending) {
    for (std::size_t i = 0; i < pending; ++i) schedule(delays_.next(), i);
  }

  void hold(std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      while (current_[queue_.top().payload] != queue_.top().sequence) queue_.pop();
      const PlainEvent event = queue_.top();
      queue_.pop();
      schedule(event.time + delays_.next(), event.payload);
      if (i % 4 == 0) schedule(event.time + delays_.next(), choice_.below(current_.size()));
    }
  }

 private:
  void schedule(std::int64_t time, std::uint64_t payload) {
    current_[payload] = sequence_;
    queue_.push({time, sequence_++, payload});
  }

  Delays delays_;
  RandomStream choice_{1, "victims"};
  std::priority_queue<PlainEvent> queue_;
  std::vector<std::uint64_t> current_;  // the live sequence number of each payload
  std::uint64_t sequence_ = 0;
};

class OurHoldWithCancellation {
 public:
  explicit OurHoldWithCancellation(std::size_t pending) : current_(pending) {
    queue_.reserve(pending + 1);
    for (std::size_t i = 0; i < pending; ++i) schedule(delays_.next(), i);
  }

  void hold(std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      const EventQueue::Event event = queue_.pop();
      schedule(event.time.ns + delays_.next(), event.callback.word);
      if (i % 4 != 0) continue;
      const std::uint64_t victim = choice_.below(current_.size());
      queue_.cancel(current_[victim]);
      schedule(event.time.ns + delays_.next(), victim);
    }
  }

 private:
  void schedule(std::int64_t time, std::uint64_t word) {
    current_[word] = queue_.push({time}, {nullptr, nullptr, word});
  }

  Delays delays_;
  RandomStream choice_{1, "victims"};
  EventQueue queue_;
  std::vector<EventHandle> current_;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <class Hold>
double seconds_of(Hold& queue, std::size_t times) {
  const auto begin = std::chrono::steady_clock::now();
  queue.hold(times);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class Plain, class Ours>
void hold_model(benchmark::State& state) {
  const auto pending = static_cast<std::size_t>(state.range(0));
  constexpr std::size_t slice = 200'000;
  Plain plain(pending);
  Ours ours(pending);
  plain.hold(2 * pending);  // to the steady state
  ours.hold(2 * pending);
  std::vector<double> ratios;
  std::vector<double> rates;
  std::vector<double> plain_rates;
  for (auto _ : state) {
    const double plain_s = seconds_of(plain, slice);
    const double ours_s = seconds_of(ours, slice);
    state.SetIterationTime(ours_s);
    ratios.push_back(plain_s / ours_s);
    rates.push_back(static_cast<double>(slice) / ours_s);
    plain_rates.push_back(static_cast<double>(slice) / plain_s);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(slice) * static_cast<std::int64_t>(state.iterations()));
  state.counters["ratio_to_priority_queue"] = median(ratios);
  state.counters["events_per_s"] = median(rates);
  state.counters["priority_queue_events_per_s"] = median(plain_rates);
}

void hold(benchmark::State& state) {
  hold_model<PlainHold, OurHold>(state);
}
void hold_with_cancellation(benchmark::State& state) {
  hold_model<PlainHoldWithCancellation, OurHoldWithCancellation>(state);
}

BENCHMARK(hold)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Iterations(41)->UseManualTime();
BENCHMARK(hold_with_cancellation)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Iterations(41)->UseManualTime();

}  // namespace
