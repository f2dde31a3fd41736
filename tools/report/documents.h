// Result documents, read again. They may be written by hand, cut short or older: what is not there, or is of another
// type, reads as absent.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/serving/slo.h"
#include "tools/results/scenario_words.h"
#include "tools/results/section.h"

namespace kvsim::report {

using results::Json;
using Path = std::initializer_list<std::string_view>;

/// The member at the end of the path; an empty object or array where there is none.
[[nodiscard]] const Json& at(const Json& document, Path path);
[[nodiscard]] bool has(const Json& document, Path path);
[[nodiscard]] std::optional<double> number(const Json& document, Path path);
/// Not a number where there is none.
[[nodiscard]] double number_or_nan(const Json& document, Path path);
/// Empty where there is none.
[[nodiscard]] std::string text(const Json& document, Path path);
[[nodiscard]] bool truth(const Json& document, Path path);
/// The elements of an array; not a number for those that are none.
[[nodiscard]] std::vector<double> numbers(const Json& document, Path path);
[[nodiscard]] std::vector<std::string> texts(const Json& document, Path path);

/// One section of the scenario that a document carries ("resolved_scenario", of a run under "details"), read again, as
/// {"section": ...}: the rest, with whole kernel profiles, takes long. Empty where there is none, or one that was
/// changed by hand into something else.
[[nodiscard]] Json resolved_section(const Json& document, const std::string& section);

/// The objectives of the scenario that a document carries, but for those of classes, by metric, then by percentile.
[[nodiscard]] std::vector<serving::SloObjective> objectives_of(const Json& document);
/// The objectives of a capacity search (its key `slo`), in the same order.
[[nodiscard]] std::vector<serving::SloObjective> searched_objectives(const Json& capacity);

/// The time of a column in a row of a capacity search, a configuration or a probe; not a number where it has none.
[[nodiscard]] double time_of_column(const Json& row, const results::LatencyColumn& column);

/// All of them in words: "TTFT p99 30.0 s, TPOT p99 120 ms, E2E p99 9.00 s of class batch"; empty where the scenario
/// sets none.
[[nodiscard]] std::string objectives_words(const Json& document);

/// Why what a run measured is no steady state, in words; empty where nothing speaks against one.
[[nodiscard]] std::string unsteady_state(const Json& result);

/// Whether requests arrive on their own, whether or not anybody answers: a service is asked for, of which a run in no
/// steady state says nothing.
[[nodiscard]] bool asks_for_service(const Json& document);

/// Settings of drafts in a scenario: "x = 25, c = 0.2"; empty where it does not say.
[[nodiscard]] std::string draft_settings(const Json& document);

/// The values of an axis as numbers, if they are: quantities all in the same unit too ("0.5/s"). Empty where not.
struct AxisValues {
  std::vector<double> values;
  std::string unit;
};
[[nodiscard]] AxisValues axis_values(const Json& axis);

/// A figure of a point's result by its dotted path, as of sweeps.
[[nodiscard]] double figure_at(const Json& result, std::string_view path);

/// Kind of a document, by the keys it has.
enum class Kind { run, runs, compare, sweep, plan, capacity, other };

/// Throws schema::InputError, which names `name`, where it is no result of kvsim, or of a newer one.
[[nodiscard]] Kind kind_of(const Json& document, const std::string& name);

/// The results of one simulation.
struct Simulated {
  Json result;         ///< as of `kvsim run`
  std::string policy;  ///< as asked for by a comparison, else the decode policy's name
};

/// All documents, each kind in the order in which they were read.
struct Inputs {
  std::vector<Simulated> runs;  ///< of run
  struct Compared {
    Json document;  ///< without its results
    std::vector<Simulated> results;
  };
  std::vector<Compared> compares;
  std::vector<Json> sweeps, plans, capacities, others;
  std::vector<std::string> interrupted;  ///< what there is of results whose command was interrupted, a sentence each
  std::set<std::string> seen;            ///< what was added, as text: the same result given twice counts once

  [[nodiscard]] std::size_t size() const {
    return runs.size() + compares.size() + sweeps.size() + plans.size() + capacities.size() + others.size();
  }
  /// Throws schema::InputError as kind_of does.
  void add(Json document, const std::string& name);
};

/// The scenarios that the results are of, each once; not those of further results, which answer nothing.
[[nodiscard]] std::set<std::string> scenarios_of(const Inputs& inputs);

/// The files that `read_inputs` reads: of folders all JSON in them and in folders below, in the order of their names.
/// Throws schema::InputError for folders without any.
[[nodiscard]] std::vector<std::string> files_of(const std::vector<std::string>& paths);

/// Reads JSON files, and of folders all results in them and in folders below, in the order of their names. Throws
/// schema::InputError for what is not there, is no JSON or no result, for folders without any, and for a set of files
/// that is not whole (tools/output/results_folder.h).
[[nodiscard]] Inputs read_inputs(const std::vector<std::string>& paths);

// Basis of a report's figures, as lists: each item once, in the order in which results bring them up.

/// Assumptions of one scenario.
struct Assumed {
  std::string scenario;
  std::vector<std::string> items;
};

/// Assumptions by scenario.
[[nodiscard]] std::vector<Assumed> assumptions_of(const Inputs& inputs);
[[nodiscard]] std::vector<std::string> fallbacks_of(const Inputs& inputs);

/// A figure of a machine, a model or a compressor, and where it is from; members of the result's "sources".
struct SourcedFigure {
  std::string figure, value, source, reference;
  auto operator<=>(const SourcedFigure&) const = default;
};
[[nodiscard]] std::vector<SourcedFigure> sources_of(const Inputs& inputs);

/// The price tables' entries, as the documents have them.
[[nodiscard]] std::vector<Json> prices_of(const Inputs& inputs);

}  // namespace kvsim::report
