#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "models/reuse/importance_signal.h"
#include "models/schema/spelling.h"
#include "models/workload/json_line.h"
#include "models/workload/line_reader.h"

namespace kvsim::models {
namespace {

namespace json = simdjson::ondemand;

/// A prompt of a million tokens with its offsets is a line of about 50 MB.
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20U;
constexpr std::string_view kExpected =
    "JSON lines: importance and, where the models' tokens differ, offsets and "
    "target_offsets";

/// One line being parsed.
class PromptParser {
 public:
  explicit PromptParser(const LineReader& lines) : line_(lines, "prompt", "importance") {}

  ScoredPrompt parse(json::parser& parser) {
    line_.each_member(parser, [this](json::field& field) { read_member(field); });
    check();
    return std::move(prompt_);
  }

 private:
  enum Key : std::size_t { importance, offsets, target_offsets, unknown };

  void read_member(json::field& field) {
    std::string_view name;
    const std::size_t key_byte = line_.byte_of(field.key().raw() - 1);  // of its quote
    if (field.unescaped_key().get(name) != simdjson::SUCCESS) line_.malformed_here();
    const auto key = static_cast<std::size_t>(std::find(kKeys.begin(), kKeys.end(), name) - kKeys.begin());
    if (key == unknown) {
      line_.fail(key_byte,
                 fmt::format("\"{}\" is no key of a prompt{}", name.substr(0, 40), schema::suggest(name, kKeys)));
    }
    json::value value = field.value();
    const std::string_view token = value.raw_json_token();
    if (seen_[key]) line_.fail(key_byte, fmt::format("{} is there twice, expected it once", kKeys[key]));
    seen_[key] = true;
    byte_[key] = line_.byte_of(token.data());
    switch (key) {
      case importance:
        return read_importance(value, token);
      case offsets:
        return read_ranges(value, token, kKeys[key], prompt_.offsets);
      default:
        return read_ranges(value, token, kKeys[key], prompt_.target);
    }
  }

  void read_importance(json::value value, std::string_view token) {
    json::array numbers;
    if (value.get_array().get(numbers) != simdjson::SUCCESS) {
      line_.wrong("importance", token, "a list of numbers, one a token");
    }
    line_.each_item(numbers, [this](json::value item) {
      const std::string_view item_token = item.raw_json_token();
      double number = 0;
      const bool read = item.get_double().get(number) == simdjson::SUCCESS;
      if (!read || !(number >= 0 && number <= double{std::numeric_limits<float>::max()})) {
        line_.wrong(fmt::format("importance[{}]", prompt_.importance.size()), item_token, "a finite number, 0 or more");
      }
      prompt_.importance.push_back(static_cast<float>(number));
    });
  }

  void read_ranges(json::value value, std::string_view token, std::string_view name,
                   std::vector<CharacterRange>& ranges) {
    json::array list;
    if (value.get_array().get(list) != simdjson::SUCCESS) {
      line_.wrong(name, token, "a list of ranges of characters, one a token");
    }
    line_.each_item(list, [&](json::value item) { ranges.push_back(range_of(item, name, ranges.size())); });
  }

  CharacterRange range_of(json::value value, std::string_view list, std::size_t index) {
    constexpr std::uint64_t last_character = std::numeric_limits<std::uint32_t>::max();
    constexpr std::string_view expected = "the two ends of a range of characters";
    const std::string_view token = value.raw_json_token();
    json::array ends;
    if (value.get_array().get(ends) != simdjson::SUCCESS)
      line_.wrong(fmt::format("{}[{}]", list, index), token, expected);
    std::array<std::uint32_t, 2> bounds{};
    std::size_t count = 0;
    line_.each_item(ends, [&](json::value item) {
      const std::string_view item_token = item.raw_json_token();
      std::uint64_t character = 0;
      if (item.get_uint64().get(character) != simdjson::SUCCESS || character > last_character) {
        line_.wrong(fmt::format("a character of {}[{}]", list, index), item_token,
                    fmt::format("a whole number, 0 to {}", last_character));
      }
      if (count < bounds.size()) bounds[count] = static_cast<std::uint32_t>(character);
      ++count;
    });
    if (count != bounds.size()) {
      line_.fail(line_.byte_of(token.data()),
                 fmt::format("{}[{}] has {} numbers, expected {}", list, index, count, expected));
    }
    return {bounds[0], bounds[1]};
  }

  void check() const {
    if (!seen_[importance]) line_.fail(0, fmt::format("importance is missing, expected {}", kExpected));
    const std::size_t tokens = prompt_.importance.size();
    if (tokens == 0) line_.fail(byte_[importance], "importance is empty, expected a number for every token");
    if (seen_[offsets] != seen_[target_offsets]) {
      const Key there = seen_[offsets] ? offsets : target_offsets;
      const Key missing = seen_[offsets] ? target_offsets : offsets;
      line_.fail(byte_[there],
                 fmt::format("{} is there without {}, expected both or neither", kKeys[there], kKeys[missing]));
    }
    if (!seen_[offsets]) return;
    if (prompt_.offsets.size() != tokens) {
      line_.fail(byte_[importance], fmt::format("scores of the wrong length: importance has {} numbers, offsets has "
                                                "{} ranges, expected one of each a token",
                                                tokens, prompt_.offsets.size()));
    }
    if (prompt_.target.empty()) {
      line_.fail(byte_[target_offsets], "target_offsets is empty, expected a range for every token");
    }
    check_order(offsets, prompt_.offsets);
    check_order(target_offsets, prompt_.target);
    const std::uint32_t end = prompt_.offsets.back().end, target_end = prompt_.target.back().end;
    if (end != target_end) {
      line_.fail(byte_[target_offsets],
                 fmt::format("target_offsets end at character {}, offsets at {}: expected both to cover the same text",
                             target_end, end));
    }
  }

  void check_order(Key key, const std::vector<CharacterRange>& ranges) const {
    const std::string problem = problem_with_offsets(ranges);
    if (!problem.empty()) line_.fail(byte_[key], fmt::format("{}: {}", kKeys[key], problem));
  }

  static const std::array<std::string, 3> kKeys;

  JsonLine line_;
  ScoredPrompt prompt_;
  std::array<bool, 3> seen_{};
  std::array<std::size_t, 3> byte_{};  ///< where each value starts in the line
};

const std::array<std::string, 3> PromptParser::kKeys{"importance", "offsets", "target_offsets"};

std::vector<ScoredPrompt> prompts_of(LineReader lines) {
  lines.set_line_limit(kMaxLineBytes);
  json::parser parser;
  std::vector<ScoredPrompt> prompts;
  while (lines.next()) prompts.push_back(PromptParser(lines).parse(parser));
  if (prompts.empty()) lines.fail_file(fmt::format("has no prompts, expected {}", kExpected));
  return prompts;
}

}  // namespace

std::vector<ScoredPrompt> read_scored_prompts(const std::string& path) {
  return prompts_of(LineReader::open(path, fmt::format("scored prompts ({})", kExpected)));
}

std::vector<ScoredPrompt> scored_prompts_from_text(const std::string& name, std::string_view text) {
  return prompts_of(LineReader::from_text(name, text));
}

}  // namespace kvsim::models
