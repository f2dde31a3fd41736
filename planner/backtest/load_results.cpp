// Results that load generators save.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "planner/backtest/point_row.h"

namespace kvsim::planner::backtest {
namespace {

using schema::InputError;

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

/// A mean length of all requests, in whole tokens.
std::string mean_tokens(const Json& document, const char* total) {
  const Json *sum = at(document, total), *count = at(document, "/completed");
  if (sum == nullptr || count == nullptr || !sum->is_number() || !count->is_number()) return {};
  return rounded(sum->get<double>() / count->get<double>());
}

/// Tokens of a draft, where the file counts drafts and their tokens.
std::string tokens_of_a_draft(const Json& result) {
  const Json *tokens = at(result, "/spec_decode_draft_tokens"), *drafts = at(result, "/spec_decode_num_drafts");
  if (tokens == nullptr || drafts == nullptr || !tokens->is_number() || !drafts->is_number()) return {};
  if (!(drafts->get<double>() > 0)) return {};
  return rounded(tokens->get<double>() / drafts->get<double>());
}

/// Returns the share of drafts accepted at each position; empty where the file does not say it.
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
  row.complete(given);
  if (row.empty(kEngine)) row.text[kEngine] = format.engine;
  ServingPoint point = point_of(row, origin, name);
  if (point.drafts) point.drafts->positions = accepted_at_positions(result);
  if (point.clients == 0) point.clients = std::min(point.requests, kMostClients);  // all are sent at once
  return point;
}

}  // namespace

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

}  // namespace kvsim::planner::backtest
