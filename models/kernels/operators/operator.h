// A step is a list of operators. Each is a value type, built of a StepSetup: it adds its seconds to the running sum of
// its class, says what it moves and computes, and where its time comes from.
#pragma once

#include <optional>
#include <string>

#include "models/hardware/gpu.h"
#include "models/hardware/link_spec.h"
#include "models/kernels/profile.h"
#include "models/kernels/step_work.h"
#include "models/kernels/token_curve.h"
#include "models/llm/llm_spec.h"
#include "models/llm/parallelism.h"

namespace kvsim::models {

/// A step's time and what it was spent on: total_s = linear_s + attention_s + collectives_s + overhead_s.
struct StepTime {
  double total_s = 0;
  double linear_s = 0;
  double head_s = 0;          ///< of linear_s, the LM head
  double attention_s = 0;     ///< and what is in its place: state_s, indexer_s
  double state_s = 0;         ///< of attention_s, layers that keep a state
  double indexer_s = 0;       ///< of attention_s, indexers that choose what selected layers attend to
  double collectives_s = 0;   ///< all-reduces of all layers and of the embedding, gathering of the logits; tokens to
                              ///< experts and back; of a pipeline, sending and waiting for the slowest stage
  double gathering_s = 0;     ///< of collectives_s, what comes once a pass: embedding and logits
  double overhead_s = 0;      ///< launch, scheduling, norms and activations, sampling, extra kernels
  double launch_s = 0;        ///< of overhead_s, launching kernels where the profile says what that takes
  double hbm_bound_s = 0;     ///< of linear_s + attention_s, what memory bandwidth decides
  bool within_domain = true;  ///< false: some size lies beyond what was fitted or measured
};

/// Faster says how many times faster than described those parts of a step are that are no kernels.
struct Faster {
  double launches = 1;             ///< launching kernels and graphs
  double collectives = 1;          ///< all that GPUs tell each other
  double host = 1;                 ///< the iteration overhead
  std::optional<bool> captured{};  ///< how the step is launched, where its tokens do not say it
};

/// A StepSetup is what operators are built of: the GPUs of one replica, their kernels, and the model.
struct StepSetup {
  StepSetup(const GpuSpec& of, const Interconnect& joined_by, const KernelProfile& kernels, const LlmSpec& llm,
            const Parallelism& shared, CurveGrid curves)
      : gpu(of), links(joined_by), profile(kernels), model(llm), parallel(shared), grid(curves) {}

  GpuSpec gpu;
  Interconnect links;
  KernelProfile profile;
  LlmSpec model;
  Parallelism parallel;
  CurveGrid grid;
  Machine machine = machine_for(gpu, profile);
  double gpus = static_cast<double>(parallel.tensor);  ///< of a tensor-parallel group
};

class KnownLengths;

/// A RankStep is the part of a step that one rank has.
struct RankStep {
  const StepSetup& setup;
  const StepWork& work;
  double tokens = 0;              ///< of the rank
  double all_tokens = 0;          ///< of all ranks
  KnownLengths* known = nullptr;  ///< null, or times of earlier steps; changes no time
  Faster faster{};
};

/// An OperatorLoad is what an operator moves and computes on one GPU in a step, in all layers.
struct OperatorLoad {
  double bytes = 0;  ///< between memory and the GPU's units, or of messages between GPUs
  double flops = 0;  ///< on its matrix units

  friend OperatorLoad operator+(const OperatorLoad& a, const OperatorLoad& b) {
    return {a.bytes + b.bytes, a.flops + b.flops};
  }
  friend OperatorLoad operator-(const OperatorLoad& a, const OperatorLoad& b) {
    return {a.bytes - b.bytes, a.flops - b.flops};
  }
};

/// Operators whose bytes and arithmetic are not told.
struct WithoutLoad {
  [[nodiscard]] static OperatorLoad load(const RankStep&) { return {}; }
  [[nodiscard]] static double flops_per_s(const StepSetup&) { return 0; }
};

/// An Origin says where an operator's time comes from.
struct Origin {
  std::string from;  ///< table, form, roofline; estimate, constant, caller, none
  schema::Source source{};
  std::optional<FormError> error{};  ///< of the form, on the machine that it was fitted to; none: not known
};

/// A StepOperator is an operator of one step as lists show it, on one GPU of the group.
struct StepOperator {
  std::string name;
  double seconds = 0;
  double bytes = 0;         ///< as in OperatorLoad
  double flops = 0;         ///< likewise
  double memory_share = 0;  ///< of the time, what `bytes` take at the datasheet's bandwidth; messages: none
  double flops_share = 0;   ///< of the time, what `flops` take at the datasheet's rate
  /// The resource that decides its time by the rule of StepAccount: memory or arithmetic, whose share is the larger;
  /// neither, where they decide less than a half; collectives, launches, host or fixed times, as the account names
  /// them.
  std::string binds = {};
  std::string from = {};  ///< as in Origin
  schema::Source source = {};
  double share = 0;  ///< of the step's time
  std::optional<FormError> error = {};
};
[[nodiscard]] StepOperator listed(const char* name, double seconds, const OperatorLoad& load, const char* binds,
                                  const Origin& origin);

/// Operators that are kernels are bound by memory or by arithmetic: `binds` until accounts say more.
inline constexpr const char* kBoundByKernels = "neither";

/// A Roofline is the time that a profile has for operators without a form: max(bytes / (eta BW), FLOPs / (eta FLOPS)).
class Roofline {
 public:
  Roofline(const Sourced<double>& bandwidth_efficiency, const EfficiencyCurve& compute_efficiency, const GpuSpec& gpu,
           double flops_per_s)
      : bytes_per_s_(bandwidth_efficiency.value * gpu.memory_bytes_per_s.value),
        flops_per_s_(flops_per_s),
        efficiency_(compute_efficiency) {}
  static Roofline of_attention(const StepSetup& s) {  // narrow weights leave queries, keys and values in bf16
    return {s.profile.attention_bandwidth_efficiency, s.profile.attention_compute_efficiency, s.gpu,
            s.gpu.bf16_flops_per_s.value};
  }

  /// `size`: what the compute efficiency depends on.
  [[nodiscard]] SplitTime time(const OperatorLoad& load, double size) const {
    const double bytes_s = load.bytes / bytes_per_s_, arithmetic_s = flops_s(load.flops, size);
    return bytes_s >= arithmetic_s ? SplitTime{bytes_s, bytes_s} : SplitTime{arithmetic_s, 0};
  }
  [[nodiscard]] double flops_s(double flops, double size) const {
    return flops / (efficiency_.at(size) * flops_per_s_);
  }

 private:
  double bytes_per_s_, flops_per_s_;
  EfficiencyCurve efficiency_;
};

/// The best figure behind an operator: its table comes before its form, and that before the roofline, whose figures
/// begin with `roofline`. `figures` are used_figures().
[[nodiscard]] Origin origin_of(const std::vector<UsedFigure>& figures, const std::string& operation,
                               const std::string& roofline);

}  // namespace kvsim::models
