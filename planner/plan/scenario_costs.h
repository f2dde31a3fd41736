// From a scenario to the cycles of the closed form: what an average iteration costs on this machine, with this model,
// compressor and traffic.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "models/kernels/step_time.h"
#include "models/llm/llm_spec.h"
#include "planner/closed_form/transfer_model.h"
#include "planner/plan/traffic.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/config.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::planner {

// Refinements of a plan for a scenario beyond bytes over peak bandwidth, each of which can be left out.

struct Refinements {
  bool reservations = true;  ///< KV in whole blocks, with room for drafts
  bool iterations = true;    ///< reloads are whole and take whole iterations, and the largest one always fits
  bool compute = true;       ///< arithmetic at its peak may bind, as verification does at a large B
  bool kernels = true;       ///< the profile's kernel times, launches and all-reduces in place of both
  bool lengths = true;       ///< the distribution of context lengths in place of one length
  bool outputs = true;       ///< outputs end: first loads or prefills of the next request, shorter last rounds
};

struct RefinementName {
  bool Refinements::*member;
  std::string_view name;
  std::string_view description;
};

/// In the order in which they are added to the closed form.
inline constexpr std::array<RefinementName, 6> kRefinements{{
    {&Refinements::reservations, "reservations", "KV in whole blocks, with room for drafts"},
    {&Refinements::iterations, "iterations", "reloads are whole and take whole iterations, as ADMIT places them"},
    {&Refinements::compute, "compute", "arithmetic at its peak may bind"},
    {&Refinements::kernels, "kernels", "kernel times of the profile, launches and all-reduces included"},
    {&Refinements::lengths, "lengths", "the distribution of context lengths"},
    {&Refinements::outputs, "outputs", "outputs end and requests are replaced: first loads, prefill, last rounds"},
}};

inline constexpr Refinements kNoRefinements{false, false, false, false, false, false};

inline const RefinementName* find_refinement(std::string_view name) {
  for (const RefinementName& entry : kRefinements) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

// The work of an average iteration of a batch: some requests draft, some verify, all alike.

/// The requests of a batch: their lengths, and what they read.
struct Requests {
  std::int64_t prompt = 1;
  std::int64_t generated = 0;
  const Traffic* uneven = nullptr;  ///< lengths differ as here; null: all alike
  bool compressed = false;          ///< decoding and drafting read the compressed KV
  std::int64_t x = 0;               ///< draft length; 0: no drafts
};

/// On the group's GPUs `drafting` requests take one token each, `verifying` ones x + 1 each over the full KV.
/// Preconditions: not both 0.
[[nodiscard]] models::StepWork average_work(const serving::KvGeometry& geometry, const serving::ServingConfig& config,
                                            const serving::GroupConfig& group, const Requests& requests,
                                            double drafting, double verifying);

/// Bytes over peak bandwidth, or FLOPs over peak rate where `compute` and that is more.
[[nodiscard]] double peak_s(const serving::ServingConfig& config, const models::StepWork& work, bool compute);

/// Seconds that prefilling one prompt adds to iterations whose other work is `beside`: chunks of what the iteration's
/// tokens leave, each timed with and without. `time` is either of the two timings.
template <class Time>
[[nodiscard]] double prefill_s(const serving::KvGeometry& geometry, const serving::ServingConfig& config,
                               std::int64_t prompt, models::StepWork beside, Time&& time) {
  const double alone = beside.tokens() > 0 ? time(beside) : 0.0;
  const double budget = static_cast<double>(config.schedule.max_batched_tokens) - beside.tokens();
  const double chunk = budget >= 1 ? budget : 1;
  const auto total = static_cast<double>(prompt);
  double sum = 0;
  for (double done = 0; done < total; done += chunk) {
    const double n = total - done < chunk ? total - done : chunk;
    models::StepWork mixed = beside;
    mixed.prefill.query_tokens = n;
    mixed.prefill.requests = 1;
    mixed.prefill.pairs = n * done + n * (n + 1) / 2;
    mixed.prefill.kv_bytes = geometry.full_read(static_cast<std::int64_t>(done + n));
    mixed.chunks.push_back({n, done});
    leave_out(mixed.prefill, geometry.window(), done, n);
    if (done + n >= total) mixed.logit_tokens += 1;
    sum += time(mixed) - alone;
  }
  return sum;
}

/// Iterations that a request of `output` tokens takes with drafts of x: every round drafts min(x, what is left) tokens,
/// verifies in one more iteration and yields the accepted ones and one more. By recursion over what is left for the
/// last thousand tokens, before that at the steady rate (x + 1) / (A(x) + 1) per token.
[[nodiscard]] double iterations_per_request(const models::AcceptanceModel& acceptance, std::int64_t x, double output);

class ScenarioCosts {
 public:
  /// The decode policy, draft length, keep ratio, residents and offloaded requests of the scenario are what is planned
  /// and do not matter here; its compressor, its acceptance model and all else do.
  ScenarioCosts(const scenario::Scenario& scenario, const Refinements& refinements);

  /// Cycles of x drafts for every x in [least, most] at keep ratio c. Throws std::invalid_argument where nothing is
  /// known of the agreement at c.
  [[nodiscard]] std::vector<Cycle> drafting(double c, std::int64_t least, std::int64_t most) const;

  /// Plain decoding with the full KV.
  [[nodiscard]] Cycle full_kv() const { return plain(1.0, false); }

  /// Plain decoding with the KV compressed to c: another output.
  [[nodiscard]] Cycle lossy(double c) const { return plain(c, true); }

  /// Limits by host memory and by the scenario's limits on running requests.
  [[nodiscard]] BatchLimits limits() const;

  [[nodiscard]] const Traffic& traffic() const { return traffic_; }
  /// Tokens of a request that the plan counts with: prompt, and generated ones at a random moment.
  [[nodiscard]] std::int64_t prompt() const { return prompt_; }
  [[nodiscard]] std::int64_t generated() const { return generated_; }
  /// Full KV of such a request, in bytes of the whole tensor-parallel group.
  [[nodiscard]] double kv_bytes() const;
  /// Bytes for KV.
  [[nodiscard]] double room_bytes() const;
  [[nodiscard]] models::AcceptanceModel acceptance(double c, std::int64_t most) const;
  [[nodiscard]] const std::vector<std::string>& fallbacks() const { return timer_.fallbacks(); }

 private:
  [[nodiscard]] Cycle plain(double c, bool compressed) const;
  [[nodiscard]] double seconds(const models::StepWork& work) const;
  [[nodiscard]] Requests requests(bool compressed, std::int64_t x) const;
  void set_memory(Cycle& cycle, const serving::KvGeometry& geometry) const;
  void set_iterations(Cycle& cycle, const serving::KvGeometry& geometry) const;
  void set_gpu_time(Cycle& cycle, const serving::KvGeometry& geometry, bool compressed) const;
  void add_turnover(Cycle& cycle, const serving::KvGeometry& geometry, bool compressed) const;
  [[nodiscard]] std::int64_t most_requests(const Cycle& cycle) const;

  [[nodiscard]] const serving::GroupConfig& group() const { return config_.cluster.uniform(); }

  serving::ServingConfig config_;
  Refinements refinements_;
  Traffic traffic_;
  models::StepTimer timer_;
  std::int64_t prompt_ = 1;
  std::int64_t generated_ = 0;
  double gpus_ = 1;
  std::vector<double> prefill_s_;  ///< by requests in the batch: what one prompt adds; empty: prompts are not computed
};

}  // namespace kvsim::planner
