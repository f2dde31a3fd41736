// Rules on keys without effect, and several mistakes said at once.
#include <gtest/gtest.h>

#include "models/schema/object_schema.h"
#include "tests/schema/test_support.h"

namespace kvsim::schema::KVSIM_FILE {
namespace {

struct Inner {
  bool on = false;
  double size = 1;
};
struct Outer {
  std::int64_t mode = 0;
  Inner inner;
  std::vector<Inner> items;
};

ObjectSchema<Outer> outer_schema() {
  ObjectSchema<Inner> inner("inner", "An inner object.");
  inner.optional("on", &Inner::on, boolean(), "whether size is read");
  inner.optional("size", &Inner::size, number(), "a size");
  inner.unread({"size"}, [](const Inner& i) { return i.on ? "" : "nothing is on: give on"; });
  ObjectSchema<Outer> s("outer", "An outer object.");
  s.optional("mode", &Outer::mode, integer(), "0: inner is not read");
  s.object("inner", &Outer::inner, inner, Presence::optional, "nested");
  s.list("items", &Outer::items, inner, Presence::optional, "a list");
  s.unread(
      {"inner"}, [](const Outer& o) { return o.mode == 0 ? "mode is 0" : ""; }, IfWritten::refused);
  return s;
}

std::string unread(const Outer& value) {
  std::string text;
  for (const UnreadKey& key : outer_schema().unread_keys(value)) text += key.path + ": " + key.why + "; ";
  return text;
}

TEST(UnreadKeys, AreThoseWhoseRuleGivesAReason) {
  EXPECT_EQ(unread({}), "inner: mode is 0; inner.size: nothing is on: give on; ");
  EXPECT_EQ(unread({1, {true, 1}, {}}), "");
}

TEST(UnreadKeys, OfListsAreNumbered) {
  EXPECT_EQ(unread({1, {true, 1}, {{true, 1}, {false, 1}}}), "items.1.size: nothing is on: give on; ");
}

TEST(UnreadKeys, SayWhetherAFileMayHaveThem) {
  const std::vector<UnreadKey> found = outer_schema().unread_keys({});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].then, IfWritten::refused);
  EXPECT_EQ(found[1].then, IfWritten::remarked);
}

TEST(UnreadKeys, ARuleForAKeyThatIsNotThereIsAMistakeOfTheTable) {
  const auto never = [](const Outer&) { return ""; };
  EXPECT_THROW(outer_schema().unread({"inner.colour"}, never), std::logic_error);
  EXPECT_NO_THROW(outer_schema().unread({"inner.size"}, never));
}

/// Every message about a text, a line each.
std::string mistakes(std::string_view text) {
  try {
    static_cast<void>(outer_schema().parse(yaml(text)));
  } catch (const InputError& e) {
    std::string all = e.what();
    for (const std::string& one : e.further()) all += "\n" + one;
    return all;
  }
  return "none";
}

TEST(SeveralMistakes, AreSaidAtOnceMisspeltKeysFirst) {
  EXPECT_EQ(mistakes("mode: x\ninner: {sise: 2, on: maybe}\nitmes: []\n"),
            "test.yaml:3:1: unknown key \"itmes\" of outer; did you mean \"items\"?\n"
            "test.yaml:1:7: mode: expected a whole number such as \"25\", found \"x\"\n"
            "test.yaml:2:9: inner: unknown key \"sise\" of inner; did you mean \"size\"?\n"
            "test.yaml:2:22: inner.on: expected true or false, found \"maybe\"");
}

TEST(SeveralMistakes, NameMissingKeysLastAndNoneThatWasMisspelt) {
  ObjectSchema<Inner> s("pair", "Two that must be given.");
  s.required("on", &Inner::on, boolean(), "one");
  s.required("size", &Inner::size, number(), "the other");
  const auto said = [&s](std::string_view text) {
    try {
      static_cast<void>(s.parse(yaml(text)));
    } catch (const InputError& e) {
      return std::pair(std::string(e.what()), e.further());
    }
    return std::pair(std::string(), std::vector<std::string>());
  };
  const auto misspelt = said("sise: 2\n");
  EXPECT_EQ(misspelt.first, "test.yaml:1:1: unknown key \"sise\" of pair; did you mean \"size\"?");
  EXPECT_EQ(misspelt.second,
            std::vector<std::string>{"test.yaml:1:1: missing key \"on\" of pair, expected true or false"});
  EXPECT_EQ(said("{}").second.size(), 1U);
}

TEST(SeveralMistakes, AWordForAnotherKeyIsSaidToBeOne) {
  enum class Format { bf16, fp8 };
  struct Model {
    std::int64_t weights = 0;
    Format format = Format::bf16;
  };
  ObjectSchema<Model> s("model", "A model.");
  s.optional("weights", &Model::weights, bytes(), "of all weights");
  s.optional("format", &Model::format, choice<Format>({{"bf16", Format::bf16, "16"}, {"fp8", Format::fp8, "8"}}),
             "of weights");
  EXPECT_EQ(error_of([&] { static_cast<void>(s.parse(yaml("weights: fp8\n"))); }),
            "test.yaml:1:10: weights: expected a size in bytes such as \"80 GiB\", found \"fp8\"; \"fp8\" is a word of "
            "format");
}

}  // namespace
}  // namespace kvsim::schema::KVSIM_FILE
