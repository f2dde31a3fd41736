#include "models/calibration/sample_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/calibration/table_reader.h"
#include "models/schema/error.h"
#include "models/schema/si.h"

namespace kvsim::models {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kExpected = "a CSV table of measured kernel times";

void add_linear(const TableRow& row, const LlmSpec* /*model*/, Readings& into) {
  enum Column { kGpu, kFramework, kVersion, kFormat, kTokens, kN, kK, kTime };
  const auto format = format_of(row.text(kFormat));
  if (!format) {
    into.refused.push_back({row.origin(), fmt::format("weights in {}: profiles have bf16 and fp8", row.text(kFormat))});
    return;
  }
  into.samples.linear.push_back(
      {{std::string(row.text(kGpu)), std::string(row.text(kFramework)), std::string(row.text(kVersion)), row.origin()},
       *format,
       row.number(kTokens),
       row.number(kN),
       row.number(kK),
       row.number(kTime) * kMillisecond});
}

struct Attention {
  enum Column { kGpu, kFramework, kVersion, kHeads, kKvHeads, kHeadDim, kFormat, kBatch, kLength, kTime };
};

template <class Sample>
bool fill_attention(const TableRow& row, Readings& into, Sample& sample) {
  const auto format = format_of(row.text(Attention::kFormat));
  if (!format) {
    into.refused.push_back(
        {row.origin(), fmt::format("KV in {}: profiles have bf16 and fp8", row.text(Attention::kFormat))});
    return false;
  }
  sample.from = {std::string(row.text(Attention::kGpu)), std::string(row.text(Attention::kFramework)),
                 std::string(row.text(Attention::kVersion)), row.origin()};
  sample.kv = *format;
  sample.shape = {row.number(Attention::kHeads), row.number(Attention::kKvHeads), row.number(Attention::kHeadDim)};
  sample.seconds = row.number(Attention::kTime) * kMillisecond;
  return true;
}

void add_decode(const TableRow& row, const LlmSpec* /*model*/, Readings& into) {
  DecodeSample sample;
  if (!fill_attention(row, into, sample)) return;
  sample.requests = row.number(Attention::kBatch);
  sample.kv_length = row.number(Attention::kLength);
  sample.warm =
      row.text(Attention::kFramework) != "kvsim";  // kvsim-calibrate flushes L2 before each run, others do not
  into.samples.decode.push_back(std::move(sample));
}

void add_prefill(const TableRow& row, const LlmSpec* /*model*/, Readings& into) {
  TiledSample sample;
  if (!fill_attention(row, into, sample)) return;
  sample.chunks = row.number(Attention::kBatch);
  sample.tokens = row.number(Attention::kLength);
  into.samples.prefill.push_back(std::move(sample));
}

void add_all_reduce(const TableRow& row, const LlmSpec* /*model*/, Readings& into) {
  enum Column { kVersion, kDevice, kOperation, kFormat, kGpus, kElements, kTime };
  constexpr double kHalfBytes = 2;
  if (row.text(kOperation) != "all_reduce" || row.text(kFormat) != "half") return;
  // The framework column of these tables names who collected them; the kernel is NCCL's under every framework.
  into.samples.all_reduce.push_back(
      {{std::string(row.text(kDevice)), {}, std::string(row.text(kVersion)), row.origin()},
       static_cast<int>(row.number(kGpus)),
       row.number(kElements) * kHalfBytes,
       row.number(kTime) * kMillisecond});
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
constexpr std::array<std::string_view, 7> kAllReduceColumns{"version",  "device",       "op_name", "nccl_dtype",
                                                            "num_gpus", "message_size", "latency"};

std::vector<std::string> heading(const std::string& path) {
  LineReader lines = LineReader::open(path, kExpected);
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

}  // namespace

std::span<const TableKind> kernel_tables() {
  static constexpr std::array kTables{
      TableKind{"linear layers", kLinearColumns, {}, false, add_linear},
      TableKind{"decode attention", kDecodeColumns, kUnlikeDecode, false, add_decode},
      TableKind{"prefill attention", kPrefillColumns, kUnlikeDecode, false, add_prefill},
      TableKind{"all-reduce", kAllReduceColumns, {}, false, add_all_reduce}};
  return kTables;
}

std::optional<NumberFormat> format_of(std::string_view text) {
  if (text == "bfloat16" || text == "bf16") return NumberFormat::bf16;
  if (text == "fp8" || text == "fp8_e4m3") return NumberFormat::fp8;
  return std::nullopt;
}

bool needs_model(const std::string& path) {
  const TableKind* kind = kind_of(path);
  return kind != nullptr && kind->needs_model;
}

void read_samples(const std::string& path, const LlmSpec* model, bool required, Readings& into) {
  const TableKind* kind = kind_of(path);
  if (kind == nullptr) {
    if (!required) {
      into.ignored.push_back(path);
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
                             fmt::format("the header is of no known table, expected the columns of one of{}", known));
  }
  LineReader lines = LineReader::open(path, kExpected);
  CsvTable table(lines, kind->columns);
  const schema::Origin file(path);
  while (table.next()) kind->add(TableRow(table, file.at(lines.line_number(), 1)), model, into);
}

std::vector<std::string> csv_files(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".csv" && !it->is_directory()) files.push_back(it->path().string());
  }
  if (error) throw schema::InputError(fmt::format("{}: cannot be read ({})", path, error.message()));
  if (files.empty()) {
    throw schema::InputError(
        fmt::format("{}: holds no .csv file, expected {}", path, "tables of measured kernel times"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace kvsim::models
