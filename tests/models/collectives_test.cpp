#include "models/hardware/collectives.h"

#include <gtest/gtest.h>

#include "models/catalogue/catalogue.h"
#include "models/schemas.h"
#include "tests/models/tiny_machine.h"
#include "tests/schema/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using schema::error_of;
using schema::yaml;
using testing::tiny_link;

CollectiveTable table(int gpus, std::vector<CollectivePoint> points, const char* library = "nccl",
                      Collective operation = Collective::all_reduce) {
  return {operation, library, gpus, std::move(points), {}};
}

CollectiveTimes times(const std::vector<CollectiveTable>& tables, std::int64_t gpus,
                      Collective operation = Collective::all_reduce, const std::string& library = "nccl") {
  LinkSpec link = tiny_link();
  link.collectives = tables;
  return {link, operation, library, gpus};
}

TEST(Collectives, AreLinearBetweenPointsConstantBelowAndFollowTheLastSlopeBeyond) {
  const CollectiveTimes t = times({table(2, {{100, 1}, {200, 3}, {400, 4}})}, 2);
  EXPECT_DOUBLE_EQ(t.seconds(1), 1);  // the smallest message measured
  EXPECT_DOUBLE_EQ(t.seconds(100), 1);
  EXPECT_DOUBLE_EQ(t.seconds(150), 2);
  EXPECT_DOUBLE_EQ(t.seconds(200), 3);
  EXPECT_DOUBLE_EQ(t.seconds(300), 3.5);
  EXPECT_DOUBLE_EQ(t.seconds(400), 4);
  EXPECT_DOUBLE_EQ(t.seconds(800), 6);  // 1/200 s per byte beyond the last point
  EXPECT_NE(t.source(), nullptr);
  EXPECT_EQ(t.estimate(), "");
}

TEST(Collectives, OnePointIsAConstantAndAGroupOfOneIsFree) {
  const CollectiveTimes constant = times({table(2, {{100, 1}})}, 2);
  EXPECT_DOUBLE_EQ(constant.seconds(1), 1);
  EXPECT_DOUBLE_EQ(constant.seconds(1e6), 1);
  EXPECT_DOUBLE_EQ(CollectiveTimes{}.seconds(100), 0);
}

TEST(Collectives, WithoutATableComeFromLatencyAndBandwidth) {
  // Of 4 GPUs over 10 B/s with 1 s of latency, 16 B.
  EXPECT_DOUBLE_EQ(times({}, 4).seconds(16), 2 * 3 * 1 + 2 * 0.75 * 1.6);
  EXPECT_DOUBLE_EQ(times({}, 4, Collective::all_gather).seconds(16), 3 * 1 + 0.75 * 1.6);
  EXPECT_DOUBLE_EQ(times({}, 4, Collective::reduce_scatter).seconds(16), 3 * 1 + 0.75 * 1.6);
  EXPECT_DOUBLE_EQ(times({}, 4, Collective::all_to_all).seconds(16), 1 + 0.75 * 1.6);
  EXPECT_EQ(times({}, 4).source(), nullptr);
  EXPECT_EQ(times({}, 4).estimate(), "link tiny-link has no all_reduce figures: latency and bandwidth alone");
}

TEST(Collectives, OfSeveralNodesGoWithinThemAndThenBetweenThem) {
  Interconnect links(tiny_link());
  links.peer.collectives = {table(4, {{100, 1}, {200, 3}, {400, 4}})};
  links.node_gpus = 4;
  links.between_nodes = tiny_link();
  links.between_nodes->name = "far";
  links.between_nodes->read_bytes_per_s.value = 2;
  const auto over = [&](Collective operation, std::int64_t gpus) {
    return CollectiveTimes(links, operation, "nccl", gpus);
  };
  const CollectiveTimes within(links.peer, Collective::all_reduce, "nccl", 4);
  // Three nodes: 2 x 2 steps of 1 s, and 2 x 2/3 of a quarter of the message at 2 B/s.
  for (const double bytes : {1.0, 100.0, 150.0, 399.0, 400.0, 1e6}) {
    EXPECT_NEAR(over(Collective::all_reduce, 12).seconds(bytes), within.seconds(bytes) + 4 + 4 / 3. * bytes / 4 / 2,
                1e-12 * bytes)
        << bytes;
  }
  // Eleven GPUs lie on three nodes, too, four on one.
  EXPECT_DOUBLE_EQ(over(Collective::all_reduce, 11).seconds(400), over(Collective::all_reduce, 12).seconds(400));
  EXPECT_DOUBLE_EQ(over(Collective::all_reduce, 4).seconds(150), within.seconds(150));
  EXPECT_NE(over(Collective::all_reduce, 4).source(), nullptr);
  // Two nodes, 16 B. All-gather: 3 + 3/4 x 1.6, then 1 + 1/2 x 4 / 2. All-to-all: half of it within, all of it between.
  EXPECT_DOUBLE_EQ(over(Collective::all_gather, 8).seconds(16), 3 + 0.75 * 1.6 + 1 + 0.5 * 4 / 2);
  EXPECT_DOUBLE_EQ(over(Collective::all_to_all, 8).seconds(16), 1 + 0.75 * 0.8 + 1 + 0.5 * 16 / 2);
  EXPECT_EQ(over(Collective::all_reduce, 12).source(), nullptr);
  EXPECT_EQ(
      over(Collective::all_reduce, 12).estimate(),
      "all_reduce of 12 GPUs on 3 nodes: within nodes over tiny-link, then between them over far, without overlap; "
      "link far has no all_reduce figures: latency and bandwidth alone");
  // Nodes of one GPU have nothing within; without a link between them they are taken for one.
  links.node_gpus = 1;
  EXPECT_DOUBLE_EQ(over(Collective::all_gather, 2).seconds(16), 1 + 0.5 * 16 / 2);
  links.between_nodes.reset();
  EXPECT_DOUBLE_EQ(over(Collective::all_gather, 4).seconds(16), 3 + 0.75 * 1.6);
}

TEST(Collectives, AnAllReduceIsAReduceScatterAndAnAllGather) {
  for (const double bytes : {1.0, 1e3, 1e9}) {
    for (const std::int64_t gpus : {2, 3, 8, 72}) {
      EXPECT_DOUBLE_EQ(times({}, gpus).seconds(bytes), times({}, gpus, Collective::reduce_scatter).seconds(bytes) +
                                                           times({}, gpus, Collective::all_gather).seconds(bytes));
    }
  }
}

TEST(Collectives, AnotherGroupSizeIsCarriedByTheLogarithmOfGpus) {
  const std::vector<CollectiveTable> tables{table(8, {{100, 5}, {200, 9}}), table(2, {{100, 1}, {300, 3}})};
  const CollectiveTimes four = times(tables, 4);  // half way
  EXPECT_DOUBLE_EQ(four.seconds(100), 3);
  EXPECT_DOUBLE_EQ(four.seconds(200), 5.5);
  const CollectiveTimes thirty_two = times(tables, 32);
  EXPECT_DOUBLE_EQ(thirty_two.seconds(100), 9);
  EXPECT_EQ(thirty_two.source(), nullptr);
  EXPECT_EQ(
      thirty_two.estimate(),
      "link tiny-link has all_reduce figures for 2 and 8 GPUs, not for 32: carried over by the logarithm of GPUs");
}

TEST(Collectives, OneGroupSizeIsCarriedByStepsAndBytes) {
  const CollectiveTimes four = times({table(2, {{10, 6}, {20, 8}})}, 4);
  EXPECT_DOUBLE_EQ(four.seconds(10), 6 * 3);            // 6 steps for 2
  EXPECT_DOUBLE_EQ(four.seconds(20), 6 * 3 + 2 * 1.5);  // 6/4 of the message for 2/2
  EXPECT_NE(four.estimate().find("for 2 GPUs, not for 4"), std::string::npos) << four.estimate();
}

TEST(Collectives, TheEnginesOwnLibraryComesFirstAndAnyOtherServes) {
  const std::vector<CollectiveTable> tables{table(2, {{1, 4}}), table(2, {{1, 2}}, "vllm"),
                                            table(2, {{1, 8}}, "nccl", Collective::all_gather)};
  EXPECT_DOUBLE_EQ(times(tables, 2, Collective::all_reduce, "vllm").seconds(1), 2);
  EXPECT_DOUBLE_EQ(times(tables, 2, Collective::all_reduce, "nccl").seconds(1), 4);
  EXPECT_DOUBLE_EQ(times(tables, 2, Collective::all_gather, "vllm").seconds(1), 8);
}

TEST(Collectives, OfTheCatalogueNeverFallWithTheMessageOrTheGroup) {
  const Catalogue catalogue = Catalogue::built_in();
  for (const auto& line : catalogue.list(EntryKind::link)) {
    const LinkSpec link = catalogue.link(line.name);
    for (const Collective operation :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all}) {
      for (const std::int64_t gpus : {2, 3, 4, 6, 8, 16, 72}) {
        const CollectiveTimes t(link, operation, "vllm", gpus);
        double before = 0;
        for (double bytes = 512; bytes < 2e9; bytes *= 1.3) {
          ASSERT_GE(t.seconds(bytes), before) << line.name << " " << word(operation) << " " << gpus << " " << bytes;
          ASSERT_GT(t.seconds(bytes), 0);
          before = t.seconds(bytes);
        }
      }
    }
  }
}

const std::string kLink = R"(description: test
kind: peer
read: 100 GB/s
write: 100 GB/s
collectives:
  - {gpus: 2, points: [{bytes: 1 MiB, seconds: 40 us}, {bytes: 2 MiB, seconds: 50 us}]}
)";

/// What the link says with `from` replaced.
std::string link_error(const std::string& from, const std::string& to) {
  std::string text = kLink;
  text.replace(text.find(from), from.size(), to);
  return error_of([&] { return link_schema().parse(yaml(text)); });
}

TEST(Collectives, AreReadFromALink) {
  const LinkSpec link = link_schema().parse(yaml(kLink));
  EXPECT_EQ(link.collectives.at(0).operation, Collective::all_reduce);
  EXPECT_EQ(link.collectives.at(0).library, "nccl");
  EXPECT_EQ(link.collectives.at(0).points.at(1).bytes, 2097152);
}

TEST(Collectives, HostileTablesAreRefused) {
  EXPECT_EQ(link_error("bytes: 2 MiB", "bytes: 1 MiB"),
            "test.yaml:6:64: collectives.0.points.1.bytes: the points must ascend in bytes");
  EXPECT_EQ(
      link_error("seconds: 50 us", "seconds: 30 us"),
      "test.yaml:6:80: collectives.0.points.1.seconds: 30 us for 2 MiB, but 40 us for the smaller 1 MiB: a larger "
      "message cannot take less time");
  EXPECT_EQ(link_error("  - {gpus: 2", "  - {gpus: 2, points: [{bytes: 1 B, seconds: 1 s}]}\n  - {gpus: 2"),
            "test.yaml:7:12: collectives.1.gpus: a second table of all_reduce by nccl for 2 GPUs");
  EXPECT_EQ(link_error("seconds: 40 us", "seconds: 900 ns"),
            "test.yaml:6:48: collectives.0.points.0.seconds: 900 ns: no collective takes less than 1 us");
  EXPECT_EQ(link_error("seconds: 40 us", "seconds: 2 us"),
            "test.yaml:6:48: collectives.0.points.0.seconds: implies 262.144 GB/s, the link reads 100 GB/s");
  EXPECT_EQ(link_error("gpus: 2", "gpus: 1"), "test.yaml:6:12: collectives.0.gpus: must be >= 2, found 1");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
