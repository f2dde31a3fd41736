// A line of text that is to be one JSON object, read on demand: what the readers of JSON lines share. Every complaint
// names file, line and column. For their sources only: it brings simdjson along.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "models/workload/jsonl_trace.h"
#include "models/workload/line_reader.h"

namespace kvsim::models {

class JsonLine {
 public:
  /// `what` the line is ("request") and what it should consist of ("timestamp, ..."), for complaints; both outlive
  /// this.
  JsonLine(const LineReader& lines, std::string_view what, std::string_view shape)
      : lines_(lines), what_(what), shape_(shape) {}

  /// Calls `each` with every member (simdjson::ondemand::field&) of the reader's current line, in order.
  template <class Each>
  void each_member(simdjson::ondemand::parser& parser, Each&& each) {
    const std::string_view text = lines_.line();
    if (parser.iterate(text.data(), text.size(), lines_.readable_bytes()).get(document_) != simdjson::SUCCESS) {
      malformed(text.size());
    }
    simdjson::ondemand::object object;
    if (const auto error = document_.get_object().get(object); error != simdjson::SUCCESS) {
      malformed(error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT ? text.size() : 0);
    }
    for (auto member : object) {
      simdjson::ondemand::field field;
      if (std::move(member).get(field) != simdjson::SUCCESS) malformed_here();
      each(field);
    }
    const char* rest = nullptr;
    if (document_.current_location().get(rest) == simdjson::SUCCESS) {  // an error where nothing more comes
      fail(byte_of(rest), fmt::format("there is more after the JSON object, expected one {} a line", what_));
    }
  }

  /// Calls `each` with every item (simdjson::ondemand::value) of a list in that line.
  template <class Each>
  void each_item(simdjson::ondemand::array& list, Each&& each) {
    for (auto element : list) {
      simdjson::ondemand::value item;
      if (element.get(item) != simdjson::SUCCESS) malformed_here();
      each(item);
    }
  }

  [[nodiscard]] std::size_t byte_of(const char* where) const {
    return std::min(static_cast<std::size_t>(where - lines_.line().data()), lines_.line().size());
  }

  [[noreturn]] void fail(std::size_t byte, const std::string& message) const { lines_.fail(byte, message); }

  [[noreturn]] void wrong(std::string_view name, std::string_view token, std::string_view expected) const {
    fail(byte_of(token.data()), fmt::format("{} is {}, expected {}", name, shown_json(token), expected));
  }

  /// Where the parser stopped, or the end of the line.
  [[noreturn]] void malformed_here() {
    const char* where = nullptr;
    malformed(document_.current_location().get(where) == simdjson::SUCCESS ? byte_of(where) : lines_.line().size());
  }

 private:
  [[noreturn]] void malformed(std::size_t byte) const {
    fail(byte, fmt::format("the line is not a complete JSON object, expected one {} with {}", what_, shape_));
  }

  const LineReader& lines_;
  std::string_view what_;
  std::string_view shape_;
  simdjson::ondemand::document document_;
};

}  // namespace kvsim::models
