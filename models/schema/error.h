// The one exception for input that a user can put right. The command line prints what() and exits with status 2.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "models/schema/origin.h"

namespace kvsim::schema {

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

 private:
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
};

}  // namespace kvsim::schema
