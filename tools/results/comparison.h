// Several policies on the same scenario and arrivals: as a document, and as a page with one row each, the best of every
// column marked. Which columns there are depends on what the scenario compares: decode policies, placement policies or
// prefill policies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/prices/price_table.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/numbers.h"
#include "tools/results/rivals.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// Subject of a column, which decides who competes in it.
enum class Kind : std::uint8_t {
  plain,
  latency,  ///< of requests that finished: not compared where some were refused, or most unfinished
  quality   ///< lossless is the best there is, so that there is no best among the lossless
};

/// One column of a comparison, one figure a row.
struct Column {
  std::string header;  ///< as Table has it
  std::string key;     ///< in the document; empty where nothing is better
  Better better = Better::neither;
  Kind kind = Kind::plain;
  std::vector<double> values;      ///< not finite where a row has none
  std::vector<std::string> cells;  ///< as printed
};

enum class Mark : std::uint8_t { none, best, best_lossless };

/// One mark a row. Best is what prints as the best value does, so that ties within the printed digits are all marked.
/// Nothing is marked where fewer than two rows compete, or all print the same. Where the best are all lossy, the best
/// of the lossless rows are marked by the same rule among themselves.
[[nodiscard]] std::vector<Mark> marks_of(const Column& column, const std::vector<Competitor>& rows);

/// ' ', '*', '+'.
[[nodiscard]] char mark_character(Mark mark);

/// A policy that the scenario cannot be run under.
struct LeftOut {
  std::string policy;
  std::string reason;
};

struct Comparison {
  std::vector<Outcome> outcomes;  ///< at least one; the first is the baseline
  std::vector<LeftOut> left_out;
  models::PriceTable prices = models::PriceTable::built_in();
};

/// A comparison against the first.
Json compare_document(const Comparison& comparison, bool timing);
KeyList comparison_keys();

/// All but the policy's name, in the order of the table.
[[nodiscard]] std::vector<Column> columns_of(const Comparison& comparison);
/// The share of requests that met all objectives, and the percentile that each limits; none where none is of all
/// requests.
[[nodiscard]] std::vector<Column> objective_columns(const std::vector<Outcome>& outcomes);
/// The parts of the GPUs' time that matter under some policy, largest first: share, and what twice of it would bring.
[[nodiscard]] std::vector<Column> time_columns(const std::vector<Outcome>& outcomes);
/// Meaning of the columns, without their marks.
[[nodiscard]] std::vector<std::string> column_notes(const Comparison& comparison);

/// The figures of a comparison beside those of its results, one for every policy.
Metrics comparison_metrics();

/// Grouped: policies that share a decode policy stand below its name, which saves width.
enum class Labels { full, grouped };

Page compare_page(const Comparison& comparison, bool timing, Labels labels);

}  // namespace kvsim::results
