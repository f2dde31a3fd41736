#include "planner/backtest/serving_points.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "models/schema/spelling.h"
#include "models/workload/csv_table.h"
#include "planner/backtest/point_row.h"

namespace kvsim::planner::backtest {
namespace {

using models::CsvTable;
using models::LineReader;
using schema::InputError;

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
    for (std::size_t c = 0; c < kColumns; ++c) row.text[c] = table.field(c).text;
    row.complete(given);
    points.push_back(
        point_of(row, lines.source().at(lines.line_number(), 1), fmt::format("line {}", lines.line_number())));
  }
  if (points.empty()) lines.fail_file("has a header and no rows, expected a row a point");
  return points;
}

constexpr const char* kRecordedEngine = "vllm";

/// Places of columns in the meta.json of a recording, as vLLM calls them.
const std::vector<Place>& meta_places() {
  static const std::vector<Place> places{{kModel, {"/model", "/engine_kwargs/model"}},
                                         {kVersion, {"/vllm_version"}},
                                         {kGpu, {"/hardware/device_name"}},
                                         {kTensor, {"/engine_kwargs/tensor_parallel_size"}},
                                         {kPipeline, {"/engine_kwargs/pipeline_parallel_size"}},
                                         {kPrecision, {"/engine_kwargs/dtype"}}};
  return places;
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
  for (const Place& place : meta_places()) row.text[place.column] = text_at(meta, meta, place);
  if (!meta.empty()) row.text[kEngine] = kRecordedEngine;
  if (row.text[kPrecision] == "auto") row.text[kPrecision].clear();
  row.text[kPromptTokens] = std::to_string(recording.longest_prompt);
  row.text[kOutputTokens] = std::to_string(recording.longest_output);
  row.text[kRequests] = std::to_string(recording.requests);
  row.text[kOutputRate] = fmt::format("{}", recording.output_tokens_per_s);
  row.complete(given);
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
