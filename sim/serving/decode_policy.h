// Definition of a decoding step: its computation, and the representation of the KV that it reads. A decode policy is a
// description: it holds no state, moves no bytes and advances no clock.
//
// To add one whose steps are made of the same parts: one line in the table of decode_policy.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/serving/config.h"

namespace kvsim::serving {

/// KV that a step fetches from host memory, where the full KV is.
enum class Fetch : std::uint8_t {
  none,
  speculative,  ///< the pairs that the next token will attend to, chosen by a speculative token decoded beside this one
  on_demand,    ///< the pairs that this token attends to, chosen by its own scores
  everything    ///< the whole KV, layer by layer
};

/// Full KV that drafts are verified against (FullKvSource).
enum class FullKv : std::uint8_t {
  host_copies,  ///< a copy of every running request's in host memory, or none where nothing has to be loaded
  tiers,        ///< what placement stored compressed is also kept whole, in the last tier
  recomputed    ///< the prompt is computed whole, once, while drafts go on with what was put together from chunks
};

struct DecodePolicy {
  std::string_view name;
  std::string_view description;
  /// Between verifications, or always if it never verifies, steps read the compressed KV; else the full one.
  bool reads_compressed = false;
  /// Drafts x tokens, then verifies them in one pass over the full KV, which is reloaded from host memory unless it
  /// stayed (keeps_full).
  bool verifies = false;
  /// The compressed KV is a copy of few bits of the whole context, beside which the latest tokens (and fetched ones)
  /// are kept in 16 bit: bits/16 + 2/g + R/L of the full KV.
  bool low_bit_copy = false;
  Fetch fetch = Fetch::none;
  /// The full KV stays in GPU memory, and drafts read a part of it: verifications wait for nothing.
  bool keeps_full = false;
  /// An auxiliary drafter (DecodeConfig::drafter) proposes tokens before every step that decodes or drafts; the step
  /// takes them as further query tokens and keeps those that it would have chosen itself.
  bool drafter = false;
  /// Full KV of a policy that verifies, as the configuration sets it (configured_policy()), not the policy itself.
  FullKv full_kv = FullKv::host_copies;

  /// Drafts read prompts as they were loaded or put together, whatever else the policy's drafts read, and are verified
  /// against whole ones.
  [[nodiscard]] bool as_found() const { return full_kv != FullKv::host_copies; }
  /// Every step verifies what the drafter proposed: the draft length is that of its proposals.
  [[nodiscard]] bool proposes() const { return drafter && !verifies; }
  /// proposes(), where a step gives final tokens of the KV that the request has, as one without drafts would.
  [[nodiscard]] bool drafts_in_steps() const { return proposes() && !fetches() && !low_bit_copy; }
  /// Draft length policies have something to choose.
  [[nodiscard]] bool drafts() const { return drafter || verifies; }
  /// The full KV, or all of it but the latest tokens, is in host memory only.
  [[nodiscard]] bool offloads() const { return (verifies && !keeps_full && !as_found()) || fetches(); }
  /// GPU memory holds less than the full KV of a decoding request.
  [[nodiscard]] bool holds_part() const {
    return (reads_compressed && !keeps_full && !as_found()) || fetch == Fetch::everything;
  }
  /// Steps fetch KV from host memory, layer by layer.
  [[nodiscard]] bool fetches() const { return fetch != Fetch::none; }
  /// The pairs that tokens attend to most are fetched: DecodeConfig::prefetch has a meaning.
  [[nodiscard]] bool fetches_pairs() const { return fetch == Fetch::speculative || fetch == Fetch::on_demand; }

  /// The output is that of full-KV decoding: every token is decoded with, or verified by, the full KV.
  [[nodiscard]] bool lossless() const { return !reads_compressed || verifies; }
};

/// All registered policies, in the order in which they are listed to users.
std::span<const DecodePolicy> decode_policies();

/// The policy of this name, or null.
const DecodePolicy* find_decode_policy(std::string_view name);

/// Full KV that drafts of the policy are verified against under this configuration.
inline FullKv full_kv_of(const ServingConfig& config, const DecodePolicy& decode) {
  if (!decode.verifies || decode.keeps_full) return FullKv::host_copies;
  if (reuses_chunks(config.prefill)) return FullKv::recomputed;
  return config.placement ? FullKv::tiers : FullKv::host_copies;
}

/// DecodePolicy::as_found() of the policy under this configuration.
inline bool drafts_as_found(const ServingConfig& config, const DecodePolicy& decode) {
  return full_kv_of(config, decode) != FullKv::host_copies;
}

/// The configured policy with what the configuration makes of it. Precondition: there is one of this name.
inline DecodePolicy configured_policy(const ServingConfig& config) {
  DecodePolicy decode = *find_decode_policy(config.decode.policy);
  decode.full_kv = full_kv_of(config, decode);
  return decode;
}

/// `decode` with what its policy drafts on in place: of sparse_self, what DecodeConfig::sparse says.
DecodeConfig own_drafts(const DecodeConfig& decode);

}  // namespace kvsim::serving
