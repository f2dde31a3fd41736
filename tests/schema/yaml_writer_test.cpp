// Whatever is written reads back as the same tree.
#include "models/schema/yaml.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/schema/test_support.h"

namespace kvsim::schema::KVSIM_FILE {
namespace {

TEST(YamlWriter, QuotesOnlyWhatNeedsIt) {
  const auto written = [](const char* text) { return to_flow_yaml(ConfigNode::scalar(text, true)); };
  EXPECT_EQ(written("80 GiB"), "80 GiB");
  EXPECT_EQ(written("H100 (SXM)"), "H100 (SXM)");
  EXPECT_EQ(written("70"), "\"70\"");
  EXPECT_EQ(written("yes"), "\"yes\"");
  EXPECT_EQ(written("null"), "\"null\"");
  EXPECT_EQ(written(""), "\"\"");
  EXPECT_EQ(written("a: b"), "\"a: b\"");
  EXPECT_EQ(written("a #b"), "\"a #b\"");
  EXPECT_EQ(written("- a"), "\"- a\"");
  EXPECT_EQ(written("a\nb\t\"c\"\\"), "\"a\\nb\\x09\\\"c\\\"\\\\\"");
}

TEST(YamlWriter, WritesBlocks) {
  const ConfigNode node = yaml("{a: {b: 1, c: []}, d: [{e: 1, f: [1, 2]}, [x, {g: h}]], i: {}}");
  EXPECT_EQ(to_yaml(node), R"(a:
  b: 1
  c: []
d:
  - e: 1
    f: [1, 2]
  -
    - x
    - g: h
i: {}
)");
  EXPECT_EQ(yaml(to_yaml(node)), node);
}

TEST(YamlWriter, JsonKeepsNumbersAndTruthValues) {
  EXPECT_EQ(to_json(yaml("{a: 1, b: 0.5, c: true, d: 80 GB, e: '1', f: [x, ~], g: 010, h: 1e3}")).dump(),
            R"({"a":1,"b":0.5,"c":true,"d":"80 GB","e":"1","f":["x",null],"g":"010","h":1000})");
}

/// Texts that look like something else are worth more than random letters.
std::string random_text() {
  static const std::vector<std::string> awkward{
      "",   "null",  "~",  "true", "No",  "0x10", "1e5",  "-",   "- x", "a: b", "#x",   "x #y", "[",
      "}",  "&a",    "*a", "!t",   "|",   ">",    "%d",   "@x",  "`x",  "'",    "\"",   "\\",   "a\nb",
      " x", "x ",    "?",  "? x",  "x:",  ":x",   "...",  "---", "<<",  "é",    "日本", "\t",   "\x01",
      "=",  "-.inf", ".5", "+1",   "a,b", "{a}",  "x\ty", "-a",  "--",  "1:30", "\x7F"};
  return *rc::gen::element(true, false) ? *rc::gen::elementOf(awkward)
                                        : *rc::gen::elementOf(awkward) + *rc::gen::elementOf(awkward);
}

ConfigNode random_tree(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 4 : 2);
  if (kind <= 1) return ConfigNode::scalar(random_text(), true);
  ConfigNode node = kind == 2 ? ConfigNode::sequence() : ConfigNode::map();
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    if (kind == 2) {
      node.items().push_back(random_tree(depth - 1));
    } else {
      node.set(random_text(), random_tree(depth - 1));
    }
  }
  return node;
}

RC_GTEST_PROP(YamlWriterProperty, WhatIsWrittenReadsBackEqual, ()) {
  const ConfigNode node = random_tree(3);
  RC_ASSERT(yaml(to_yaml(node)) == node);
  RC_ASSERT(yaml(to_flow_yaml(node)) == node);
}

}  // namespace
}  // namespace kvsim::schema::KVSIM_FILE
