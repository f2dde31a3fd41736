#include "models/workload/jsonl_trace.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace kvsim::models {
namespace {

namespace json = simdjson::ondemand;

/// One line being parsed.
class LineParser {
 public:
  LineParser(const LineReader& lines, const JsonlNames& names, JsonlRequest& request)
      : lines_(lines), names_(names), request_(request) {}

  void parse(json::parser& parser) {
    const std::string_view text = lines_.line();
    if (parser.iterate(text.data(), text.size(), lines_.readable_bytes()).get(document_) != simdjson::SUCCESS) {
      malformed(text.size());
    }
    json::object object;
    if (const auto error = document_.get_object().get(object); error != simdjson::SUCCESS) {
      malformed(error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT ? text.size() : 0);
    }
    for (auto member : object) {
      json::field field;
      if (std::move(member).get(field) != simdjson::SUCCESS) malformed_here();
      read_member(field);
    }
    const char* rest = nullptr;
    if (document_.current_location().get(rest) == simdjson::SUCCESS) {  // an error where nothing more comes
      lines_.fail(byte_of(rest), "there is more after the JSON object, expected one request a line");
    }
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      if (!seen_[k] && !keys_[k].empty()) {
        lines_.fail(0, fmt::format("{} is missing, expected {}", keys_[k], names_.shape));
      }
    }
  }

 private:
  void read_member(json::field& field) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) malformed_here();
    const std::size_t which = static_cast<std::size_t>(std::find(keys_.begin(), keys_.end(), key) - keys_.begin());
    if (which == keys_.size() || key.empty()) return;  // of no interest here
    json::value value = field.value();
    const std::string_view token = value.raw_json_token();
    const std::size_t byte = byte_of(token.data());
    if (seen_[which]) lines_.fail(byte, fmt::format("{} is there twice, expected it once", keys_[which]));
    seen_[which] = true;
    switch (which) {
      case 0:
        request_.timestamp_byte = byte;
        if (value.get_double().get(request_.timestamp) == simdjson::SUCCESS) return;
        return wrong_type(keys_[which], token, fmt::format("a number, {}", names_.time));
      case 1:
        request_.input_byte = byte;
        if (value.get_int64().get(request_.input_length) == simdjson::SUCCESS) return;
        return wrong_type(keys_[which], token, "a whole number of tokens");
      case 2:
        request_.output_byte = byte;
        if (value.get_int64().get(request_.output_length) == simdjson::SUCCESS) return;
        return wrong_type(keys_[which], token, "a whole number of tokens");
      default:
        request_.hash_ids_byte = byte;
        read_hash_ids(value, token);
    }
  }

  void read_hash_ids(json::value value, std::string_view token) {
    json::array list;
    if (value.get_array().get(list) != simdjson::SUCCESS) wrong_type("hash_ids", token, "a list of block numbers");
    request_.hash_ids.clear();
    for (auto element : list) {
      json::value item;
      if (element.get(item) != simdjson::SUCCESS) malformed_here();
      const std::string_view item_token = item.raw_json_token();
      std::uint64_t id = 0;
      if (item.get_uint64().get(id) != simdjson::SUCCESS) {
        wrong_type("an entry of hash_ids", item_token, "a whole number, 0 or more");
      }
      request_.hash_ids.push_back(id);
    }
  }

  [[nodiscard]] std::size_t byte_of(const char* where) const {
    return std::min(static_cast<std::size_t>(where - lines_.line().data()), lines_.line().size());
  }

  [[noreturn]] void wrong_type(std::string_view name, std::string_view token, std::string_view expected) const {
    lines_.fail(byte_of(token.data()), fmt::format("{} is {}, expected {}", name, shown_json(token), expected));
  }

  [[noreturn]] void malformed(std::size_t byte) const {
    lines_.fail(byte,
                fmt::format("the line is not a complete JSON object, expected one request with {}", names_.shape));
  }

  /// Where the parser stopped, or the end of the line.
  [[noreturn]] void malformed_here() {
    const char* where = nullptr;
    malformed(document_.current_location().get(where) == simdjson::SUCCESS ? byte_of(where) : lines_.line().size());
  }

  const LineReader& lines_;
  const JsonlNames& names_;
  JsonlRequest& request_;
  json::document document_;
  std::array<std::string_view, 4> keys_{names_.timestamp, names_.input, names_.output, names_.hash_ids};
  std::array<bool, 4> seen_{};
};

}  // namespace

std::string shown_json(std::string_view token) {
  while (!token.empty() && (token.back() == ' ' || token.back() == '\t')) token.remove_suffix(1);
  if (!token.empty() && token.front() == '{') return "an object";
  if (!token.empty() && token.front() == '[') return "a list";
  return std::string(token.substr(0, 40));
}

struct JsonlParser::Parser {
  json::parser json;
};

JsonlParser::JsonlParser(LineReader& lines, const JsonlNames& names)
    : lines_(lines), names_(names), parser_(std::make_unique<Parser>()) {}
JsonlParser::~JsonlParser() = default;

JsonlRequest* JsonlParser::next() {
  if (!lines_.next()) return nullptr;
  LineParser(lines_, names_, request_).parse(parser_->json);
  return &request_;
}

}  // namespace kvsim::models
