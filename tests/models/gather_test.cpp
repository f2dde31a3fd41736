// Scattered rows over a link, by hand, against what was measured, and for any method.
#include "models/hardware/link_spec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "models/catalogue/catalogue.h"
#include "models/schemas.h"
#include "tests/schema/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr double kKiB = 1024;

GatherMethod method(double per_row_s, double bytes_per_s) {
  GatherMethod m;
  m.per_row_s.value = per_row_s;
  m.bytes_per_s.value = bytes_per_s;
  return m;
}

LinkSpec ten_gigabytes() {
  LinkSpec link;
  link.read_bytes_per_s.value = 10e9;
  return link;
}

const LinkSpec& shipped(const char* name) {
  static const Catalogue catalogue = Catalogue::built_in();
  static std::map<std::string, LinkSpec> links;
  return links.try_emplace(name, catalogue.link(name)).first->second;
}

/// Bytes per second of many rows.
double rate(const LinkSpec& link, const char* name, double row_bytes) {
  const GatherMethod* m = find_gather(link, name, row_bytes);
  return m == nullptr ? 0 : 1000 * row_bytes / gather_s(link, *m, 1000, row_bytes);
}

TEST(Gather, ARowTakesTheLongerOfItsFixedTimeAndItsBytes) {
  const GatherMethod m = method(1e-6, 5e9);
  EXPECT_DOUBLE_EQ(gather_s(ten_gigabytes(), m, 3, 1000), 3e-6);    // 0.2 us of bytes
  EXPECT_DOUBLE_EQ(gather_s(ten_gigabytes(), m, 3, 50000), 30e-6);  // 10 us of bytes
  EXPECT_EQ(gather_s(ten_gigabytes(), m, 0, 50000), 0);
}

TEST(Gather, WithoutARateOfItsOwnLongRowsReachTheLinksRead) {
  EXPECT_DOUBLE_EQ(gather_s(ten_gigabytes(), method(1e-6, 0), 2, 100000), 20e-6);
}

TEST(Gather, NoRowsPassFasterThanOneLargeTransfer) {
  EXPECT_DOUBLE_EQ(gather_s(ten_gigabytes(), method(1e-6, 50e9), 2, 100000), 20e-6);
}

TEST(Gather, BestIsTheFastestForRowsOfThatSize) {
  LinkSpec link = ten_gigabytes();
  link.gathers = {method(2e-6, 0), method(0.01e-6, 4e9), method(0.01e-6, 4e9)};
  link.gathers[0].name = "copies";
  link.gathers[1].name = "kernel";
  link.gathers[2].name = "same";
  EXPECT_EQ(find_gather(link, "best", 256)->name, "kernel");     // 0.064 us against 2; the first of two alike
  EXPECT_EQ(find_gather(link, "best", 100000)->name, "copies");  // 10 us against 25
  EXPECT_EQ(find_gather(link, "copies", 256)->name, "copies");
  EXPECT_EQ(find_gather(link, "copy", 256), nullptr);
  EXPECT_EQ(find_gather(ten_gigabytes(), "best", 256), nullptr);
}

TEST(Gather, MeetsWhatWasMeasured) {
  const LinkSpec& pcie5 = shipped("pcie5-x16");
  EXPECT_NEAR(rate(pcie5, "batched_copies", 8 * kKiB), 12.5e9, 0.05 * 12.5e9);    // vLLM pull request 48434
  EXPECT_NEAR(rate(pcie5, "batched_copies", 128 * kKiB), 54.1e9, 0.01 * 54.1e9);  // the same
  EXPECT_NEAR(rate(pcie5, "single_copies", 256), 0.11e9, 0.02 * 0.11e9);          // FlexKV pull request 193
  EXPECT_NEAR(rate(pcie5, "mapped_reads", 1e6), 35.2e9, 1);                       // nvbandwidth issue 24
  EXPECT_NEAR(rate(shipped("pcie4-x16"), "mapped_reads", 1e6), 25.1e9, 1);        // nvbandwidth issue 42
  // SpeCache: about 5 times slower than contiguous, whatever the row.
  EXPECT_NEAR(shipped("pcie4-x16").read_bytes_per_s.value / rate(shipped("pcie4-x16"), "framework_copies", 256), 5,
              1e-9);
}

TEST(Gather, AHeadsKeyIsBestReadByAKernel) {
  // 128 elements of 16 bit: 256 bytes, in the time of 384.
  EXPECT_EQ(find_gather(shipped("pcie5-x16"), "best", 256)->name, "mapped_reads");
  EXPECT_NEAR(rate(shipped("pcie5-x16"), "best", 256), 35.2e9 * 256 / 384, 0.01 * 35.2e9);
}

TEST(Gather, EveryHostLinkOfTheCatalogueHasTheThreeWays) {
  const Catalogue catalogue = Catalogue::built_in();
  int host_links = 0;
  for (const auto& line : catalogue.list(EntryKind::link)) {
    const LinkSpec link = catalogue.link(line.name);
    if (link.kind != LinkKind::host) continue;
    ++host_links;
    for (const char* name : {"single_copies", "batched_copies", "mapped_reads"}) {
      EXPECT_NE(find_gather(link, name, 256), nullptr) << line.name << ": " << name;
    }
    for (const GatherMethod& m : link.gathers) {
      EXPECT_LE(m.bytes_per_s.value, link.read_bytes_per_s.value) << line.name << ": " << m.name;
    }
  }
  EXPECT_GE(host_links, 5);
}

std::string gather_error(const std::string& gathers) {
  const std::string link = "{description: x, kind: host, read: 10 GB/s, write: 10 GB/s, gathers: [" + gathers + "]}";
  return schema::error_of([&] { return link_schema().parse(schema::yaml(link)); });
}

TEST(GatherSchema, RefusesWhatCannotBe) {
  EXPECT_EQ(gather_error("{name: a, per_row: 1 us}, {name: b, bandwidth: 10 GB/s}"), "no error");
  EXPECT_EQ(gather_error("{name: a, per_row: 1 us}, {name: a, per_row: 2 us}"),
            "test.yaml:1:104: gathers.1.name: a second method called \"a\"");
  EXPECT_NE(gather_error("{name: a}").find("expected a per_row above 0 s or a bandwidth"), std::string::npos);
  EXPECT_NE(gather_error("{name: a, per_row: 0 us}").find("expected a per_row above 0 s"), std::string::npos);
  EXPECT_NE(gather_error("{name: best, per_row: 1 us}").find("no method can be called so"), std::string::npos);
  EXPECT_NE(gather_error("{per_row: 1 us}").find("name"), std::string::npos);
}

GatherMethod any_method() {
  return method(*rc::gen::inRange(0, 1000) * 1e-8, *rc::gen::inRange(0, 100) * 1e8);
}

RC_GTEST_PROP(GatherProperty, LongerRowsMoveTheSameBytesNoSlower, ()) {
  const GatherMethod m = any_method();
  const double bytes = 1 << 20;
  const int a = *rc::gen::inRange(0, 16), b = *rc::gen::inRange(0, 16);
  const double few = 1 << std::min(a, b), many = 1 << std::max(a, b);
  RC_ASSERT(gather_s(ten_gigabytes(), m, few, bytes / few) <=
            gather_s(ten_gigabytes(), m, many, bytes / many) * (1 + 1e-12));
}

RC_GTEST_PROP(GatherProperty, MoreRowsAndLongerOnesTakeNoLess, ()) {
  const GatherMethod m = any_method();
  const double rows = *rc::gen::inRange(0, 100000), row_bytes = *rc::gen::inRange(1, 1 << 20);
  const double more = *rc::gen::inRange(0, 1000);
  const double s = gather_s(ten_gigabytes(), m, rows, row_bytes);
  RC_ASSERT(gather_s(ten_gigabytes(), m, rows + more, row_bytes) >= s);
  RC_ASSERT(gather_s(ten_gigabytes(), m, rows, row_bytes + more) >= s);
  RC_ASSERT(s >= rows * row_bytes / ten_gigabytes().read_bytes_per_s.value * (1 - 1e-12));
}

RC_GTEST_PROP(GatherProperty, NoMethodBeatsTheBest, ()) {
  LinkSpec link = ten_gigabytes();
  for (int i = 0; i < 4; ++i) link.gathers.push_back(any_method());
  const double row_bytes = *rc::gen::inRange(1, 1 << 20);
  const GatherMethod* best = find_gather(link, "best", row_bytes);
  for (const GatherMethod& m : link.gathers) {
    RC_ASSERT(gather_s(link, *best, 1, row_bytes) <= gather_s(link, m, 1, row_bytes));
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
