// Which of several policies a comparison speaks for, and which point a sweep; by the rule of tools/results/choice.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/report/documents.h"
#include "tools/results/choice.h"
#include "tools/results/comparison.h"

namespace kvsim::report {

/// Criterion by which policies are ranked.
struct Criterion {
  std::string name;   ///< "output tokens/s"
  bool less = false;  ///< less is better
  double (*of)(const Json& result) = nullptr;
  std::string (*print)(double) = nullptr;
  std::string_view interval{};  ///< whose interval in `confidence` is its own; empty: none
  bool knows_quality = false;   ///< it counts good answers alone
};

/// Mean TTFT where prompts are stored, goodput where answers have scores, else output tokens/s.
[[nodiscard]] Criterion criterion_of(const Inputs::Compared& compared);

using results::kMetByEnough;

/// Whether so many of a run's requests met the objectives that it may be recommended; true where there are none.
[[nodiscard]] bool meets_objectives(const Json& result);

/// Those that are chosen among, and by what.
struct Contest {
  std::vector<results::Candidate> candidates;
  results::Order order;

  [[nodiscard]] std::optional<results::Choice> choice() const { return results::choose(candidates, order); }
};

/// The policies of a comparison; the first is the baseline.
[[nodiscard]] Contest contest_of(const Inputs::Compared& compared);

/// The rule that a sweep ranks by: as it says itself; an older document is ranked by all that its scenario asks for.
struct SweepRule {
  std::string metric;
  results::Asked asked;
  results::Order order;
};
[[nodiscard]] SweepRule rule_of(const Json& sweep);

/// Points of a sweep. The baselines are those with the first one's policies.
[[nodiscard]] Contest contest_of(const SweepRule& rule, const std::vector<const Json*>& points);

/// A figure of a point by the path that sweeps rank by: intervals are METRIC.half_width_95.
[[nodiscard]] double swept_figure(const Json& result, std::string_view path);

/// The axes none of whose values is a choice: how much traffic comes, where requests arrive on their own (of less of it
/// latencies are always lower), and what is asked for.
[[nodiscard]] std::vector<std::string> given_axes(const Json& sweep);

/// "even with it, within the 95 % intervals: points 4, 10" of a sweep's points; empty where none is.
[[nodiscard]] std::string even_points(const Json& sweep, const results::Best& best,
                                      const std::vector<const Json*>& points);

/// The results as the sentences of comparisons are about them.
[[nodiscard]] std::vector<results::Rival> rivals_of(const Inputs::Compared& compared);
/// The path of the time to first token that is compared: of its mean where prompts are stored or made of chunks.
[[nodiscard]] std::string compared_ttft(const Inputs::Compared& compared);

/// By the rule; the baseline where nobody has the figure.
[[nodiscard]] std::size_t chosen_of(const Inputs::Compared& compared);

/// The best lossless policy if objectives did not count, where it misses them and is better than the chosen one; by a
/// value that knows quality the best of all.
[[nodiscard]] std::optional<std::size_t> outside_objectives(const Inputs::Compared& compared);

/// Speed-up of a policy by the criterion over the first.
[[nodiscard]] double gain_of(const Inputs::Compared& compared, std::size_t policy);

}  // namespace kvsim::report
