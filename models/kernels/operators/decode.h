// A launch of decode attention: each request's query tokens over its KV, by the profile's fitted form and its table.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "models/kernels/profile.h"
#include "models/kernels/step_work.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

/// KnownLengths are times of decode attention at whole lengths that were worked out before, for steps that follow each
/// other as contexts grow. They are of one DecodeLaunch, which gives the same times without them.
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

/// Times are those of one layer.
class DecodeLaunch {
 public:
  /// `shape`: the model's heads on one of `gpus` GPUs, of a latent its absorbed ones.
  DecodeLaunch(const KernelProfile& profile, const LlmSpec& model, DecodeForm form, const HeadShape& shape,
               const Machine& machine, double gpus);

  /// Requests of one query token each, or of several by the same form; `read_bytes`: KV moved, all layers and GPUs.
  [[nodiscard]] FormTime time(const AttentionWork& work, double read_bytes, KnownLengths* known) const;
  /// One query token a request, which reads its full KV as it is stored, but for rounding.
  [[nodiscard]] bool reads_full_kv(const AttentionWork& work) const {
    const double full = work.pairs * model_token_bytes_;
    return form_.uneven_share == 0 && !grid_ && work.queries_each() == 1 && work.pairs > 0 &&
           std::abs(work.kv_bytes - full) <= kRounding * full;
  }
  /// Seconds of such a launch: by the form at multiples of kLengthStep tokens of mean context, linear in between.
  [[nodiscard]] double between_lengths(double requests, double mean_kv, KnownLengths* known) const;
  /// No less than the arithmetic of several query tokens a request, `flops_s` seconds in all layers.
  [[nodiscard]] FormTime at_least(FormTime streaming, double flops_s) const {
    const double arithmetic_s = form_.t0_s + flops_s / layers_;
    return arithmetic_s > streaming.seconds ? FormTime{arithmetic_s, false} : streaming;
  }
  /// Requests with several query tokens each, by the fitted form of these.
  [[nodiscard]] FormTime several(const VerifyForm& form, const AttentionWork& work, KnownLengths* known) const;

  [[nodiscard]] const DecodeForm& form() const { return form_; }  ///< without its correction
  [[nodiscard]] const HeadShape& shape() const { return shape_; }
  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] double layers() const { return layers_; }
  [[nodiscard]] double token_bytes() const { return model_token_bytes_; }  ///< of the model's KV: all layers, one copy
  [[nodiscard]] double kv_per_layer(double bytes) const { return bytes * kv_share_ / layers_; }  ///< of one GPU
  /// Most requests of the measured table of this shape; none: there is no table.
  [[nodiscard]] std::optional<double> most_requests() const {
    return grid_ ? std::optional(grid_->requests_to) : std::nullopt;
  }
  /// Least and greatest width of a head that the form was fitted to.
  [[nodiscard]] std::pair<double, double> head_dims() const { return head_dims_; }

 private:
  /// A decode table in logarithms.
  struct Grid {
    Grid(const DecodeTable& table, bool as_it_stands);
    std::vector<double> log_kv, log_requests;
    std::vector<double> log_s;  ///< row by row
    double kv_from, kv_to, requests_from, requests_to;
    bool warm;
    bool as_measured;  ///< its times are this machine's, as they stand
    [[nodiscard]] double at(double requests, double kv) const;
  };
  [[nodiscard]] DecodeCall call(double requests, double kv_bytes, double mean_kv, double longest_kv = 0) const {
    return {requests, shape_.heads, kv_bytes, mean_kv, longest_kv, shape_.kv_heads, shape_.head_dim};
  }
  /// The form and its correction for these heads, and no less than it takes for a shorter KV at which the correction
  /// has its own factor: from there on that may fall faster than the form rises.
  [[nodiscard]] FormTime time_of(const DecodeCall& call, const Machine& machine, bool warm) const;

  static constexpr double kRounding = 1e-12, kLengthStep = 32;

  Machine machine_, measured_;
  HeadShape shape_;
  double layers_;
  double kv_share_;                                ///< of the model's KV bytes, what one GPU reads
  double model_token_bytes_;                       ///< of KV: all layers, one copy
  double kv_bytes_per_token_;                      ///< one layer, one GPU
  std::pair<double, double> head_dims_{128, 128};  ///< of all tables from before there were several
  DecodeForm form_;
  CorrectionPlane plane_;              ///< of form_, by walks and KV length; empty: none
  std::vector<double> plane_lengths_;  ///< its KV lengths
  std::optional<Grid> grid_;
};

/// A form's correction for heads like these.
[[nodiscard]] inline Correction correction_for(const Correction& correction, const HeadShape& shape) {
  return correction.with_last({shape.head_dim, shape.heads / shape.kv_heads});
}

}  // namespace kvsim::models
