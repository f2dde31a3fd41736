#include "tools/calibrate/host/replay_schedule.h"

#include <algorithm>
#include <stdexcept>

namespace kvsim::calibrate {
namespace {

/// Slots handed out lowest first.
class Slots {
 public:
  int take() {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    const auto index = free - taken_.begin();
    if (free == taken_.end()) {
      taken_.push_back(true);
    } else {
      *free = true;
    }
    return static_cast<int>(index);
  }
  void give_back(int slot) { taken_[static_cast<std::size_t>(slot)] = false; }
  [[nodiscard]] int most() const { return static_cast<int>(taken_.size()); }

 private:
  std::vector<bool> taken_;
};

}  // namespace

std::string name_of(ReplayKind kind) {
  return kind == ReplayKind::lock_step ? "lock_step" : "staggered";
}

ReplaySchedule replay_schedule(const ReplayParameters& p) {
  if (p.requests < 1 || p.draft_length < 1 || p.rounds < 1 || p.reload_iterations < 1 ||
      p.reload_iterations > p.draft_length) {
    throw std::invalid_argument(
        "replay: at least one request, drafted token and round; reloads span 1 to x iterations");
  }
  const int cycle = p.draft_length + 1;
  ReplaySchedule result;
  result.parameters = p;
  result.iterations.resize(static_cast<std::size_t>(cycle * p.rounds));
  const int count = static_cast<int>(result.iterations.size());
  Slots slots;
  std::vector<int> slot_of(static_cast<std::size_t>(p.requests), -1);
  const auto verifies_at = [&](int request, int iteration) {
    const int phase = p.kind == ReplayKind::lock_step ? 0 : request % cycle;
    return (iteration + phase) % cycle == p.draft_length;
  };
  for (int t = 0; t < count; ++t) {
    ReplayIteration& now = result.iterations[static_cast<std::size_t>(t)];
    for (int r = 0; r < p.requests; ++r) {
      const int needed_by = t + p.reload_iterations;
      if (needed_by >= count || !verifies_at(r, needed_by)) continue;
      const int slot = slots.take();
      slot_of[static_cast<std::size_t>(r)] = slot;
      now.reloads.push_back({r, slot, needed_by});
    }
    for (int r = 0; r < p.requests; ++r) {
      int& slot = slot_of[static_cast<std::size_t>(r)];
      if (!verifies_at(r, t) || slot < 0) {
        now.drafting.push_back(r);
        continue;
      }
      now.verifying.push_back(r);
      now.verifying_slots.push_back(slot);
    }
    for (std::size_t i = 0; i < now.verifying.size(); ++i) {  // free for reloads that start with the next iteration
      slots.give_back(now.verifying_slots[i]);
      slot_of[static_cast<std::size_t>(now.verifying[i])] = -1;
    }
  }
  result.slots = slots.most();
  return result;
}

}  // namespace kvsim::calibrate
