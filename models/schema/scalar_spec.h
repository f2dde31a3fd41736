// What one scalar field accepts: a quantity with its range, a text, a truth value or one of several words. A value of
// this type describes the field to the parser, to the writer, to JSON Schema and to the reference pages alike.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "models/schema/config_node.h"
#include "models/schema/units.h"

namespace kvsim::schema {

/// What a scalar turns into before it becomes a struct's member: whole numbers and choices, other quantities, truth
/// values, text.
using ScalarValue = std::variant<std::int64_t, double, bool, std::string>;

/// A word that stands for a value, with its line in `kvsim list` and the reference.
struct Word {
  std::string name;
  std::string description;
  std::int64_t value = 0;
};

class ScalarSpec {
 public:
  enum class Kind { quantity, text, boolean, choice, name };

  // Not inline: tables of fields make a few of them a field.
  ScalarSpec();
  ScalarSpec(const ScalarSpec& other);
  ScalarSpec(ScalarSpec&& other) noexcept;
  ScalarSpec& operator=(const ScalarSpec& other);
  ScalarSpec& operator=(ScalarSpec&& other) noexcept;
  ~ScalarSpec();

  static ScalarSpec quantity(Dimension dimension);
  static ScalarSpec text();
  static ScalarSpec boolean();
  static ScalarSpec choice(std::vector<Word> words);
  static ScalarSpec name(std::vector<Word> words);

  // Ranges of quantities, in the program's unit (bytes, seconds, tokens, ...).
  [[nodiscard]] ScalarSpec above(double bound) const;     ///< > bound
  [[nodiscard]] ScalarSpec at_least(double bound) const;  ///< >= bound
  [[nodiscard]] ScalarSpec below(double bound) const;     ///< < bound
  [[nodiscard]] ScalarSpec at_most(double bound) const;   ///< <= bound
  [[nodiscard]] ScalarSpec positive() const { return above(0); }
  [[nodiscard]] ScalarSpec non_negative() const { return at_least(0); }
  /// What such a quantity is in every machine and model there is, with a wide margin; by default what is usual of its
  /// dimension. Another one, other than 0, is refused as a slip: of a digit, or of the unit's prefix.
  [[nodiscard]] ScalarSpec usually(double least, double most) const;
  /// A number that measures nothing: a seed.
  [[nodiscard]] ScalarSpec of_any_size() const;
  /// Why the range is what it is, for the message when a value lies outside.
  [[nodiscard]] ScalarSpec because(std::string reason) const;
  /// Text: must not be empty.
  [[nodiscard]] ScalarSpec non_empty() const;
  /// Quantities: also accepts a word, which stands for `value` (`offloaded: all`); written back as the word.
  [[nodiscard]] ScalarSpec or_word(std::string word, std::int64_t value, std::string description) const;

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] Dimension dimension() const { return dimension_; }
  [[nodiscard]] const std::vector<Word>& words() const { return words_; }
  [[nodiscard]] bool must_not_be_empty() const { return non_empty_; }
  struct Bound {
    double value = 0;
    bool exclusive = false;
  };
  [[nodiscard]] const std::optional<Bound>& lower() const { return lower_; }
  [[nodiscard]] const std::optional<Bound>& upper() const { return upper_; }

  /// Quantities of whole things and choices give std::int64_t, other quantities double, and so on. Throws InputError
  /// at the node's origin.
  [[nodiscard]] ScalarValue read(const ConfigNode& node, std::string_view path) const;

  /// Whether the value lies in the range; `read` asks for a usual one as well.
  [[nodiscard]] bool accepts(const ScalarValue& value) const;

  /// The scalar that reads back as `value`, which must be accepted.
  [[nodiscard]] ConfigNode write(const ScalarValue& value) const;

  /// "a time such as "25 ms"", "one of fcfs, lock_step": for messages and documentation.
  [[nodiscard]] std::string expected() const;
  /// "> 0 s and <= 10 s"; empty where everything is accepted.
  [[nodiscard]] std::string range() const;
  /// The same for documentation, with what is usual where that is not what is usual of the dimension.
  [[nodiscard]] std::string documented_range() const;

 private:
  [[nodiscard]] const Word* word_named(std::string_view name) const;
  [[nodiscard]] bool in_range(double value) const;
  [[nodiscard]] UsualSize usual() const { return usual_.value_or(usual_size(dimension_)); }
  void check(double value, const ConfigNode& node, std::string_view path) const;
  [[nodiscard]] std::string print(double value) const;
  [[nodiscard]] ScalarValue read_quantity(const ConfigNode& node, std::string_view path) const;
  [[nodiscard]] ScalarValue read_word(const ConfigNode& node, std::string_view path) const;

  Kind kind_ = Kind::text;
  Dimension dimension_ = Dimension::number;
  std::optional<Bound> lower_;
  std::optional<Bound> upper_;
  std::optional<UsualSize> usual_;
  std::string reason_;
  bool non_empty_ = false;
  std::vector<Word> words_;
};

inline ScalarSpec number() {
  return ScalarSpec::quantity(Dimension::number);
}
inline ScalarSpec integer() {
  return ScalarSpec::quantity(Dimension::integer);
}
inline ScalarSpec bytes() {
  return ScalarSpec::quantity(Dimension::bytes);
}
inline ScalarSpec bandwidth() {
  return ScalarSpec::quantity(Dimension::bandwidth);
}
inline ScalarSpec time() {
  return ScalarSpec::quantity(Dimension::time);
}
inline ScalarSpec tokens() {
  return ScalarSpec::quantity(Dimension::tokens);
}
inline ScalarSpec compute_rate() {
  return ScalarSpec::quantity(Dimension::compute);
}
inline ScalarSpec rate() {
  return ScalarSpec::quantity(Dimension::rate);
}
inline ScalarSpec price() {
  return ScalarSpec::quantity(Dimension::price);
}
inline ScalarSpec power() {
  return ScalarSpec::quantity(Dimension::power);
}
inline ScalarSpec storage_price() {
  return ScalarSpec::quantity(Dimension::storage_price);
}
inline ScalarSpec text() {
  return ScalarSpec::text();
}
inline ScalarSpec boolean() {
  return ScalarSpec::boolean();
}

template <class Enum>
struct Choice {
  const char* name;
  Enum value;
  const char* description;
};

/// One of an enumeration: choice<Policy>({{"fcfs", Policy::fcfs, "first come, first served"}, ...}).
template <class Enum>
ScalarSpec choice(std::initializer_list<Choice<Enum>> choices) {
  static_assert(std::is_enum_v<Enum>);
  std::vector<Word> words;
  for (const auto& c : choices) words.push_back({c.name, c.description, static_cast<std::int64_t>(c.value)});
  return ScalarSpec::choice(std::move(words));
}

/// One of several registered names, kept as text: {name, description} each.
inline ScalarSpec one_of(std::vector<Word> words) {
  return ScalarSpec::name(std::move(words));
}

}  // namespace kvsim::schema
