// Reads a text file line by line in bounded memory and says where things are wrong. Internal to the trace readers.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/schema/error.h"

namespace kvsim::models {

class LineReader {
 public:
  static constexpr std::size_t max_line_bytes = std::size_t{4} << 20U;
  /// Bytes after each line that may be read (not interpreted): what simdjson asks for.
  static constexpr std::size_t padding = 64;

  /// Opens a file; one that begins as gzip or zstd does is read as what it holds. Throws schema::InputError for what is
  /// not there or no file; `expected` ends the message, for example "a mooncake trace".
  static LineReader open(const std::string& path, std::string_view expected);
  /// Opens all files of a folder, in order of their names, as if they were one; hidden ones are left out.
  static LineReader open_folder(const std::string& path, std::string_view expected);
  /// Reads from memory; `name` stands for the file's in messages.
  static LineReader from_text(const std::string& name, std::string_view text);

  /// Reads lines in an order of their own; each has the number that it has in its file.
  static LineReader from_lines(const schema::Origin& source, const std::vector<std::pair<int, std::string>>& lines);

  /// Takes lines of up to this many bytes instead of max_line_bytes; before the first next().
  void set_line_limit(std::size_t bytes) { line_limit_ = bytes; }

  /// The next line that is not blank, without its line end (LF or CRLF). False at the end. Throws schema::InputError at
  /// bytes that are no UTF-8, at NUL and at a line above the limit.
  bool next();
  /// The next call of next() gives the current line once more.
  void hold() { held_ = true; }
  /// Whether the current line is still to be read: there is none, or it is held.
  [[nodiscard]] bool before_line() const { return line_number_ == 0 || held_; }

  /// Valid until next() is called.
  [[nodiscard]] std::string_view line() const { return {buffer_.data() + line_begin_, line_bytes_}; }
  /// Bytes that may be read from line().data() on.
  [[nodiscard]] std::size_t readable_bytes() const { return buffer_.size() - line_begin_; }
  /// Whether the current line ends with a line end; a file that was cut off seldom does.
  [[nodiscard]] bool terminated() const { return terminated_; }
  /// The file that the current line is in.
  [[nodiscard]] const schema::Origin& source() const { return source_; }
  /// Number of the current line, from 1.
  [[nodiscard]] int line_number() const {
    return numbers_.empty() ? line_number_ : numbers_[static_cast<std::size_t>(line_number_) - 1];
  }

  /// Throws schema::InputError at a byte of the current line. Where the file's last line has no end, says that the file
  /// looks cut off.
  [[noreturn]] void fail(std::size_t byte, std::string_view message) const;
  /// Fails without a position.
  [[noreturn]] void fail_file(std::string_view message) const;

 private:
  explicit LineReader(const std::string& name) : source_(name) {}
  bool fill();
  bool next_raw();
  void start(const std::string& path, std::string_view expected);
  void check_text() const;

  schema::Origin source_;
  std::unique_ptr<std::istream> file_;  ///< null: everything is in the buffer
  std::vector<char> buffer_;            ///< `padding` bytes longer than its content may grow
  std::size_t content_ = 0;             ///< bytes in the buffer
  std::size_t line_begin_ = 0;
  std::size_t line_bytes_ = 0;
  std::size_t next_line_ = 0;
  std::size_t line_limit_ = max_line_bytes;
  int line_number_ = 0;
  std::vector<int> numbers_{};  ///< of lines in an order of their own
  bool terminated_ = true;
  bool held_ = false;
  std::vector<std::string> further_{};  ///< files of a folder that were not begun, the next one last
  std::string expected_{};              ///< of these
};

}  // namespace kvsim::models
