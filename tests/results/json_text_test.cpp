// How JSON documents are written.
#include "tools/results/section.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::Json;

TEST(JsonText, IndentsObjectsAndKeepsPlainListsOnALine) {
  const Json doc{{"a", {1, 2.5, "x", nullptr, true}},
                 {"b", {{"c", Json::array()}, {"d", Json::object()}}},
                 {"e", {Json{{"f", 1}}, 2}},
                 {"g", {{1, 2}, {3}}}};
  EXPECT_EQ(results::json_text(doc), R"({
  "a": [1, 2.5, "x", null, true],
  "b": {
    "c": [],
    "d": {}
  },
  "e": [
    {
      "f": 1
    },
    2
  ],
  "g": [
    [1, 2],
    [3]
  ]
}
)");
}

TEST(JsonText, ParsesBackToTheSameDocumentAndIsShortInLines) {
  Json numbers = Json::array();
  for (int i = 0; i < 10000; ++i) numbers.push_back(i / 7.0);
  const Json doc{{"a \"quoted\" key\n", {{"numbers", numbers}, {"text", "line\nline \u00fc"}}},
                 {"more", {numbers, {{"big", 18446744073709551615U}, {"small", -1e-300}}}}};
  const std::string text = results::json_text(doc);
  EXPECT_EQ(Json::parse(text), doc);
  EXPECT_EQ(Json::parse(text).dump(), doc.dump());
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 20);
}

TEST(JsonText, WritesASingleValue) {
  EXPECT_EQ(results::json_text(Json(3)), "3\n");
  EXPECT_EQ(results::json_text(Json::object()), "{}\n");
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
