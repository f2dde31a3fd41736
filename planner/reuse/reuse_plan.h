// `kvsim plan SCENARIO` where prompts are made of chunks: whether to load, blend or recompute a prompt, and from which
// link, hit rate and context on that changes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/reuse/first_token.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

// Where one of two ways becomes the faster one, as something grows.

/// Where a condition holds between two ends.
struct HoldsWhere {
  bool at_first = false;        ///< whether it holds at the lower end
  std::vector<double> changes;  ///< ascending; from each on it is the other way round

  [[nodiscard]] bool always() const { return at_first && changes.empty(); }
  [[nodiscard]] bool never() const { return !at_first && changes.empty(); }
};

/// "always", "never", "at least 3", "below 3", "from 3 to below 5", "below 3 and at least 5"; numbers as `print` writes
/// them.
[[nodiscard]] std::string words_of(const HoldsWhere& where, const std::function<std::string(double)>& print);

/// How the place of a change is narrowed down between two points of the grid.
enum class BisectIn {
  linear,       ///< to a billionth of the distance
  logarithmic,  ///< to a billionth of the value
  whole         ///< to whole numbers: the first one where it is the other way round
};

/// Looks at every point of the grid (ascending, at least one; above 0 if logarithmic, whole if whole) and bisects
/// between neighbours that differ. Changes that are undone between neighbours are not seen.
[[nodiscard]] HoldsWhere holds_where(const std::function<bool(double)>& holds, std::span<const double> grid,
                                     BisectIn in);

/// Whether this plan is the one for the scenario: prompts are made of chunks, decoding is ordinary, on replicas.
[[nodiscard]] bool plans_reuse(const scenario::Scenario& scenario);

struct ReusePlanRequest {
  std::vector<std::int64_t> contexts;  ///< chunk tokens of the prompt, rounded to whole chunks; none: the scenario's
  double hit_rate = 1;                 ///< share of the chunks' tokens that are stored, in [0, 1]
  std::optional<std::string> link;     ///< --link: of the catalogue, or a bandwidth of one GPU; none: the scenario's
  std::string tier = "host";           ///< where chunks are: host, or a name of cluster.storage
};

/// A prompt by one method.
struct MethodEstimate {
  PromptMethod method = PromptMethod::recompute;
  std::string label;    ///< "selective, rho 0.15"
  std::string problem;  ///< why there are no figures; empty: there are
  FirstToken parts;
  double load_s = 0;
  double ttft_s = 0;
  Binding binding = Binding::computing;
  double relative_score = 1;         ///< mean over tasks of score / score with all of the prompt computed
  std::optional<double> good_share;  ///< of answers, that reach slo.quality_floor by themselves; where one is set
};

/// A method against another one, whatever else being as asked for.
struct BreakEven {
  PromptMethod method = PromptMethod::selective;
  PromptMethod against = PromptMethod::recompute;
  HoldsWhere bytes_per_s;  ///< of the way into the replica, where it is the faster one
  HoldsWhere hit_rate;     ///< looked at by whole chunks
};

struct ContextEstimate {
  PromptShape prompt;
  std::vector<MethodEstimate> methods;      ///< in the order of prompt_methods()
  std::vector<BreakEven> break_evens;       ///< of all that load, against recompute; of those that blend, against load
  std::optional<std::size_t> fastest;       ///< of methods; none: no method has figures
  std::optional<std::size_t> good;          ///< the same among those whose mean score is at least slo.quality_floor
  std::optional<std::size_t> without_load;  ///< of `good` (else fastest) where no prompt begins like another
};

/// From which number of chunks on a method is the faster one, up to the largest prompt that fits.
struct ContextBreakEven {
  PromptMethod method = PromptMethod::selective;
  PromptMethod against = PromptMethod::recompute;
  HoldsWhere chunks;
};

/// Bandwidth into the replica at which a method is as fast as recomputing.
struct BreakEvenPoint {
  PromptShape prompt;
  double recompute_s = 0;
  /// By method, in the order of prompt_methods(); none: no bandwidth suffices, or the method cannot be used.
  std::vector<std::optional<double>> bytes_per_s;
};

struct ReusePlan {
  LoadPath path;
  double hit_rate = 1;
  std::int64_t output = 1;  ///< tokens, for which there must be room
  /// slo.quality_floor; 1 with slo.functional_floor, since the functional correctness of blended answers is not known.
  std::optional<double> quality_floor;
  std::vector<ContextEstimate> contexts;  ///< in the order asked for, without repetitions
  std::vector<ContextBreakEven> context_break_evens;
  std::vector<std::string> fallbacks;  ///< figures that had to be replaced, in words
  std::vector<BreakEvenPoint> curve;   ///< by ascending context, up to the largest that fits
};

/// Bandwidths between which break-evens are looked for, in bytes/s.
inline constexpr double kLeastBandwidth = 1e6;
inline constexpr double kMostBandwidth = 1e15;

/// Throws schema::InputError for a hit rate outside [0, 1], contexts that the model or the small model has no window
/// for, unknown links and tiers; Infeasible where the replica's memory is too small for a context under every method.
/// Precondition: plans_reuse(scenario).
[[nodiscard]] ReusePlan plan_reuse(const scenario::Scenario& scenario, const ReusePlanRequest& request = {});

/// "recompute", "load", "blend (selective, rho 0.15)"
[[nodiscard]] std::string decision_of(const MethodEstimate& method);

}  // namespace kvsim::planner
