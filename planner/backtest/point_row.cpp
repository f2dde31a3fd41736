#include "planner/backtest/point_row.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/schema/text_number.h"

namespace kvsim::planner::backtest {

const std::array<std::string_view, kColumns> kNames{"id",
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

namespace {

constexpr std::int64_t kMostTokens = 10'000'000;
constexpr std::int64_t kMostGpus = 1024;
constexpr std::int64_t kMostDrafted = 64;
constexpr double kLargest = 1e12;

std::string shown(const std::string& text) {
  constexpr std::size_t kMost = 40;
  return text.substr(0, kMost);
}

}  // namespace

void Texts::complete(const Given& given) {
  for (std::size_t c = 0; c < kColumns; ++c) {
    if (text[c].empty()) text[c] = given_text(given, static_cast<Column>(c));
  }
}

std::int64_t Texts::whole(Column c, std::int64_t least, std::int64_t most, std::int64_t without) const {
  if (empty(c)) return without;
  const auto value = schema::number_from<std::int64_t>(text[c]);
  if (!value || *value < least || *value > most) {
    fail(c, fmt::format("{} is \"{}\", expected a whole number from {} to {}", kNames[c], shown(text[c]), least, most));
  }
  return *value;
}

std::optional<double> Texts::positive(Column c) const {
  if (empty(c)) return std::nullopt;
  const auto value = schema::number_from<double>(text[c]);
  if (!value || !(*value > 0) || *value > kLargest) {
    fail(c, fmt::format("{} is \"{}\", expected a number above 0", kNames[c], shown(text[c])));
  }
  return value;
}

namespace {

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

/// GPUs that share something; files write 0, or nothing, where they do not.
std::int64_t gpus(const Texts& row, Column c) {
  return std::max<std::int64_t>(1, row.whole(c, 0, kMostGpus, 1));
}

}  // namespace

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
  p.tensor = gpus(row, kTensor);
  p.pipeline = gpus(row, kPipeline);
  p.attention_data = gpus(row, kAttentionData);
  p.expert_tensor = gpus(row, kExpertTensor);
  p.expert = gpus(row, kExpert);
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

}  // namespace kvsim::planner::backtest
