// What a scenario says about prompts whose KV is put together from chunks (prefill: selective, cacheblend, epic,
// full_reuse).
#pragma once

#include <cstdint>
#include <string>

#include "models/llm/llm_spec.h"
#include "models/reuse/importance_signal.h"
#include "models/reuse/rag_task.h"
#include "models/reuse/span_completion.h"

namespace kvsim::models {

/// The small model that says which tokens matter (selective), and where it runs.
struct SpeculativeSpec {
  LlmSpec model;
  std::int64_t gpus = 0;              ///< of its own, per replica, one prompt at a time each; 0: the replica's GPUs
  double tokens_ratio = 1;            ///< its tokens for one of the model that answers
  bool own_tokenizer = false;         ///< its tokens end elsewhere: what is selected has to be aligned
  double align_s_per_token = 100e-9;  ///< CPU time of choosing spans and aligning them
};

/// KV that a computed token's attention reads and multiplies with.
enum class RowAttention {
  whole,  ///< all of the prompt: a kernel that masks what comes later, and computes it too
  causal  ///< what comes before the token: a kernel that passes over the rest
};

enum class ImportanceSource { generated, file };

/// Where importances come from.
struct ImportanceSignals {
  ImportanceSource source = ImportanceSource::generated;
  ImportanceShape shape;      ///< generated
  std::int64_t signals = 64;  ///< generated: different ones, which requests of one length take in turn
  std::string path{};         ///< file: prompts in turn (read_scored_prompts)
};

struct ReuseSpec {
  ReuseMethod method = ReuseMethod::selective;
  double rho = 0.15;              ///< share of the chunks' tokens that is computed again (selective, cacheblend)
  std::int64_t link_tokens = 32;  ///< first tokens of every chunk that are computed again (epic)
  SpanRules spans;                ///< selective
  SpeculativeSpec speculative;    ///< selective
  ImportanceSignals importance;   ///< selective
  RowAttention attention = RowAttention::whole;
};

}  // namespace kvsim::models
