// SVG text, element by element. Well-formed whatever the labels are.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace kvsim::plot {

/// Text as XML has it, inside elements and attributes alike, with U+FFFD for what is not to be shown (text::visible).
/// Precondition: UTF-8.
[[nodiscard]] std::string xml_escaped(std::string_view text);

/// A coordinate in hundredths of a pixel: "12.5".
[[nodiscard]] std::string coordinate(double pixels);

class Svg {
 public:
  using Attributes = std::initializer_list<std::pair<std::string_view, std::string>>;

  /// A picture of so many pixels, scaled to where it stands. `title` and `description` are read out by screen readers.
  Svg(double width, double height, std::string_view title, std::string_view description);

  /// SVG as a part of a page, whose style sheet has the colours. `id` is one of its own there: a letter, then
  /// letters, digits and hyphens.
  static Svg inlined(std::string_view id, double width, double height, std::string_view title,
                     std::string_view description);

  /// <name .../>
  void element(std::string_view name, Attributes attributes);
  /// <name ...>text</name>
  void text(std::string_view name, Attributes attributes, std::string_view text);
  void open(std::string_view name, Attributes attributes);
  /// Ends what was opened last.
  void close(std::string_view name);

  /// The document, complete. Precondition: all that was opened is closed.
  [[nodiscard]] std::string document() const { return text_ + "</svg>\n"; }

 private:
  Svg() = default;
  void begin(std::string_view name, Attributes attributes);

  std::string text_;
};

}  // namespace kvsim::plot
