// Where a value of the configuration was written, and the one exception for input that a user can put right, which
// points there. The command line prints what() and exits with status 2.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvsim::schema {

/// A position in a file (1-based line and column, columns in characters), or a source without positions such as
/// `--set run.seed` (line 0). Cheap to copy: positions of one source share its name.
class Origin {
 public:
  Origin() = default;
  explicit Origin(std::string_view source) : source_(std::make_shared<const std::string>(source)) {}
  Origin(std::shared_ptr<const std::string> source, int line, int column)
      : source_(std::move(source)), line_(line), column_(column) {}

  /// Another position in the same source.
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

/// what() is `file:line:column: what is wrong, what was expected`; for values from the command line
/// `--set a.b.c: ...`; for a complaint about a whole file `file: ...`.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& message) : std::runtime_error(message) {}
  InputError(const Origin& origin, std::string_view message)
      : std::runtime_error(join(origin.str(), message)), origin_(origin) {}

  /// `path` is the dotted path of the value, e.g. cluster.gpu.memory; it is left out where the origin says it already.
  InputError(const Origin& origin, std::string_view path, std::string_view message)
      : InputError(origin, said_by(origin, path) ? std::string(message) : join(path, message)) {}

  [[nodiscard]] const Origin& origin() const { return origin_; }

  /// The messages of other mistakes of the same input, each as what() gives the first; empty: there was one.
  [[nodiscard]] const std::vector<std::string>& further() const {
    static const std::vector<std::string> none;
    return further_ ? *further_ : none;
  }

 private:
  friend class Mistakes;
  static std::string join(std::string_view where, std::string_view message) {
    std::string text(where);
    if (!text.empty()) text += ": ";
    return text.append(message);
  }
  static bool said_by(const Origin& origin, std::string_view path) {
    // "--set a.b.c" and other options that name the key.
    return path.empty() || (origin.line() == 0 && origin.source().starts_with("--") &&
                            origin.source().ends_with(" " + std::string(path)));
  }

  Origin origin_;
  std::shared_ptr<const std::vector<std::string>> further_;
};

/// Mistakes of one input, gathered so that a user sees all of them at once.
class Mistakes {
 public:
  void add(const InputError& mistake) {
    if (first_) {
      further_.emplace_back(mistake.what());
    } else {
      first_ = mistake;
    }
    further_.insert(further_.end(), mistake.further().begin(), mistake.further().end());
  }
  /// Calls `read` and keeps what it throws.
  template <class Read>
  void gather(const Read& read) {
    try {
      read();
    } catch (const InputError& mistake) {
      add(mistake);
    }
  }
  [[nodiscard]] bool empty() const { return !first_; }
  /// Throws them as one InputError, if there are any.
  void raise() const {
    if (!first_) return;
    InputError all = *first_;
    all.further_ = std::make_shared<const std::vector<std::string>>(further_);
    throw InputError(std::move(all));
  }

 private:
  std::optional<InputError> first_;
  std::vector<std::string> further_;
};

}  // namespace kvsim::schema
