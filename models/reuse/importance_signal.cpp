#include "models/reuse/importance_signal.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "models/workload/jsonl_trace.h"
#include "models/workload/line_reader.h"

namespace kvsim::models {
namespace {

bool is_empty(CharacterRange range) {
  return range.begin == range.end;
}

std::string shown(std::size_t token, CharacterRange range) {
  return fmt::format("token {} is [{}, {})", token, range.begin, range.end);
}

}  // namespace

std::string problem_with_offsets(std::span<const CharacterRange> offsets) {
  std::size_t last = offsets.size();  // the last token with characters; none yet
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const CharacterRange range = offsets[i];
    if (range.end < range.begin) {
      return shown(i, range) + ", expected an end that is not before the beginning";
    }
    if (i > 0 && range.begin < offsets[i - 1].begin) {
      return shown(i, range) + " and " + shown(i - 1, offsets[i - 1]) + ", expected tokens in the order of the text";
    }
    if (is_empty(range)) continue;
    if (last < i && range.begin < offsets[last].end && (range != offsets[last] || range.end - range.begin != 1)) {
      return shown(i, range) + " and " + shown(last, offsets[last]) +
             ", expected tokens that share no character, or are parts of the same one";
    }
    last = i;
  }
  return {};
}

void check_offsets(std::span<const CharacterRange> offsets, const char* whose) {
  if (const std::string problem = problem_with_offsets(offsets); !problem.empty()) {
    throw schema::InputError(fmt::format("{}: {}", whose, problem));
  }
}

std::vector<std::uint32_t> aligned_tokens(std::span<const std::uint32_t> selected, std::span<const CharacterRange> from,
                                          std::span<const CharacterRange> to) {
  std::vector<std::uint32_t> aligned;
  aligned.reserve(selected.size());
  std::size_t next = 0;  // tokens of `to` before it are aligned, or before all that comes
  for (std::size_t i = 0; i < selected.size(); ++i) {
    const std::uint32_t token = selected[i];
    if (token >= from.size()) {
      throw schema::InputError(fmt::format("token {} is selected, expected one of {} tokens", token, from.size()));
    }
    if (i > 0 && token <= selected[i - 1]) {
      throw schema::InputError(
          fmt::format("token {} is selected after token {}, expected them in ascending order", token, selected[i - 1]));
    }
    const CharacterRange range = from[token];
    if (is_empty(range)) continue;
    for (; next < to.size() && to[next].begin < range.end; ++next) {
      if (to[next].end > range.begin && !is_empty(to[next])) aligned.push_back(static_cast<std::uint32_t>(next));
    }
  }
  return aligned;
}

namespace {

void check(const ImportanceShape& shape) {
  if (!(shape.correlation >= 0 && shape.correlation < 1)) {
    throw schema::InputError(fmt::format("correlation is {}, expected at least 0, below 1", shape.correlation));
  }
  if (!(shape.cv > 0 && shape.cv <= 100)) {
    throw schema::InputError(fmt::format("cv is {}, expected above 0, at most 100", shape.cv));
  }
}

}  // namespace

std::vector<float> generated_importance(std::int64_t tokens, const ImportanceShape& shape, RandomSource& random) {
  check(shape);
  // ln I = sigma x - sigma^2 / 2 with x ~ N(0, 1) has E[I] = 1 and cv^2 = exp(sigma^2) - 1; x' = c x + sqrt(1 - c^2) z
  // is N(0, 1) again.
  const double variance = std::log1p(shape.cv * shape.cv);
  const double sigma = std::sqrt(variance);
  const double innovation = std::sqrt(1 - shape.correlation * shape.correlation);
  std::vector<float> importance(static_cast<std::size_t>(std::max<std::int64_t>(tokens, 0)));
  double x = 0;
  for (std::size_t i = 0; i < importance.size(); ++i) {
    const double z = random.normal();
    x = i == 0 ? z : shape.correlation * x + innovation * z;
    importance[i] = static_cast<float>(std::exp(sigma * x - variance / 2));
  }
  return importance;
}

std::vector<CharacterRange> generated_offsets(std::int64_t characters, double mean, RandomSource& random) {
  constexpr std::int64_t longest_text = std::numeric_limits<std::uint32_t>::max();
  if (characters < 0 || characters > longest_text) {
    throw schema::InputError(fmt::format("a text has {} characters, expected 0 to {}", characters, longest_text));
  }
  if (!(mean >= 1 && mean <= static_cast<double>(longest_text))) {
    throw schema::InputError(
        fmt::format("a token has {} characters in the mean, expected 1 to {}", mean, longest_text));
  }
  std::vector<CharacterRange> offsets;
  offsets.reserve(static_cast<std::size_t>(1.1 * static_cast<double>(characters) / mean) + 16);
  // P(length > k) = (1 - 1/mean)^k: of u uniform on (0, 1), length = 1 + floor(ln u / ln(1 - 1/mean)).
  const double scale = mean > 1 ? 1 / std::log1p(-1 / mean) : 0;
  const auto end = static_cast<std::uint32_t>(characters);
  for (std::uint32_t begin = 0; begin < end;) {
    const double further = std::floor(std::log(random.uniform_open()) * scale);
    const std::uint32_t left = end - begin;
    const std::uint32_t length = further < static_cast<double>(left) ? 1 + static_cast<std::uint32_t>(further) : left;
    offsets.push_back({begin, begin + length});
    begin = offsets.back().end;
  }
  return offsets;
}

namespace {

namespace json = simdjson::ondemand;

/// A prompt of a million tokens with its offsets is a line of about 50 MB.
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20U;
constexpr std::string_view kExpectedPrompts =
    "JSON lines: importance and, where the models' tokens differ, offsets and target_offsets";

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
    if (!seen_[importance]) line_.fail(0, fmt::format("importance is missing, expected {}", kExpectedPrompts));
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
  if (prompts.empty()) lines.fail_file(fmt::format("has no prompts, expected {}", kExpectedPrompts));
  return prompts;
}

}  // namespace

std::vector<ScoredPrompt> read_scored_prompts(const std::string& path) {
  return prompts_of(LineReader::open(path, fmt::format("scored prompts ({})", kExpectedPrompts)));
}

std::vector<ScoredPrompt> scored_prompts_from_text(const std::string& name, std::string_view text) {
  return prompts_of(LineReader::from_text(name, text));
}

}  // namespace kvsim::models
