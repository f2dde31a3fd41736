// Records which transfers complete, and when.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine/simulator.h"

class Completions {
 public:
  explicit Completions(const kvsim::engine::Simulator& simulator) : simulator_(simulator) {}

  /// An on_complete that records `number`.
  kvsim::engine::Callback record(std::uint64_t number) {
    return kvsim::engine::Callback::to<&Completions::on_complete>(this, number);
  }

  /// (number, time in ns) in order of completion.
  [[nodiscard]] const std::vector<std::pair<std::uint64_t, std::int64_t>>& log() const { return log_; }

  /// When `number` completed, in ns; -1 if it has not.
  [[nodiscard]] std::int64_t time_of(std::uint64_t number) const {
    for (const auto& [who, at] : log_) {
      if (who == number) return at;
    }
    return -1;
  }

 private:
  void on_complete(std::uint64_t number) { log_.emplace_back(number, simulator_.now().ns); }

  const kvsim::engine::Simulator& simulator_;
  std::vector<std::pair<std::uint64_t, std::int64_t>> log_;
};
