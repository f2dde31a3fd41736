// What a field table reads, what it fills in, and that what it writes reads back.
#include "models/schema/object_schema.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "models/schema/reference_page.h"
#include "models/schema/yaml.h"
#include "tests/schema/cluster_example.h"
#include "tests/schema/test_support.h"

namespace kvsim::schema::KVSIM_FILE {
namespace {

using example::Cluster;
using example::cluster_schema;
using example::Policy;

Cluster parse(std::string_view text) {
  return cluster_schema().parse(yaml(text));
}

TEST(ObjectSchema, FillsInDefaults) {
  const Cluster c = parse("{memory: 80 GiB, arrivals: {rate: 0.5/s}}");
  EXPECT_EQ(c.memory_bytes, 85'899'345'920);
  EXPECT_EQ(c.memory_fraction, 0.9);
  EXPECT_EQ(c.policy, Policy::fcfs);
  EXPECT_EQ(c.offloaded, -1);
  EXPECT_EQ(c.deadline_s, std::nullopt);
  EXPECT_EQ(c.window, std::nullopt);
  EXPECT_EQ(c.arrivals.rate_per_s, 0.5);
  EXPECT_EQ(c.arrivals.closed, std::nullopt);
}

TEST(ObjectSchema, ReadsEveryFormOfField) {
  const Cluster c = parse(R"(
name: 2024
memory: 1 GB
memory_fraction: 1
policy: staggered
verbose: true
offloaded: 3
deadline: 5 s
storage:
  - {name: ssd, read: {value: 7 GB/s, source: datasheet, reference: brochure}, capacity: 8 TB}
  - {name: disk, read: 200 MB/s}
ratios: [0.1, 1]
arrivals: {closed: 32}
context: {mean: 8k tokens, cv: 1}
window: {}
price: 2 USD/h
)");
  EXPECT_EQ(c.name, "2024");
  EXPECT_EQ(c.policy, Policy::staggered);
  EXPECT_EQ(c.offloaded, 3);
  EXPECT_EQ(c.deadline_s, 5.0);
  ASSERT_EQ(c.storage.size(), 2U);
  EXPECT_EQ(c.storage[0].read_bytes_per_s.value, 7e9);
  EXPECT_EQ(c.storage[0].read_bytes_per_s.source.kind, SourceKind::datasheet);
  EXPECT_EQ(c.storage[0].read_bytes_per_s.source.reference, "brochure");
  EXPECT_EQ(c.storage[1].read_bytes_per_s.source.kind, SourceKind::scenario) << "a bare figure is the user's";
  EXPECT_EQ(c.ratios, (std::vector<double>{0.1, 1}));
  EXPECT_EQ(c.context.cv, 1);
  EXPECT_EQ(c.window->length, 128);
}

TEST(ObjectSchema, AShorthandMeansItsKey) {
  const Cluster c = parse("{memory: 1 GB, arrivals: {closed: 1}, context: 32k tokens}");
  EXPECT_EQ(c.context.mean_tokens, 32'000);
  EXPECT_EQ(c.context.cv, 0.5);
}

TEST(ObjectSchema, AWordStandsForItsValueAndIsWrittenBack) {
  const Cluster c = parse("{memory: 1 GB, arrivals: {closed: 1}, offloaded: all}");
  EXPECT_EQ(c.offloaded, -1);
  EXPECT_EQ(cluster_schema().dump(c).find("offloaded")->text(), "all");
}

TEST(ObjectSchema, DumpWritesDefaultsAndLeavesOutWhatIsNotGiven) {
  const Cluster c = parse("{memory: 80 GiB, arrivals: {rate: 0.5/s}, storage: [{name: ssd, read: 7 GB/s}]}");
  EXPECT_EQ(to_yaml(cluster_schema().dump(c)), R"(memory: 80 GiB
memory_fraction: 0.9
policy: fcfs
verbose: false
offloaded: all
storage:
  - name: ssd
    read: 7 GB/s
ratios: []
arrivals:
  rate: 0.5/s
price: 0 USD/h
)");
}

TEST(ObjectSchema, DumpKeepsSources) {
  Cluster c = parse("{memory: 1 GB, arrivals: {closed: 1}, price: {value: 2 USD/h, source: assumption}}");
  EXPECT_EQ(to_flow_yaml(*cluster_schema().dump(c).find("price")), "{value: 2 USD/h, source: assumption}");
  c.price_per_h.source = {SourceKind::publication, "table 3"};
  EXPECT_EQ(to_flow_yaml(*cluster_schema().dump(c).find("price")),
            "{value: 2 USD/h, source: publication, reference: table 3}");
}

TEST(ObjectSchema, ATableThatContradictsItselfIsAProgrammingError) {
  EXPECT_THROW(ObjectSchema<Cluster>("c", "").required("verbose", &Cluster::verbose, bytes(), ""), std::logic_error);
  EXPECT_THROW(ObjectSchema<Cluster>("c", "").required("memory", &Cluster::memory_bytes, number(), ""),
               std::logic_error);
  ObjectSchema<Cluster> twice("c", "");
  twice.optional("name", &Cluster::name, text(), "").optional("name", &Cluster::name, text(), "");
  EXPECT_THROW(static_cast<void>(twice.parse(yaml("{name: x}"))), std::logic_error);
}

TEST(ObjectSchema, TheReferencePageNamesUnitsRangesDefaultsAndWords) {
  const std::string page = cluster_schema().markdown();
  const auto has = [&page](const char* text) { return page.find(text) != std::string::npos; };
  EXPECT_TRUE(has("| `memory` | a size in bytes, such as `80 GiB` | > 0 B | required | memory of one GPU |")) << page;
  EXPECT_TRUE(has("| `memory_fraction` | a number | > 0 and <= 1 | `0.9` | share that is used |")) << page;
  EXPECT_TRUE(has("| `storage` | list, each item: a map ([storage](#storage)) | at most 2 items | `[]` | devices |"))
      << page;
  EXPECT_TRUE(has("- `staggered`: verifications spread out"));
  EXPECT_TRUE(has("Exactly one of `rate`, `closed`."));
  EXPECT_TRUE(has("A single value in place of the map means `mean`."));
  EXPECT_TRUE(has("## storage\n"));
}

struct Pair {
  example::Length first, second;
  example::Window third;
};

// `second` has the keys of `first`; `third` is another map, and has its name in the table of a catalogue too.
TEST(ReferencePage, AMapAtTwoPlacesIsDescribedOnceAndTwoMapsOfOneNameBoth) {
  const auto length = [](const char* description) {
    ObjectSchema<example::Length> s("length", description);
    s.required("mean", &example::Length::mean_tokens, tokens().positive(), "mean");
    return s;
  };
  ObjectSchema<example::Window> window("length", "A window.");
  window.optional("length", &example::Window::length, integer().positive(), "iterations");
  ObjectSchema<Pair> pair("pair", "Two lengths.");
  pair.object("first", &Pair::first, length("One."), Presence::required, "one");
  pair.object("second", &Pair::second, length("Another."), Presence::required, "another");
  pair.object("third", &Pair::third, window, Presence::optional, "a window");
  ReferencePage page;
  page.add(pair.info(), "top");
  std::vector<std::string> titles;
  for (const auto& section : page.sections()) titles.push_back(section.title);
  EXPECT_EQ(titles, (std::vector<std::string>{"top", "first", "third"}));
  EXPECT_NE(page.sections()[0].text.find("| `second` | a map ([first](#first)) |"), std::string::npos);
  page.add(window.info(), "windows");
  EXPECT_EQ(page.sections().size(), 3U);
}

TEST(ReferencePage, SectionsAreNamedByTheirPathAndReferencesLeadToTheirCatalogue) {
  ReferencePage page(ReferencePage::Catalogues{{"gpu", "gpus"}});
  FieldInfo field;
  field.name = "type";
  field.form = Form::reference;
  field.catalogue = "gpu";
  auto inner = std::make_shared<ObjectInfo>();
  inner->fields.push_back(field);
  FieldInfo outer;
  outer.name = "gpu";
  outer.form = Form::object;
  outer.object = inner;
  ObjectInfo cluster;
  cluster.fields.push_back(outer);
  page.add(cluster, "cluster", "cluster.");
  ASSERT_EQ(page.sections().size(), 2U);
  EXPECT_EQ(page.sections()[1].title, "cluster.gpu");
  EXPECT_NE(page.sections()[0].text.find("[cluster.gpu](#clustergpu)"), std::string::npos);
  EXPECT_NE(page.sections()[1].text.find("name of a gpu, or a map ([gpus](#gpus))"), std::string::npos);
}

/// A cluster of random values that the schema accepts.
Cluster random_cluster() {
  const auto positive = [] { return static_cast<double>(*rc::gen::inRange(1, 1'000'000)) * 1.37e-3; };
  Cluster c;
  c.name = *rc::gen::string<std::string>();
  std::erase_if(c.name, [](char ch) { return static_cast<unsigned char>(ch) >= 0x80; });
  c.memory_bytes = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000'000'000);  // as large as any is
  c.memory_fraction = 1.0 / *rc::gen::inRange(1, 1000);
  c.policy = *rc::gen::element(Policy::fcfs, Policy::lock_step, Policy::staggered);
  c.verbose = *rc::gen::arbitrary<bool>();
  c.offloaded = *rc::gen::inRange(-1, 1000);
  if (*rc::gen::arbitrary<bool>()) c.deadline_s = positive();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    c.storage.push_back({"device" + std::to_string(i),
                         {positive() * 1e9, {SourceKind::derived, "x: y"}},
                         *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000)});
  }
  c.ratios = {positive(), positive()};
  if (*rc::gen::arbitrary<bool>()) {
    c.arrivals.rate_per_s = positive();
  } else {
    c.arrivals.closed = *rc::gen::inRange(1, 100);
  }
  if (*rc::gen::arbitrary<bool>()) c.context = {*rc::gen::inRange<std::int64_t>(1, 200'000), positive()};
  if (*rc::gen::arbitrary<bool>()) c.window.emplace();
  c.price_per_h.value = positive();
  return c;
}

RC_GTEST_PROP(ObjectSchemaProperty, WhatIsDumpedReadsBackEqual, ()) {
  static const auto schema = cluster_schema();
  const Cluster c = random_cluster();
  const ConfigNode dumped = schema.dump(c);
  // Control characters are written as escapes, which the reader gives back.
  const Cluster again = schema.parse(read_yaml(to_yaml(dumped), "dump.yaml"));
  RC_ASSERT(to_yaml(schema.dump(again)) == to_yaml(dumped));
  RC_ASSERT(again.name == c.name);
  RC_ASSERT(again.memory_bytes == c.memory_bytes);
  RC_ASSERT(again.memory_fraction == c.memory_fraction);
  RC_ASSERT(again.deadline_s == c.deadline_s);
  RC_ASSERT(again.ratios == c.ratios);
  RC_ASSERT(again.arrivals.rate_per_s == c.arrivals.rate_per_s);
  RC_ASSERT(again.arrivals.closed == c.arrivals.closed);
  RC_ASSERT(again.context.mean_tokens == c.context.mean_tokens);
  RC_ASSERT(again.storage.size() == c.storage.size());
  for (std::size_t i = 0; i < c.storage.size(); ++i) {
    RC_ASSERT(again.storage[i].read_bytes_per_s.value == c.storage[i].read_bytes_per_s.value);
    RC_ASSERT(again.storage[i].read_bytes_per_s.source.reference == "x: y");
    RC_ASSERT(again.storage[i].capacity_bytes == c.storage[i].capacity_bytes);
  }
}

}  // namespace
}  // namespace kvsim::schema::KVSIM_FILE
