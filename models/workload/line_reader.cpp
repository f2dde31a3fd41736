#include "models/workload/line_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <system_error>

namespace kvsim::models {
namespace {

constexpr std::size_t first_chunk = std::size_t{64} << 10U;
constexpr std::string_view whole_file = "expected a readable file, whole where it is compressed";

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

/// The little-endian number in the next `bytes` bytes; none at the end of the file.
std::optional<std::uint64_t> next_number(std::istream& file, std::size_t bytes) {
  std::array<char, 8> raw{};
  if (!file.read(raw.data(), static_cast<std::streamsize>(bytes))) return std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t i = bytes; i-- > 0;) number = number << 8U | static_cast<unsigned char>(raw[i]);
  return number;
}

constexpr std::uint64_t zstd_frame = 0xFD2FB528;

/// Whether a zstd file goes on to the end of a frame: Boost reads one that is cut off without a word. By the lengths of
/// blocks (RFC 8878, 3.1.1), from the file's beginning, to which it returns.
bool zstd_is_whole(std::istream& file) {
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  file.seekg(0);
  bool whole = false;
  while (const auto magic = next_number(file, 4)) {
    whole = false;
    if (*magic != zstd_frame) {  // one to be skipped, or rubbish, which is refused when it is unpacked
      const auto bytes = next_number(file, 4);
      if ((*magic & 0xFFFFFFF0U) != 0x184D2A50U || !bytes) break;
      file.seekg(static_cast<std::streamoff>(*bytes), std::ios::cur);
      whole = file.tellg() <= size;
      continue;
    }
    const auto descriptor = next_number(file, 1);
    if (!descriptor) break;
    constexpr std::array<int, 4> dictionary_bytes{0, 1, 2, 4}, size_bytes{0, 2, 4, 8};
    const bool single = (*descriptor >> 5U & 1U) != 0;
    const int of_size = size_bytes[*descriptor >> 6U];
    file.seekg((single ? 0 : 1) + dictionary_bytes[*descriptor & 3U] + (of_size == 0 && single ? 1 : of_size),
               std::ios::cur);
    while (const auto block = next_number(file, 3)) {
      const bool of_one_byte = (*block >> 1U & 3U) == 1;
      file.seekg(of_one_byte ? 1 : static_cast<std::streamoff>(*block >> 3U), std::ios::cur);
      if ((*block & 1U) == 0) continue;
      if ((*descriptor >> 2U & 1U) != 0) file.seekg(4, std::ios::cur);
      whole = file.tellg() <= size;
      break;
    }
    if (!whole) break;
  }
  file.clear();
  file.seekg(0);
  return whole;
}

/// Contents of an open file, unpacked where its first bytes are those of gzip or zstd; null: it is cut off.
std::unique_ptr<std::istream> plain(std::unique_ptr<std::ifstream> file) {
  std::array<char, 4> head{};
  file->read(head.data(), head.size());
  const std::string_view magic(head.data(), static_cast<std::size_t>(file->gcount()));
  file->clear();
  for (std::size_t i = 0; i < magic.size(); ++i) file->unget();  // a pipe cannot seek
  const bool gzip = magic.starts_with("\x1F\x8B"), zstd = magic == "\x28\xB5\x2F\xFD";
  if (!gzip && !zstd) return file;
  if (zstd && !zstd_is_whole(*file)) return nullptr;
  struct Unpacked final : boost::iostreams::filtering_istream {
    ~Unpacked() override { reset(); }  // before the file goes
    std::unique_ptr<std::ifstream> packed;
  };
  auto unpacked = std::make_unique<Unpacked>();
  unpacked->packed = std::move(file);
  if (gzip) {
    unpacked->push(boost::iostreams::gzip_decompressor(boost::iostreams::zlib::default_window_bits, first_chunk));
  } else {
    unpacked->push(boost::iostreams::zstd_decompressor(boost::iostreams::zstd_params(), first_chunk));
  }
  unpacked->push(*unpacked->packed, first_chunk);
  return unpacked;
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
  reader.start(path, expected);
  return reader;
}

LineReader LineReader::open_folder(const std::string& path, std::string_view expected) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    if (at->is_regular_file(unreadable) && !at->path().filename().string().starts_with("."))
      files.push_back(at->path().string());
  }
  if (error) throw schema::InputError(fmt::format("{}: cannot be listed ({})", path, error.message()));
  if (files.empty()) throw schema::InputError(fmt::format("{}: is an empty folder, expected {}", path, expected));
  std::sort(files.begin(), files.end(), std::greater<>());
  LineReader reader = open(files.back(), expected);
  files.pop_back();
  reader.further_ = std::move(files);
  reader.expected_ = expected;
  return reader;
}

/// Begins a file, the first or a further one.
void LineReader::start(const std::string& path, std::string_view expected) {
  source_ = schema::Origin(path);
  line_number_ = 0;
  content_ = next_line_ = line_begin_ = line_bytes_ = 0;
  errno = 0;
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) {
    throw schema::InputError(
        fmt::format("{}: cannot be opened ({}), expected {}", path, std::generic_category().message(errno), expected));
  }
  file_ = plain(std::move(file));
  if (!file_) fail_file(fmt::format("cannot be read to its end, {}", whole_file));
  buffer_.resize(first_chunk + padding);
  fill();
}

LineReader LineReader::from_text(const std::string& name, std::string_view text) {
  LineReader reader(name);
  reader.buffer_.assign(text.size() + padding, '\0');
  std::copy(text.begin(), text.end(), reader.buffer_.begin());
  reader.content_ = text.size();
  return reader;
}

LineReader LineReader::from_lines(const schema::Origin& source, const std::vector<std::pair<int, std::string>>& lines) {
  std::string text;
  std::vector<int> numbers;
  numbers.reserve(lines.size());
  for (const auto& [number, line] : lines) {
    text.append(line).append("\n");
    numbers.push_back(number);
  }
  LineReader reader = from_text({}, text);
  reader.source_ = source;
  reader.numbers_ = std::move(numbers);
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
  if (file_->bad()) {
    fail_file(line_number_ == 0 ? fmt::format("cannot be read to its end, {}", whole_file)
                                : fmt::format("cannot be read on after line {}, {}", line_number_, whole_file));
  }
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
      next_line_ += bytes;  // so that the next call goes on behind the part that was read
      fail(line_bytes_, fmt::format("the line is longer than {} bytes, expected one request a line", line_limit_));
    }
    next_line_ += bytes + (found ? 1 : 0);
    if (line_bytes_ > 0 && buffer_[line_begin_ + line_bytes_ - 1] == '\r') --line_bytes_;
    return true;
  }
}

bool LineReader::next() {
  if (std::exchange(held_, false)) return true;
  for (;;) {
    if (!next_raw()) {
      if (further_.empty()) return false;
      start(further_.back(), expected_);
      further_.pop_back();
      continue;
    }
    if (line_number_ == 1 && line().substr(0, 3) == "\xEF\xBB\xBF") {  // a byte order mark
      line_begin_ += 3;
      line_bytes_ -= 3;
    }
    check_text();
    if (!is_blank(line())) return true;
  }
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
  throw schema::InputError(source_.at(line_number(), column_of(line(), byte)), text);
}

void LineReader::fail_file(std::string_view message) const {
  throw schema::InputError(source_, message);
}

}  // namespace kvsim::models
