// A sweep: the figures of its points side by side, what a reader should know before believing them, and both as a JSON
// document, as CSV and as a page with a heat map. Equal plan and version give equal bytes, whatever interrupted the
// sweep and however many threads ran it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/sweep/journal.h"
#include "tools/results/choice.h"
#include "tools/results/figure_rows.h"
#include "tools/results/numbers.h"
#include "tools/results/result_document.h"
#include "tools/results/section.h"
#include "tools/results/shortfall.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// A sweep and what became of its points.
struct Sweep {
  planner::sweep::Plan plan;
  std::vector<planner::sweep::PointResult> points;  ///< by number
  std::string metric{kThroughput};                  ///< dotted path of the figure that ranks
  bool objectives_first = false;                    ///< what misses its objectives ranks behind what meets them
  bool steady_first = false;                        ///< what is in no steady state ranks behind what is
  bool quality_first = false;                       ///< as Order::quality_first
};

/// A sweep ranked by what its scenario asks for: what meets the objectives first, then by output tokens/s where clients
/// wait for their answers (a closed loop), and by mean TTFT where requests arrive on their own, whose tokens/s are the
/// traffic's. There a service is asked for: what is in no steady state (planner::unsteady_state), such as a queue that
/// grows to the end, is behind all that is, meets no objective and is never marked as the best. Behind the others
/// is, too, and meets no objective, what has a mean task score below slo.quality_floor, or one that nobody knows. Of
/// what is left, outputs of full-KV decoding come first (Order::quality_first).
Sweep ranked_as_asked(planner::sweep::Plan plan, std::vector<planner::sweep::PointResult> points);

/// A run's figures as one line of JSON: the `result` of a point.
std::string encoded_figures(scenario::Scenario scenario, planner::ExperimentResult result);

/// The last step of each path where that tells them apart, else the whole path.
std::vector<std::string> axis_labels(const std::vector<planner::sweep::Axis>& axes);

/// The figures as a table: a column a figure, a row a point. NaN where a point has none.
class FigureTable {
 public:
  explicit FigureTable(const Sweep& sweep);

  /// In the order in which points bring them up.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] double at(std::size_t row, std::string_view name) const;
  /// Why the row's run was in no steady state; empty where nothing speaks against one.
  [[nodiscard]] const std::string& unsteady(std::size_t row) const { return unsteady_[row]; }
  /// The rows as they are chosen among, by the sweep's metric. What was not simulated has no value.
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }
  [[nodiscard]] const OutputQuality& quality(std::size_t row) const { return candidates_[row].quality; }
  /// How far it is behind what the sweep ranks by before its metric.
  [[nodiscard]] const Shortfall& behind(std::size_t row) const { return candidates_[row].behind; }
  /// Rows by rank; those without the figure are left out. Equal figures: the smaller number first.
  [[nodiscard]] std::vector<std::size_t> ranked(std::string_view metric) const;

 private:
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;

  std::vector<std::string> names_;
  std::vector<std::vector<double>> rows_;
  std::vector<std::string> unsteady_;
  std::vector<Candidate> candidates_;
};

/// The points by rank.
struct Ranking {
  std::vector<std::size_t> order;  ///< rows, the chosen one first; those without the figure are left out
  Best best;                       ///< the first, and the rows that are even with it
  bool finished = false;           ///< a better figure was passed over, as no request finished there
  std::string quality;             ///< Choice::quality, where some outputs are not those of full-KV decoding
  std::vector<std::pair<std::string, std::size_t>> others;  ///< other_qualities()
  /// Rows that meet the objectives, where these count and the scenario has some.
  std::optional<std::size_t> meeting;
  bool none_steady = false;  ///< steady states rank first, and there is none
  /// The axes none of whose values is a choice, so that no point is the best: the traffic where requests arrive on
  /// their own, of less of which latencies are always lower, what is asked for, and properties of the machine.
  std::vector<std::string> given;
  /// The best of the rows with one value of a given axis.
  struct GivenBest : Best {
    std::string why;  ///< passed_over_words()
  };
  /// The best row, and those even with it, at each of their values, "read = 64 GB/s", where other axes vary, too.
  std::vector<std::pair<std::string, GivenBest>> at_given;
  /// The first row whose output is that of full-KV decoding, where that of the first is not.
  std::optional<std::size_t> lossless;

  /// Whether the row is marked as the best: the chosen one, and what is even with it where not all are; none where
  /// nothing was chosen or none is steady.
  [[nodiscard]] bool marked(std::size_t row) const;
  /// Whether all are even, and none is cheaper or simpler than another.
  [[nodiscard]] bool all_even() const { return none_chosen(best, order.size()); }
};

/// Whether a key is an objective, or all of them.
[[nodiscard]] bool is_objective(std::string_view path);
/// Whether a key says how fast a part of the machine is: a link, a storage device, a kernel profile, or a changed
/// figure in a GPU's entry. The kind and number of GPUs and the size of memory are choices.
[[nodiscard]] bool is_machine_property(std::string_view path);
/// Whether none of its values is a choice: an objective, a property of the machine, and with `loads` how much work
/// there is.
[[nodiscard]] bool is_given(std::string_view path, bool loads);

/// "read = 64 GB/s" of an axis and a value.
[[nodiscard]] std::string at_value(std::string_view path, std::string_view value);

/// "a.rate is the traffic, of which less is always easier", "slo.tpot_p99 is what is asked for, and no choice".
[[nodiscard]] std::string given_words(const std::vector<std::string>& paths);

/// How its points are ordered.
[[nodiscard]] Order point_order(const Sweep& sweep);
Ranking ranking_of(const Sweep& sweep, const FigureTable& figures);

/// Refuses, with schema::InputError, a sweep whose simulated points all lack its metric.
void refuse_metric_of_no_point(const Sweep& sweep);

/// The assumptions of all points that were simulated, each once, in the order in which points bring them up. Those of
/// some points only begin with the values of the axes that they belong to ("cluster.gpu.type=l40s,a100: ..."), or with
/// the numbers of the points where no values tell them apart.
std::vector<std::string> assumptions_of(const Sweep& sweep);

/// The fall-backs, likewise.
std::vector<std::string> fallbacks_of(const Sweep& sweep);

/// How wrong the figures of points may be (stated_error.h), likewise.
std::vector<std::string> how_sure_of(const Sweep& sweep);

/// Which percentiles are from a sketch, likewise; documents have that among the points' figures.
std::vector<std::string> sketched_percentiles_of(const Sweep& sweep);

/// {"schema_version", "kvsim_version", "scenario", "seed", "replications", "shard" (of a part), "design", "axes":
/// [{"path", "values"}], "resolved_scenario" (YAML, before anything varies), "assumptions", "fallbacks", "how_sure"
/// (sentences, see sweep_caveats.h), "points": [{"index", "set", "status", "reason" or "result"}], "best"}; a line a
/// point.
std::string sweep_json(const Sweep& sweep);
KeyList sweep_keys();

/// index, a column an axis, status, reason, a column a figure. Fields are quoted where they hold commas.
std::string sweep_csv(const Sweep& sweep);

/// The sweep's metric, the axis with fewer values across, the best points marked. A point that cannot be simulated is
/// "-", one whose run has no such figure "none", one that another shard has is blank. No rows where an axis has too
/// many values, or the sweep no such grid.
Table heat_map(const Sweep& sweep, const FigureTable& figures, const Ranking& ranking);

/// A column of times.
struct TimeColumn {
  std::string title;   ///< "TTFT p95"
  std::string figure;  ///< its path
};
/// The percentiles that objectives limit, among figures of these names; the 99th of TTFT and TPOT without any. The
/// medians stand beside them where there is room.
[[nodiscard]] std::vector<TimeColumn> time_columns(const std::vector<std::string>& figures);

/// Sentences that say which point is best, by what, and which others may as well be.
std::vector<std::string> best_words(const Sweep& sweep, const FigureTable& figures, const Ranking& ranking);

Page sweep_page(const Sweep& sweep);

}  // namespace kvsim::results
