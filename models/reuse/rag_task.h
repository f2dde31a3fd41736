// A task over retrieved chunks as data: what answers score when all of the prompt is computed, and when most of its KV
// is reused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/llm/llm_spec.h"
#include "models/reuse/importance_signal.h"
#include "models/reuse/span_completion.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

/// The mean scores of selective reuse that computes this share of the tokens again.
struct ScoreAt {
  double rho = 0;
  schema::Sourced<double> score;          ///< with spans
  schema::Sourced<double> without_spans;  ///< the most important tokens, each by itself
};

struct RagTask {
  std::string name;
  std::string description;
  std::string model;                   ///< whose answers were scored; empty: not said
  std::string speculative_model;       ///< that chose the tokens; empty: not said
  schema::Sourced<double> full_score;  ///< mean score with all of the prompt computed; > 0
  std::vector<ScoreAt> scores;         ///< of selective reuse, ascending in rho, all in (0, 1)
  schema::Sourced<double> full_reuse;  ///< mean score with no token recomputed / full_score
  schema::Sourced<double>
      cacheblend_below;                ///< share by which CacheBlend scores below selective reuse, at the first rho
  schema::Sourced<double> epic_below;  ///< the same of EPIC with 32 tokens of each chunk of 512
  schema::Sourced<double> spread;      ///< standard deviation / mean of single answers' scores
};

/// How the KV of chunks is put together.
enum class ReuseMethod {
  full_reuse,  ///< as it was stored
  selective,   ///< with the tokens recomputed that a small model chooses (SpecCache)
  cacheblend,  ///< with those that deviate most in the first layer
  epic         ///< with the first tokens of every chunk
};

/// Mean score of a task / that with all of the prompt computed. Linear in rho between full_reuse at 0, the task's
/// scores, and 1 at 1; how far a method is below selective reuse shrinks in proportion to 1 - rho, and nothing falls
/// below full_reuse. EPIC: linear in the share of a chunk that it computes,
/// between full_reuse at 0, its score at 32/512 and 1 at 1. `share`: rho, or that share; in [0, 1].
[[nodiscard]] double relative_score(const RagTask& task, ReuseMethod method, double share, bool spans);

/// The score of an answer that is the `at`-th quantile, at in (0, 1), of a beta distribution with this mean (in
/// (0, 1)) and standard deviation / mean; the mean itself where `spread` is 0. A spread that no distribution on [0, 1]
/// has is cut to what one has.
[[nodiscard]] double answer_score(double mean, double spread, double at);

/// The share of such answers, whose mean is `relative` x full_score, that score at least `floor` x full_score.
[[nodiscard]] double good_share(const RagTask& task, double relative, double floor);

// Settings of a scenario for prompts whose KV is put together from chunks (prefill: selective, cacheblend, epic,
// full_reuse).

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
  double rho = 0.15;              ///< share of the chunks' tokens that is recomputed (selective, cacheblend)
  std::int64_t link_tokens = 32;  ///< first tokens of every chunk that are recomputed (epic)
  SpanRules spans;                ///< selective
  SpeculativeSpec speculative;    ///< selective
  ImportanceSignals importance;   ///< selective
  RowAttention attention = RowAttention::whole;
};

}  // namespace kvsim::models
