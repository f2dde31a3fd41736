// Traces of one JSON object a line: an arrival time, two lengths and, in some formats, the prompt's block hashes.
// Internal to the readers.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/workload/line_reader.h"

namespace kvsim::models {

/// A value's JSON as it stands in a message: short ones in full, objects and lists by their kind.
std::string shown_json(std::string_view token);

/// Names that a format gives the members of a request; all of them must be there but the last three.
struct JsonlNames {
  std::string_view timestamp = "timestamp";
  std::string_view input = "input_length";
  std::string_view output = "output_length";
  std::string_view hash_ids = "hash_ids";                                          ///< empty: the format has none
  std::string_view chat = "";                                                      ///< the same
  std::string_view parent = "";                                                    ///< the same
  std::string_view turn = "";                                                      ///< the same
  std::string_view shape = "timestamp, input_length, output_length and hash_ids";  ///< for messages
  std::string_view time = "the time since the start";                              ///< for messages
};

struct JsonlRequest {
  double timestamp = 0;  ///< in the format's unit
  std::int64_t input_length = 0;
  std::int64_t output_length = 0;
  std::vector<std::uint64_t> hash_ids;
  std::optional<std::int64_t> chat, parent, turn;
  std::size_t parent_byte = 0;
  std::size_t timestamp_byte = 0;  ///< where each value starts in the line
  std::size_t input_byte = 0;
  std::size_t output_byte = 0;
  std::size_t hash_ids_byte = 0;
};

/// Parses lines into requests; other keys of an object are skipped.
class JsonlParser {
 public:
  explicit JsonlParser(LineReader& lines, const JsonlNames& names = {});
  ~JsonlParser();
  JsonlParser(const JsonlParser&) = delete;
  JsonlParser& operator=(const JsonlParser&) = delete;

  /// The next line's request, valid until the next call; null at the end. Throws schema::InputError where the line is
  /// no object of that shape.
  JsonlRequest* next();

 private:
  struct Parser;
  LineReader& lines_;
  JsonlNames names_;
  std::unique_ptr<Parser> parser_;
  JsonlRequest request_;
};

// A line of text that is to be one JSON object, read on demand: what the readers of JSON lines share. Every complaint
// names file, line and column. For their sources only: it brings simdjson along.

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

  /// The list of block numbers that the member `name` is.
  void read_blocks(std::string_view name, simdjson::ondemand::value value, std::vector<std::uint64_t>& blocks) {
    const std::string_view token = value.raw_json_token();
    simdjson::ondemand::array list;
    if (value.get_array().get(list) != simdjson::SUCCESS) wrong(name, token, "a list of block numbers");
    blocks.clear();
    each_item(list, [&](simdjson::ondemand::value item) {
      const std::string_view item_token = item.raw_json_token();
      std::uint64_t block = 0;
      if (item.get_uint64().get(block) != simdjson::SUCCESS) {
        wrong(fmt::format("an entry of {}", name), item_token, "a whole number, 0 or more");
      }
      blocks.push_back(block);
    });
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
