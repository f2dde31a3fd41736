// Bytes on their way to a file and to the disk.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace kvsim::output {

/// A result cannot be written: a full disk, a folder that belongs to somebody else. Exit status 1.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws OutputError, "cannot write PATH: ...".
[[noreturn]] void cannot_write(const std::string& path, int error);

/// An open file that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }
  /// Closes now; returns errno, 0 if all went well.
  int close();

 private:
  int number_;
};

/// Writes all of `text` to a file descriptor; returns errno, 0 if all went well.
int write_all(int descriptor, std::string_view text);

/// Writes the file `place`, new or in place of its contents, down to the disk. Throws OutputError about `path`, the
/// name that the file will have.
void write_file(const std::string& place, std::string_view text, const std::string& path);

/// Gets a file that was written to the disk. Throws OutputError about `path`.
void flush_file(const std::string& place, const std::string& path);

/// Gets the names in a folder to the disk, where its file system lets folders be opened.
void flush_folder(const std::string& folder);

}  // namespace kvsim::output
