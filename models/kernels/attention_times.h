// Time of a step's attention by the profile's fitted forms and tables.
#pragma once

#include <string>
#include <vector>

#include "models/kernels/operator_times.h"
#include "models/kernels/profile.h"
#include "models/kernels/step_work.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

/// What forms and tables of the model's attention are looked up by.
[[nodiscard]] NumberFormat kv_format(const LlmSpec& model);

class AttentionTimes {
 public:
  /// Whether the profile's forms cover the model's attention on this machine; `why` says what lacks.
  static bool covers(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, std::string& why);

  AttentionTimes() = default;
  /// Precondition: covers().
  AttentionTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, double gpus);

  /// Attention of all layers. `decode_flops_s` and `verify_flops_s` are seconds of arithmetic, which bound kernels that
  /// stream the KV for several query tokens a request; decoding of one each is streaming alone.
  [[nodiscard]] SplitTime time(const StepWork& work, double decode_flops_s, double verify_flops_s) const;

  /// Whether chunks, verifications and decoding requests share one launch.
  [[nodiscard]] bool one_launch() const { return has_mixed_; }
  /// Whether a measured table has the model's shape.
  [[nodiscard]] bool has_table() const { return has_grid_; }
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
  [[nodiscard]] double requests_of(const AttentionWork& w) const {
    return w.requests > 0 ? w.requests : w.query_tokens;
  }
  [[nodiscard]] FormTime decode(const AttentionWork& work, double read_bytes) const;
  [[nodiscard]] FormTime at_least(FormTime streaming, double flops_s) const;
  template <class Each>
  void each_chunk(const StepWork& work, Each&& each) const;
  [[nodiscard]] FormTime mixed(const StepWork& work) const;
  [[nodiscard]] FormTime prefill(const StepWork& work) const;

  Machine machine_;
  Machine measured_;
  HeadShape shape_;
  double layers_ = 1;
  double kv_share_ = 1;            ///< of the model's KV bytes, what one GPU reads
  double kv_bytes_per_token_ = 0;  ///< one layer, one GPU
  double further_query_share_ = 0;
  DecodeForm decode_;
  TiledForm prefill_;
  TiledForm mixed_;
  bool has_mixed_ = false;
  bool has_grid_ = false;
  bool grid_warm_ = false;
  bool as_measured_ = false;  ///< the table's times are this machine's, as they stand
  Grid grid_;
};

}  // namespace kvsim::models
