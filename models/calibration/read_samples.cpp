// Tables of measured kernel times become samples.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include "models/calibration/table_kind.h"
#include "models/kernels/elementwise_kernels.h"
#include "models/schema/error.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

/// Tables of single kernels over many shapes.
[[nodiscard]] std::span<const TableKind> kernel_tables();
/// Tables of the layers of one model.
[[nodiscard]] std::span<const TableKind> layer_tables();

constexpr std::string_view kExpectedTable = "a CSV table of measured kernel times";

void add_linear(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  const auto format = format_of(row.text("dtype"));
  if (!format) {
    into.refused.push_back(
        {row.origin(), fmt::format("weights in {}: profiles have bf16, fp8, fp8_block and nvfp4", row.text("dtype"))});
    return;
  }
  // aiconfigurator goes round six layers in one CUDA graph, or repeats one where the format has scales of blocks, that
  // of fp8 without a graph; kvsim-calibrate flushes L2 before each run.
  const bool blocks = *format == NumberFormat::fp8_block || *format == NumberFormat::nvfp4;
  LinearRun run;
  if (row.text("framework") != "kvsim") run = {blocks ? 1.0 : 6.0, *format == NumberFormat::fp8_block};
  into.samples.linear.push_back({row.source(), *format, row.number("m_tokens"), row.number("n"), row.number("k"),
                                 row.number("measured_ms") * kMillisecond, run});
}

template <class Sample>
bool fill_attention(const TableRow& row, Readings& into, Sample& sample) {
  const auto format = format_of(row.text("kv_dtype"));
  if (!format || (*format != NumberFormat::bf16 && *format != NumberFormat::fp8)) {
    into.refused.push_back({row.origin(), fmt::format("KV in {}: profiles have bf16 and fp8", row.text("kv_dtype"))});
    return false;
  }
  sample.from = row.source();
  sample.kv = *format;
  sample.shape = {row.number("num_heads"), row.number("num_kv_heads"), row.number("head_dim")};
  sample.seconds = row.number("measured_ms") * kMillisecond;
  return true;
}

void add_decode(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  DecodeSample sample;
  if (!fill_attention(row, into, sample)) return;
  sample.requests = row.number("batch");
  sample.kv_length = row.number("kv_len");
  sample.warm = row.text("framework") != "kvsim";  // kvsim-calibrate flushes L2 before each run, others do not
  into.samples.decode.push_back(std::move(sample));
}

void add_prefill(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  TiledSample sample;
  if (!fill_attention(row, into, sample)) return;
  sample.chunks = row.number("batch");
  sample.tokens = row.number("seq_len");
  into.samples.prefill.push_back(std::move(sample));
}

/// Columns of the two tables of collectives, in one order.
void add_collective(const TableRow& row, Collective operation, const char* library, Readings& into) {
  constexpr double kHalfBytes = 2;
  into.samples.collectives.push_back({row.source(), operation, library, static_cast<int>(row.number("num_gpus")),
                                      row.number("message_size") * kHalfBytes, row.number("latency") * kMillisecond});
}

void add_nccl(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  constexpr std::array<std::pair<std::string_view, Collective>, 5> kOperations{
      {{"all_reduce", Collective::all_reduce},
       {"all_gather", Collective::all_gather},
       {"reduce_scatter", Collective::reduce_scatter},
       {"alltoall", Collective::all_to_all},
       {"all_to_all", Collective::all_to_all}}};
  if (row.text("nccl_dtype") != "half" && row.text("nccl_dtype") != "bfloat16") return;
  // The framework column of these tables names who collected them; the kernel is NCCL's under every framework.
  for (const auto& [name, operation] : kOperations) {
    if (row.text("op_name") == name) add_collective(row, operation, "nccl", into);
  }
}

/// vLLM's own all-reduce. Rows of launches from Python are left out: short ones wait for the CPU, which a step of many
/// kernels does not; long ones copy the message first, which step times count by themselves.
void add_vllm(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  if (row.text("op_name") == "all_reduce" && row.text("backend") == "graph") {
    add_collective(row, Collective::all_reduce, "vllm", into);
  }
}

constexpr std::array<std::string_view, 8> kLinearColumns{"gpu",      "framework", "version", "dtype",
                                                         "m_tokens", "n",         "k",       "measured_ms"};
constexpr std::array<std::string_view, 10> kDecodeColumns{"gpu",          "framework",  "version",  "num_heads",
                                                          "num_kv_heads", "head_dim",   "kv_dtype", "batch",
                                                          "kv_len",       "measured_ms"};
constexpr std::array<std::string_view, 10> kPrefillColumns{"gpu",          "framework",  "version",  "num_heads",
                                                           "num_kv_heads", "head_dim",   "kv_dtype", "batch",
                                                           "seq_len",      "measured_ms"};
/// Several query tokens, uneven lengths, KV of few bits.
constexpr std::array<std::string_view, 4> kUnlikeDecode{"query_tokens", "lengths", "longest_kv_len", "kv_bits"};
constexpr std::array<std::string_view, 1> kKeyScales{"key_scales"};
constexpr std::array<std::string_view, 7> kNcclColumns{"version",  "device",       "op_name", "nccl_dtype",
                                                       "num_gpus", "message_size", "latency"};
constexpr std::array<std::string_view, 7> kVllmColumns{"version",  "device",       "op_name", "backend",
                                                       "num_gpus", "message_size", "latency"};

std::vector<std::string> heading(const std::string& path) {
  LineReader lines = LineReader::open(path, kExpectedTable);
  std::vector<std::string> names;
  if (!lines.next()) return names;
  std::string_view rest = lines.line();
  for (;;) {
    const std::size_t comma = rest.find(',');
    std::string_view name = rest.substr(0, comma);
    while (!name.empty() && (name.front() == ' ' || name.front() == '\t')) name.remove_prefix(1);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
    names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    rest.remove_prefix(comma + 1);
  }
}

/// Column that a heading lacks to be of a kind, where it is one of many: most likely a misspelt name. Else empty.
std::string almost_a_table(const std::vector<std::string>& names) {
  constexpr std::size_t kMany = 5;
  for (const auto kinds : {kernel_tables(), layer_tables()}) {
    for (const TableKind& kind : kinds) {
      std::vector<std::string_view> missing;
      for (const std::string_view column : kind.columns) {
        if (std::find(names.begin(), names.end(), column) == names.end()) missing.push_back(column);
      }
      if (kind.columns.size() < kMany || missing.size() != 1) continue;
      return fmt::format("almost a table of {}: no column {}", kind.name, missing.front());
    }
  }
  return {};
}

/// The kind whose columns the file has; null where it is none of them.
const TableKind* kind_of(const std::string& path) {
  const std::vector<std::string> names = heading(path);
  const auto has = [&names](std::string_view column) {
    return std::find(names.begin(), names.end(), column) != names.end();
  };
  for (const auto kinds : {kernel_tables(), layer_tables()}) {
    for (const TableKind& kind : kinds) {
      const bool complete = std::all_of(kind.columns.begin(), kind.columns.end(), has);
      if (complete && std::none_of(kind.foreign.begin(), kind.foreign.end(), has)) return &kind;
    }
  }
  return nullptr;
}

std::span<const TableKind> kernel_tables() {
  static constexpr std::array kTables{
      TableKind{"linear layers", kLinearColumns, {}, false, add_linear},
      TableKind{"decode attention", kDecodeColumns, kUnlikeDecode, false, add_decode},
      TableKind{"prefill attention", kPrefillColumns, kUnlikeDecode, false, add_prefill},
      TableKind{"routed experts", kMoeColumns, {}, false, add_moe},
      TableKind{"attention blocks over latents", kLatentBlockColumns, {}, false, add_latent_block},
      TableKind{"attention over latents", kLatentColumns, {}, false, add_latent},
      TableKind{"collectives of NCCL", kNcclColumns, {}, false, add_nccl},
      TableKind{"all-reduce of vLLM", kVllmColumns, {}, false, add_vllm},
      TableKind{"decode attention of uneven lengths in a batch", kUnevenColumns, {}, false, add_uneven},
      TableKind{"attention of several query tokens", kVerifyColumns, {}, false, add_verify},
      TableKind{"attention over KV of few bits, by scales of keys", kKeyScaleColumns, {}, false, add_key_scales},
      TableKind{"attention over KV of few bits", kLowBitColumns, kKeyScales, false, add_low_bit},
      TableKind{"device memory", kMemoryColumns, {}, false, add_memory},
      TableKind{"host copies", kCopyColumns, {}, false, add_copy},
      TableKind{"gathered rows", kGatherColumns, {}, false, add_gather},
      TableKind{"top k", kTopKColumns, {}, false, add_top_k},
      TableKind{"quantising", kQuantiseColumns, {}, false, add_quantise},
      TableKind{"reads and writes of storage", kStorageColumns, {}, false, add_storage},
      TableKind{"host memory", kHostMemoryColumns, {}, false, add_host_memory},
      TableKind{"states of the GPU during benchmarks", kStateColumns, {}, false, add_state},
      TableKind{"launches", kLaunchColumns, {}, false, add_launch},
      TableKind{"kernels and copies at once", kInterferenceColumns, {}, false, add_interference}};
  return kTables;
}

}  // namespace

std::optional<NumberFormat> format_of(std::string_view text) {
  if (text == "bfloat16" || text == "bf16") return NumberFormat::bf16;
  if (text == "fp8" || text == "fp8_e4m3") return NumberFormat::fp8;
  if (text == "fp8_block") return NumberFormat::fp8_block;
  if (text == "nvfp4") return NumberFormat::nvfp4;
  return std::nullopt;
}

bool needs_model(const std::string& path) {
  const TableKind* kind = kind_of(path);
  return kind != nullptr && kind->needs_model;
}

void read_samples(const std::string& path, const LlmSpec* model, bool required, Readings& into, int tensor_parallel) {
  const TableKind* kind = kind_of(path);
  if (kind == nullptr) {
    const std::string almost = almost_a_table(heading(path));
    if (!required) {
      into.ignored.push_back(almost.empty() ? path : fmt::format("{} ({})", path, almost));
      return;
    }
    std::string known;
    for (const auto kinds : {kernel_tables(), layer_tables()}) {
      for (const TableKind& k : kinds) {
        known += fmt::format("\n  {}: {}", k.name, fmt::join(k.columns, ", "));
        if (!k.foreign.empty()) known += fmt::format(", without {}", fmt::join(k.foreign, ", "));
      }
    }
    throw schema::InputError(schema::Origin(path).at(1, 1),
                             fmt::format("the header is of no known table{}, expected the columns of one of{}",
                                         almost.empty() ? "" : fmt::format(" ({})", almost), known));
  }
  LineReader lines = LineReader::open(path, kExpectedTable);
  CsvTable table(lines, kind->columns);
  const schema::Origin file(path);
  while (table.next())
    kind->add(TableRow(table, kind->columns, file.at(lines.line_number(), 1)), {model, tensor_parallel}, into);
}

// Layer profiles of one model, as LLMServingSim publishes them: times in microseconds, bf16, of one GPU of a
// tensor-parallel group.

namespace {

void add_weights(const TableRow& row, const Shard& shard, std::string_view layer, double tokens, double seconds,
                 Readings& into) {
  for (const LayerShape& shape : linear_shapes(*shard.model, shard.tensor_parallel)) {
    if (shape.layer != layer) continue;
    into.samples.linear.push_back({row.source(), NumberFormat::bf16, tokens, shape.n, shape.k, seconds});
    return;
  }
}

void add_dense(const TableRow& row, const Shard& shard, Readings& into) {
  const std::string_view layer = row.text("layer");
  const double tokens = row.number("tokens");
  const double seconds = row.number("time_us") * kMicrosecond;
  for (const ElementwiseKernel& kernel : elementwise_kernels(*shard.model, shard.tensor_parallel)) {
    if (kernel.name != layer) continue;
    into.samples.elementwise.push_back(
        {row.source(), std::string(layer), tokens, kernel.bytes_per_token * tokens, seconds});
    return;
  }
  add_weights(row, shard, layer, tokens, seconds, into);
}

HeadShape heads_of(const Shard& shard) {
  const auto [heads, kv_heads] = head_counts(*shard.model, shard.tensor_parallel);
  return {heads, kv_heads, static_cast<double>(shard.model->head_dim)};
}

void add_attention(const TableRow& row, const Shard& shard, Readings& into) {
  const double chunk = row.number("prefill_chunk");
  const double decodes = row.number("n_decode");
  const double seconds = row.number("time_us") * kMicrosecond;
  const SampleSource from = row.source();
  if (chunk <= 0) {
    into.samples.decode.push_back(
        {from, NumberFormat::bf16, heads_of(shard), decodes, row.number("kv_decode"), false, seconds});
    return;
  }
  const TiledSample sample{from,    NumberFormat::bf16,      heads_of(shard), 1, chunk, row.number("kv_prefill"),
                           decodes, row.number("kv_decode"), seconds};
  if (decodes <= 0) into.samples.prefill.push_back(sample);
  into.samples.mixed.push_back(sample);
}

void add_per_sequence(const TableRow& row, const Shard& shard, Readings& into) {
  const double sequences = row.number("sequences");
  const double seconds = row.number("time_us") * kMicrosecond;
  if (row.text("layer") == "sampler") {
    into.samples.sampler.push_back({row.source(), sequences, seconds});
  } else {
    add_weights(row, shard, row.text("layer"), sequences, seconds, into);
  }
}

void add_skew(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  if (row.text("regime") != "pure") return;  // the others are mixed batches, which cost what their tiles cost
  into.samples.skew.push_back({row.source(), row.number("t_mean_us") * kMicrosecond,
                               row.number("t_max_us") * kMicrosecond, row.number("t_skew_us") * kMicrosecond});
}

constexpr std::array<std::string_view, 3> kDenseColumns{"layer", "tokens", "time_us"};
constexpr std::array<std::string_view, 5> kAttentionColumns{"prefill_chunk", "kv_prefill", "n_decode", "kv_decode",
                                                            "time_us"};
constexpr std::array<std::string_view, 3> kSequenceColumns{"layer", "sequences", "time_us"};
constexpr std::array<std::string_view, 4> kSkewColumns{"regime", "t_mean_us", "t_max_us", "t_skew_us"};

std::span<const TableKind> layer_tables() {
  static constexpr std::array kTables{
      TableKind{"layers by tokens", kDenseColumns, {}, true, add_dense},
      TableKind{"attention of batches", kAttentionColumns, {}, true, add_attention},
      TableKind{"layers by sequences", kSequenceColumns, {}, true, add_per_sequence},
      TableKind{"decode attention of uneven lengths", kSkewColumns, {}, false, add_skew}};
  return kTables;
}

}  // namespace

}  // namespace kvsim::models
