// Documents as they come: what is not there, or is of another type, reads as absent.
#include "tools/report/documents.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kvsim::report::KVSIM_FILE {
namespace {

const Json& document() {
  static const Json json = Json::parse(R"({"n": 1.5, "s": "text", "t": true, "z": null, "list": [1, "two", null, 4],
                                           "o": {"inner": {"n": 2}}, "empty": {}})");
  return json;
}

TEST(View, ReadsWhatIsThere) {
  EXPECT_EQ(number(document(), {"n"}), 1.5);
  EXPECT_EQ(number(document(), {"o", "inner", "n"}), 2);
  EXPECT_EQ(number_or_nan(document(), {"n"}), 1.5);
  EXPECT_EQ(text(document(), {"s"}), "text");
  EXPECT_TRUE(truth(document(), {"t"}));
  EXPECT_TRUE(has(document(), {"o", "inner"}));
  EXPECT_TRUE(has(document(), {"empty"}));
  EXPECT_EQ(&at(document(), {}), &document());
}

TEST(View, WhatIsAbsentReadsAsNothing) {
  for (const Path path :
       {Path{"none"}, Path{"o", "none"}, Path{"o", "inner", "n", "deeper"}, Path{"s", "x"}, Path{"list", "0"}}) {
    EXPECT_TRUE(at(document(), path).empty());
    EXPECT_FALSE(has(document(), path));
    EXPECT_EQ(number(document(), path), std::nullopt);
    EXPECT_TRUE(std::isnan(number_or_nan(document(), path)));
    EXPECT_EQ(text(document(), path), "");
    EXPECT_FALSE(truth(document(), path));
    EXPECT_TRUE(numbers(document(), path).empty());
    EXPECT_TRUE(texts(document(), path).empty());
  }
}

TEST(View, AnotherTypeReadsAsAbsent) {
  for (const std::string_view key : {"n", "s", "t", "z", "list", "o"}) {
    EXPECT_EQ(number(document(), {key}).has_value(), key == "n") << key;
    EXPECT_EQ(text(document(), {key}).empty(), key != "s") << key;
    EXPECT_EQ(truth(document(), {key}), key == "t") << key;
    EXPECT_EQ(numbers(document(), {key}).empty(), key != "list") << key;
    EXPECT_EQ(texts(document(), {key}).empty(), key != "list") << key;
  }
}

TEST(View, NullIsAbsent) {
  EXPECT_FALSE(has(document(), {"z"}));
  EXPECT_FALSE(has(document(), {"z", "x"}));
  EXPECT_TRUE(std::isnan(number_or_nan(document(), {"z"})));
}

TEST(View, ElementsOfAnotherTypeKeepTheirPlaceAmongNumbersAndNoneAmongTexts) {
  const std::vector<double> values = numbers(document(), {"list"});
  ASSERT_EQ(values.size(), 4);
  EXPECT_EQ(values[0], 1);
  EXPECT_TRUE(std::isnan(values[1]) && std::isnan(values[2]));
  EXPECT_EQ(values[3], 4);
  EXPECT_EQ(texts(document(), {"list"}), std::vector<std::string>{"two"});
}

TEST(View, ADocumentThatIsNoObjectHasNothing) {
  for (const Json& json : {Json(), Json(5), Json("text"), Json::array({1, 2}), Json(true)}) {
    EXPECT_FALSE(has(json, {"a"}));
    EXPECT_EQ(number(json, {"a", "b"}), std::nullopt);
    EXPECT_EQ(text(json, {"a"}), "");
  }
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
