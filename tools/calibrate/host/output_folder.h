// Where results go. Files appear whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace kvsim::calibrate {

class OutputFolder {
 public:
  /// Makes the folder. Throws schema::InputError where it is there and not empty, unless `force`, or cannot be made.
  OutputFolder(const std::string& path, bool force);
  /// Writes under a temporary name, then renames. Throws std::runtime_error.
  void write(const std::string& name, std::string_view text) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace kvsim::calibrate
