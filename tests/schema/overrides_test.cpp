// --set and merging: what they change, and that complaints about what they wrote name --set.
#include "models/schema/overrides.h"

#include <gtest/gtest.h>

#include "models/schema/yaml.h"
#include "tests/schema/cluster_example.h"
#include "tests/schema/test_support.h"

namespace kvsim::schema::KVSIM_FILE {
namespace {

std::string after(std::string_view text, std::string_view assignment) {
  ConfigNode node = yaml(text);
  apply_set(node, assignment);
  return to_flow_yaml(node);
}

std::string set_error(std::string_view text, std::string_view assignment) {
  return error_of([&] { return after(text, assignment); });
}

TEST(Set, ReplacesAndAdds) {
  EXPECT_EQ(after("{a: {b: 1}}", "a.b=2"), "{a: {b: 2}}");
  EXPECT_EQ(after("{a: {b: 1}}", "a.c.d=5 min"), "{a: {b: 1, c: {d: 5 min}}}");
  EXPECT_EQ(after("{a: 1}", "a={b: 1, c: [2, 3]}"), "{a: {b: 1, c: [2, 3]}}");
  EXPECT_EQ(after("{a: 1}", "a=x=y"), "{a: x=y}");
}

TEST(Set, NamesListItemsByNumber) {
  EXPECT_EQ(after("{s: [{r: 1}, {r: 2}]}", "s.1.r=3"), "{s: [{r: 1}, {r: 3}]}");
  EXPECT_EQ(after("{s: [1]}", "s.1=2"), "{s: [1, 2]}") << "one past the end appends";
  EXPECT_EQ(set_error("{s: [1]}", "s.2=2"), "--set s.2: there is no item 2, the list has 1");
  EXPECT_EQ(set_error("{s: [1]}", "s.x=2"), "--set s.x: \"x\" is no item of a list, expected a number from 0");
}

TEST(Set, TurnsANameIntoAnEntryBasedOnIt) {
  EXPECT_EQ(after("{gpu: h100}", "gpu.memory=100 GB"), "{gpu: {base: h100, memory: 100 GB}}");
  EXPECT_EQ(after("{gpu: {base: h100}}", "gpu.memory=100 GB"), "{gpu: {base: h100, memory: 100 GB}}");
}

TEST(Set, TurnsAShorthandIntoItsMap) {
  ConfigNode node = yaml("{memory: 1 GB, arrivals: {closed: 1}, context: 8k tokens}");
  apply_set(node, "context.cv=2");
  const auto cluster = example::cluster_schema().parse(node);
  EXPECT_EQ(cluster.context.mean_tokens, 8000);
  EXPECT_EQ(cluster.context.cv, 2);
}

TEST(Assignment, WithoutAValueTakesTheKeyAway) {
  const auto without = [](const char* path) {
    ConfigNode node = yaml("{a: {b: 1, c: 2}, d: 3}");
    assign(node, {path, std::nullopt});
    return to_flow_yaml(node);
  };
  EXPECT_EQ(without("a.b"), "{a: {c: 2}, d: 3}");
  EXPECT_EQ(without("a"), "{d: 3}");
  for (const char* nowhere : {"x", "a.x", "x.b", "d.b"}) EXPECT_EQ(without(nowhere), "{a: {b: 1, c: 2}, d: 3}");
}

TEST(Set, RefusesWhatIsNoAssignment) {
  EXPECT_EQ(set_error("{}", "a.b"), "--set a.b: expected key.key=value such as run.seed=7");
  EXPECT_EQ(set_error("{}", "=1"), "--set =1: expected key.key=value such as run.seed=7");
  EXPECT_EQ(set_error("{}", "a..b=1"), "--set a..b: a key is empty, expected key.key=value such as run.seed=7");
  EXPECT_EQ(set_error("{}", "a= "), "--set a: there is no value after \"=\"");
  EXPECT_EQ(set_error("{}", "a=[1"), "--set a: not valid YAML: end of sequence flow not found");
}

TEST(Set, ComplaintsAboutItsValuesNameIt) {
  ConfigNode node = yaml("{memory: 1 GB, arrivals: {closed: 1}}");
  apply_set(node, "deadline=5");
  EXPECT_EQ(error_of([&] { return example::cluster_schema().parse(node); }),
            "--set deadline: expected a time with its unit (s, ms, us, ns, min, h), found the bare number \"5\"");
  node = yaml("{memory: 1 GB, arrivals: {closed: 1}}");
  apply_set(node, "windw.length=5");
  EXPECT_EQ(error_of([&] { return example::cluster_schema().parse(node); }),
            "--set windw.length: unknown key \"windw\" of cluster; did you mean \"window\"?");
}

TEST(Merge, GoesKeyByKeyAndReplacesListsAndScalars) {
  EXPECT_EQ(to_flow_yaml(merge(yaml("{a: {b: 1, c: 2}, l: [1, 2]}"), yaml("{a: {c: 3, d: 4}, l: [5]}"))),
            "{a: {b: 1, c: 3, d: 4}, l: [5]}");
}

TEST(Merge, NoNewFigureInheritsAnOldSource) {
  const ConfigNode base = yaml("{m: {value: 80 GB, source: datasheet, reference: x}, c: {points: [1], source: x}}");
  EXPECT_EQ(to_flow_yaml(merge(base, yaml("{m: 90 GB}"))), "{m: 90 GB, c: {points: [1], source: x}}");
  EXPECT_EQ(to_flow_yaml(merge(base, yaml("{m: {value: 90 GB, source: assumption}, c: {points: [2]}}"))),
            "{m: {value: 90 GB, source: assumption}, c: {points: [2]}}");
}

}  // namespace
}  // namespace kvsim::schema::KVSIM_FILE
