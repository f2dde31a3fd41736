// The draft lengths of a replica: its policy, what a verification is measured to cost there, and what the lengths
// chosen gave beside the best ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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

/// A step whose requests had tokens proposed by an auxiliary drafter.
struct ProposalStep {
  const models::StepWork& work;
  const models::StepTime& time;
  double drafting_s = 0;      ///< of time.total_s, the drafter's passes
  double waited_s = 0;        ///< beyond time.total_s, for KV on its way
  double link_s = 0;          ///< that its fetches would take longer with one more token for each request
  std::int64_t proposed = 0;  ///< tokens, of all requests
};

/// Draft lengths of a decode policy that drafts; other policies never ask for any.
class DraftLengths {
 public:
  /// All of it outlives this.
  DraftLengths(const DraftLengthParts& parts, Measurements& measured);

  /// Sets the target of the request's coming round. `reloads`: its full KV will have to be loaded.
  void begin_round(Request& r, std::span<Request* const> decoding, bool reloads);
  /// Begins a round that is not made of a replica's iterations: the caller gives the estimate.
  void begin_round(Request& r, const DraftEstimate& estimate);

  /// The request has drafted so many more tokens.
  static void drafted(Request& r, std::int64_t tokens, engine::SimTime now);

  /// Chooses how many tokens are proposed for each of them before the coming step, where every step is a round.
  void begin_step(std::span<Request* const> decoding);

  /// The step has ended: what proposals cost follows from it.
  void stepped(const ProposalStep& step, std::span<Request* const> decoding);

  /// Tokens proposed for the request were verified.
  void proposed(Request& r, std::int64_t tokens, std::int64_t accepted);

  /// A step's time is known: what its verifications add to it is part of what rounds cost.
  void timed(const models::StepWork& work, const models::StepTime& time, std::int64_t verifications);

  /// A round ends, whose verification began, with all of the KV, at `ready`. To be called before its tokens are final.
  void verified(Request& r, std::int64_t drafted, std::int64_t accepted, const RoundEnd& end);
  void verified(Request& r, std::int64_t drafted, std::int64_t accepted);

  /// v of a request in a batch of this many.
  [[nodiscard]] double overhead(double batch, bool reloads) const;

 private:
  /// StepLine fits step lengths by verifications: drafts that take proposals look like these.
  class StepLine {
   public:
    /// Adds a step. False: no slope is known yet.
    bool add(double verifications, double step_s);
    /// Returns what one verification adds, as a share of a step without any. Precondition: a slope is known.
    [[nodiscard]] double added() const;

   private:
    double mean_verifications_ = 0, mean_step_s_ = 0, variance_ = 0, covariance_ = 0;
  };

  void note_regret(const Request& r);
  void note_regret(std::span<Request* const> decoding);

  DraftLengthParts parts_;
  Measurements& measured_;
  std::int64_t longest_ = 0;                   // draft for which the acceptance law is known
  double forgetting_ = 1;                      // of the requests' evidence (AgreementKeys)
  std::unique_ptr<DraftLengthPolicy> policy_;  // null: nothing is drafted
  double waited_ = 0;                          // for others' reloads: iterations per round of requests that reload
  double hidden_ = 0;                          // for its own, likewise
  double added_ = 0;                           // by one verification to an iteration, as a share of one without any
  double draft_share_ = 0;                     // of an iteration's time, by one request's draft
  double emitted_ = 0;                         // tokens since the last iteration
  double emitted_each_ = 0;                    // by iteration
  double drafting_s_ = 0;                      // the last iteration in which all drafted
  std::uint64_t verifying_steps_ = 0;
  StepLine steps_;  // of two levels of drafting

  // State of proposals.
  ProposalCosts costs_;
  double waiting_s_ = 0;  // per step, for KV on its way
  std::uint64_t steps_begun_ = 0, steps_ended_ = 0;
  std::vector<std::int64_t> lengths_;  // of the step being decided; kept for their memory
  std::vector<double> survival_;
};

}  // namespace kvsim::serving
