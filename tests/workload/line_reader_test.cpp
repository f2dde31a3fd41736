#include "models/workload/line_reader.h"

#include <gtest/gtest.h>

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

/// A file that is gone when the test is.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) /
              (std::string("kvsim_") + testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::vector<std::string> lines_of(LineReader reader) {
  std::vector<std::string> lines;
  while (reader.next()) lines.emplace_back(reader.line());
  return lines;
}

TEST(LineReader, TakesEveryLineEndAndSkipsBlankLinesAndAByteOrderMark) {
  EXPECT_EQ(lines_of(LineReader::from_text("t",
                                           "\xEF\xBB\xBF"
                                           "a\r\n\n \t\r\nb\nc")),
            (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(lines_of(LineReader::from_text("t", "")).empty());
}

TEST(LineReader, LinesAcrossChunksArriveWhole) {
  std::string text;
  std::vector<std::string> expected;
  for (std::size_t n : {1U, 100U, 65'000U, 70'000U, 3U, 300'000U, 5U}) {
    expected.emplace_back(n, static_cast<char>('a' + n % 26));
    text += expected.back() + "\n";
  }
  const TemporaryFile file(text);
  EXPECT_EQ(lines_of(LineReader::open(file.path(), "x")), expected);
}

TEST(LineReader, TakesLongerLinesWhereAsked) {
  LineReader lines = LineReader::from_text("t", "abcd\nabcde\n");
  lines.set_line_limit(4);
  EXPECT_TRUE(lines.next());
  EXPECT_EQ(failure_of([&] { lines.next(); }), "t:2:5: the line is longer than 4 bytes, expected one request a line");
  const std::string longer(LineReader::max_line_bytes + 1, 'x');
  const TemporaryFile file(longer);
  LineReader of_file = LineReader::open(file.path(), "x");
  of_file.set_line_limit(longer.size());
  EXPECT_TRUE(of_file.next());
  EXPECT_EQ(of_file.line(), longer);
}

TEST(LineReader, RefusesALineThatNeverEnds) {
  const std::string text = "ok\n" + std::string(LineReader::max_line_bytes + 1, 'x') + "\n";
  const std::string expected = ":2:4194305: the line is longer than 4194304 bytes, expected one request a line";
  EXPECT_EQ(failure_of([&] { lines_of(LineReader::from_text("t", text)); }), "t" + expected);
  const TemporaryFile file(text);
  EXPECT_EQ(failure_of([&] { lines_of(LineReader::open(file.path(), "x")); }), file.path() + expected);
  EXPECT_EQ(lines_of(LineReader::from_text("t", std::string(LineReader::max_line_bytes, 'x'))).size(), 1U);
}

TEST(LineReader, PointsAtTheByteThatIsNoText) {
  EXPECT_EQ(failure_of([] { lines_of(LineReader::from_text("t", "a\nb\xC3\xBC\xFF\n")); }),
            "t:2:3: the byte 0xFF is not valid UTF-8, expected plain text");
  EXPECT_EQ(failure_of([] { lines_of(LineReader::from_text("t", "ab\xE2\x82\nx")); }),
            "t:1:3: the byte 0xE2 is not valid UTF-8, expected plain text");
  EXPECT_EQ(failure_of([] { lines_of(LineReader::from_text("t", std::string("a\0b\n", 4))); }),
            "t:1:2: the byte 0x00 is not text, expected plain text");
}

TEST(LineReader, SaysWhatIsNoFile) {
  const std::string folder = testing::TempDir() + "kvsim_folder";
  std::filesystem::create_directory(folder);
  EXPECT_EQ(failure_of([&] { LineReader::open(folder, "a mooncake trace"); }),
            folder + ": is a directory, expected a mooncake trace");
  std::filesystem::remove(folder);
  EXPECT_EQ(failure_of([] { LineReader::open("/nowhere/t.jsonl", "a mooncake trace"); }),
            "/nowhere/t.jsonl: cannot be opened (No such file or directory), expected a mooncake trace");
}

/// What a filter makes of a text.
template <class Filter>
std::string packed(const std::string& text, const Filter& filter) {
  std::ostringstream out;
  boost::iostreams::filtering_ostream stream;
  stream.push(filter);
  stream.push(out);
  stream << text;
  stream.reset();
  return out.str();
}

/// Lines of a file, counted, and the last one.
std::string lines_of(const std::string& path) {
  LineReader lines = LineReader::open(path, "a trace");
  std::string last;
  std::size_t count = 0;
  for (; lines.next(); ++count) last = lines.line();
  return std::to_string(count) + " " + last;
}

// Longer than what is read at once, so that lines go over its ends.
TEST(LineReader, ReadsWhatIsPackedWithGzipOrZstd) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  for (const std::string& bytes :
       {packed(text, boost::iostreams::gzip_compressor()), packed(text, boost::iostreams::zstd_compressor()), text}) {
    const TemporaryFile file(bytes);
    EXPECT_EQ(lines_of(file.path()), "50000 line 395942081");
  }
}

TEST(LineReader, SaysThatAPackedFileIsCutOffOrBroken) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  // Of zstd that is known beforehand; of gzip what was read until there is.
  const std::string whole = ", expected a readable file, whole where it is compressed";
  for (const auto& [packed_text, where] :
       {std::pair{packed(text, boost::iostreams::gzip_compressor()), ": cannot be read on after line "},
        std::pair{packed(text, boost::iostreams::zstd_compressor()), ": cannot be read to its end"}}) {
    std::string bytes = packed_text;
    for (const std::size_t cut : {bytes.size() / 2, bytes.size() - 1}) {
      const TemporaryFile file(bytes.substr(0, cut));
      const std::string message = failure_of([&] { lines_of(file.path()); });
      EXPECT_TRUE(message.starts_with(file.path() + where)) << message;
      EXPECT_TRUE(message.ends_with(whole)) << message;
      EXPECT_FALSE(message.starts_with(file.path() + ": cannot be read on after line 0,")) << message;
    }
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
    const TemporaryFile file(bytes);
    EXPECT_NE(failure_of([&] { lines_of(file.path()); }), "(done)");
  }
}

TEST(LineReader, GivesAHeldLineOnceMore) {
  LineReader lines = LineReader::from_text("t", "a\nb\n");
  ASSERT_TRUE(lines.next());
  lines.hold();
  ASSERT_TRUE(lines.next());
  EXPECT_EQ(lines.line(), "a");
  ASSERT_TRUE(lines.next());
  EXPECT_EQ(lines.line(), "b");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
