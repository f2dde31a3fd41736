// Times of a step's linear layers and of its attention, by the profile's fitted forms and tables.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/kernels/profile.h"
#include "models/kernels/step_work.h"
#include "models/llm/llm_spec.h"
#include "models/llm/parallelism.h"

namespace kvsim::models {

// A time that depends on a number of tokens alone, worked out once and looked up every iteration.

/// Seconds of a group of kernels, and how much of them memory bandwidth decides.
struct SplitTime {
  double seconds = 0;
  double memory_bound_s = 0;
};

/// A TokenCurve is worked out at the points of a grid.
enum class CurveGrid : std::uint8_t {
  fine,   ///< every token up to 512, then every 16th
  coarse  ///< every token up to 32, then 16 points an octave: enough for shares of a time
};

/// A TokenCurve holds a time at the tokens of its grid up to 16,384. It is linear in between, and goes on beyond by the
/// slope of its upper half (a single step may lie within a wave of tiles, which one more does not make longer). Never
/// falls: where what it is made from does (a table's last step can leave a ratio that falls a little beyond it), it
/// stays.
class TokenCurve {
 public:
  TokenCurve() = default;

  /// From time_of(tokens), which gives a SplitTime.
  template <class TimeOf>
  explicit TokenCurve(TimeOf&& time_of, CurveGrid grid = CurveGrid::fine) : grid_(grid) {
    const int points = static_cast<int>(position(kLargest)) + 1;
    points_.reserve(static_cast<std::size_t>(points));
    double before = 0;
    for (int i = 0; i < points; ++i) {
      SplitTime t = time_of(tokens_at(i));
      t.seconds = before = std::max(t.seconds, before);
      t.memory_bound_s = std::min(t.memory_bound_s, t.seconds);
      points_.push_back(t);
    }
  }

  [[nodiscard]] bool empty() const { return points_.empty(); }

  /// Precondition: not empty, tokens > 0. Fewer than one token take as long as one.
  [[nodiscard]] SplitTime at(double tokens) const {
    if (tokens > kLargest) return beyond(tokens);
    const double at = position(tokens);
    const auto below = std::min(static_cast<std::size_t>(at), points_.size() - 2);
    const double share = at - static_cast<double>(below);
    const SplitTime& a = points_[below];
    const SplitTime& b = points_[below + 1];
    return {a.seconds + share * (b.seconds - a.seconds),
            a.memory_bound_s + std::min(share, 1.0) * (b.memory_bound_s - a.memory_bound_s)};
  }

 private:
  static constexpr int kDense = 512;
  static constexpr int kStride = 16;
  static constexpr int kLargest = 16384;
  static constexpr int kOctave = 16;  // points of one on the coarse grid

  /// The place of so many tokens among the points, as a fraction between two.
  [[nodiscard]] double position(double tokens) const {
    if (grid_ == CurveGrid::fine) {
      return tokens <= kDense ? std::max(tokens - 1, 0.0) : kDense - 1 + (tokens - kDense) / kStride;
    }
    if (tokens <= 2 * kOctave) return std::max(tokens - 1, 0.0);
    const int octaves = std::ilogb(tokens / kOctave);
    return kOctave * (octaves + std::ldexp(tokens / kOctave, -octaves)) - 1;
  }
  [[nodiscard]] double tokens_at(int point) const {
    if (grid_ == CurveGrid::fine) return point < kDense ? point + 1 : kDense + (point - kDense + 1) * kStride;
    if (point < 2 * kOctave) return point + 1;
    const int octaves = (point + 1) / kOctave - 1, rest = (point + 1) % kOctave;
    return std::ldexp(kOctave + rest, octaves);
  }
  [[nodiscard]] SplitTime beyond(double tokens) const {
    const SplitTime& last = points_.back();
    const SplitTime& half = points_[static_cast<std::size_t>(position(kLargest / 2))];
    const double per_token = (last.seconds - half.seconds) / (kLargest / 2);
    return {last.seconds + (tokens - kLargest) * per_token, last.memory_bound_s};
  }

  CurveGrid grid_ = CurveGrid::fine;
  std::vector<SplitTime> points_;
};

/// One linear layer of a model on one GPU: `calls` times n x k per forward pass.
struct LinearShape {
  double n = 0;
  double k = 0;
  double calls = 1;
  /// Whose format its weights are in.
  enum class Part { body, attention, head } part = Part::body;
};

[[nodiscard]] inline NumberFormat weights_of(const LlmSpec& model, const LinearShape& shape) {
  return shape.part == LinearShape::Part::attention ? model.attention_format()
         : shape.part == LinearShape::Part::head    ? model.head_format()
                                                    : model.weight_format();
}

/// Those of its attention blocks.
[[nodiscard]] std::vector<LinearShape> attention_shapes(const LlmSpec& model, double gpus);
/// Linear layers of a model, sharded over `gpus`: QKV, output, gate and up, down; of a mixture of experts the router
/// and the shared experts, the routed ones apart (routed_layer). A latent's down projections are copied on every GPU;
/// its up projection is the same products whether it is absorbed into queries and outputs or expands the latent.
[[nodiscard]] std::vector<LinearShape> body_shapes(const LlmSpec& model, double gpus);
/// Of those, the shared experts of a mixture. Empty where it has none.
[[nodiscard]] std::vector<LinearShape> shared_expert_shapes(const LlmSpec& model, double gpus);
/// Of those, a mixture's router.
[[nodiscard]] LinearShape router_shape(const LlmSpec& model);
/// Up to so many tokens of a step shared experts run on a stream of their own beside the routed ones (vLLM's default of
/// VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD; SGLang does so up to 1,024 tokens, TensorRT-LLM in captured steps).
constexpr double kSharedExpertsBesideRouted = 256;
/// Seconds of both then: those of the longer, and no less than the weights of both take to read, `streamed_s`.
[[nodiscard]] inline double beside_each_other_s(double shared_s, double routed_s, double streamed_s) {
  return std::max({shared_s, routed_s, std::min(shared_s + routed_s, streamed_s)});
}
/// Seconds that reading the weights of shared and of routed experts of all layers takes at the datasheet's bandwidth,
/// for so many tokens of all ranks, on one GPU.
[[nodiscard]] double experts_streamed_s(const LlmSpec& model, const Parallelism& parallel, const Machine& machine,
                                        double tokens);
/// Layers with routed experts, sharded within each expert, and what is in one.
[[nodiscard]] double routed_layers(const LlmSpec& model);
[[nodiscard]] ExpertLayer routed_layer(const LlmSpec& model, const Parallelism& parallel);
/// The routed experts of one layer, on the GPU with most of `tokens` tokens of all ranks.
[[nodiscard]] MoeCall experts_call(const LlmSpec& model, const Parallelism& parallel, double tokens);
[[nodiscard]] LinearShape head_shape(const LlmSpec& model, double gpus);

class LinearTimes {
 public:
  /// Whether forms and tables of the profile cover the model's linear layers on this machine; `why` says what lacks.
  static bool covers(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, std::string& why);

  LinearTimes() = default;
  /// `machine`: what the times are for; the profile's own machine scales its tables. Precondition: covers().
  LinearTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, const Parallelism& parallel,
              CurveGrid grid = CurveGrid::fine);

  /// All layers but the LM head, for `tokens` > 0 tokens of a rank and `all_tokens` of all ranks.
  [[nodiscard]] SplitTime body(double tokens, double all_tokens) const {
    SplitTime body = body_.at(tokens);
    if (routed_.empty()) return body;
    if (shared_.empty()) return with_routed(body, routed_.at(all_tokens), 0, 0);
    const SplitTime shared = shared_.at(tokens);
    body.seconds += shared.seconds;
    body.memory_bound_s += shared.memory_bound_s;
    const bool beside = tokens <= kSharedExpertsBesideRouted;
    return with_routed(body, routed_.at(all_tokens), beside ? shared.seconds : 0,
                       beside ? streamed_.at(all_tokens).seconds : 0);
  }
  /// The LM head for `tokens` > 0 positions.
  [[nodiscard]] SplitTime head(double tokens) const { return head_.at(tokens); }
  /// Whether a measured table has the shape of one of the layers.
  [[nodiscard]] bool has_tables() const { return has_tables_; }
  /// Largest number of tokens that was measured or fitted.
  [[nodiscard]] double valid_to() const { return valid_to_; }

 private:
  /// The routed experts with `body`, in which shared ones that run beside them take `shared_s`.
  static SplitTime with_routed(SplitTime body, const SplitTime& routed, double shared_s, double streamed_s) {
    const double more_s =
        shared_s > 0 ? beside_each_other_s(shared_s, routed.seconds, streamed_s) - shared_s : routed.seconds;
    return {body.seconds + more_s, body.memory_bound_s + std::min(routed.memory_bound_s, more_s)};
  }

  TokenCurve body_;
  // Where ranks share the routed experts, those by the tokens of all ranks; the shared ones by those of a rank; and
  // experts_streamed_s. Empty: all of it is in body_, or there are none.
  TokenCurve routed_, shared_, streamed_;
  TokenCurve head_;
  double valid_to_ = 0;
  bool has_tables_ = false;
};

/// Seconds of one linear layer of a model, or of some with all their calls, by their forms and tables. Precondition:
/// LinearTimes::covers().
[[nodiscard]] FormTime linear_time(const KernelProfile& profile, const LlmSpec& model, const LinearShape& shape,
                                   double tokens, const Machine& machine);
[[nodiscard]] SplitTime linear_times(const KernelProfile& profile, const LlmSpec& model,
                                     const std::vector<LinearShape>& shapes, double tokens, const Machine& machine);
/// Seconds of one linear layer: by its table, scaled to the machine and beyond its range by the form; else by the form.
[[nodiscard]] FormTime linear_time(const KernelProfile& profile, const LinearForm& form, const LinearShape& shape,
                                   double tokens, const Machine& machine, const LinearRun& run = {});

// Time of a step's attention by the profile's fitted forms and tables.

/// What forms and tables of the model's attention are looked up by.
[[nodiscard]] NumberFormat kv_format(const LlmSpec& model);

/// Times of decode attention at whole lengths (AttentionTimes::between_lengths) that were worked out before, for steps
/// that follow each other as contexts grow. Of one AttentionTimes; gives the same times as none.
class KnownLengths {
 public:
  struct Cell {
    double requests = 0, length = -1;
    double from_s = 0, to_s = 0;  ///< at this length, and at the next one
  };
  [[nodiscard]] Cell& of(double requests, double cell) {
    const auto at = static_cast<std::size_t>(requests) * kStep + static_cast<std::size_t>(cell);
    return cells_[at % kKept];
  }

 private:
  static constexpr std::size_t kKept = 1024, kStep = 61;
  std::vector<Cell> cells_ = std::vector<Cell>(kKept);
};

class AttentionTimes {
 public:
  /// Whether the profile's forms cover the model's attention on this machine; `why` says what lacks.
  static bool covers(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, std::string& why);

  AttentionTimes() = default;
  /// Precondition: covers().
  AttentionTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, double gpus,
                 CurveGrid grid = CurveGrid::fine);

  /// Attention of all layers. `decode_flops_s` and `verify_flops_s` are seconds of arithmetic, which bound kernels that
  /// stream the KV for several query tokens a request; decoding of one each is streaming alone. `known`: null, or of
  /// this object.
  [[nodiscard]] SplitTime time(const StepWork& work, double decode_flops_s, double verify_flops_s,
                               KnownLengths* known = nullptr) const;

  /// Launches are to be shared for which the profile has no form of the model's KV.
  [[nodiscard]] bool lacks_mixed() const { return launches_.uses_mixed() && !has_mixed_; }
  /// Whether a measured table has the model's shape.
  [[nodiscard]] bool has_table() const { return has_grid_; }
  /// Least and greatest width of a head that decode attention was fitted to.
  [[nodiscard]] std::pair<double, double> head_dims() const { return head_dims_; }
  /// Whether all sizes of the step are within what was fitted or measured.
  [[nodiscard]] bool within_domain(const StepWork& work) const;

 private:
  /// A decode table in logarithms.
  struct Grid {
    std::vector<double> log_kv;
    std::vector<double> log_requests;
    std::vector<double> log_s;  ///< row by row
    double kv_from = 0, kv_to = 0, requests_from = 0, requests_to = 0;
    [[nodiscard]] double at(double requests, double kv) const;
  };
  [[nodiscard]] double kv_per_layer(double bytes) const { return bytes * kv_share_ / layers_; }
  [[nodiscard]] FormTime decode(const AttentionWork& work, double read_bytes, KnownLengths* known) const;
  /// One query token a request, which reads its full KV as it is stored, but for rounding.
  [[nodiscard]] bool reads_full_kv(const AttentionWork& work) const {
    const double full = work.pairs * model_token_bytes_;
    return decode_.uneven_share == 0 && !has_grid_ && work.queries_each() == 1 && work.pairs > 0 &&
           std::abs(work.kv_bytes - full) <= kRounding * full;
  }
  static constexpr double kRounding = 1e-12;
  /// Seconds of such a launch: by the form at multiples of kLengthStep tokens of mean context, linear in between.
  [[nodiscard]] double between_lengths(double requests, double mean_kv, KnownLengths* known) const;
  /// The form and its correction for these heads, and no less than it takes for a shorter KV at which the correction
  /// has its own factor: from there on that may fall faster than the form rises.
  [[nodiscard]] FormTime decode_time(const DecodeCall& call, const Machine& machine, bool warm) const;
  [[nodiscard]] FormTime at_least(FormTime streaming, double flops_s) const;
  /// Requests with several query tokens each, by the fitted form of these.
  [[nodiscard]] FormTime several(const AttentionWork& work, KnownLengths* known) const;
  [[nodiscard]] bool by_verify_form(const AttentionWork& w) const { return verify_ && w.queries_each() > 1; }
  template <class Each>
  void each_chunk(const StepWork& work, Each&& each) const;
  /// All of the step's attention is one launch.
  [[nodiscard]] bool one_launch(const StepWork& work) const {
    return has_mixed_ && launches_.of(work) == Launch::mixed;
  }
  /// Requests with several query tokens are tiles of the launch that serves chunks.
  [[nodiscard]] bool tiled(const AttentionWork& w) const {
    return !latent_ && launches_.several_queries == Launch::prefill && w.queries_each() > 1;
  }
  [[nodiscard]] FormTime mixed(const StepWork& work) const;
  [[nodiscard]] FormTime prefill(const StepWork& work) const;
  template <class Add>
  void add_latent(const StepWork& work, KnownLengths* known, Add&& add) const;
  [[nodiscard]] DecodeCall absorbed_call(const AttentionWork& work) const;
  [[nodiscard]] double absorbed_s(const AttentionWork& work) const;
  [[nodiscard]] double expanded_s(const PrefillChunk& chunk) const;
  /// Just above the length from which on chunks are expanded.
  [[nodiscard]] bool near_switch(const PrefillChunk& chunk) const;
  /// Times what expanding a chunk takes alone is compared: with the chunks that are absorbed by their length, and with
  /// absorbing it where both ways are open.
  struct Margins {
    double beyond = 1, selecting = 1;
  };
  [[nodiscard]] std::optional<AttentionWork> absorbed_part(const PrefillChunk& chunk, const Margins& margins) const;
  /// The chunks of a latent layer.
  struct ChunkTimes {
    FormTime absorbed, expanded;
    double expansion_s = 0;  ///< of what is cached of those that are expanded
    [[nodiscard]] double seconds() const { return absorbed.seconds + expanded.seconds + expansion_s; }
  };
  [[nodiscard]] ChunkTimes chunk_times(const StepWork& work, const Margins& margins) const;
  [[nodiscard]] ChunkTimes chunk_times(const StepWork& work) const;

  static constexpr double kLengthStep = 32;

  Machine machine_;
  Machine measured_;
  HeadShape shape_;
  HeadShape chunk_shape_;  ///< of prefill: as shape_, but of a latent
  bool latent_ = false;
  TokenCurve expansion_;  ///< of a latent: keys and values of every head out of so many tokens of context, a layer
  double layers_ = 1;
  double kv_share_ = 1;            ///< of the model's KV bytes, what one GPU reads
  double kv_bytes_per_token_ = 0;  ///< one layer, one GPU
  double model_token_bytes_ = 0;   ///< all layers, one copy
  double further_query_share_ = 0;
  std::pair<double, double> head_dims_{128, 128};  ///< of all tables from before there were several
  DecodeForm decode_;                              ///< without its correction
  CorrectionPlane plane_;                          ///< of decode_, by walks and KV length; empty: none
  std::vector<double> plane_lengths_;              ///< its KV lengths
  std::optional<VerifyForm> verify_;
  TiledForm prefill_;
  TiledForm mixed_;
  AttentionLaunches launches_;
  bool has_mixed_ = false;
  bool has_grid_ = false;
  bool grid_warm_ = false;
  bool as_measured_ = false;  ///< the table's times are this machine's, as they stand
  Grid grid_;
};

}  // namespace kvsim::models
