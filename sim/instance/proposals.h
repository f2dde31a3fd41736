// Proposals of an auxiliary drafter in the steps of a group of GPUs, replica or node. That is how many for which
// request, their time before the step, and how many of them the step keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "models/kernels/step_time.h"
#include "models/kernels/step_work.h"
#include "sim/engine/time.h"
#include "sim/serving/draft_lengths/draft_lengths.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

/// Without effect where the policy has no drafter.
class Proposals {
 public:
  /// The environment outlives it.
  explicit Proposals(const GroupEnvironment& environment);

  [[nodiscard]] bool any() const { return drafting_.most() > 0; }
  [[nodiscard]] const Drafting& drafting() const { return drafting_; }

  /// A new step is put together, in which these decode. Where every step verifies what was proposed, that is where the
  /// lengths are chosen.
  void begin_step(std::span<Request* const> decoding);
  /// For a request that may gain `room` tokens, in a step that has room for `budget`.
  [[nodiscard]] std::int64_t of(const Request& r, std::int64_t room, std::int64_t budget) const;
  /// The request takes part with so many proposals.
  void add(const Request& r, std::int64_t proposed);
  /// A chunk of its prompt is computed, which the drafter reads, too.
  void add_chunk(const Request& r, std::int64_t tokens);
  /// GPU time of the drafter before the step; everybody is in.
  [[nodiscard]] double seconds();
  /// The step is over, which took `waited` beyond its time for KV on its way. `link_s`: ProposalStep's.
  void step_ended(const models::StepWork& work, const models::StepTime& time, engine::Duration waited, double link_s,
                  std::span<Request* const> decoding);

  /// Returns how many of so many proposals the request's step keeps. The drafter has then read all tokens but those
  /// that the step gave.
  std::int64_t accept(Request& r, std::int64_t proposed);

 private:
  Measurements& measured_;
  bool speculates_;
  Drafting drafting_;
  std::optional<DraftLengths> lengths_;  // where every step verifies what was proposed
  double seconds_ = 0;                   // of the step under way
  std::int64_t least_ = 0;               // query tokens without which a step has no room for proposals
  std::int64_t proposed_ = 0;            // for it, for all requests
};

}  // namespace kvsim::serving
