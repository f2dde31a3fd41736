#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace kvsim::validation {

/// Whether there is such a file; what cannot be the name of one, or may not be looked at, is not there.
[[nodiscard]] inline bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace kvsim::validation
