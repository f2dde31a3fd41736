// What the YAML reader accepts, where it says things are, and what it refuses with which words.
#include "models/schema/yaml.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/schema/test_support.h"

namespace kvsim::schema::KVSIM_FILE {
namespace {

TEST(YamlReader, KeepsKindsOrderAndQuotes) {
  const ConfigNode node = yaml("b: 1\na: ['x', y]\nc: {d: \"2\"}\n");
  ASSERT_TRUE(node.is_map());
  EXPECT_EQ(node.entries()[0].key, "b");
  EXPECT_EQ(node.entries()[1].key, "a");
  EXPECT_FALSE(node.find("b")->quoted());
  EXPECT_TRUE(node.find_path("a.0")->quoted());
  EXPECT_FALSE(node.find_path("a.1")->quoted());
  EXPECT_TRUE(node.find_path("c.d")->quoted());
  EXPECT_EQ(node.find_path("c.x"), nullptr);
  EXPECT_EQ(node.find_path("a.2"), nullptr);
  EXPECT_EQ(node.find_path("a.-1"), nullptr);
}

TEST(YamlReader, KnowsLineAndColumnOfKeysAndValues) {
  const ConfigNode node = yaml("# comment\na:\n  b: 12\n  c:\n    - x\n    - {d: y}\n");
  EXPECT_EQ(node.find_path("a.b")->origin().str(), "test.yaml:3:6");
  EXPECT_EQ(node.find("a")->find_entry("b")->key_origin.str(), "test.yaml:3:3");
  EXPECT_EQ(node.find_path("a.c.1.d")->origin().str(), "test.yaml:6:11");
}

TEST(YamlReader, CountsColumnsInCharactersNotBytes) {
  const ConfigNode node = yaml("{\"µs ≤ é\": x, b: y}");  // the b is the 15th character, the 19th byte
  EXPECT_EQ(node.find_entry("b")->key_origin.column(), 15);
}

TEST(YamlReader, ReadsWindowsLineEndsAndAByteOrderMark) {
  const ConfigNode node = yaml(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: 2\r\n");
  EXPECT_EQ(node.find("b")->text(), "2");
  EXPECT_EQ(node.find("b")->origin().str(), "test.yaml:2:4");
}

TEST(YamlReader, CopiesAliases) {
  const ConfigNode node = yaml("a: &x {k: 1}\nb: *x\nc: [*x, *x]\n");
  EXPECT_EQ(*node.find("b"), *node.find("a"));
  EXPECT_EQ(node.find_path("c.1.k")->text(), "1");
}

TEST(YamlReader, RefusesADuplicateKeyNamingTheFirst) {
  EXPECT_EQ(read_error("a: 1\nb: 2\na: 3\n"), "test.yaml:3:1: duplicate key \"a\", first given in line 1");
  EXPECT_EQ(read_error("x: {a: 1, \"a\": 2}"), "test.yaml:1:11: duplicate key \"a\", first given in line 1");
}

TEST(YamlReader, RefusesWhatReadersUnderstandDifferently) {
  EXPECT_EQ(read_error("a: &x {k: 1}\nb:\n  <<: *x\n"),
            "test.yaml:3:3: merge keys (<<) are not supported, expected the keys written out");
  EXPECT_EQ(read_error("a: 1\n---\nb: 2\n"),
            "test.yaml:2:1: a second document begins here, expected one document per file");
  EXPECT_EQ(read_error("a: !secret 1\n"), "test.yaml:1:4: unknown tag \"!secret\", expected a value without a tag");
  EXPECT_EQ(read_error("a: !!int 1\n"),
            "test.yaml:1:4: unknown tag \"tag:yaml.org,2002:int\", expected a value without a tag");
  EXPECT_EQ(read_error("[1, 2]: 3\n"), "test.yaml:1:1: a list cannot be a key, expected a name");
  EXPECT_EQ(read_error("{a: 1}: 3\n"), "test.yaml:1:1: a map cannot be a key, expected a name");
  EXPECT_EQ(read_error("~: 3\n"), "test.yaml:1:1: a key has no name, expected text before the colon");
  EXPECT_EQ(read_error("a: &x y\n*x : 3\n"), "test.yaml:2:1: an alias cannot be a key, expected the key written out");
}

TEST(YamlReader, AcceptsTheTagsThatChangeNothing) {
  const ConfigNode node = yaml("!!map {a: !!str 12, b: !!seq [x]}");
  EXPECT_TRUE(node.find("a")->quoted());
}

TEST(YamlReader, ReportsSyntaxErrorsInItsOwnFormat) {
  EXPECT_EQ(read_error("a: [1, 2\n"), "test.yaml:2:1: not valid YAML: end of sequence flow not found");
  EXPECT_EQ(read_error("a: b: c\n"), "test.yaml:1:5: not valid YAML: illegal map value");
  EXPECT_EQ(read_error("a: *nowhere\n"), "test.yaml:1:4: not valid YAML: the referenced anchor is not defined");
}

TEST(YamlReader, RefusesEmptyDocuments) {
  for (const char* text : {"", "# only a comment\n", "---\n", "~\n"}) {
    EXPECT_EQ(read_error(text), "test.yaml: is empty, expected a YAML document") << text;
  }
}

TEST(YamlReader, RefusesBytesThatAreNoText) {
  using namespace std::string_view_literals;
  EXPECT_EQ(read_error("a: \xFF\n"), "test.yaml:1:4: the byte 0xFF is not valid UTF-8; save the file as UTF-8");
  EXPECT_EQ(read_error("é: 1\nb: \xC3"), "test.yaml:2:4: the byte 0xC3 is not valid UTF-8; save the file as UTF-8");
  EXPECT_EQ(read_error("a: x\0y"sv),
            "test.yaml:1:5: the control character 0x00 is not allowed, expected printable text");
  // Byte 4 ends the input for the YAML library: everything behind it would be lost without a word.
  EXPECT_EQ(read_error("a: 1\n\x04"
                       "b: 2\n"),
            "test.yaml:2:1: the control character 0x04 is not allowed, expected printable text");
  EXPECT_EQ(read_error("a: \"x\\N\""), "test.yaml:1:4: an escape in this text gives no valid character");
  EXPECT_EQ(read_error("a: \"x\\0\""), "test.yaml:1:4: an escape in this text gives no valid character");
  EXPECT_NE(read_error("a: \xC0\xAF"), "no error") << "overlong";
  EXPECT_NE(read_error("a: \xED\xA0\x80"), "no error") << "surrogate";
  EXPECT_NE(read_error("a: \xF4\x90\x80\x80"), "no error") << "beyond Unicode";
}

TEST(YamlReader, RefusesDeepNesting) {
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(read_error(deep), "no error");
  EXPECT_EQ(read_error("[" + deep + "]"), "test.yaml:1:65: nested too deeply, expected at most 64 levels");
  EXPECT_NE(read_error(std::string(100'000, '[')), "no error");
}

TEST(YamlReader, RefusesNestingHiddenInAliases) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 80; ++i) text += fmt::format("a{}: &a{} [*a{}]\n", i, i, i - 1);
  EXPECT_EQ(read_error(text), "test.yaml:64:12: nested too deeply, expected at most 64 levels");
}

TEST(YamlReader, DefusesAliasBombs) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    text +=
        fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  EXPECT_EQ(read_error(text),
            "test.yaml:6:10: too many values (aliases count as often as they are used), expected at most 200000");
}

TEST(YamlReader, DefusesAliasesOfLongTexts) {
  std::string text = "a: &a " + std::string(1'000'000, 'x') + "\nb: [";
  for (int i = 0; i < 100; ++i) text += "*a, ";
  EXPECT_NE(read_error(text + "]\n").find("too much text"), std::string::npos);
}

TEST(YamlReader, RefusesAnAliasOfTheValueItStandsIn) {
  EXPECT_EQ(read_error("a: &x [1, *x]\n"),
            "test.yaml:1:11: this alias stands inside the value it refers to, expected an alias of a finished one");
}

// What was read is written and read again: a key is escaped then, and YAML knows none of more than 1,024 characters.
TEST(YamlReader, AKeyThatCouldNotBeWrittenIsRefused) {
  const auto tabs = [](std::size_t bytes) { return "\"a" + std::string(bytes - 2, '\t') + "b\": 1\n"; };
  const ConfigNode longest = read_yaml(tabs(200), "k.yaml");
  EXPECT_TRUE(read_yaml(to_yaml(longest), "written.yaml") == longest);
  try {
    (void)read_yaml(tabs(201), "k.yaml");
    FAIL() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(std::string(e.what()), "k.yaml:1:1: a key of 201 bytes, expected at most 200");
  }
}

TEST(YamlReader, RefusesTextBeyondItsLimit) {
  YamlLimits limits;
  limits.text_bytes = 4;
  EXPECT_EQ(error_of([&] { return read_yaml("a: 12", "big.yaml", limits); }),
            "big.yaml: too long, expected at most 4 bytes of text");
}

TEST(YamlReader, SaysWhatIsWrongWithAFile) {
  const std::string folder = testing::TempDir();
  EXPECT_EQ(error_of([&] { return read_yaml_file(folder + "nowhere.yaml"); }),
            folder + "nowhere.yaml: there is no such file");
  EXPECT_EQ(error_of([&] { return read_yaml_file(folder); }), folder + ": is a directory, expected a YAML file");

  const std::string path = folder + "kvsim_reader_test.yaml";
  std::ofstream(path) << "a: 1\n\tb: 2\n";
  EXPECT_NE(error_of([&] { return read_yaml_file(path); }).find(path + ":2:1: not valid YAML"), std::string::npos);
  std::ofstream(path) << "a: 1\n";
  EXPECT_EQ(read_yaml_file(path).find("a")->text(), "1");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace kvsim::schema::KVSIM_FILE
