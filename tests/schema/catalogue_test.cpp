// How entries come together: bases, changes in place, user files, and what is refused.
#include "models/catalogue/catalogue.h"

#include <gtest/gtest.h>

#include "models/hardware/link_spec.h"
#include "models/schema/overrides.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"
#include "tests/schema/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using schema::ConfigNode;
using schema::error_of;
using schema::yaml;

constexpr const char* links = R"(
links:
  slow: {description: a slow link, kind: host, read: 10 GB/s, write: 10 GB/s}
  fast: {description: a fast link, base: slow, read: {value: 50 GB/s, source: measurement, reference: bench}}
  faster: {base: fast, write: 60 GB/s}
)";

Catalogue with(std::initializer_list<const char*> texts) {
  Catalogue catalogue;
  for (const char* text : texts) catalogue.add(std::vector{yaml(text)});
  return catalogue;
}

std::string add_error(std::initializer_list<const char*> texts) {
  return error_of([&] { return with(texts); });
}

TEST(Catalogue, AnEntryBeginsAsItsBase) {
  const Catalogue catalogue = with({links});
  const LinkSpec link = catalogue.link("faster");
  EXPECT_EQ(link.name, "faster");
  EXPECT_EQ(link.description, "a fast link");
  EXPECT_EQ(link.kind, LinkKind::host);
  EXPECT_EQ(link.read_bytes_per_s.value, 50e9);
  EXPECT_EQ(link.read_bytes_per_s.source.reference, "bench");
  EXPECT_EQ(link.write_bytes_per_s.value, 60e9);
}

TEST(Catalogue, AnUnknownNameIsReportedWhereItWasWritten) {
  const Catalogue catalogue = with({links});
  const schema::Origin where = schema::Origin("scenario.yaml").at(3, 7);
  EXPECT_EQ(error_of([&] { return catalogue.link("fats", where); }),
            "scenario.yaml:3:7: unknown link \"fats\"; did you mean \"fast\"? `kvsim list links` names them all");
  EXPECT_EQ(error_of([&] { return catalogue.gpu("h100", where); }),
            "scenario.yaml:3:7: unknown gpu \"h100\"; `kvsim list gpus` names them all");
}

TEST(Catalogue, ListsNamesWithOneLineEach) {
  const auto lines = with({links}).list(EntryKind::link);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].name, "fast");
  EXPECT_EQ(lines[0].description, "a fast link");
  EXPECT_EQ(lines[0].origin.str(), "test.yaml:4:3");
}

TEST(Catalogue, AFileMayUseABaseThatAnotherFileOfTheSameCallDefines) {
  Catalogue catalogue;
  catalogue.add(std::vector{yaml("links: {b: {base: a, read: 2 GB/s}}"),
                            yaml("links: {a: {description: x, kind: peer, read: 1 GB/s, write: 1 GB/s}}")});
  EXPECT_EQ(catalogue.link("b").read_bytes_per_s.value, 2e9);
}

TEST(Catalogue, AnExistingNameNeedsItsOwnBaseOrOverride) {
  EXPECT_EQ(
      add_error({links, "links:\n  slow: {description: x, kind: host, read: 1 GB/s, write: 1 GB/s}"}),
      "test.yaml:2:3: links.slow: exists already (test.yaml:3:3); give it another name, or change it with \"base: "
      "slow\", or write \"override: true\" at the top of the file");
  const Catalogue changed = with({links, "links: {slow: {base: slow, write: 11 GB/s}}"});
  EXPECT_EQ(changed.link("slow").write_bytes_per_s.value, 11e9);
  EXPECT_EQ(changed.link("slow").read_bytes_per_s.value, 10e9);
  EXPECT_EQ(changed.link("fast").write_bytes_per_s.value, 11e9) << "what is based on it changes with it";
  const Catalogue replaced =
      with({links, "{override: true, links: {slow: {description: x, kind: peer, read: 1 GB/s, write: 2 GB/s}}}"});
  EXPECT_EQ(replaced.link("slow").kind, LinkKind::peer);
}

TEST(Catalogue, RefusesCirclesAndUnknownBases) {
  EXPECT_EQ(add_error({"links:\n  a: {base: b}\n  b: {base: c}\n  c: {base: a}"}),
            "test.yaml:4:13: links.c.base: the bases form a circle: a -> b -> c -> a");
  EXPECT_EQ(add_error({links, "{override: true, links: {slow: {base: faster}}}"}),
            "test.yaml:5:18: links.faster.base: the bases form a circle: fast -> slow -> faster -> fast")
      << "told the same wherever it is entered";
  EXPECT_EQ(add_error({"links:\n  a: {base: a}"}),
            "test.yaml:2:13: links.a.base: is its own base, but nothing of this name exists to be changed");
  EXPECT_EQ(add_error({links, "links:\n  x: {base: slwo}"}),
            "test.yaml:2:13: links.x.base: unknown link \"slwo\"; did you mean \"slow\"? `kvsim list links` names them "
            "all");
  EXPECT_EQ(add_error({"links:\n  x: {base: [slow]}"}),
            "test.yaml:2:13: links.x.base: expected the name of an entry, found a list");
}

TEST(Catalogue, RefusesWhatIsNoCatalogue) {
  EXPECT_EQ(add_error({"linsk: {}"}), "test.yaml:1:1: unknown catalogue \"linsk\"; did you mean \"links\"?");
  EXPECT_EQ(add_error({"[1]"}), "test.yaml:1:1: expected a map of catalogues, found a list");
  EXPECT_EQ(add_error({"links: [1]"}), "test.yaml:1:8: links: expected a map of entries, found a list");
  EXPECT_EQ(add_error({"links:\n  x: 12"}),
            "test.yaml:2:6: links.x: expected a map with the keys of link, found \"12\"");
  EXPECT_EQ(add_error({"links:\n  x: {name: y}"}),
            "test.yaml:2:13: links.x: an entry's name is its key, expected no other \"name\" in it");
  EXPECT_EQ(add_error({"override: 1"}), "test.yaml:1:11: override: expected true or false, found \"1\"");
}

TEST(Catalogue, ChecksUserEntriesEvenIfNobodyRefersToThem) {
  EXPECT_EQ(add_error({links, "links:\n  x: {base: slow, raed: 1 GB/s}"}),
            "test.yaml:2:19: links.x: unknown key \"raed\" of link; did you mean \"read\"?");
}

TEST(Catalogue, AFailedAdditionLeavesItAsItWas) {
  Catalogue catalogue = with({links});
  const std::vector broken{yaml("links: {x: {base: slow}, y: {base: nothing}}")};
  EXPECT_THROW(catalogue.add(broken), schema::InputError);
  EXPECT_FALSE(catalogue.contains(EntryKind::link, "x"));
}

struct Host {
  LinkSpec link;
};

schema::ObjectSchema<Host> host_schema() {
  schema::ObjectSchema<Host> s("host", "");
  s.reference("link", &Host::link, "link", link_schema(), schema::Presence::required, "");
  return s;
}

TEST(Catalogue, AReferenceIsANameChangesOrAWholeEntry) {
  const Catalogue catalogue = with({links});
  const auto host = [&](std::string_view text) { return host_schema().parse(yaml(text), {"", &catalogue}).link; };
  EXPECT_EQ(host("{link: slow}").name, "slow");
  EXPECT_EQ(host("{link: {base: fast, write: 5 GB/s}}").name, "fast (changed)");
  EXPECT_EQ(host("{link: {base: fast, write: 5 GB/s}}").read_bytes_per_s.value, 50e9);
  EXPECT_EQ(host("{link: {name: mine, base: fast}}").name, "mine");
  EXPECT_EQ(host("{link: {description: x, kind: peer, read: 1 GB/s, write: 1 GB/s}}").name, "inline");
  EXPECT_EQ(error_of([&] { return host("{link: slwo}"); }),
            "test.yaml:1:8: link: unknown link \"slwo\"; did you mean \"slow\"? `kvsim list links` names them all");
  EXPECT_EQ(error_of([&] { return host("{link: {base: fast, raed: 1 GB/s}}"); }),
            "test.yaml:1:21: link: unknown key \"raed\" of link; did you mean \"read\"?");
  EXPECT_EQ(error_of([&] { return host("{link: [slow]}"); }),
            "test.yaml:1:8: link: expected the name of a link or a map, found a list");
}

TEST(Catalogue, SetReachesIntoAReference) {
  const Catalogue catalogue = with({links});
  ConfigNode scenario = yaml("{link: fast}");
  schema::apply_set(scenario, "link.write=7 GB/s");
  EXPECT_EQ(host_schema().parse(scenario, {"", &catalogue}).link.write_bytes_per_s.value, 7e9);
  schema::apply_set(scenario, "link.write=7");
  EXPECT_NE(error_of([&] {
              return host_schema().parse(scenario, {"", &catalogue});
            }).find("--set link.write: expected a"),
            std::string::npos);
}

TEST(Catalogue, WhatIsDumpedOfAReferenceReadsBack) {
  const Catalogue catalogue = with({links});
  const Host host = host_schema().parse(yaml("{link: {base: fast, write: 5 GB/s}}"), {"", &catalogue});
  const ConfigNode dumped = host_schema().dump(host);
  const Host again = host_schema().parse(dumped, {"", &catalogue});
  EXPECT_EQ(again.link.name, "fast (changed)");
  EXPECT_EQ(host_schema().dump(again), dumped);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
