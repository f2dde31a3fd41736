// How many tokens a request drafts before its next verification, or an auxiliary drafter proposes before a step that
// verifies them. A policy sees the request, with what became of its earlier drafts, and a narrow view of its replica,
// and returns a length; what is left to generate limits it afterwards.
//
// To add one: a file in policies/ with a class and `DraftLengthEntry draft_length_NAME()`. The build finds it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "models/acceptance/acceptance.h"
#include "models/kernels/step_time.h"
#include "models/schema/own_keys.h"
#include "models/schema/registry.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

// How many tokens an auxiliary drafter should propose for each request of a step. All of the batch waits for the
// drafter's passes, one after the other, so that the lengths are chosen together.

/// A step of b_i requests for which at least i tokens are proposed takes
///   T = step_s + sum_i (b_i > 0 ? pass_s : 0) + token_s sum_i b_i.
struct ProposalCosts {
  double step_s = 0;   ///< without proposals; 0: not known yet
  double pass_s = 0;   ///< of a pass of the drafter, whomever it is for
  double token_s = 0;  ///< of one more token: to propose it and to verify it
};

/// Sets the lengths with the most tokens/s, sum_r (1 + A_r(n_r)) / T, and returns that rate. survival[r most + i - 1]
/// is S_r(i), falling in i, and 0 where i tokens cannot be proposed. No length is below `least`, or above `most`.
/// Precondition: costs.step_s > 0.
///
/// By Dinkelbach's method: at a price of lambda tokens/s, token i of request r is worth S_r(i) - lambda token_s, and
/// pass i what its tokens are worth together, less lambda pass_s; both fall with i. The rate of what is worth it is the
/// next price, until it rises no more.
double best_proposals(std::span<const double> survival, std::int64_t least, std::int64_t most,
                      const ProposalCosts& costs, std::span<std::int64_t> lengths);

/// The rate of these lengths.
[[nodiscard]] double proposal_rate(std::span<const double> survival, std::int64_t most, const ProposalCosts& costs,
                                   std::span<const std::int64_t> lengths);

/// State of the replica that a policy may read when a round begins.
struct DraftEstimate {
  std::span<Request* const> decoding;  ///< all that decode there, the request itself not always among them
  /// v: what of the round does not grow with its draft, in drafting iterations, times the tokens that one gives under
  /// two levels of drafting: 1 for the verifying iteration, what
  /// verifications add to it, and for requests that reload how long rounds lately waited for others' reloads.
  double overhead = 1;
  /// Further drafts that a request makes while its own reload crosses the link, beyond the length chosen: 0 where
  /// reloads are asked for ahead, or nothing is reloaded.
  std::int64_t hidden = 0;
  /// Cost of one more draft of one request to all others, in tokens. It is the share by which the draft makes the
  /// iteration longer, times the tokens that an iteration gives. 0: not known.
  double price = 0;
  /// Drafts are verified on other GPUs: overhead is all that rounds lately took beside their drafts, as it was seen,
  /// and no formula of a replica's rounds holds.
  bool elsewhere = false;
};

class Drafting;

class DraftLengthPolicy {
 public:
  virtual ~DraftLengthPolicy() = default;

  /// At least 1, or 0 where the drafter's tokens are proposed. Asked when a round begins; changes nothing about the
  /// request.
  virtual std::int64_t next(const Request& request, const DraftEstimate& estimate) = 0;

  /// Most positions that the request drafts of its round while its verification is late; at least the chosen length,
  /// the last argument. The replica has a limit of its own.
  virtual std::int64_t limit(const Request&, const DraftEstimate&, std::int64_t) {
    return std::numeric_limits<std::int64_t>::max();
  }

  /// Where every step is a round (DecodePolicy::proposes), all of estimate.decoding choose at once, before each step:
  /// `lengths` is for them, in their order. By default, each is what next() gives.
  virtual void propose(const DraftEstimate& estimate, const ProposalCosts& costs, std::span<std::int64_t> lengths);

  /// A round of the request has ended, and is in its evidence already where there is any.
  virtual void verified(const Request& request, std::int64_t drafted, std::int64_t accepted) = 0;
};

/// Parts that a policy is made of; all of it outlives it.
struct DraftLengthParts {
  const ServingConfig& config;
  const GroupConfig& group;  ///< that drafts
  const DecodePolicy& decode;
  const KvGeometry& geometry;
  const models::StepTimer& timer;
  const models::AcceptanceModel& acceptance;  ///< of the drafts whose length is chosen
  const Drafting& drafting;
};

struct DraftLengthEntry {
  std::string_view name;
  std::string_view description;
  int place = schema::kListedLast;                                ///< in lists
  schema::KeyFragment keys{};                                     ///< that it reads in DraftLengthConfig::own
  std::int64_t (*longest)(const DecodeConfig& config) = nullptr;  ///< that it ever chooses
  std::unique_ptr<DraftLengthPolicy> (*make)(const DraftLengthParts& parts) = nullptr;
};

/// All registered policies, in the order in which they are listed to users.
std::span<const DraftLengthEntry> draft_length_policies();

/// The entry of this name, or null.
inline const DraftLengthEntry* find_draft_length_policy(std::string_view name) {
  return schema::find_named(draft_length_policies(), name);
}

/// That of policy fixed: decode.draft_length, or of a policy that proposes the drafter's tokens.
std::int64_t fixed_draft_length(const DecodeConfig& config);

/// A draft may be so long, in tokens.
inline constexpr std::int64_t kLongestDraft = 4096;

/// The longest draft that the configured policy ever chooses.
std::int64_t longest_draft(const DecodeConfig& config);

/// Most positions that a request may draft in one round: as configured, else twice the longest draft length that its
/// policy chooses; never less than that length itself, and that length where the limit is strict.
std::int64_t draft_limit(const DecodeConfig& decode);

/// Most tokens that an auxiliary drafter proposes for a request before a step; 0 where the policy has none.
std::int64_t most_proposed(const DecodeConfig& config, const DecodePolicy& decode);

/// Tokens beyond the context that a request's next step or round may bring.
std::int64_t draft_room(const DecodeConfig& config, const DecodePolicy& decode);

// Value of a round of x drafts: 1 + A(x) tokens for the time of x + v drafting iterations. v is all of the round
// that does not grow with x. A(x) = sum_{i=1..x} S(i) is concave, since S falls, so that the rate has one
// maximum.

/// A(x) of a constant agreement a: a (1 - a^x) / (1 - a).
[[nodiscard]] inline double expected_accepted(double a, std::int64_t x) {
  if (a >= 1) return static_cast<double>(x);
  return a * (1 - std::pow(a, static_cast<double>(x))) / (1 - a);
}

/// The x in [least, most] with the highest (1 + A(x)) / (x + v), the shortest where several have it. `accepted(x)` is
/// A(x), concave.
template <class Accepted>
[[nodiscard]] std::int64_t best_draft_length(Accepted&& accepted, double v, std::int64_t least, std::int64_t most) {
  while (least < most) {
    const std::int64_t x = least + (most - least) / 2;
    const auto drafts = static_cast<double>(x);
    const bool longer = (1 + accepted(x + 1)) * (drafts + v) > (1 + accepted(x)) * (drafts + 1 + v);
    (longer ? least : most) = longer ? x + 1 : x;
  }
  return least;
}

/// Best length for an agreement that is only known from `evidence`, beside `prior` trials of mean `mean`. The rate is
/// expected over the Beta distribution that these give, S(i) = E[a^i] = prod_{j<i} (p + j) / (p + q + j). With much
/// evidence that is the constant agreement. With little, drafts are longer than its mean asks for: requests that always
/// agree gain more by it than the others lose.
[[nodiscard]] std::int64_t best_draft_length(const AgreementEvidence& evidence, double prior, double mean, double v,
                                             std::int64_t least, std::int64_t most);

}  // namespace kvsim::serving
