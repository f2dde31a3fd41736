#include "models/workload/line_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

namespace kvsim::models {
namespace {

constexpr std::size_t first_chunk = std::size_t{64} << 10U;
static_assert(LineReader::padding >= simdjson::SIMDJSON_PADDING);

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// Bytes of the UTF-8 sequence that a lead byte announces.
std::size_t sequence_bytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : byte >= 0xC0U ? 2 : 1;
}

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t bytes = std::min(sequence_bytes(text[i]), text.size() - i);
    if (!simdjson::validate_utf8(text.data() + i, bytes)) break;
    i += bytes;
  }
  return i;
}

int column_of(std::string_view line, std::size_t byte) {
  int column = 1;
  for (const char c : line.substr(0, std::min(byte, line.size()))) {
    column += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  }
  return column;
}

}  // namespace

LineReader LineReader::open(const std::string& path, std::string_view expected) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw schema::InputError(fmt::format("{}: is a directory, expected {}", path, expected));
  }
  LineReader reader(path);
  errno = 0;
  reader.file_ = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*reader.file_) {
    throw schema::InputError(
        fmt::format("{}: cannot be opened ({}), expected {}", path, std::generic_category().message(errno), expected));
  }
  reader.buffer_.resize(first_chunk + padding);
  reader.fill();
  if (reader.content_ >= 2 && reader.buffer_[0] == '\x1F' && reader.buffer_[1] == '\x8B') {
    throw schema::InputError(fmt::format("{}: is gzip-compressed, expected {} as plain text", path, expected));
  }
  return reader;
}

LineReader LineReader::from_text(const std::string& name, std::string_view text) {
  LineReader reader(name);
  reader.buffer_.assign(text.size() + padding, '\0');
  std::copy(text.begin(), text.end(), reader.buffer_.begin());
  reader.content_ = text.size();
  return reader;
}

/// Moves the unread rest to the front and reads on. False where nothing more comes.
bool LineReader::fill() {
  if (!file_) return false;
  const std::size_t rest = content_ - next_line_;
  std::memmove(buffer_.data(), buffer_.data() + next_line_, rest);
  content_ = rest;
  next_line_ = 0;
  if (content_ + padding >= buffer_.size()) buffer_.resize(2 * buffer_.size());
  file_->read(buffer_.data() + content_, static_cast<std::streamsize>(buffer_.size() - padding - content_));
  const auto got = static_cast<std::size_t>(file_->gcount());
  if (file_->bad()) fail_file("cannot be read to its end, expected a readable file");
  content_ += got;
  std::fill_n(buffer_.begin() + static_cast<std::ptrdiff_t>(content_), padding, '\0');
  return got > 0;
}

bool LineReader::next_raw() {
  std::size_t scanned = 0;  // bytes of the line looked at, kept over a fill
  for (;;) {
    const char* const begin = buffer_.data() + next_line_;
    const std::size_t available = content_ - next_line_;
    const void* const newline = available > scanned ? std::memchr(begin + scanned, '\n', available - scanned) : nullptr;
    const bool found = newline != nullptr;
    const std::size_t bytes = found ? static_cast<std::size_t>(static_cast<const char*>(newline) - begin) : available;
    const bool too_long = bytes > line_limit_;
    if (!found && !too_long) {
      scanned = available;
      if (fill()) continue;
      if (content_ == next_line_) return false;
    }
    ++line_number_;
    terminated_ = found;
    line_begin_ = next_line_;
    line_bytes_ = std::min(bytes, line_limit_);
    if (too_long) {
      terminated_ = true;
      fail(line_bytes_, fmt::format("the line is longer than {} bytes, expected one request a line", line_limit_));
    }
    next_line_ += bytes + (found ? 1 : 0);
    if (line_bytes_ > 0 && buffer_[line_begin_ + line_bytes_ - 1] == '\r') --line_bytes_;
    return true;
  }
}

bool LineReader::next() {
  while (next_raw()) {
    if (line_number_ == 1 && line().substr(0, 3) == "\xEF\xBB\xBF") {  // a byte order mark
      line_begin_ += 3;
      line_bytes_ -= 3;
    }
    check_text();
    if (!is_blank(line())) return true;
  }
  return false;
}

void LineReader::check_text() const {
  const std::string_view text = line();
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    const std::size_t byte = first_invalid_utf8(text);
    fail(byte, fmt::format("the byte 0x{:02X} is not valid UTF-8, expected plain text",
                           static_cast<unsigned>(static_cast<unsigned char>(text[byte]))));
  }
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    fail(nul, "the byte 0x00 is not text, expected plain text");
  }
}

void LineReader::fail(std::size_t byte, std::string_view message) const {
  std::string text(message);
  if (!terminated_) text += " (the last line has no line end: the file may be cut off)";
  throw schema::InputError(source_.at(line_number_, column_of(line(), byte)), text);
}

void LineReader::fail_file(std::string_view message) const {
  throw schema::InputError(source_, message);
}

}  // namespace kvsim::models
