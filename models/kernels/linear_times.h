// Time of all linear layers of one model's forward pass by tokens, worked out once and looked up every iteration.
#pragma once

#include <string>
#include <vector>

#include "models/kernels/profile.h"
#include "models/kernels/token_curve.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

/// One linear layer of a model on one GPU: `calls` times n x k per forward pass.
struct LinearShape {
  double n = 0;
  double k = 0;
  double calls = 1;
};

/// What forms and tables of the model's linear layers are looked up by.
[[nodiscard]] NumberFormat weight_format(const LlmSpec& model);

/// Linear layers of a dense model with grouped-query attention, sharded over `gpus`: QKV, output, gate and up, down.
[[nodiscard]] std::vector<LinearShape> body_shapes(const LlmSpec& model, double gpus);
[[nodiscard]] LinearShape head_shape(const LlmSpec& model, double gpus);

class LinearTimes {
 public:
  /// Whether forms and tables of the profile cover the model's linear layers on this machine; `why` says what lacks.
  static bool covers(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, std::string& why);

  LinearTimes() = default;
  /// `machine`: what the times are for; the profile's own machine scales its tables. Precondition: covers().
  LinearTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, double gpus);

  /// All layers but the LM head, for `tokens` > 0 tokens.
  [[nodiscard]] SplitTime body(double tokens) const { return body_.at(tokens); }
  /// The LM head for `tokens` > 0 positions.
  [[nodiscard]] SplitTime head(double tokens) const { return head_.at(tokens); }
  /// Whether a measured table has the shape of one of the layers.
  [[nodiscard]] bool has_tables() const { return has_tables_; }
  /// Largest number of tokens that was measured or fitted.
  [[nodiscard]] double valid_to() const { return valid_to_; }

 private:
  TokenCurve body_;
  TokenCurve head_;
  double valid_to_ = 0;
  bool has_tables_ = false;
};

/// Seconds of one linear layer: by its table, scaled to the machine and beyond its range by the form; else by the form.
[[nodiscard]] FormTime linear_time(const KernelProfile& profile, const LinearForm& form, const LinearShape& shape,
                                   double tokens, const Machine& machine);

}  // namespace kvsim::models
