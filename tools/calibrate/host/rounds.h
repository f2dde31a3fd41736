// Threads of the host that do the same over and over, each round together, and the table that comes of it within a
// budget of time.
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tools/calibrate/host/interrupt.h"
#include "tools/calibrate/host/output.h"
#include "tools/calibrate/host/plan.h"

namespace kvsim::calibrate {

/// Milliseconds of a round, from the first thread's start to the last one's end. make(thread) gives, on that thread, a
/// worker: prepare(round) and check() run outside of the time, run() within it. None of them may throw.
template <class Make>
Spread time_rounds(int count, const Make& make) {
  constexpr double kTargetSeconds = 0.3;
  constexpr std::size_t kLeast = 5, kMost = 200;
  std::barrier<> together(count + 1);
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      auto worker = make(i);
      for (std::uint64_t round = 0;; ++round) {
        worker.prepare(round);
        together.arrive_and_wait();
        if (over.load()) return;
        worker.run();
        together.arrive_and_wait();
        worker.check();
      }
    });
  }
  const auto one_ms = [&together] {
    together.arrive_and_wait();
    const auto begin = std::chrono::steady_clock::now();
    together.arrive_and_wait();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  };
  static_cast<void>(one_ms());
  std::vector<double> samples{one_ms()};
  const std::size_t repeats = repeats_for(samples.front() / 1e3, kTargetSeconds, kLeast, kMost);
  while (samples.size() < repeats && !interrupt_noted()) samples.push_back(one_ms());
  over.store(true);
  together.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  stop_if_interrupted();
  return spread_of(std::move(samples));
}

/// A table of the host, which needs no GPU.
struct HostTable {
  CsvFile file;
  std::string note;  ///< for machine.yaml; empty: nothing to say

  /// Measures the cases in random order until the budget is spent.
  template <class Case, class Measure>
  void fill(std::vector<Case> cases, double budget_s, std::uint64_t seed, const Measure& measure) {
    const Budget budget(budget_s);
    shuffle(cases, seed);
    std::size_t done = 0;
    for (const Case& c : cases) {
      if (budget.spent()) break;
      file.add(measure(c));
      ++done;
    }
    if (done < cases.size()) {
      note += fmt::format("{}{} of {} cases left out after {:g} s", note.empty() ? "" : "; ", cases.size() - done,
                          cases.size(), budget_s);
    }
  }
};

/// The columns of a table of the host; `operation`: the name of its third column, which tables are known by.
inline std::vector<std::string> host_columns(const char* operation) {
  return {"gpu", "version", operation, "threads", "bytes", "measured_ms", "p10_ms", "p90_ms", "repeats", "gb_per_s"};
}

}  // namespace kvsim::calibrate
