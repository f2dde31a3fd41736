// What the fuzzers have in common: bytes as the text of one or of several files, files for readers that open them
// themselves, and the one exception that any input may lead to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "models/schema/error.h"
#include "tests/scenario/temporary_folder.h"

namespace kvsim::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Takes the first byte of the input away: which of the things to try. 0 where there is none.
inline std::size_t choice(std::string_view& text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  return first;
}

/// Takes the text of the next file away. Files end with the character RS (0x1e), the last with the input.
inline std::string_view next_file(std::string_view& text) {
  const std::size_t end = text.find('\x1e');
  const std::string_view file = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return file;
}

/// Calls `read`: whatever the input, it is read or refused. True where it was read.
template <class Read>
bool read_or_refused(const Read& read) {
  try {
    read();
    return true;
  } catch (const schema::InputError&) {
    return false;
  }
}

/// For readers that open files.
class Folder : public testing::TemporaryFolder {
 public:
  /// Writes a file; returns its path.
  [[nodiscard]] std::string put(std::string_view name, std::string_view text) const {
    return write(std::string(name), std::string(text));
  }
  /// Writes it where there is anything to write, else takes it away.
  void put_or_remove(std::string_view name, std::string_view text) const {
    if (!text.empty()) {
      static_cast<void>(put(name, text));
    } else {
      std::filesystem::remove(std::filesystem::path(path()) / name);
    }
  }
};

}  // namespace kvsim::fuzz
