// The columns of a comparison: which figures stand side by side, and what is better. Which they are depends on what
// the scenario compares: decode policies, placement policies or prefill policies. Internal to comparisons.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/results/best.h"
#include "tools/results/comparison.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// All but the policy's name, in the order of the table.
[[nodiscard]] std::vector<Column> columns_of(const Comparison& comparison);
/// What they mean, without their marks.
[[nodiscard]] std::vector<std::string> column_notes(const Comparison& comparison);

/// Whether the times of those requests that finished say something of all: fewer than half are the quick ones.
[[nodiscard]] bool most_finished(const serving::Measurements& measured);
[[nodiscard]] std::vector<Competitor> competitors_of(const std::vector<Outcome>& outcomes);

/// USD per 1M output tokens: the GPUs' rent, and host memory and storage as `kvsim capacity` buys them. None where the
/// table has no price for the GPU, or no tokens came out.
[[nodiscard]] std::optional<double> usd_per_million(const Outcome& outcome, const models::PriceTable& prices);

// The parts they are made of. `values` are one a row, NaN for none.

/// The unit goes to the end of the header.
Column tpot_column(const std::vector<Outcome>& all);
Column seconds_column(std::string header, std::string key, std::vector<double> values);
Column bytes_column(std::string header, std::string key, std::vector<double> values);
/// Shares in whole percent.
Column percent_column(std::string header, std::string key, std::vector<double> values);
Column figure_column(std::string header, std::string key, std::vector<double> values);
/// "1.52x": says nothing that the column it is made from does not, and is not marked.
Column speedup_column(std::vector<double> values);

Column link_column(const std::vector<Outcome>& outcomes);
Column cost_column(const Comparison& comparison);
/// "lossless", the task score relative to full KV, or the divergence.
Column fidelity_column(std::string header, const std::vector<Outcome>& outcomes);

std::vector<Column> placement_columns(const Comparison& comparison);
std::vector<std::string> placement_notes(const std::vector<Outcome>& outcomes);
std::vector<Column> reuse_columns(const Comparison& comparison);
std::vector<std::string> reuse_notes(const std::vector<Outcome>& outcomes);

/// One value of every outcome.
template <class Value>
std::vector<double> values_of(const std::vector<Outcome>& outcomes, Value value) {
  std::vector<double> values;
  values.reserve(outcomes.size());
  for (const Outcome& o : outcomes) values.push_back(value(o));
  return values;
}

}  // namespace kvsim::results
