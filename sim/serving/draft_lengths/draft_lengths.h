// The draft lengths of a replica: its policy, what a verification is measured to cost there, and what the lengths
// chosen gave beside the best ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sim/engine/time.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/measurements.h"

namespace kvsim::serving {

/// How a round came to its verification.
struct RoundEnd {
  engine::SimTime ready;   ///< nothing was missing any more
  double reload_s = 0;     ///< of its reload on a free link; 0: it had none
  double iteration_s = 1;  ///< of the replica
};

/// Of a decode policy that verifies; of others nothing is asked.
class DraftLengths {
 public:
  /// All of it outlives this.
  DraftLengths(const DraftLengthParts& parts, Measurements& measured);

  /// Sets the target of the request's coming round. `reloads`: its full KV will have to be loaded.
  void begin_round(Request& r, std::span<Request* const> decoding, bool reloads);

  /// The request has drafted so many more tokens.
  static void drafted(Request& r, std::int64_t tokens, engine::SimTime now);

  /// A step's time is known: what its verifications add to it is part of what rounds cost.
  void timed(const models::StepWork& work, const models::StepTime& time);

  /// A round ends, whose verification began, with all of the KV, at `ready`. To be called before its tokens are final.
  void verified(Request& r, std::int64_t drafted, std::int64_t accepted, const RoundEnd& end);

  /// v of a request in a batch of this many.
  [[nodiscard]] double overhead(double batch, bool reloads) const;

 private:
  void note_regret(const Request& r);

  DraftLengthParts parts_;
  Measurements& measured_;
  std::int64_t longest_ = 0;                   // draft for which the acceptance law is known
  std::unique_ptr<DraftLengthPolicy> policy_;  // null: nothing is drafted
  double waited_ = 0;                          // for others' reloads: iterations per round of requests that reload
  double hidden_ = 0;                          // for its own, likewise
  double added_ = 0;                           // by one verification to an iteration, as a share of one without any
  double drafting_s_ = 0;                      // the last iteration in which all drafted
  std::uint64_t verifying_steps_ = 0;
};

}  // namespace kvsim::serving
