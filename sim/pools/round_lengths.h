// How many tokens each round drafts: a draft length policy for each remote node, which sees those who draft there and
// what rounds lately took beside their drafts - messages, the local node's queue and pass, a reload that came late.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/pools/pool_request.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/draft_lengths/draft_lengths.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/measurements.h"

namespace kvsim::pools {

/// Parts of the policies; all of it outlives them.
struct RoundLengthParts {
  const serving::ServingConfig& config;
  const serving::GroupConfig& group;  ///< that drafts
  const serving::DecodePolicy& decode;
  const serving::KvGeometry& geometry;
  const models::StepTimer& timer;
  const models::AcceptanceModel& acceptance;
  double message_s;  ///< between pools, one way
};

class RoundLengths {
 public:
  RoundLengths(const RoundLengthParts& parts, serving::Measurements& measured);

  // A request drafts on its remote node from now on, or does not any more.
  void join(PoolRequest& r);
  void leave(PoolRequest& r);

  /// Sets the target of the round that begins now.
  void begin(PoolRequest& r);
  /// Takes the number of its drafts that were accepted. To be called before its tokens are final.
  void verified(PoolRequest& r, std::int64_t accepted);
  /// The remote node has heard the verdict, so long after the round began there.
  void ended(const PoolRequest& r, double round_s);

  /// Mean that one step adds: more than 1 with an auxiliary drafter.
  [[nodiscard]] double tokens_per_step() const { return tokens_per_step_; }
  /// Tokens that a round drafts, as rounds lately began; and tokens that such a round is expected to yield.
  [[nodiscard]] std::int64_t usual() const { return usual_; }
  [[nodiscard]] double usual_tokens() const { return acceptance_.expected_accepted(usual_) + 1; }

 private:
  struct NodeLengths {
    std::unique_ptr<serving::DraftLengths> lengths;  // null: nobody drafts
    std::vector<serving::Request*> drafting;
    std::array<double, 2> overhead{};  // of a round, in drafting iterations, stateless or cached; 0: none has ended
  };

  [[nodiscard]] NodeLengths& of(const PoolRequest& r);

  const models::AcceptanceModel& acceptance_;
  double messages_s_;
  serving::Drafting drafting_;
  double tokens_per_step_;
  std::vector<NodeLengths> nodes_;
  double mean_;  // of rounds lately begun
  std::int64_t usual_;
};

}  // namespace kvsim::pools
