#include "models/schema/scalar_spec.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"

namespace kvsim::schema {
namespace {

std::vector<std::string> names_of(const std::vector<Word>& words) {
  std::vector<std::string> names;
  names.reserve(words.size());
  for (const Word& word : words) names.push_back(word.name);
  return names;
}

double as_double(const ScalarValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::get<double>(value);
}

}  // namespace

ScalarSpec::ScalarSpec() = default;
ScalarSpec::ScalarSpec(const ScalarSpec& other) = default;
ScalarSpec::ScalarSpec(ScalarSpec&& other) noexcept = default;
ScalarSpec& ScalarSpec::operator=(const ScalarSpec& other) = default;
ScalarSpec& ScalarSpec::operator=(ScalarSpec&& other) noexcept = default;
ScalarSpec::~ScalarSpec() = default;

ScalarSpec ScalarSpec::quantity(Dimension dimension) {
  ScalarSpec spec;
  spec.kind_ = Kind::quantity;
  spec.dimension_ = dimension;
  return spec;
}

ScalarSpec ScalarSpec::text() {
  return {};
}

ScalarSpec ScalarSpec::boolean() {
  ScalarSpec spec;
  spec.kind_ = Kind::boolean;
  return spec;
}

ScalarSpec ScalarSpec::choice(std::vector<Word> words) {
  ScalarSpec spec;
  spec.kind_ = Kind::choice;
  spec.words_ = std::move(words);
  return spec;
}

ScalarSpec ScalarSpec::name(std::vector<Word> words) {
  ScalarSpec spec = choice(std::move(words));
  spec.kind_ = Kind::name;
  return spec;
}

ScalarSpec ScalarSpec::above(double bound) const {
  ScalarSpec spec = *this;
  spec.lower_ = Bound{bound, true};
  return spec;
}

ScalarSpec ScalarSpec::at_least(double bound) const {
  ScalarSpec spec = *this;
  spec.lower_ = Bound{bound, false};
  return spec;
}

ScalarSpec ScalarSpec::below(double bound) const {
  ScalarSpec spec = *this;
  spec.upper_ = Bound{bound, true};
  return spec;
}

ScalarSpec ScalarSpec::at_most(double bound) const {
  ScalarSpec spec = *this;
  spec.upper_ = Bound{bound, false};
  return spec;
}

ScalarSpec ScalarSpec::usually(double least, double most) const {
  ScalarSpec spec = *this;
  spec.usual_ = UsualSize{least, most};
  return spec;
}

ScalarSpec ScalarSpec::of_any_size() const {
  return usually(0, std::numeric_limits<double>::infinity());
}

ScalarSpec ScalarSpec::because(std::string reason) const {
  ScalarSpec spec = *this;
  spec.reason_ = std::move(reason);
  return spec;
}

ScalarSpec ScalarSpec::non_empty() const {
  ScalarSpec spec = *this;
  spec.non_empty_ = true;
  return spec;
}

ScalarSpec ScalarSpec::or_word(std::string word, std::int64_t value, std::string description) const {
  if (kind_ != Kind::quantity) throw std::logic_error("or_word: only quantities take a word beside their values");
  ScalarSpec spec = *this;
  spec.words_.push_back({std::move(word), std::move(description), value});
  return spec;
}

const Word* ScalarSpec::word_named(std::string_view name) const {
  const auto found = std::find_if(words_.begin(), words_.end(), [&](const Word& w) { return w.name == name; });
  return found == words_.end() ? nullptr : &*found;
}

bool ScalarSpec::in_range(double value) const {
  const bool low = lower_ && (lower_->exclusive ? !(value > lower_->value) : !(value >= lower_->value));
  const bool high = upper_ && (upper_->exclusive ? !(value < upper_->value) : !(value <= upper_->value));
  return !low && !high;
}

std::string ScalarSpec::print(double value) const {
  return is_integral(dimension_) ? format_integral(dimension_, static_cast<std::int64_t>(value))
                                 : format_real(dimension_, value);
}

std::string ScalarSpec::expected() const {
  const std::vector<std::string> names = names_of(words_);
  switch (kind_) {
    case Kind::text:
      return "text";
    case Kind::boolean:
      return "true or false";
    case Kind::choice:
    case Kind::name:
      return fmt::format("one of {}", fmt::join(names, ", "));
    case Kind::quantity:
      break;
  }
  std::string out = fmt::format("{} such as {}", dimension_name(dimension_), dimension_example(dimension_));
  if (!names.empty()) out += fmt::format(", or {}", fmt::join(names, ", "));
  return out;
}

std::string ScalarSpec::range() const {
  std::string out;
  if (lower_) out = fmt::format("{} {}", lower_->exclusive ? ">" : ">=", print(lower_->value));
  if (upper_) {
    out += fmt::format("{}{} {}", lower_ ? " and " : "", upper_->exclusive ? "<" : "<=", print(upper_->value));
  }
  return out;
}

std::string ScalarSpec::documented_range() const {
  if (!usual_ || std::isinf(usual_->most)) return range();
  const bool small = usual_->least == 0 || (is_integral(dimension_) && usual_->least <= 1);
  const std::string usually = small ? fmt::format("usually up to {}", print(usual_->most))
                                    : fmt::format("usually {} to {}", print(usual_->least), print(usual_->most));
  return range().empty() ? usually : range() + ", " + usually;
}

void ScalarSpec::check(double value, const ConfigNode& node, std::string_view path) const {
  if (!in_range(value)) {
    throw InputError(
        node.origin(), path,
        fmt::format("must be {}, found {}{}{}{}", range(), node.text(), reason_.empty() ? "" : ": ", reason_,
                    dimension_ == Dimension::number && upper_ && upper_->value == 1 ? meant_share(value) : ""));
  }
  const double size = std::abs(value);
  if (value == 0 || (size >= usual().least && size <= usual().most)) return;
  const bool small = size < usual().least;
  throw InputError(node.origin(), path,
                   fmt::format("found {}, expected {} or {}", node.text(),
                               print(std::copysign(small ? usual().least : usual().most, value)),
                               small == (value > 0) ? "more" : "less"));
}

ScalarValue ScalarSpec::read_quantity(const ConfigNode& node, std::string_view path) const {
  if (const Word* word = word_named(node.text())) {
    if (is_integral(dimension_)) return word->value;
    return static_cast<double>(word->value);
  }
  const bool bare = dimension_ == Dimension::number || dimension_ == Dimension::integer;
  if (bare && node.quoted()) {
    throw InputError(node.origin(), path,
                     fmt::format("expected {}, found the text \"{}\" in quotes", expected(), node.text()));
  }
  try {
    if (is_integral(dimension_)) {
      const std::int64_t whole = parse_integral(dimension_, node.text());
      check(static_cast<double>(whole), node, path);
      return whole;
    }
    const double real = parse_real(dimension_, node.text());
    check(real, node, path);
    return real;
  } catch (const UnitError& error) {
    const auto names = names_of(words_);
    throw InputError(
        node.origin(), path,
        names.empty() ? std::string(error.what()) : fmt::format("{} (or {})", error.what(), fmt::join(names, ", ")));
  }
}

ScalarValue ScalarSpec::read_word(const ConfigNode& node, std::string_view path) const {
  const Word* word = word_named(node.text());
  if (word == nullptr) {
    throw InputError(node.origin(), path,
                     fmt::format("unknown value {}{}", node.describe(), suggest(node.text(), names_of(words_))));
  }
  return kind_ == Kind::choice ? ScalarValue(word->value) : ScalarValue(word->name);
}

ScalarValue ScalarSpec::read(const ConfigNode& node, std::string_view path) const {
  if (!node.is_scalar()) {
    throw InputError(node.origin(), path, fmt::format("expected {}, found {}", expected(), node.describe()));
  }
  switch (kind_) {
    case Kind::quantity:
      return read_quantity(node, path);
    case Kind::choice:
    case Kind::name:
      return read_word(node, path);
    case Kind::boolean:
      if (!node.quoted() && node.text() == "true") return true;
      if (!node.quoted() && node.text() == "false") return false;
      throw InputError(node.origin(), path, fmt::format("expected true or false, found {}", node.describe()));
    case Kind::text:
      break;
  }
  if (non_empty_ && node.text().empty()) throw InputError(node.origin(), path, "expected text, found an empty one");
  return node.text();
}

bool ScalarSpec::accepts(const ScalarValue& value) const {
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto has = [&](const auto& is) { return std::any_of(words_.begin(), words_.end(), is); };
  switch (kind_) {
    case Kind::boolean:
      return std::holds_alternative<bool>(value);
    case Kind::text:
      return std::holds_alternative<std::string>(value) && !(non_empty_ && std::get<std::string>(value).empty());
    case Kind::choice:
      return whole != nullptr && has([&](const Word& w) { return w.value == *whole; });
    case Kind::name: {
      const auto* name = std::get_if<std::string>(&value);
      return name != nullptr && word_named(*name) != nullptr;
    }
    case Kind::quantity:
      break;
  }
  if (std::holds_alternative<bool>(value) || std::holds_alternative<std::string>(value)) return false;
  const double number = as_double(value);
  const bool is_word = has([&](const Word& w) { return static_cast<double>(w.value) == number; });
  return is_word || (number - number == 0 && in_range(number));  // infinities and NaN differ from themselves
}

ConfigNode ScalarSpec::write(const ScalarValue& value) const {
  switch (kind_) {
    case Kind::boolean:
      return ConfigNode::scalar(std::get<bool>(value) ? "true" : "false");
    case Kind::text:
    case Kind::name:
      return ConfigNode::scalar(std::get<std::string>(value), kind_ == Kind::text);
    case Kind::choice:
    case Kind::quantity:
      break;
  }
  const double number = as_double(value);
  for (const Word& word : words_) {
    if (static_cast<double>(word.value) == number) return ConfigNode::scalar(word.name);
  }
  if (kind_ == Kind::choice) throw std::logic_error("a choice has a value without a name");
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    return ConfigNode::scalar(format_integral(dimension_, *whole));
  }
  return ConfigNode::scalar(format_real(dimension_, number));
}

}  // namespace kvsim::schema
