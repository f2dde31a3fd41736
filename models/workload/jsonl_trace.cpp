#include "models/workload/jsonl_trace.h"

#include <array>

#include "models/workload/flat_table.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

namespace json = simdjson::ondemand;

/// One line being parsed.
class LineParser {
 public:
  LineParser(const LineReader& lines, const JsonlNames& names, JsonlRequest& request)
      : names_(names), request_(request), line_(lines, "request", names.shape) {}

  void parse(json::parser& parser) {
    line_.each_member(parser, [this](json::field& field) { read_member(field); });
    for (std::size_t k = 0; k < kNeeded; ++k) {
      if (!seen_[k] && !keys_[k].empty()) {
        line_.fail(0, fmt::format("{} is missing, expected {}", keys_[k], names_.shape));
      }
    }
  }

 private:
  void read_member(json::field& field) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) line_.malformed_here();
    const std::size_t which = static_cast<std::size_t>(std::find(keys_.begin(), keys_.end(), key) - keys_.begin());
    if (which == keys_.size() || key.empty()) return;  // of no interest here
    json::value value = field.value();
    const std::string_view token = value.raw_json_token();
    const std::size_t byte = line_.byte_of(token.data());
    if (seen_[which]) line_.fail(byte, fmt::format("{} is there twice, expected it once", keys_[which]));
    seen_[which] = true;
    switch (which) {
      case 0:
        request_.timestamp_byte = byte;
        if (value.get_double().get(request_.timestamp) == simdjson::SUCCESS) return;
        return line_.wrong(keys_[which], token, fmt::format("a number, {}", names_.time));
      case 1:
        request_.input_byte = byte;
        if (value.get_int64().get(request_.input_length) == simdjson::SUCCESS) return;
        return line_.wrong(keys_[which], token, "a whole number of tokens");
      case 2:
        request_.output_byte = byte;
        if (value.get_int64().get(request_.output_length) == simdjson::SUCCESS) return;
        return line_.wrong(keys_[which], token, "a whole number of tokens");
      case 3:
        request_.hash_ids_byte = byte;
        return line_.read_blocks(keys_[which], value, request_.hash_ids);
      default:
        if (which == 5) request_.parent_byte = byte;
        std::int64_t number = 0;
        if (value.get_int64().get(number) != simdjson::SUCCESS) line_.wrong(keys_[which], token, "a whole number");
        (which == 4 ? request_.chat : which == 5 ? request_.parent : request_.turn) = number;
    }
  }

  const JsonlNames& names_;
  JsonlRequest& request_;
  JsonLine line_;
  static constexpr std::size_t kNeeded = 4;
  std::array<std::string_view, 7> keys_{names_.timestamp, names_.input,  names_.output, names_.hash_ids,
                                        names_.chat,      names_.parent, names_.turn};
  std::array<bool, 7> seen_{};
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
  request_.chat = request_.parent = request_.turn = std::nullopt;
  LineParser(lines_, names_, request_).parse(parser_->json);
  return &request_;
}

}  // namespace kvsim::models
