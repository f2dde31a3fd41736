#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/schema/error.h"
#include "planner/sweep/journal.h"

namespace kvsim::planner::sweep {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    throw schema::InputError(schema::Origin(path), "there is no such file, expected the journal of a sweep");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw schema::InputError(schema::Origin(path), "cannot be read");
  return text;
}

/// Throws std::exception for what is no such line.
PointResult to_point(std::string_view line) {
  const Json json = Json::parse(line);
  PointResult result;
  result.point = json.at("index");
  if (json.at("status") == "done") {
    result.result = json.at("result").dump();
    json.at("assumptions").get_to(result.assumptions);
    json.at("fallbacks").get_to(result.fallbacks);
  } else {
    result.reason = json.at("reason");
    if (result.reason.empty()) throw std::invalid_argument("no reason");
  }
  return result;
}

}  // namespace

std::optional<JournalContents> read_journal(const std::string& path) {
  const std::string text = text_of(path);
  std::optional<JournalContents> contents;
  std::vector<bool> seen;
  int line_number = 0;
  for (std::size_t begin = 0, end = text.find('\n'); end != std::string::npos;
       begin = end + 1, end = text.find('\n', begin)) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const schema::Origin origin = schema::Origin(path).at(++line_number, 1);
    if (!contents) {
      try {
        contents.emplace();
        contents->plan = to_plan(line);
      } catch (const std::exception&) {
        throw schema::InputError(origin, "not the first line of a sweep's journal");
      }
      seen.resize(contents->plan.design.size());
    } else {
      PointResult result;
      try {
        result = to_point(line);
      } catch (const std::exception&) {
        throw schema::InputError(origin, "not a line of a sweep's journal");
      }
      if (result.point >= seen.size() || !contents->plan.shard.holds(result.point)) {
        throw schema::InputError(origin, fmt::format("point {} is none of this sweep's", result.point));
      }
      if (seen[result.point]) throw schema::InputError(origin, fmt::format("point {} is there twice", result.point));
      seen[result.point] = true;
      contents->points.push_back(std::move(result));
    }
    contents->bytes = end + 1;
  }
  return contents;
}

}  // namespace kvsim::planner::sweep
