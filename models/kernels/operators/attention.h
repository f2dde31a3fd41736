// Attention of a step in layers that are alike: by the profile's fitted forms and tables, else by its roofline.
#pragma once

#include <optional>
#include <string>

#include "models/kernels/operators/decode.h"
#include "models/kernels/operators/latent.h"
#include "models/kernels/operators/operator.h"

namespace kvsim::models {

/// The format that forms and tables of the model's attention are looked up by.
[[nodiscard]] NumberFormat kv_format(const LlmSpec& model);

/// Whether the profile's forms cover the model's attention on this machine; `why` says what lacks.
[[nodiscard]] bool covers_attention(const KernelProfile& profile, const LlmSpec& model, const Machine& machine,
                                    std::string& why);

/// AttentionTimes are times of attention by the profile's fitted forms and tables.
class AttentionTimes {
 public:
  /// Precondition: covers_attention().
  AttentionTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, double gpus,
                 CurveGrid grid);

  /// Attention of all layers. `decode_flops_s` and `verify_flops_s` are seconds of arithmetic, which bound kernels that
  /// stream the KV for several query tokens a request; decoding of one each is streaming alone. `known`: null, or of
  /// this object.
  [[nodiscard]] SplitTime time(const StepWork& work, double decode_flops_s, double verify_flops_s,
                               KnownLengths* known) const;
  /// KV bytes that decoding moves.
  [[nodiscard]] double read_bytes(const AttentionWork& decode) const {
    return by_verify_form(decode) ? decode.kv_bytes : decode.bytes_read(further_query_share_);
  }
  /// Launches are to be shared for which the profile has no form of the model's KV.
  [[nodiscard]] bool lacks_mixed() const { return launches_.uses_mixed() && !mixed_; }
  [[nodiscard]] const DecodeLaunch& decode() const { return decode_; }
  /// The operation whose form or table serves the step, as used_figures() names them.
  [[nodiscard]] std::string operation(const StepWork& work) const;
  /// Whether all sizes of the step are within what was fitted or measured.
  [[nodiscard]] bool within_domain(const StepWork& work) const;

 private:
  [[nodiscard]] bool by_verify_form(const AttentionWork& w) const { return verify_ && w.queries_each() > 1; }
  /// All of the step's attention is one launch.
  [[nodiscard]] bool one_launch(const StepWork& work) const { return mixed_ && launches_.of(work) == Launch::mixed; }
  /// Requests with several query tokens are tiles of the launch that serves chunks.
  [[nodiscard]] bool tiled(const AttentionWork& w) const {
    return !latent_ && launches_.several_queries == Launch::prefill && w.queries_each() > 1;
  }
  [[nodiscard]] FormTime mixed(const StepWork& work) const;
  [[nodiscard]] FormTime prefill(const StepWork& work) const;

  DecodeLaunch decode_;
  std::optional<LatentAttention> latent_;
  std::optional<VerifyForm> verify_;
  TiledForm prefill_;
  std::optional<TiledForm> mixed_;
  AttentionLaunches launches_;
  double further_query_share_;
};

/// AttentionLayers are all layers of one kind.
class AttentionLayers {
 public:
  /// `part`: the model as layers of this kind alone see it.
  AttentionLayers(const StepSetup& setup, const LlmSpec& part);

  /// `work` is that of these layers.
  void add(const RankStep& step, const StepWork& work, KnownLengths* known, StepTime& time) const;
  [[nodiscard]] OperatorLoad load(const RankStep& step, const StepWork& work) const {
    return load(step, work.decode, decode_bytes(work)) + load(step, work.verify, work.verify.kv_bytes) +
           load(step, work.prefill, work.prefill.kv_bytes);
  }
  /// Times by form; none: the roofline.
  [[nodiscard]] const std::optional<AttentionTimes>& times() const { return times_; }

 private:
  [[nodiscard]] double decode_bytes(const StepWork& work) const {
    return times_ ? times_->read_bytes(work.decode) : work.decode.bytes_read(further_query_share_);
  }
  /// `read_bytes`: KV moved, which may be more than there is.
  [[nodiscard]] OperatorLoad load(const RankStep& step, const AttentionWork& work, double read_bytes) const {
    return {read_bytes * kv_share_, work.pairs * flops_per_pair_ / step.setup.gpus};
  }
  void add_roofline(const RankStep& step, const AttentionWork& work, double read_bytes, StepTime& time) const;
  [[nodiscard]] double flops_s(const RankStep& step, const AttentionWork& work) const {
    return work.query_tokens > 0 ? roofline_.flops_s(load(step, work, 0).flops, work.pairs / work.query_tokens) : 0;
  }

  double kv_share_;        // of their KV bytes, what one GPU reads
  double flops_per_pair_;  // of all of them
  double t0_s_;            // of all of them
  double further_query_share_;
  Roofline roofline_;
  std::optional<AttentionTimes> times_;
};

}  // namespace kvsim::models
