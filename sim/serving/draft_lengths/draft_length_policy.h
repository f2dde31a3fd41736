// How many tokens a request drafts before its next verification, or an auxiliary drafter proposes before a step that
// verifies them. A policy sees the request, with what became of its earlier drafts, and a narrow view of its replica,
// and returns a length; what is left to generate limits it afterwards.
//
// To add one: a file here with a class and a factory (policies.h), and one line in the table of
// draft_length_policy.cpp.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "models/acceptance/acceptance.h"
#include "models/kernels/step_time.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/proposals.h"
#include "sim/serving/drafting.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

/// What a policy may know of the replica when a round begins.
struct DraftOutlook {
  std::span<Request* const> decoding;  ///< all that decode there, the request itself not always among them
  /// v: what of the round does not grow with its draft, in drafting iterations, times the tokens that one gives under
  /// two levels of drafting: 1 for the verifying iteration, what
  /// verifications add to it, and for requests that reload how long rounds lately waited for others' reloads.
  double overhead = 1;
  /// Further drafts that a request makes while its own reload crosses the link, beyond the length chosen: 0 where
  /// reloads are asked for ahead, or nothing is reloaded.
  std::int64_t hidden = 0;
  /// What one more draft of one request costs all others, in tokens: the share by which it makes the iteration longer,
  /// times the tokens that an iteration gives. 0: not known.
  double price = 0;
};

class DraftLengthPolicy {
 public:
  virtual ~DraftLengthPolicy() = default;

  /// At least 1, or 0 where the drafter's tokens are proposed. Asked when a round begins; changes nothing about the
  /// request.
  virtual std::int64_t next(const Request& request, const DraftOutlook& outlook) = 0;

  /// Most positions that the request drafts of its round while its verification is late; at least the chosen length,
  /// the last argument. The replica has a limit of its own.
  virtual std::int64_t limit(const Request&, const DraftOutlook&, std::int64_t) {
    return std::numeric_limits<std::int64_t>::max();
  }

  /// Where every step is a round (DecodePolicy::proposes), all of outlook.decoding choose at once, before each step:
  /// `lengths` is for them, in their order. What next() gives for each, unless the policy knows better.
  virtual void propose(const DraftOutlook& outlook, const ProposalCosts& costs, std::span<std::int64_t> lengths);

  /// A round of the request has ended, and is in its evidence already where there is any.
  virtual void verified(const Request& request, std::int64_t drafted, std::int64_t accepted) = 0;
};

/// What a policy is made of; all of it outlives it.
struct DraftLengthParts {
  const ServingConfig& config;
  const DecodePolicy& decode;
  const KvGeometry& geometry;
  const models::StepTimer& timer;
  const models::AcceptanceModel& acceptance;  ///< of the drafts whose length is chosen
  const Drafting& drafting;
};

struct DraftLengthEntry {
  std::string_view name;
  std::string_view description;
  std::int64_t (*longest)(const DecodeConfig& config) = nullptr;  ///< that it ever chooses
  std::unique_ptr<DraftLengthPolicy> (*make)(const DraftLengthParts& parts) = nullptr;
};

/// All registered policies, in the order in which they are listed to users.
std::span<const DraftLengthEntry> draft_length_policies();

/// The entry of this name, or null.
const DraftLengthEntry* find_draft_length_policy(std::string_view name);

/// That of policy fixed: decode.draft_length, or of a policy that proposes the drafter's tokens.
std::int64_t fixed_draft_length(const DecodeConfig& config);

/// The longest draft that the configured policy ever chooses.
std::int64_t longest_draft(const DecodeConfig& config);

}  // namespace kvsim::serving
