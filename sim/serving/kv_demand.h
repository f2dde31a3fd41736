// How much memory a request of a replica needs, on its GPUs and beside them, and which form of its KV that is for.
#pragma once

#include <cstdint>

#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

class KvDemand {
 public:
  /// All of it outlives this. `decode`: the configured policy; `prefix_tokens`: of blocks that requests share, 0: they
  /// share none.
  KvDemand(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
           std::int64_t prefix_tokens);

  /// Its full KV is in host memory.
  [[nodiscard]] bool offloads(const Request& r) const { return decode_.offloads() && !r.full_kv.resident; }
  /// GPU memory holds less than its full KV while it decodes, by the policy's own compression.
  [[nodiscard]] bool holds_part(const Request& r) const { return decode_.holds_part() && !r.full_kv.resident; }
  /// Each of its steps gives final tokens.
  [[nodiscard]] bool decodes_directly(const Request& r) const { return !decode_.verifies || r.full_kv.direct; }

  /// Tokens of it that can be loaded from host memory; an interrupted prefill starts again.
  [[nodiscard]] static std::int64_t loadable_tokens(const Request& r) {
    return r.moving.in_host_tokens >= r.prompt ? r.moving.in_host_tokens : 0;
  }

  /// Whether the request, after its preemption, finds again the part of its KV that was not overwritten.
  [[nodiscard]] bool findable(const Request& r) const {
    return config_.schedule.caches_preempted() && config_.prefill == PrefillKind::recompute && !decode_.verifies &&
           !offloads(r) && !holds_part(r);
  }

  // Blocks of prefix_tokens each that requests share.
  /// Whole blocks of its first tokens.
  [[nodiscard]] std::int64_t blocks_of(std::int64_t tokens) const {
    return prefix_tokens_ > 0 ? tokens / prefix_tokens_ : 0;
  }
  /// Those that it may find: at least one token of what it computes is left.
  [[nodiscard]] std::int64_t findable_blocks(const Request& r) const { return blocks_of(r.prefill.target - 1); }

  // Bytes of GPU memory.
  /// While it decodes.
  [[nodiscard]] std::int64_t decoding(const Request& r) const;
  /// From its admission until it decodes.
  [[nodiscard]] std::int64_t admission(const Request& r) const;
  /// At its end, if all of its full KV stays.
  [[nodiscard]] std::int64_t resident(const Request& r) const;
  /// The most it ever needs by itself. `beside`: FullKvSource::most_beside().
  [[nodiscard]] std::int64_t most(const Request& r, std::int64_t beside) const;

  /// Bytes of host memory, if it has any there.
  [[nodiscard]] std::int64_t in_host(const Request& r) const;

 private:
  const ServingConfig& config_;
  const DecodePolicy& decode_;
  const KvGeometry& geometry_;
  std::int64_t draft_room_;  // tokens beyond the context that a step or a round may bring
  std::int64_t proposed_;    // at most, by an auxiliary drafter in one step
  std::int64_t prefix_tokens_;
};

}  // namespace kvsim::serving
