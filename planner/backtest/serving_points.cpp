#include "planner/backtest/serving_points.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
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
  kDrafter,
  kDraftTokens,
  kAcceptLength,
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
                                                        "source",
                                                        "drafter",
                                                        "draft_tokens",
                                                        "accept_length"};
constexpr std::array kNeeded{kModel, kGpu, kPromptTokens, kOutputTokens};

constexpr std::int64_t kMostTokens = 10'000'000;
constexpr std::int64_t kMostClients = 1'000'000;
constexpr std::int64_t kMostRequests = 100'000'000;
constexpr std::int64_t kMostGpus = 1024;
constexpr std::int64_t kMostDrafted = 64;
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

/// None where no column says that there were any; 0 tokens say that there were none.
std::optional<PointDrafts> drafts_of(const Texts& row) {
  const bool said = !row.empty(kDrafter) || !row.empty(kDraftTokens) || !row.empty(kAcceptLength);
  if (!said || row.text[kDraftTokens] == "0") return std::nullopt;
  PointDrafts d;
  d.drafter = row.text[kDrafter];
  d.tokens = row.whole(kDraftTokens, 1, kMostDrafted, 0);
  d.accept_length = row.positive(kAcceptLength).value_or(0);
  if (d.accept_length > 0 && d.accept_length < 1) {
    row.fail(kAcceptLength, fmt::format("{} is below 1, expected the tokens of a step, its own one among them",
                                        kNames[kAcceptLength]));
  }
  if (d.tokens > 0 && d.accept_length > static_cast<double>(d.tokens) + 1) {
    row.fail(kAcceptLength, fmt::format("{} is {:g}, expected at most {}: {} and the step's own", kNames[kAcceptLength],
                                        d.accept_length, d.tokens + 1, kNames[kDraftTokens]));
  }
  return d;
}

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
  p.drafts = drafts_of(row);
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

// What load generators save.

using Json = nlohmann::json;

/// Where a column is, as JSON pointers, the first that is there; those that begin with # are of the whole document.
struct Place {
  Column column;
  std::vector<std::string> pointers;
  bool whole = false;  ///< a mean or a count: rounded to whole numbers
};

/// A kind of result file.
struct ResultFormat {
  std::string marker;  ///< pointer to what only such files have; empty: any other
  std::string list;    ///< pointer to its results; empty: the document is one
  std::vector<Place> places;
  std::vector<std::string> milliseconds;  ///< pointers to units that must say ms where they are there
  std::string engine;                     ///< that it is of where nobody says otherwise
};

const std::vector<ResultFormat>& result_formats() {
  static const std::vector<ResultFormat> formats{
      // GuideLLM: benchmarks.json. Its time_per_output_token_ms has the first token in it, its inter_token_latency_ms
      // not.
      {"/benchmarks/0/metrics",
       "/benchmarks",
       {{kModel, {"/config/backend/model", "#/args/model", "#/args/backend_kwargs/model"}},
        {kClients, {"/config/strategy/streams", "/config/strategy/max_concurrency"}},
        {kRate, {"/config/strategy/rate"}},
        {kRequests, {"/metrics/request_totals/successful"}},
        {kPromptTokens, {"/metrics/prompt_token_count/successful/mean"}, true},
        {kOutputTokens, {"/metrics/output_token_count/successful/mean"}, true},
        {kTtft, {"/metrics/time_to_first_token_ms/successful/mean"}},
        {kTpot, {"/metrics/inter_token_latency_ms/successful/mean"}},
        {kOutputRate, {"/metrics/output_tokens_per_second/successful/mean"}}},
       {},
       ""},
      // AIPerf: profile_export_aiperf.json. Its inter_token_latency is (latency - TTFT) / (output tokens - 1).
      {"/inter_token_latency/avg",
       "",
       {{kModel, {"/input_config/endpoint/model_names/0"}},
        {kClients, {"/input_config/loadgen/concurrency"}},
        {kRate, {"/input_config/loadgen/request_rate"}},
        {kRequests, {"/request_count/avg"}, true},
        {kPromptTokens, {"/input_sequence_length/avg"}, true},
        {kOutputTokens, {"/output_sequence_length/avg"}, true},
        {kTtft, {"/time_to_first_token/avg"}},
        {kTpot, {"/inter_token_latency/avg"}},
        {kOutputRate, {"/output_token_throughput/avg"}}},
       {"/time_to_first_token/unit", "/inter_token_latency/unit"},
       ""},
      // vllm bench serve --save-result.
      {"",
       "",
       {{kModel, {"/model_id"}},
        {kClients, {"/max_concurrency"}},
        {kTtft, {"/mean_ttft_ms"}},
        {kTpot, {"/mean_tpot_ms"}},
        {kOutputRate, {"/output_throughput"}},
        {kAcceptLength, {"/spec_decode_acceptance_length"}}},
       {},
       "vllm"}};
  return formats;
}

const Json* at(const Json& document, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  return document.contains(place) ? &document.at(place) : nullptr;
}

/// A value as a CSV file would have it; lists and objects are none.
std::string text_of(const Json* value) {
  if (value == nullptr || value->is_null() || value->is_structured()) return {};
  return value->is_string() ? value->get<std::string>() : value->dump();
}

std::string rounded(double number) {
  const double whole = std::round(number);
  return std::isfinite(whole) && std::abs(whole) < kLargest ? fmt::format("{:.0f}", whole) : std::string();
}

/// A mean length of all requests, in whole tokens.
std::string mean_tokens(const Json& document, const char* total) {
  const Json *sum = at(document, total), *count = at(document, "/completed");
  if (sum == nullptr || count == nullptr || !sum->is_number() || !count->is_number()) return {};
  return rounded(sum->get<double>() / count->get<double>());
}

std::string text_at(const Json& document, const Json& result, const Place& place) {
  for (const std::string& pointer : place.pointers) {
    const bool of_document = pointer.front() == '#';
    const Json* value = of_document ? at(document, pointer.substr(1)) : at(result, pointer);
    if (value == nullptr) continue;
    if (place.whole && value->is_number()) return rounded(value->get<double>());
    return text_of(value);
  }
  return {};
}

/// Tokens of a draft, where the file counts drafts and their tokens.
std::string tokens_of_a_draft(const Json& result) {
  const Json *tokens = at(result, "/spec_decode_draft_tokens"), *drafts = at(result, "/spec_decode_num_drafts");
  if (tokens == nullptr || drafts == nullptr || !tokens->is_number() || !drafts->is_number()) return {};
  return rounded(tokens->get<double>() / drafts->get<double>());
}

/// Of each position, where the file has it.
std::vector<double> accepted_at_positions(const Json& result) {
  std::vector<double> shares;
  const Json* listed = at(result, "/spec_decode_per_position_acceptance_rates");
  if (listed == nullptr || !listed->is_array()) return shares;
  for (const Json& share : *listed) {
    const bool good = share.is_number() && share.get<double>() >= 0 && share.get<double>() <= 1;
    if (!good) return {};
    shares.push_back(shares.empty() ? share.get<double>() : std::min(shares.back(), share.get<double>()));
  }
  return shares;
}

ServingPoint point_of_result(const Json& document, const Json& result, const ResultFormat& format,
                             const schema::Origin& origin, const std::string& name, const Given& given) {
  for (const std::string& unit : format.milliseconds) {
    const Json* said = at(result, unit);
    if (said != nullptr && *said != "ms") {
      throw InputError(origin, fmt::format("{} is {}, expected \"ms\"", unit.substr(1), said->dump()));
    }
  }
  Texts row;
  row.fail = [&origin, &row](Column c, const std::string& message) {
    const std::string where =
        fmt::format("; expected it in the file, as --metadata adds it, or --given {}=...", kNames[c]);
    throw InputError(origin, message + (row.empty(c) ? where : std::string()));
  };
  for (std::size_t c = 0; c < kColumns; ++c) row.text[c] = text_of(at(result, "/" + std::string(kNames[c])));
  row.text[kEngine].clear();  // there it is how requests were sent
  for (const Place& place : format.places) {
    if (row.empty(place.column)) row.text[place.column] = text_at(document, result, place);
  }
  if (row.empty(kPromptTokens)) row.text[kPromptTokens] = mean_tokens(result, "/total_input_tokens");
  if (row.empty(kOutputTokens)) row.text[kOutputTokens] = mean_tokens(result, "/total_output_tokens");
  if (row.empty(kDraftTokens)) row.text[kDraftTokens] = tokens_of_a_draft(result);
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (row.empty(static_cast<Column>(c))) row.text[c] = given_text(given, static_cast<Column>(c));
  }
  if (row.empty(kEngine)) row.text[kEngine] = format.engine;
  ServingPoint point = point_of(row, origin, name);
  if (point.drafts) point.drafts->positions = accepted_at_positions(result);
  if (point.clients == 0) point.clients = std::min(point.requests, kMostClients);  // all are sent at once
  return point;
}

std::vector<ServingPoint> read_results(std::string_view text, const std::string& name, const Given& given) {
  const schema::Origin origin(name);
  constexpr const char* kExpected = "expected a result of vllm bench serve --save-result, GuideLLM or AIPerf";
  Json document;
  try {
    document = Json::parse(text);
  } catch (const Json::exception&) {
    throw InputError(origin, fmt::format("is no JSON, {}", kExpected));
  }
  if (!document.is_object()) throw InputError(origin, fmt::format("is no JSON object, {}", kExpected));
  const std::string stem = std::filesystem::path(name).stem().string();
  for (const ResultFormat& format : result_formats()) {
    if (!format.marker.empty() && at(document, format.marker) == nullptr) continue;
    if (format.list.empty()) return {point_of_result(document, document, format, origin, stem, given)};
    std::vector<ServingPoint> points;
    for (const Json& result : document.at(Json::json_pointer(format.list))) {
      const std::string id = fmt::format("{} {}", stem, points.size() + 1);
      points.push_back(point_of_result(document, result, format, origin, id, given));
    }
    return points;
  }
  return {};
}

// Recorded runs.

/// What the meta.json of a recording says, as vLLM calls it.
const ResultFormat& meta_format() {
  static const ResultFormat format{"",
                                   "",
                                   {{kModel, {"/model", "/engine_kwargs/model"}},
                                    {kVersion, {"/vllm_version"}},
                                    {kGpu, {"/hardware/device_name"}},
                                    {kTensor, {"/engine_kwargs/tensor_parallel_size"}},
                                    {kPipeline, {"/engine_kwargs/pipeline_parallel_size"}},
                                    {kPrecision, {"/engine_kwargs/dtype"}}},
                                   {},
                                   "vllm"};
  return format;
}

/// The first setting of an engine that a replay does without, in words; empty where there is none.
std::string not_replayed(const Json& meta) {
  struct Usual {
    const char* pointer;
    Json value;
    const char* otherwise;
  };
  static const std::array<Usual, 12> kUsual{
      {{"/engine_kwargs/quantization", nullptr, "weights that the engine quantised"},
       {"/other/quant_config", nullptr, "weights that the engine quantised"},
       {"/engine_kwargs/speculative_config", nullptr, "speculative decoding"},
       {"/other/speculative_config", nullptr, "speculative decoding"},
       {"/engine_kwargs/kv_transfer_config", nullptr, "KV sent elsewhere"},
       {"/other/kv_transfer_config", nullptr, "KV sent elsewhere"},
       {"/engine_kwargs/data_parallel_size", 1, "data-parallel ranks"},
       {"/engine_kwargs/enable_expert_parallel", false, "expert parallelism"},
       {"/other/enforce_eager", false, "an engine without CUDA graphs"},
       {"/scheduler_config/async_scheduling", true, "synchronous scheduling"},
       {"/scheduler_config/enable_chunked_prefill", true, "whole prompts"},
       {"/scheduler_config/policy", "fcfs", "another order than arrival"}}};
  for (const Usual& usual : kUsual) {
    const Json* value = at(meta, usual.pointer);
    if (value != nullptr && !value->is_null() && *value != usual.value) return usual.otherwise;
  }
  const Json* kv = at(meta, "/engine_kwargs/kv_cache_dtype");
  if (kv == nullptr || !kv->is_string()) return {};
  const auto format = kv->get<std::string>();
  const bool known = format == "auto" || format == "bfloat16" || format == "float16" || format.starts_with("fp8");
  return known ? std::string() : fmt::format("KV in {}", format.substr(0, 40));
}

/// The engine's settings in kvsim's words.
void read_settings(const Json& meta, const schema::Origin& origin, ServingPoint& point) {
  struct Setting {
    const char* pointer;
    const char* change;
  };
  constexpr std::array kSettings{Setting{"/engine_kwargs/max_num_seqs", "schedule.max_requests={}"},
                                 Setting{"/engine_kwargs/max_num_batched_tokens", "schedule.max_batched_tokens={}"},
                                 Setting{"/kv_cache/block_size", "schedule.block_size={} tokens"}};
  const auto count_at = [&](const char* pointer) -> std::optional<std::int64_t> {
    const Json* value = at(meta, pointer);
    if (value == nullptr || value->is_null()) return std::nullopt;
    const bool good = value->is_number_integer() && *value >= 1 && *value <= kMostRequests;
    if (!good) {
      throw InputError(origin, fmt::format("{} is {}, expected a whole number from 1 to {}", pointer,
                                           value->dump().substr(0, 40), kMostRequests));
    }
    return value->get<std::int64_t>();
  };
  for (const Setting& s : kSettings) {
    if (const auto count = count_at(s.pointer)) point.settings.push_back(fmt::format(fmt::runtime(s.change), *count));
  }
  if (const Json* caching = at(meta, "/kv_cache/enable_prefix_caching"); caching != nullptr && *caching == false) {
    point.settings.emplace_back("schedule.preempted=dropped");
  }
  if (const Json* kv = at(meta, "/engine_kwargs/kv_cache_dtype");
      kv != nullptr && kv->is_string() && kv->get<std::string>().starts_with("fp8")) {
    point.settings.emplace_back("model.kv_bytes_per_element=1");
  }
  point.not_replayed = not_replayed(meta);
  // One block is vLLM's own.
  if (const auto blocks = count_at("/kv_cache/num_gpu_blocks"); blocks && *blocks > 1) point.kv_blocks = *blocks - 1;
}

ServingPoint point_of_recording(Recording recording, const std::string& id, const Json& meta,
                                const std::string& meta_at, const Given& given) {
  const schema::Origin origin(recording.path), meta_origin(meta_at);
  Texts row;
  row.fail = [&](Column c, const std::string& message) {
    throw InputError(origin, row.empty(c) ? fmt::format("{}; expected it in meta.json of its folder, or --given {}=...",
                                                        message, kNames[c])
                                          : message);
  };
  for (const Place& place : meta_format().places) row.text[place.column] = text_at(meta, meta, place);
  if (!meta.empty()) row.text[kEngine] = meta_format().engine;
  if (row.text[kPrecision] == "auto") row.text[kPrecision].clear();
  row.text[kPromptTokens] = std::to_string(recording.longest_prompt);
  row.text[kOutputTokens] = std::to_string(recording.longest_output);
  row.text[kRequests] = std::to_string(recording.requests);
  row.text[kOutputRate] = fmt::format("{}", recording.output_tokens_per_s);
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (row.empty(static_cast<Column>(c))) row.text[c] = given_text(given, static_cast<Column>(c));
  }
  ServingPoint point = point_of(row, origin, id);
  point.ttft_s = recording.ttft_s.mean();
  if (!recording.tpot_s.empty()) point.tpot_s = recording.tpot_s.mean();
  if (!meta.empty()) read_settings(meta, meta_origin, point);
  point.recording = std::make_shared<const Recording>(std::move(recording));
  return point;
}

/// A folder, or a file alone.
ServingPoint read_recording(const std::string& path, const Given& given) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const std::string meta_path = path + "/meta.json";
  const bool described = folder && std::filesystem::exists(meta_path, ignored);
  const std::filesystem::path name = std::filesystem::path(path).lexically_normal();
  const std::string id =
      folder ? (name.has_filename() ? name : name.parent_path()).filename().string() : name.stem().string();
  return point_of_recording(folder ? read_recorded_run(path) : read_recorded_requests(path), id,
                            described ? read_recording_meta(meta_path) : Json::object(), meta_path, given);
}

/// Whether a file, or a text of this name, holds a recording.
bool is_recording(LineReader lines, const std::string& name) {
  return name.ends_with(".jsonl") || (lines.next() && is_recording_header(lines.line()));
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
  if (path.ends_with(".json")) return read_results(contents_of(path), path, given);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored) ||
      is_recording(LineReader::open(path, "serving points in CSV"), path)) {
    return {read_recording(path, given)};
  }
  return read_csv(LineReader::open(path, "serving points in CSV"), given);
}

void tell_recordings_apart(std::vector<ServingPoint>& points) {
  std::map<std::string, int> times;
  for (const ServingPoint& p : points) times[p.id] += p.recording ? 1 : 0;
  for (ServingPoint& p : points) {
    if (p.recording && times[p.id] > 1) p.id = p.recording->path;
  }
}

std::vector<ServingPoint> read_points_text(std::string_view text, const std::string& name, const Given& given) {
  if (name.ends_with(".json")) return read_results(text, name, given);
  if (is_recording(LineReader::from_text(name, text), name)) {
    return {point_of_recording(read_recorded_requests_text(text, name), name, Json::object(), {}, given)};
  }
  return read_csv(LineReader::from_text(name, text), given);
}

}  // namespace kvsim::planner::backtest
