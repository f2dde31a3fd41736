// One kind of table of measured times: its columns and what a row of it becomes. Internal to the readers.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "models/calibration/samples.h"
#include "models/workload/csv_table.h"

namespace kvsim::models {

/// The current row of a table. A column is named as its kind has it.
class TableRow {
 public:
  TableRow(const CsvTable& table, std::span<const std::string_view> columns, schema::Origin origin)
      : table_(table), columns_(columns), origin_(std::move(origin)) {}
  [[nodiscard]] std::string_view text(std::string_view column) const { return table_.field(at(column)).text; }
  [[nodiscard]] double number(std::string_view column) const { return table_.number(table_.field(at(column))); }
  [[nodiscard]] std::int64_t whole(std::string_view column) const {
    return table_.whole_number(table_.field(at(column)));
  }
  [[nodiscard]] const schema::Origin& origin() const { return origin_; }
  /// The GPU, the framework and its version, as far as the kind has columns of them.
  [[nodiscard]] SampleSource source() const {
    const auto word = [this](std::string_view column) {
      return at(column) < columns_.size() ? std::string(text(column)) : std::string();
    };
    return {word("gpu") + word("device"), word("framework"), word("version"), origin_};
  }

 private:
  [[nodiscard]] std::size_t at(std::string_view column) const {
    return static_cast<std::size_t>(std::ranges::find(columns_, column) - columns_.begin());
  }

  const CsvTable& table_;
  std::span<const std::string_view> columns_;
  schema::Origin origin_;
};

/// Shard of a model whose layers a layer profile times.
struct Shard {
  const LlmSpec* model = nullptr;  ///< null for tables that name their shapes
  int tensor_parallel = 1;
};

struct TableKind {
  std::string_view name;
  std::span<const std::string_view> columns;
  /// Tables with one of these measure something else: their rows are not what the other columns alone say.
  std::span<const std::string_view> foreign;
  bool needs_model;
  void (*add)(const TableRow& row, const Shard& shard, Readings& into);
};

/// By the names that files use; none for other formats.
[[nodiscard]] std::optional<NumberFormat> format_of(std::string_view text);

// Routed experts (moe_tables.cpp).
inline constexpr std::array<std::string_view, 14> kMoeColumns{
    "gpu",          "framework", "version", "kernel", "dtype",  "m_tokens",     "hidden",
    "intermediate", "top_k",     "experts", "moe_tp", "moe_ep", "distribution", "measured_ms"};
void add_moe(const TableRow& row, const Shard& shard, Readings& into);

// Latent attention, alone and in its block (latent_tables.cpp).
inline constexpr std::array<std::string_view, 11> kLatentColumns{"gpu",   "framework", "version",         "kernel",
                                                                 "phase", "num_heads", "attention_dtype", "kv_dtype",
                                                                 "batch", "length",    "measured_ms"};
inline constexpr std::array<std::string_view, 12> kLatentBlockColumns{
    "gpu",      "framework", "version", "kernel",      "phase",           "num_heads", "attention_dtype",
    "kv_dtype", "batch",     "length",  "measured_ms", "projection_dtype"};
void add_latent(const TableRow& row, const Shard& shard, Readings& into);
void add_latent_block(const TableRow& row, const Shard& shard, Readings& into);

// Tables of kvsim-calibrate that nobody else writes (calibrator_tables.cpp).
inline constexpr std::array<std::string_view, 12> kUnevenColumns{
    "gpu",      "framework", "version", "num_heads",   "num_kv_heads", "head_dim",
    "kv_dtype", "batch",     "kv_len",  "measured_ms", "lengths",      "longest_kv_len"};
inline constexpr std::array<std::string_view, 11> kVerifyColumns{
    "gpu",      "framework", "version", "num_heads",   "num_kv_heads", "head_dim",
    "kv_dtype", "batch",     "kv_len",  "measured_ms", "query_tokens"};
inline constexpr std::array<std::string_view, 12> kLowBitColumns{
    "gpu",      "framework", "version", "num_heads",   "num_kv_heads", "head_dim",
    "kv_dtype", "batch",     "kv_len",  "measured_ms", "kv_bits",      "kv_bytes_read"};
/// With how keys are scaled, which older tables do not say.
inline constexpr std::array<std::string_view, 13> kKeyScaleColumns{
    "gpu",   "framework", "version",     "num_heads", "num_kv_heads",  "head_dim",  "kv_dtype",
    "batch", "kv_len",    "measured_ms", "kv_bits",   "kv_bytes_read", "key_scales"};
inline constexpr std::array<std::string_view, 6> kMemoryColumns{"gpu",    "version", "kind",
                                                                "caches", "bytes",   "measured_ms"};
inline constexpr std::array<std::string_view, 6> kCopyColumns{"gpu",         "version", "direction",
                                                              "host_memory", "bytes",   "measured_ms"};
inline constexpr std::array<std::string_view, 6> kGatherColumns{"gpu",       "version", "method",
                                                                "row_bytes", "rows",    "measured_ms"};
inline constexpr std::array<std::string_view, 6> kTopKColumns{"gpu", "version", "rows", "columns", "k", "measured_ms"};
inline constexpr std::array<std::string_view, 7> kQuantiseColumns{"gpu",        "version",      "operation",  "bits",
                                                                  "bytes_full", "bytes_packed", "measured_ms"};
inline constexpr std::array<std::string_view, 6> kStorageColumns{"gpu",     "version", "storage_operation",
                                                                 "threads", "bytes",   "measured_ms"};
inline constexpr std::array<std::string_view, 6> kHostMemoryColumns{"gpu",     "version", "host_memory_operation",
                                                                    "threads", "bytes",   "measured_ms"};
inline constexpr std::array<std::string_view, 8> kStateColumns{"gpu",          "version",           "benchmark",
                                                               "sm_clock_mhz", "most_sm_clock_mhz", "throttled_share",
                                                               "throttled_by", "other_processes"};
inline constexpr std::array<std::string_view, 5> kLaunchColumns{"gpu", "version", "what", "launches", "measured_ms"};
inline constexpr std::array<std::string_view, 7> kInterferenceColumns{"gpu",   "version",  "timed",      "against",
                                                                      "bytes", "alone_ms", "measured_ms"};
void add_uneven(const TableRow& row, const Shard& shard, Readings& into);
void add_verify(const TableRow& row, const Shard& shard, Readings& into);
void add_key_scales(const TableRow& row, const Shard& shard, Readings& into);
void add_low_bit(const TableRow& row, const Shard& shard, Readings& into);
void add_memory(const TableRow& row, const Shard& shard, Readings& into);
void add_copy(const TableRow& row, const Shard& shard, Readings& into);
void add_gather(const TableRow& row, const Shard& shard, Readings& into);
void add_top_k(const TableRow& row, const Shard& shard, Readings& into);
void add_quantise(const TableRow& row, const Shard& shard, Readings& into);
void add_storage(const TableRow& row, const Shard& shard, Readings& into);
void add_host_memory(const TableRow& row, const Shard& shard, Readings& into);
void add_state(const TableRow& row, const Shard& shard, Readings& into);
void add_launch(const TableRow& row, const Shard& shard, Readings& into);
void add_interference(const TableRow& row, const Shard& shard, Readings& into);

}  // namespace kvsim::models
