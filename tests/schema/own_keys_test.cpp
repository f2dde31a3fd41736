// Keys of a registry's entries: read and written beside the map's own, and told of where the chosen entry reads none.
#include "models/schema/own_keys.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "models/schema/object_schema.h"
#include "models/schema/registry.h"
#include "models/schema/yaml.h"
#include "tests/schema/test_support.h"

namespace kvsim::schema::KVSIM_FILE {
namespace {

struct Estimate {
  double prior = 4;
};

struct Table {
  std::vector<std::int64_t> rows;
};

struct Entry {
  std::string_view name;
  std::string_view description = "";
  int place = kListedLast;
  KeyFragment keys{};
};

struct Choice {
  std::string policy = "plain";
  std::int64_t most = 1;
  OwnKeys own;
};

KeyFragment estimate_keys() {
  ObjectSchema<Estimate> s("estimate", "An estimate.");
  s.optional("prior", &Estimate::prior, number().positive(), "trials taken as seen");
  return s.fragment("estimates nothing");
}

const std::vector<Entry>& entries() {
  ObjectSchema<Table> table("table", "A table.");
  table.list("rows", &Table::rows, integer(), Presence::optional, "what is looked up");
  table.check([](const Table& t, const Reporter& report) {
    if (t.rows.size() > 2) report.fail("rows", "too many");
  });
  static const auto all = listed<Entry>({{"table", "", kListedLast, table.fragment("has no table")},
                                         {"goodput", "", 2, estimate_keys()},
                                         {"adaptive", "", 2, estimate_keys()},
                                         {"plain", "", 1}});
  return all;
}

ObjectSchema<Choice> choice_schema() {
  ObjectSchema<Choice> s("choice", "A choice.");
  s.optional("policy", &Choice::policy, text(), "which");
  s.own_keys(std::span<const Entry>(entries()), &Choice::own, &Choice::policy, "example policy");
  s.optional("most", &Choice::most, integer(), "after them");
  return s;
}

TEST(Registry, IsListedByPlaceThenByName) {
  std::vector<std::string_view> names;
  for (const Entry& e : entries()) names.push_back(e.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"plain", "adaptive", "goodput", "table"}));
  EXPECT_EQ(find_named(std::span<const Entry>(entries()), "table"), &entries().back());
  EXPECT_EQ(find_named(std::span<const Entry>(entries()), "tables"), nullptr);
}

TEST(OwnKeys, StandBesideTheMapsOwnEachOnce) {
  std::vector<std::string> names;
  const auto schema = choice_schema();
  for (const FieldInfo& field : schema.info().fields) names.push_back(field.name);
  EXPECT_EQ(names, (std::vector<std::string>{"policy", "prior", "rows", "most"}));
  EXPECT_EQ(choice_schema().info().find("prior")->default_text, "4");
}

TEST(OwnKeys, AreReadAndWrittenAndDefaultToTheirStructs) {
  const Choice c = choice_schema().parse(yaml("{policy: table, rows: [3, 4], most: 2}"));
  EXPECT_EQ(c.own.of<Table>().rows, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(c.own.of<Estimate>().prior, 4);
  EXPECT_EQ(to_flow_yaml(choice_schema().dump(c)), "{policy: table, prior: 4, rows: [3, 4], most: 2}");
  EXPECT_EQ(choice_schema().parse(choice_schema().dump(c)).own.of<Table>().rows, c.own.of<Table>().rows);
}

TEST(OwnKeys, AreCheckedLikeOtherKeys) {
  EXPECT_THROW(static_cast<void>(choice_schema().parse(yaml("{prior: 0}"))), InputError);
  EXPECT_THROW(static_cast<void>(choice_schema().parse(yaml("{rows: [1, 2, 3]}"))), InputError);
  EXPECT_THROW(static_cast<void>(choice_schema().parse(yaml("{row: [1]}"))), InputError);
}

TEST(OwnKeys, HaveNoEffectWhereTheChosenEntryHasThemNot) {
  const auto unread = [](const char* text) {
    std::vector<std::string> said;
    for (const UnreadKey& key : choice_schema().unread_keys(choice_schema().parse(yaml(text)))) {
      said.push_back(key.path + ": " + key.why);
    }
    return said;
  };
  EXPECT_EQ(unread("{policy: plain}"),
            (std::vector<std::string>{"prior: example policy plain estimates nothing: use adaptive or goodput",
                                      "rows: example policy plain has no table: use table"}));
  EXPECT_EQ(unread("{policy: goodput}"),
            std::vector<std::string>{"rows: example policy goodput has no table: use table"});
}

TEST(OwnKeys, AreValuesThatCopiesDoNotShare) {
  OwnKeys first;
  first.edit<Table>().rows = {1};
  OwnKeys second = first;
  second.edit<Table>().rows.push_back(2);
  second.edit<Estimate>().prior = 9;
  EXPECT_EQ(first.of<Table>().rows, std::vector<std::int64_t>{1});
  EXPECT_EQ(first.of<Estimate>().prior, 4);
  EXPECT_EQ(second.of<Table>().rows, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(second.of<Estimate>().prior, 9);
}

}  // namespace
}  // namespace kvsim::schema::KVSIM_FILE
