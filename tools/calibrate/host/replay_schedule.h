// The iterations that the replay benchmark runs, as a simulator can redo them: x drafted tokens a round against the
// compressed KV, then one verification of x + 1 tokens against the full KV, which was reloaded into one of a few slots.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvsim::calibrate {

enum class ReplayKind {
  lock_step,  ///< everybody drafts, then everybody verifies
  staggered   ///< an equal share verifies in each iteration
};

struct ReplayParameters {
  ReplayKind kind = ReplayKind::lock_step;
  int requests = 12;
  int draft_length = 5;       ///< x
  int reload_iterations = 2;  ///< a reload starts this many iterations before its verification, at most x
  int rounds = 4;
};

struct Reload {
  int request = 0;
  int slot = 0;
  int needed_by = 0;  ///< iteration that verifies with it
};

struct ReplayIteration {
  std::vector<int> drafting;
  std::vector<int> verifying;
  std::vector<int> verifying_slots;  ///< of each of verifying
  std::vector<Reload> reloads;       ///< that start when this iteration does

  /// Tokens that the linear layers see.
  [[nodiscard]] std::int64_t tokens(int draft_length) const {
    return static_cast<std::int64_t>(drafting.size()) +
           static_cast<std::int64_t>(verifying.size()) * (draft_length + 1);
  }
};

struct ReplaySchedule {
  ReplayParameters parameters;
  std::vector<ReplayIteration> iterations;
  int slots = 0;  ///< full-KV buffers in use at once
};

std::string name_of(ReplayKind kind);

/// The phase of request i is 0 in lock-step, i mod (x + 1) otherwise; it verifies in iterations t with
/// (t + phase) mod (x + 1) = x, and drafts in all others. Requests whose reload would have to start before the first
/// iteration keep drafting in their first round. Throws std::invalid_argument for parameters that make no sense.
ReplaySchedule replay_schedule(const ReplayParameters& parameters);

}  // namespace kvsim::calibrate
