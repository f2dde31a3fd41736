// One measured serving point as text by column, whatever kind of file it is from. Internal to what reads such files.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "planner/backtest/serving_point.h"

namespace kvsim::planner::backtest {

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

/// Names of the columns in files (AIConfigurator's names).
extern const std::array<std::string_view, kColumns> kNames;
/// Columns that a point cannot do without.
constexpr std::array kNeeded{kModel, kGpu, kPromptTokens, kOutputTokens};

constexpr std::int64_t kMostClients = 1'000'000;
constexpr std::int64_t kMostRequests = 100'000'000;

/// The columns of one point as text, and who complains about one of them.
struct Texts {
  std::array<std::string, kColumns> text;
  std::function<void(Column column, const std::string& message)> fail;  ///< throws

  [[nodiscard]] bool empty(Column c) const { return text[c].empty(); }
  /// Adds what was given on the command line to columns that are empty.
  void complete(const Given& given);
  [[nodiscard]] std::int64_t whole(Column c, std::int64_t least, std::int64_t most, std::int64_t without) const;
  [[nodiscard]] std::optional<double> positive(Column c) const;
};

/// The text of a column as given on the command line; empty where it was not.
std::string given_text(const Given& given, Column c);

/// The point of a row; `nameless` is its name where it has none.
ServingPoint point_of(const Texts& row, schema::Origin origin, const std::string& nameless);

using Json = nlohmann::json;

/// Where a column is, as JSON pointers, the first that is there; those that begin with # are of the whole document.
struct Place {
  Column column;
  std::vector<std::string> pointers;
  bool whole = false;  ///< a mean or a count: rounded to whole numbers
};

/// The value at a JSON pointer; null where there is none.
const Json* at(const Json& document, const std::string& pointer);

/// A value as a CSV file would have it; lists and objects are none.
std::string text_of(const Json* value);

/// The text of a column of `result`, which is a part of `document`.
std::string text_at(const Json& document, const Json& result, const Place& place);

/// A number in whole ones; empty where it is none.
std::string rounded(double number);

/// The points of a result of a load generator: vllm bench serve --save-result, GuideLLM, AIPerf. `name` is the file's.
std::vector<ServingPoint> read_results(std::string_view text, const std::string& name, const Given& given);

}  // namespace kvsim::planner::backtest
