// What a decoding step computes and against which representation of the KV. A decode policy is a description: it holds
// no state, moves no bytes and advances no clock.
//
// To add one whose steps are made of the same parts: one line in the table of decode_policy.cpp.
#pragma once

#include <span>
#include <string_view>

namespace kvsim::serving {

struct DecodePolicy {
  std::string_view name;
  std::string_view description;
  /// Between verifications, or always if it never verifies, steps read the compressed KV; else the full one.
  bool reads_compressed = false;
  /// Drafts x tokens, then verifies them in one pass over the full KV, which is reloaded from host memory.
  bool verifies = false;

  /// The output is that of full-KV decoding: every token is decoded with, or verified by, the full KV.
  [[nodiscard]] bool lossless() const { return !reads_compressed || verifies; }
};

/// All registered policies, in the order in which they are listed to users.
std::span<const DecodePolicy> decode_policies();

/// The policy of this name, or null.
const DecodePolicy* find_decode_policy(std::string_view name);

}  // namespace kvsim::serving
