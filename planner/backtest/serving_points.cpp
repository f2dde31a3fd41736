#include "planner/backtest/serving_points.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/schema/spelling.h"
#include "models/workload/csv_table.h"

namespace kvsim::planner::backtest {
namespace {

using models::CsvTable;
using models::LineReader;
using schema::InputError;

enum Column : std::size_t {
  kId,
  kEngine,
  kVersion,
  kModel,
  kGpu,
  kPrecision,
  kMode,
  kPromptTokens,
  kOutputTokens,
  kWeights,
  kExperts,
  kClients,
  kRequests,
  kRate,
  kTensor,
  kPipeline,
  kAttentionData,
  kExpertTensor,
  kExpert,
  kTtft,
  kTpot,
  kOutputRate,
  kSource,
  kColumns
};

constexpr std::array<std::string_view, kColumns> kNames{"id",
                                                        "backend",
                                                        "backend_version",
                                                        "model_path",
                                                        "system",
                                                        "precision",
                                                        "mode",
                                                        "isl",
                                                        "osl",
                                                        "gemm_quant_mode",
                                                        "moe_quant_mode",
                                                        "concurrency",
                                                        "num_prompts",
                                                        "request_rate",
                                                        "tp_size",
                                                        "pp_size",
                                                        "attention_dp_size",
                                                        "moe_tp_size",
                                                        "moe_ep_size",
                                                        "ttft_ms",
                                                        "tpot_ms",
                                                        "output_tokens_per_s",
                                                        "source"};
constexpr std::array kNeeded{kModel, kGpu, kPromptTokens, kOutputTokens};

constexpr std::int64_t kMostTokens = 10'000'000;
constexpr std::int64_t kMostClients = 1'000'000;
constexpr std::int64_t kMostRequests = 100'000'000;
constexpr std::int64_t kMostGpus = 1024;
constexpr double kLargest = 1e12;

/// The columns of one point as text, and who complains about one of them.
struct Texts {
  std::array<std::string, kColumns> text;
  std::function<void(Column column, const std::string& message)> fail;  ///< throws

  [[nodiscard]] bool empty(Column c) const { return text[c].empty(); }

  [[nodiscard]] std::int64_t whole(Column c, std::int64_t least, std::int64_t most, std::int64_t without) const {
    if (empty(c)) return without;
    std::int64_t value = 0;
    const char* end = text[c].data() + text[c].size();
    const auto [rest, error] = std::from_chars(text[c].data(), end, value);
    if (error != std::errc() || rest != end || value < least || value > most) {
      fail(c, fmt::format("{} is \"{}\", expected a whole number from {} to {}", kNames[c], shown(c), least, most));
    }
    return value;
  }

  [[nodiscard]] std::optional<double> positive(Column c) const {
    if (empty(c)) return std::nullopt;
    double value = 0;
    const char* end = text[c].data() + text[c].size();
    const auto [rest, error] = std::from_chars(text[c].data(), end, value);
    if (error != std::errc() || rest != end || !(value > 0) || value > kLargest) {
      fail(c, fmt::format("{} is \"{}\", expected a number above 0", kNames[c], shown(c)));
    }
    return value;
  }

  /// GPUs that share something; files write 0, or nothing, where they do not.
  [[nodiscard]] std::int64_t gpus(Column c) const { return std::max<std::int64_t>(1, whole(c, 0, kMostGpus, 1)); }

 private:
  [[nodiscard]] std::string shown(Column c) const {
    constexpr std::size_t kMost = 40;
    return text[c].substr(0, kMost);
  }
};

ServingPoint point_of(const Texts& row, schema::Origin origin, const std::string& nameless) {
  for (const Column c : kNeeded) {
    if (row.empty(c)) row.fail(c, fmt::format("{} is empty", kNames[c]));
  }
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (row.text[c].find('\0') == std::string::npos) continue;
    row.fail(static_cast<Column>(c), fmt::format("{} holds a NUL character, expected text", kNames[c]));
  }
  ServingPoint p;
  p.origin = std::move(origin);
  p.id = row.empty(kId) ? nameless : row.text[kId];
  p.engine = row.text[kEngine];
  p.version = row.text[kVersion];
  p.model = row.text[kModel];
  p.gpu = row.text[kGpu];
  p.precision = row.text[kPrecision];
  p.weights = row.text[kWeights];
  p.experts = row.text[kExperts];
  p.mode = row.text[kMode];
  p.source = row.text[kSource];
  p.prompt_tokens = row.whole(kPromptTokens, 1, kMostTokens, 0);
  p.output_tokens = row.whole(kOutputTokens, 1, kMostTokens, 0);
  p.requests = row.whole(kRequests, 1, kMostRequests, 0);
  p.clients = row.whole(kClients, 1, kMostClients, 0);
  if (!row.empty(kRate) && row.text[kRate] != "inf") p.rate_per_s = row.positive(kRate).value_or(0);
  p.tensor = row.gpus(kTensor);
  p.pipeline = row.gpus(kPipeline);
  p.attention_data = row.gpus(kAttentionData);
  p.expert_tensor = row.gpus(kExpertTensor);
  p.expert = row.gpus(kExpert);
  constexpr double kMs = 1e-3;
  if (const auto ms = row.positive(kTtft)) p.ttft_s = *ms * kMs;
  if (const auto ms = row.positive(kTpot)) p.tpot_s = *ms * kMs;
  p.output_tokens_per_s = row.positive(kOutputRate);
  if (!p.ttft_s && !p.tpot_s && !p.output_tokens_per_s) {
    row.fail(kTtft, fmt::format("nothing is measured: {}, {} and {} are empty", kNames[kTtft], kNames[kTpot],
                                kNames[kOutputRate]));
  }
  return p;
}

std::string given_text(const Given& given, Column c) {
  for (const auto& [name, text] : given) {
    if (name == kNames[c]) return text;
  }
  return {};
}

std::vector<ServingPoint> read_csv(LineReader lines, const Given& given) {
  CsvTable table(lines, {}, kNames);
  for (const Column c : kNeeded) {
    if (table.has(c) || !given_text(given, c).empty()) continue;
    lines.fail(
        0, fmt::format("the column {} is missing, expected it in the header, or --given {}=...", kNames[c], kNames[c]));
  }
  if (!table.has(kTtft) && !table.has(kTpot) && !table.has(kOutputRate)) {
    lines.fail(0, fmt::format("nothing is measured: expected at least one of the columns {}, {}, {}", kNames[kTtft],
                              kNames[kTpot], kNames[kOutputRate]));
  }
  std::vector<ServingPoint> points;
  while (table.next()) {
    Texts row;
    row.fail = [&](Column c, const std::string& message) { lines.fail(table.field(c).byte, message); };
    for (std::size_t c = 0; c < kColumns; ++c) {
      row.text[c] = table.field(c).text;
      if (row.text[c].empty()) row.text[c] = given_text(given, static_cast<Column>(c));
    }
    points.push_back(
        point_of(row, lines.source().at(lines.line_number(), 1), fmt::format("line {}", lines.line_number())));
  }
  if (points.empty()) lines.fail_file("has a header and no rows, expected a row a point");
  return points;
}

// What vllm bench serve saves.

using Json = nlohmann::json;

/// A value as a CSV file would have it; lists and objects are none.
std::string text_of(const Json& document, std::string_view key) {
  const auto found = document.find(key);
  if (found == document.end() || found->is_null() || found->is_structured()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

/// A mean length of all requests, in whole tokens.
std::string mean_tokens(const Json& document, std::string_view total) {
  const auto sum = document.find(total), count = document.find("completed");
  if (sum == document.end() || count == document.end() || !sum->is_number() || !count->is_number()) return {};
  const double mean = std::round(sum->get<double>() / count->get<double>());
  return std::isfinite(mean) && std::abs(mean) < kLargest ? fmt::format("{:.0f}", mean) : std::string();
}

std::vector<ServingPoint> read_vllm(std::string_view text, const std::string& name, const Given& given) {
  const schema::Origin origin(name);
  Json document;
  try {
    document = Json::parse(text);
  } catch (const Json::exception&) {
    throw InputError(origin, "is no JSON, expected one result of vllm bench serve --save-result");
  }
  if (!document.is_object()) {
    throw InputError(origin, "is no JSON object, expected one result of vllm bench serve --save-result");
  }
  Texts row;
  row.fail = [&origin, &row](Column c, const std::string& message) {
    const std::string where =
        fmt::format("; expected it in the file, as --metadata adds it, or --given {}=...", kNames[c]);
    throw InputError(origin, message + (row.empty(c) ? where : std::string()));
  };
  constexpr std::array<std::pair<Column, std::string_view>, 5> kVllmNames{{{kModel, "model_id"},
                                                                           {kClients, "max_concurrency"},
                                                                           {kTtft, "mean_ttft_ms"},
                                                                           {kTpot, "mean_tpot_ms"},
                                                                           {kOutputRate, "output_throughput"}}};
  for (std::size_t c = 0; c < kColumns; ++c) row.text[c] = text_of(document, kNames[c]);
  row.text[kEngine].clear();  // there it is how requests were sent
  for (const auto& [column, key] : kVllmNames) {
    if (row.empty(column)) row.text[column] = text_of(document, key);
  }
  if (row.empty(kPromptTokens)) row.text[kPromptTokens] = mean_tokens(document, "total_input_tokens");
  if (row.empty(kOutputTokens)) row.text[kOutputTokens] = mean_tokens(document, "total_output_tokens");
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (row.empty(static_cast<Column>(c))) row.text[c] = given_text(given, static_cast<Column>(c));
  }
  if (row.empty(kEngine)) row.text[kEngine] = "vllm";
  ServingPoint point = point_of(row, origin, std::filesystem::path(name).stem().string());
  if (point.clients == 0) point.clients = std::min(point.requests, kMostClients);  // all are sent at once
  return {point};
}

std::string contents_of(const std::string& path) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20U;
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) throw InputError(path + ": cannot be read, expected a file of serving points");
  if (bytes > kMostBytes) throw InputError(path + ": is larger than 256 MiB, expected one result of vllm bench serve");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::vector<std::string_view> point_columns() {
  return {kNames.begin(), kNames.end()};
}

std::pair<std::string, std::string> parse_given(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    throw InputError(fmt::format("--given: expected COLUMN=TEXT such as system=h100_sxm, found \"{}\"", assignment));
  }
  std::pair<std::string, std::string> given(assignment.substr(0, equals), assignment.substr(equals + 1));
  const std::vector<std::string> known(kNames.begin(), kNames.end());
  if (std::find(known.begin(), known.end(), given.first) == known.end()) {
    throw InputError(fmt::format("--given: unknown column \"{}\"{}", given.first, schema::suggest(given.first, known)));
  }
  return given;
}

std::vector<ServingPoint> read_points(const std::string& path, const Given& given) {
  if (path.ends_with(".json")) return read_vllm(contents_of(path), path, given);
  return read_csv(LineReader::open(path, "serving points in CSV"), given);
}

std::vector<ServingPoint> read_points_text(std::string_view text, const std::string& name, const Given& given) {
  if (name.ends_with(".json")) return read_vllm(text, name, given);
  return read_csv(LineReader::from_text(name, text), given);
}

}  // namespace kvsim::planner::backtest
