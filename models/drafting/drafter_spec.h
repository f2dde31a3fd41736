// Something smaller that proposes tokens for a target model to check: what one of its passes computes, what it keeps in
// GPU memory, and how many of its tokens the target accepts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "models/llm/llm_spec.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

enum class DrafterKind {
  head,    ///< a few layers on the target's hidden states (EAGLE)
  module,  ///< a layer trained with the target to predict one token further (multi-token prediction, MTP)
  model    ///< a separate, smaller model of the same vocabulary
};

struct DrafterSpec {
  std::string name;
  std::string description;
  DrafterKind kind = DrafterKind::model;

  /// Network of one pass, with KV of its own: network.weight_bytes_read() a pass, network.kv_bytes_per_token(). A
  /// head or module has few layers and ties its LM head, for it looks tokens up in the target's embedding table;
  /// projections of the target's hidden states stand in `intermediate`. Its max_context is the target's.
  LlmSpec network;
  /// All tokens of a draft come from one pass, which computes a query token for each (DFlash); else from a pass each.
  bool block = false;
  /// The LM head is the target's: each pass reads it, and no second one is held.
  bool shares_head = false;

  /// Accepted tokens of a draft; never AcceptanceKind::compressor.
  AcceptanceSpec acceptance;
  schema::Source acceptance_source;

  /// Catalogue names of the models it was trained for or measured with; empty: any of its vocabulary.
  std::vector<std::string> targets;
  std::int64_t draft_length = 1;  ///< tokens proposed before each pass of the target, unless told otherwise
  schema::Sourced<double> pass_overhead_s{-1, {}};  ///< time of a pass beyond its kernels; below 0: the engine's
  [[nodiscard]] bool says_pass_overhead() const { return pass_overhead_s.value >= 0; }

  /// Bytes of GPU memory that its weights take beside the target's, before sharding: network.weight_bytes() without the
  /// LM head where that is the target's.
  [[nodiscard]] std::int64_t own_weight_bytes() const;

  /// Whether it may draft for a model of this catalogue name.
  [[nodiscard]] bool drafts_for(const std::string& target) const;
};

}  // namespace kvsim::models
