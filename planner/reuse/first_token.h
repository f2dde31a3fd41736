// When the first token of a prompt made of chunks is out that is alone on an idle replica, by the way in which its KV
// comes to exist: the closed form of sim/reuse.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "models/catalogue/catalogue.h"
#include "models/kernels/step_time.h"
#include "sim/reuse/prompt_assembly.h"
#include "sim/reuse/reuse_times.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/config.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/request.h"

namespace kvsim::planner {

// The way from where chunks are stored to a replica's GPUs, on which nothing else moves.

struct LoadPath {
  std::string tier;         ///< "host", or a tier of cluster.storage
  std::string link;         ///< between host memory and a GPU
  double bytes_per_s = 0;   ///< into the whole replica, by the narrowest part of the way
  double fixed_s = 0;       ///< setup and latency of a transfer
  bool by_storage = false;  ///< the narrowest part is the tier's own reading

  /// 0 where there is nothing to load.
  [[nodiscard]] double load_s(double bytes) const { return bytes > 0 ? fixed_s + bytes / bytes_per_s : 0; }
};

/// The way from a tier, as TieredStore reads it: "host", or a name of cluster.storage. Throws schema::InputError for an
/// unknown one.
[[nodiscard]] LoadPath load_path(const serving::ServingConfig& config, const std::string& tier = "host");

/// The host link of one GPU that `--link` asks for: a name of the catalogue, or a bandwidth ("5 GB/s"), which replaces
/// that of `own`. Throws schema::InputError for what is neither, and for bandwidths that are not above 0.
[[nodiscard]] models::LinkSpec link_asked_for(const std::string& text, const models::LinkSpec& own,
                                              const models::Catalogue& catalogue);

enum class PromptMethod {
  recompute,  ///< all of it is prefilled
  load,       ///< its beginning is loaded, exact (a prefix cache), the rest prefilled after it
  // Chunks are loaded wherever they stand, missing ones computed alone (sim/reuse).
  full_reuse,
  epic,
  cacheblend,
  selective
};
[[nodiscard]] std::span<const PromptMethod> prompt_methods();
[[nodiscard]] std::string_view name_of(PromptMethod method);
/// Loads chunks and puts them together: neither recompute nor load.
[[nodiscard]] inline bool blends(PromptMethod method) {
  return method >= PromptMethod::full_reuse;
}

/// Whole chunks, then tokens of its own.
struct PromptShape {
  std::int64_t chunks = 1;
  std::int64_t chunk_tokens = 1;  ///< of each
  std::int64_t query = 1;         ///< tokens after them, >= 1
  [[nodiscard]] std::int64_t context() const { return chunks * chunk_tokens; }
  [[nodiscard]] std::int64_t tokens() const { return context() + query; }
  /// Chunks that are found at this hit rate, in [0, 1]: whole ones.
  [[nodiscard]] std::int64_t found(double hit_rate) const {
    return std::llround(hit_rate * static_cast<double>(chunks));
  }
};

/// Part that takes most of the way to the first token.
enum class Binding { loading, scoring, computing };
[[nodiscard]] std::string_view words_of(Binding binding);

/// Times that a prompt's first token waits for, but for the link:
///     TTFT = max(load, select, alone) + after
struct FirstToken {
  std::int64_t loaded_tokens = 0;    ///< h N
  double loaded_bytes = 0;           ///< over all GPUs of the replica
  std::int64_t computed_tokens = 0;  ///< of chunks, over the whole prompt
  double select_s = 0;               ///< until the small model's choice of tokens; 0: nobody chooses
  double alone_s = 0;                ///< until missing chunks are computed, each alone
  double after_s = 0;                ///< from there: positions, rows, and the first token

  [[nodiscard]] double ready_s() const { return std::max(select_s, alone_s); }
  [[nodiscard]] double ttft_s(const LoadPath& path) const {
    return std::max(path.load_s(loaded_bytes), ready_s()) + after_s;
  }
  [[nodiscard]] Binding binding(const LoadPath& path) const;
};

/// One method on the scenario's machine.
class FirstTokenModel {
 public:
  /// Throws schema::InputError for a file of importances that cannot be read. Precondition: scenario.workload.chunks.
  FirstTokenModel(const scenario::Scenario& scenario, PromptMethod method);
  FirstTokenModel(const FirstTokenModel&) = delete;
  FirstTokenModel& operator=(const FirstTokenModel&) = delete;

  /// `hit_rate`, in [0, 1]: share of the chunks that are found, rounded to whole ones; the first chunk is among them
  /// with this probability.
  [[nodiscard]] FirstToken at(const PromptShape& prompt, double hit_rate) const;

  /// Why the method cannot be used for such a prompt that gives so many tokens; empty: it can.
  [[nodiscard]] std::string problem(const PromptShape& prompt, std::int64_t output) const;

  /// Score with so many chunks: mean over the scenario's tasks of score / score with all of the prompt computed.
  [[nodiscard]] double relative_score(std::int64_t chunks) const;

  /// Mean over the tasks of the share of answers with at least `floor` of their task's mean score.
  [[nodiscard]] double good_share(std::int64_t chunks, double floor) const;

  [[nodiscard]] PromptMethod method() const { return method_; }
  /// "selective, rho 0.15"
  [[nodiscard]] std::string label() const;
  /// Figures of the machine that had to be replaced, in words.
  [[nodiscard]] const std::vector<std::string>& fallbacks() const { return timer_.fallbacks(); }
  [[nodiscard]] const serving::ServingConfig& config() const { return scenario_.serving; }

 private:
  [[nodiscard]] double prefill_s(std::int64_t before, std::int64_t tokens) const;
  [[nodiscard]] double rows_s(const serving::PromptAssembly& a, std::int64_t tokens) const;
  void add_side_by_side(const serving::PromptAssembly& a, std::int64_t tokens, FirstToken& out) const;
  [[nodiscard]] reuse::ChunkRows mean_rows(const PromptShape& prompt) const;

  PromptMethod method_;
  scenario::Scenario scenario_;
  serving::KvGeometry geometry_;
  models::StepTimer timer_;
  std::optional<reuse::ReuseTimes> times_;  // blending
  std::int64_t signals_ = 1;                // prompts with importances of their own that are averaged over
  std::optional<reuse::ChunkRowCounter> rows_;
};

}  // namespace kvsim::planner
