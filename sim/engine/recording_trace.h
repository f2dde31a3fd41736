// A timeline is kept in memory, for figures about single iterations and transfers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/trace.h"

namespace kvsim::engine {

struct RecordedSlice {
  std::string name;
  double begin_s = 0;
  double end_s = 0;
  std::uint64_t owner = 0;
  double value = 0;
  [[nodiscard]] double length_s() const { return end_s - begin_s; }
};

class RecordingTrace final : public TraceSink {
 public:
  int add_track(std::string_view group, std::string_view name) override {
    names_.push_back(std::string(group) + "/" + std::string(name));
    slices_.emplace_back();
    return static_cast<int>(slices_.size()) - 1;
  }
  int add_counter(std::string_view, std::string_view) override { return counters_++; }
  void slice(int track, std::string_view name, SimTime begin, SimTime end, std::uint64_t owner, double value) override {
    slices_[static_cast<std::size_t>(track)].push_back(
        {std::string(name), begin.seconds(), end.seconds(), owner, value});
  }
  void counter(int, SimTime, double) override {}

  /// The slices of the first track whose "group/name" contains `part`.
  [[nodiscard]] const std::vector<RecordedSlice>& track(const std::string& part) const {
    static const std::vector<RecordedSlice> none;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i].find(part) != std::string::npos) return slices_[i];
    }
    return none;
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<RecordedSlice>> slices_;
  int counters_ = 0;
};

}  // namespace kvsim::engine
