// Where a value of the configuration was written, so that every complaint can point at it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace kvsim::schema {

/// A position in a file (1-based line and column, columns in characters), or a source without positions such as
/// `--set run.seed` (line 0). Cheap to copy: positions of one source share its name.
class Origin {
 public:
  Origin() = default;
  explicit Origin(std::string_view source) : source_(std::make_shared<const std::string>(source)) {}
  Origin(std::shared_ptr<const std::string> source, int line, int column)
      : source_(std::move(source)), line_(line), column_(column) {}

  /// The same source at another position.
  [[nodiscard]] Origin at(int line, int column) const { return {source_, line, column}; }

  [[nodiscard]] std::string_view source() const { return source_ ? std::string_view(*source_) : std::string_view(); }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] int column() const { return column_; }

  /// `file:line:column`, or the bare source where there is no position; empty for values made by the program.
  [[nodiscard]] std::string str() const {
    std::string text(source());
    if (line_ > 0) text += ":" + std::to_string(line_) + ":" + std::to_string(column_);
    return text;
  }

 private:
  std::shared_ptr<const std::string> source_;
  int line_ = 0;
  int column_ = 0;
};

}  // namespace kvsim::schema
