// Where the figures that a run used come from: datasheet, publication, measurement, assumption; prices, which results
// print beside every amount, with date and source; and which percentiles are of counts in buckets.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/prices/price_table.h"
#include "sim/engine/statistics.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/measurements.h"
#include "tools/results/fields.h"

namespace kvsim::results {

struct Provenance {
  std::string figure;     ///< "gpu.memory_bandwidth"
  std::string value;      ///< with its unit; "curve" or "table" where it is one
  std::string source;     ///< "datasheet", ...
  std::string reference;  ///< document or way of measuring; may be empty for figures the scenario sets
};

/// "datasheet", ...: the word of a kind of source.
std::string_view source_word(schema::SourceKind kind);

/// The figures of the machines, the model, the profile and the compressor that this scenario uses.
std::vector<Provenance> provenance_of(const scenario::Scenario& scenario);

/// Where every prompt is stored before its request comes, what that means for a service; else nothing.
std::string stored_prompts_sentence(const scenario::Scenario& scenario);

/// Assumptions of the scenario, in words: its author's, then those of its traffic, and the figures
/// that it uses which are such.
std::vector<std::string> assumptions_of(const scenario::Scenario& scenario);

/// Whence a percentile of more values than engine::Sample keeps.
inline constexpr std::string_view kSketched = "of more than 10,000 values, from a sketch within 0.1 %";
static_assert(engine::Sample::kExact == 10'000 && engine::Sample::kRelativeError <= 0.001);

/// A sample that results have percentiles of.
struct QuantileSample {
  std::string_view key;  ///< in documents: "latency_s.itl"
  std::string_view words;
  const engine::Sample& (*of)(const serving::Measurements&);
};

std::span<const QuantileSample> quantile_samples();

/// Which percentiles are such: "gaps between tokens, lengths of iterations: of more than ...", of these keys in the
/// order of quantile_samples(), or of a run; empty: none.
std::string sketched_percentiles(const std::vector<std::string>& keys);
std::string sketched_percentiles(const serving::Measurements& run);

/// Thing that is paid for, per what, and the price.
struct PriceRow {
  std::string what;
  std::string_view per;
  models::Price price;
};

/// The price that a scenario gives its nodes, and that stands for their GPUs and host memory; none where it gives none.
[[nodiscard]] std::optional<PriceRow> node_price(const serving::ClusterConfig& cluster);

/// Prices that a machine is paid by: its nodes' price, else those of its kinds of GPU that the table has.
[[nodiscard]] std::vector<PriceRow> machine_prices(const serving::ClusterConfig& cluster,
                                                   const models::PriceTable& prices);
/// Lines of pages: a line for the prices of each unit, and one for their dates and sources and how to give others.
[[nodiscard]] std::vector<std::string> price_lines(const std::vector<PriceRow>& rows);
/// A line for a machine without a price, whose $ "column is" or "columns are" empty; empty for one with a price.
[[nodiscard]] std::string unpriced_line(const serving::ClusterConfig& cluster, const models::PriceTable& prices,
                                        std::string_view columns);

const Fields<PriceRow>& price_fields();

inline constexpr std::string_view kPerGpuHour = "GPU and hour";
inline constexpr std::string_view kPerNodeHour = "node and hour";
inline constexpr std::string_view kPerGbMonth = "GB and month of 730 h";

}  // namespace kvsim::results
