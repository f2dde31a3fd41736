// An auxiliary drafter beside the model: a few layers on its hidden states (EAGLE), a module for further tokens (MTP),
// or a small model. Before a step it proposes tokens for every request, one pass after the other; the step takes them
// as further query tokens and keeps the leading ones that it would have chosen itself, and one token of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "models/kernels/step_time.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

// How a request's verifications are drawn, the same on every serving system: equal requests draw equal numbers.

/// The configured acceptance law for drafts of up to `longest` tokens; always agreeing where the decode policy does not
/// verify.
models::AcceptanceModel acceptance_of(const ServingConfig& config, std::int64_t longest);

/// Gives a request its random stream, and its own agreement where the law has one for each. `id` is the workload's.
void draw_acceptance(Request& request, const models::AcceptanceModel& acceptance, std::uint64_t seed, std::uint64_t id);

/// Gives a request the random stream, and agreement, of an auxiliary drafter's proposals (see draw_acceptance()).
void draw_drafter_acceptance(Request& request, const models::AcceptanceModel& acceptance, std::uint64_t seed,
                             std::uint64_t id);

/// A drafter beside the steps of an instance of one group. Copies share its timer, which takes milliseconds to make.
class Drafting {
 public:
  /// `config` outlives this. Without effect where the policy has no drafter.
  Drafting(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode);

  /// Most tokens proposed for a request before a step; 0: there is no drafter.
  [[nodiscard]] std::int64_t most() const { return most_; }
  /// Most tokens proposed for a request of so many tokens: none beyond the drafter's own window.
  [[nodiscard]] std::int64_t most(std::int64_t context) const;
  /// Mean of the tokens that one step of a request yields, its own and the accepted ones.
  [[nodiscard]] double tokens_per_step() const { return 1 + acceptance_.expected_accepted(most_); }
  /// The law of how many of its tokens are accepted.
  [[nodiscard]] const models::AcceptanceModel& acceptance() const { return acceptance_; }
  /// How many of `proposed` tokens the request's step accepts: its own next draw.
  [[nodiscard]] std::int64_t accepted(Request& r, std::int64_t proposed) const;

  /// A new step begins.
  void clear();
  /// Before it, `proposed` tokens are drafted for a request of `context` tokens, of which the drafter has not seen the
  /// last `unseen` yet.
  void add_request(double context, double unseen, std::int64_t proposed);
  /// `tokens` tokens of a prompt after the first `before` are computed beside it: the drafter reads them too.
  void add_chunk(double before, double tokens);
  /// GPU time of all that, on every GPU of the group.
  [[nodiscard]] double seconds() const;

  /// GPU time of one pass that proposes a token for each of so many requests of `context` tokens, of which it has not
  /// seen the last `unseen` yet. Precondition: there is a drafter.
  [[nodiscard]] double pass_s(double requests, double context, double unseen = 1) const;
  /// pass_s() of all passes that propose `proposed` tokens for each.
  [[nodiscard]] double passes_s(double requests, double context, double unseen, std::int64_t proposed) const;
  /// Mean number of steps in which a request drafts `tokens` tokens, none proposing beyond them.
  [[nodiscard]] double steps(std::int64_t tokens) const;

 private:
  [[nodiscard]] double work_s(const models::StepWork& work) const;

  std::int64_t most_ = 0;
  models::AcceptanceModel acceptance_;
  std::shared_ptr<const models::StepTimer> timer_;  // of all copies; null: there is none
  std::int64_t window_ = 0;
  double pass_overhead_s_ = 0;
  double token_bytes_ = 0;  // KV of one token, one copy
  double branches_ = 1;     // of a tree: candidates in each pass but the first
  bool block_ = false;

  // State of the step being put together.
  models::StepWork first_;                      // what it has not seen yet, and prompts; gives the first proposals
  std::vector<models::AttentionWork> further_;  // by pass after the first: one token for each request
};

}  // namespace kvsim::serving
