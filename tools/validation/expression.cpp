#include "tools/validation/expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "models/schema/spelling.h"

namespace kvsim::validation {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

/// Reading calls itself for what is in brackets: text from a file must not exhaust the stack.
void refuse_deep(std::string_view text, char open, char close) {
  constexpr int kDeepest = 32;
  int depth = 0;
  for (const char c : text) {
    if (c == open) ++depth;
    if (c == close && depth > 0) --depth;
    if (depth > kDeepest) throw ExpressionError(fmt::format("{} is in itself more than {} times", open, kDeepest));
  }
}

bool is_function(const Reference& r) {
  constexpr std::array<std::string_view, 5> kFunctions{"min", "max", "floor", "sqrt", "if"};
  return r.path.empty() && std::find(kFunctions.begin(), kFunctions.end(), r.name) != kFunctions.end();
}

double call(const Reference& function, const LookUp& look_up) {
  const auto& arguments = function.arguments;
  const bool of_many = function.name == "min" || function.name == "max";
  const std::size_t expected = function.name == "if" ? 3 : 1;
  if (of_many ? arguments.empty() : arguments.size() != expected) {
    throw ExpressionError(fmt::format("{}() has {} arguments, expected {}", function.name, arguments.size(),
                                      of_many ? "one or more" : std::to_string(expected)));
  }
  const double first = evaluate(arguments[0], look_up);
  if (function.name == "if") return evaluate(arguments[first != 0 ? 1 : 2], look_up);  // the other one is not simulated
  if (function.name == "floor") return std::floor(first);
  if (function.name == "sqrt") return std::sqrt(first);
  double value = first;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const double next = evaluate(arguments[i], look_up);
    value = function.name == "min" ? std::min(value, next) : std::max(value, next);
  }
  return value;
}

/// Recursive descent that computes as it reads.
class Reader {
 public:
  Reader(std::string_view text, const LookUp& look_up) : text_(text), look_up_(look_up) {}

  double whole() {
    const double value = conjunction();
    expect_end();
    return value;
  }

  Reference only_reference() {
    blanks();
    Reference r = reference();
    expect_end();
    return r;
  }

 private:
  double conjunction() {
    double value = comparison();
    while (takes("and ")) {
      const double other = comparison();
      value = value != 0 && other != 0 ? 1 : 0;
    }
    return value;
  }

  double comparison() {
    const double left = sum();
    if (takes("<=")) return left <= sum() ? 1 : 0;
    if (takes(">=")) return left >= sum() ? 1 : 0;
    if (takes("==")) return left == sum() ? 1 : 0;
    if (takes("<")) return left < sum() ? 1 : 0;
    if (takes(">")) return left > sum() ? 1 : 0;
    return left;
  }

  double sum() {
    double value = product();
    while (true) {
      if (takes("+")) {
        value += product();
      } else if (takes("-")) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = factor();
    while (true) {
      if (takes("*")) {
        value *= factor();
      } else if (takes("/")) {
        value /= divisor();
      } else {
        return value;
      }
    }
  }

  /// Refused where it is 0 whatever is simulated.
  double divisor() {
    const bool before = std::exchange(refers_, false);
    const double value = factor();
    if (value == 0 && !refers_) throw ExpressionError(fmt::format("division by 0 in \"{}\"", without_blanks(text_)));
    refers_ = refers_ || before;
    return value;
  }

  double factor() {
    bool negative = false;
    while (takes("-")) negative = !negative;
    const double value = positive_factor();
    return negative ? -value : value;
  }

  double positive_factor() {
    if (takes("(")) {
      const double value = conjunction();
      if (!takes(")")) fail("expected )");
      return value;
    }
    blanks();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return number();
    const Reference r = reference();
    return is_function(r) ? call(r, look_up_) : look_up_(r);
  }

  double number() {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  Reference reference() {
    Reference r;
    refers_ = true;
    r.name = word();
    if (r.name.empty()) fail("expected a number or a name");
    r.arguments = arguments();
    while (at_ + 1 < text_.size() && text_[at_] == '.' && is_word(text_[at_ + 1])) {
      ++at_;
      r.path += (r.path.empty() ? "" : ".") + word();
    }
    if (!r.path.empty()) r.path_arguments = arguments();
    return r;
  }

  std::string word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::vector<std::string> arguments() {
    if (at_ == text_.size() || text_[at_] != '(') return {};
    const std::size_t begin = at_ + 1;
    for (int depth = 0; at_ < text_.size(); ++at_) {
      if (text_[at_] == '(') ++depth;
      if (text_[at_] == ')' && --depth == 0) return split(text_.substr(begin, at_++ - begin), ',');
    }
    fail("expected )");
  }

  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool takes(std::string_view sign) {
    blanks();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  void expect_end() {
    blanks();
    if (at_ < text_.size()) fail("expected an operator");
  }

  [[noreturn]] void fail(std::string_view why) const {
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    throw ExpressionError(rest.empty() ? fmt::format("{} at the end of \"{}\"", why, text_)
                                       : fmt::format("{}, found \"{}\"", why, rest));
  }

  std::string_view text_;
  const LookUp& look_up_;
  std::size_t at_ = 0;
  bool refers_ = false;  ///< what was read lately has a name in it
};

std::string parameter(const std::string& name, const Parameters& parameters) {
  const auto found = parameters.find(name);
  if (found != parameters.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, value] : parameters) names.push_back(known);
  throw ExpressionError(fmt::format("unknown parameter {{{}}}{}", name,
                                    names.empty() ? ", there are none here" : schema::suggest(name, names)));
}

/// Whether a width or precision has more than two digits: text of gigabytes.
bool is_wide(std::string_view format) {
  constexpr int kMostDigits = 2;
  int digits = 0;
  return std::any_of(format.begin(), format.end(), [&digits](char c) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    return digits > kMostDigits;
  });
}

std::string printed(std::string_view inside, const LookUp& look_up) {
  const auto bar = inside.rfind('|');
  const double value = evaluate(inside.substr(0, bar), look_up);
  const auto format = bar == std::string_view::npos ? std::string_view() : without_blanks(inside.substr(bar + 1));
  if (is_wide(format)) {
    throw ExpressionError(fmt::format("format \"{}\": expected a width and precision of at most 99", format));
  }
  try {
    return fmt::format(fmt::runtime(fmt::format("{{:{}}}", format)), value);
  } catch (const fmt::format_error&) {
    throw ExpressionError(fmt::format("unknown format \"{}\", expected one of numbers such as .3f", format));
  }
}

}  // namespace

double evaluate(std::string_view expression, const LookUp& look_up) {
  refuse_deep(expression, '(', ')');
  return Reader(expression, look_up).whole();
}

Reference parse_reference(std::string_view text) {
  static const LookUp none;
  return Reader(text, none).only_reference();
}

std::string filled(std::string_view text, const Parameters& parameters, const LookUp& look_up) {
  refuse_deep(text, '{', '}');
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool computed = text.substr(at).starts_with("{=");
    std::size_t end = at + 1;
    if (computed) {
      for (int depth = 1; end < text.size() && depth > 0; ++end)
        depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
      const std::string inside = filled(text.substr(at + 2, end - at - 3), parameters, look_up);
      result += printed(inside, look_up);
      at = end;
      continue;
    }
    while (text[at] == '{' && end < text.size() && is_word(text[end])) ++end;
    if (text[at] == '{' && end > at + 1 && end < text.size() && text[end] == '}') {
      result += parameter(std::string(text.substr(at + 1, end - at - 1)), parameters);
      at = end + 1;
    } else {
      result += text[at++];
    }
  }
  return result;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (without_blanks(text).empty()) return parts;
  std::size_t begin = 0;
  for (std::size_t at = 0, depth = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : separator;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (c != separator || (depth > 0 && at < text.size())) continue;
    parts.emplace_back(without_blanks(text.substr(begin, at - begin)));
    begin = at + 1;
  }
  return parts;
}

}  // namespace kvsim::validation
