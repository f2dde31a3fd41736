// The journal: what was written is read, what was cut off is ignored, what is wrong is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/schema/error.h"
#include "planner/sweep/journal.h"
#include "tests/scenario/temporary_folder.h"

namespace kvsim::planner::sweep::KVSIM_FILE {
namespace {

Plan plan_of(Shard shard = {}) {
  Plan plan;
  plan.version = "1.2.3";
  plan.scenario = "a \"quoted\" name";
  plan.resolved = "name: x\nrun: {seed: 1}\n";
  plan.design = Design::grid({parse_axis("a.b=1:6:1")});
  plan.shard = shard;
  return plan;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

PointResult done(std::size_t point) {
  return {point, "", fmt::format(R"({{"x":{},"y":0.1}})", point), {"no \"prefix\" is reused"}, {"t0"}};
}

class SweepJournal : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "points.jsonl") { return folder_.path() + "/" + name; }
  std::string written(const std::vector<PointResult>& results, const Plan& plan = plan_of(),
                      const std::string& name = "points.jsonl") {
    const auto journal = Journal::open(path(name));
    journal->begin(plan);
    for (const PointResult& result : results) journal->append(result);
    journal->close();
    return path(name);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(SweepJournal, IsReadAsItWasWritten) {
  const std::vector<PointResult> results{done(2), {0, "cluster.gpu: does not \"fit\"", ""}, done(5)};
  const auto contents = read_journal(written(results));
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->points, results);
  EXPECT_EQ(difference(contents->plan, plan_of()), "");
  EXPECT_EQ(fingerprint(contents->plan), fingerprint(plan_of()));
  EXPECT_EQ(contents->bytes, std::filesystem::file_size(path()));
}

TEST_F(SweepJournal, ALineThatWasCutOffIsIgnoredWhereverThatWas) {
  const std::string whole = text_of(written({done(0), done(1), done(2)}));
  const std::size_t header = whole.find('\n') + 1;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::filesystem::remove(path());
    folder_.write("points.jsonl", whole.substr(0, size));
    const auto contents = read_journal(path());
    ASSERT_EQ(contents.has_value(), size >= header);
    if (!contents) continue;
    const auto lines =
        static_cast<std::size_t>(std::count(whole.begin(), whole.begin() + static_cast<long>(size), '\n'));
    EXPECT_EQ(contents->points.size(), lines - 1);
    EXPECT_EQ(contents->bytes, size == 0 ? 0 : whole.rfind('\n', size - 1) + 1);
  }
}

TEST_F(SweepJournal, ResumingCutsTheTornLineOffAndGoesOn) {
  const std::string whole = text_of(written({done(0), done(1)}));
  folder_.write("points.jsonl", whole.substr(0, whole.size() - 5));
  const auto journal = Journal::open(path());
  journal->keep(read_journal(path())->bytes);
  journal->append(done(1));
  journal->close();
  EXPECT_EQ(text_of(path()), whole);
}

TEST_F(SweepJournal, LinesOfSeveralThreadsStayWhole) {
  Plan plan = plan_of();
  plan.design = Design::grid({parse_axis("a=1:400:1")});
  const auto journal = Journal::open(path());
  journal->begin(plan);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 100; ++i) journal->append(done(t * 100 + i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Before it is closed: what was appended is there, whatever becomes of this process.
  EXPECT_EQ(read_journal(path())->points.size(), 400U);
}

TEST_F(SweepJournal, GoesWhereNothingIsInIt) {
  auto journal = Journal::open(path());
  EXPECT_TRUE(journal->empty());
  journal.reset();
  EXPECT_FALSE(std::filesystem::exists(path())) << "nothing was in it";
  Journal::open(path())->begin(plan_of());
  EXPECT_FALSE(Journal::open(path())->empty());
}

TEST_F(SweepJournal, FollowsNoLink) {
  folder_.write("mine", "precious");
  std::filesystem::create_symlink("mine", path());
  try {
    Journal::open(path());
    FAIL() << "followed";
  } catch (const JournalError& error) {
    EXPECT_EQ(std::string(error.what()), "cannot write " + path() + ": it is a symbolic link, and none is followed");
  }
  EXPECT_EQ(text_of(path("mine")), "precious");
}

// 200 flips of one bit, spread over the file. Each is refused, or its line does not count, or it was a line's end: what
// is read is a part of what was written.
TEST_F(SweepJournal, NoFlippedBitChangesAResultUnseen) {
  const std::vector<PointResult> results{done(2), {0, "cluster.gpu: does not \"fit\"", ""}, done(5), done(1), done(4)};
  const std::string whole = text_of(written(results));
  int refused = 0, named = 0;
  for (std::size_t flip = 0; flip < 200; ++flip) {
    const std::size_t bit = flip * 8 * whole.size() / 200 + flip % 8;
    std::string text = whole;
    text[bit / 8] = static_cast<char>(static_cast<unsigned char>(text[bit / 8]) ^ (1U << (bit % 8)));
    folder_.write("points.jsonl", text);
    try {
      const auto contents = read_journal(path());
      ASSERT_TRUE(contents);
      for (const PointResult& point : contents->points) {
        EXPECT_NE(std::find(results.begin(), results.end(), point), results.end()) << bit;
      }
      const bool cut = bit / 8 == whole.size() - 1;
      EXPECT_EQ(contents->damaged.empty(), cut) << bit;
      EXPECT_LT(contents->points.size(), results.size());
      ++named;
    } catch (const schema::InputError&) {
      ++refused;  // the first line, without which nothing means anything
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(named, 100);
}

TEST_F(SweepJournal, ADamagedLineIsNamedUntilItsPointIsThere) {
  std::string text = text_of(written({done(0), done(1), done(2)}));
  const std::size_t at = text.find("\"x\":1");
  text[at + 4] = '7';
  folder_.write("points.jsonl", text);
  const auto contents = read_journal(path());
  EXPECT_EQ(contents->points, (std::vector<PointResult>{done(0), done(2)}));
  ASSERT_EQ(contents->damaged.size(), 1U);
  EXPECT_EQ(to_string(contents->damaged.front(), "points.jsonl"),
            "points.jsonl:3:1: damaged: its checksum is another one; point 1 is simulated again");
  EXPECT_EQ(to_string({3, {}}, "points.jsonl"),
            "points.jsonl:3:1: damaged: its checksum is another one; the line does not count");
  {
    const auto journal = Journal::open(path());
    journal->keep(contents->bytes);
    for (const std::size_t point : {1U, 3U, 4U, 5U}) journal->append(done(point));
  }
  EXPECT_EQ(read_journal(path())->points.size(), 6U);
  EXPECT_TRUE(read_journal(path())->damaged.empty());
}

TEST_F(SweepJournal, RefusesLinesThatAreNone) {
  const std::string header = text_of(written({}, plan_of({2, 2}), "header"));
  const auto written_line = [&](const PointResult& point) {
    std::filesystem::remove(path("other"));
    return text_of(written({point}, plan_of({2, 2}), "other")).substr(header.size());
  };
  const auto refusal = [&](const std::string& text) {
    folder_.write("points.jsonl", text);
    try {
      read_journal(path());
    } catch (const schema::InputError& error) {
      return std::string(error.what()).substr(folder_.path().size() + 1);
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal("{}\n"), "points.jsonl:1:1: not the first line of a sweep's journal");
  EXPECT_EQ(refusal("{\"schema_version\":77}\n"),
            fmt::format("points.jsonl:1:1: a sweep's journal of schema_version 77; this kvsim knows {}",
                        nlohmann::json::parse(header).at("schema_version").dump()));
  const std::string damaged = std::string(header).replace(header.find("\"crc32\":\"") + 9, 1, "x");
  const std::string said =
      "points.jsonl:1:1: damaged: its checksum is another one, and it says which sweep this is: begin anew in another "
      "folder, or remove this file";
  EXPECT_EQ(refusal(damaged), said);
  // One bit, wherever it flips: within a name, so that what the line says is lacking; at its end; in a number.
  for (const std::string part : {"kvsim_version", "\"crc32\"", "}\n", "schema_version\":", "fingerprint"}) {
    std::string flipped = header;
    flipped[header.find(part) + part.size() - 1] ^= '\x01';
    EXPECT_EQ(refusal(flipped + header), said) << part;
  }
  EXPECT_EQ(refusal(header + written_line({2, "", "{}"})), "points.jsonl:2:1: point 2 is none of this sweep's");
  const std::string line = written_line({1, "", "{}"});
  EXPECT_EQ(refusal(header + line + line), "points.jsonl:3:1: point 1 is there twice");
  EXPECT_EQ(refusal(std::string(header).replace(header.find("1.2.3"), 5, "1.2.4")), said);
}

TEST_F(SweepJournal, PlansSayInWhatTheyDiffer) {
  const Plan plan = plan_of();
  Plan other = plan;
  other.version = "9";
  EXPECT_EQ(difference(plan, other), "the version of kvsim (1.2.3, now 9)");
  other = plan;
  other.seed = 2;
  EXPECT_EQ(difference(plan, other), "the seed (1, now 2)");
  other = plan;
  other.replications = 3;
  EXPECT_EQ(difference(plan, other), "the replications (1, now 3)");
  other = plan;
  other.resolved += "x: 1\n";
  EXPECT_EQ(difference(plan, other), "x of the scenario (not there, now 1)");
  other.resolved = "name: x\nrun: {seed: [1]}\n";
  EXPECT_EQ(difference(plan, other), "run.seed of the scenario (1, now a list)");
  other.resolved = "{";
  EXPECT_EQ(difference(plan, other), "the scenario");
  other = plan;
  other = plan;
  other.requests = "another trace";
  EXPECT_EQ(difference(plan, other), "the requests of the trace");
  other = plan;
  other.design = Design::grid({parse_axis("a.b=1:5:1")});
  EXPECT_EQ(difference(plan, other), "the axes");
  EXPECT_EQ(difference(plan, plan_of({1, 2})), "the shard (1/1, now 1/2)");
  EXPECT_EQ(difference(plan, plan_of({1, 2}), false), "");
}

TEST_F(SweepJournal, ShardsMergeInAnyOrderAndOnlyWhole) {
  const std::string a = written({done(4), done(0), done(2)}, plan_of({1, 2}), "a");
  const std::string b = written({done(1), done(3), done(5)}, plan_of({2, 2}), "b");
  const MergedSweep merged = merge_journals({b, a});
  EXPECT_EQ(difference(merged.plan, plan_of()), "");
  ASSERT_EQ(merged.points.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(merged.points[i], done(i));
  const auto refusal = [](const std::vector<std::string>& paths) {
    try {
      merge_journals(paths);
    } catch (const schema::InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal({a}), "--merge: 3 of 6 points are missing from 1 journal, the first is point 1 (a.b=2)");
  EXPECT_EQ(refusal({a, b, a}), fmt::format("--merge: {} is named twice", a));
  const std::string copy = written({done(2)}, plan_of({1, 2}), "copy");
  EXPECT_EQ(refusal({a, b, copy}), fmt::format("--merge: point 2 is in both {} and {}", a, copy));
  Plan other = plan_of({2, 2});
  other.seed = 5;
  std::string torn = text_of(a);
  torn.replace(torn.find("\"x\":0"), 5, "\"x\":8");
  folder_.write("torn", torn);
  EXPECT_EQ(refusal({path("torn"), b}),
            fmt::format("--merge: {}:3:1: damaged: its checksum is another one; the line does "
                        "not count; --resume in that folder simulates what lacks",
                        path("torn")));
  const std::string c = written({}, other, "c");
  EXPECT_EQ(refusal({a, c}),
            fmt::format("--merge: {} and {} are not of one sweep: they differ in the seed (1, now 5)", a, c));
}

TEST(SweepShard, IsReadStrictly) {
  EXPECT_EQ(parse_shard("2/3"), (Shard{2, 3}));
  for (const char* text : {"", "2", "0/3", "4/3", "a/3", "1/", "1/3x", "-1/3", "1/0"}) {
    EXPECT_THROW(parse_shard(text), schema::InputError) << text;
  }
}

}  // namespace
}  // namespace kvsim::planner::sweep::KVSIM_FILE
