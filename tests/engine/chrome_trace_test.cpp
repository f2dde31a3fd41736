#include "sim/engine/chrome_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/engine/random.h"
#include "sim/memory/memory_pool.h"
#include "tests/transport/own_link.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;
using namespace kvsim::transport;
using nlohmann::json;

namespace {

// The last event of a trace that `write` filled.
json last_event(const std::function<void(ChromeTrace&)>& write) {
  std::ostringstream out;
  ChromeTrace trace(out);
  write(trace);
  trace.close();
  return json::parse(out.str()).at("traceEvents").back();
}

// Random traffic over every kind of link and a memory pool.
void trace_a_run(TraceSink& trace) {
  Simulator simulator;
  std::vector<std::unique_ptr<OwnLink>> links;
  for (const auto queueing : {Queueing::serialised, Queueing::serialised, Queueing::fair_share}) {
    links.push_back(make_link(simulator,
                              {.name = "link " + std::to_string(links.size()),
                               .bytes_per_s = 1e9,
                               .latency = {5},
                               .setup = {2},
                               .queueing = queueing},
                              &trace));
  }
  kvsim::memory::MemoryPool pool(simulator, "hbm", 1'000'000, &trace);
  RandomStream random(1, "traffic");
  for (std::uint64_t i = 0; i < 300; ++i) {
    simulator.run_until(simulator.now() + Duration{static_cast<std::int64_t>(random.below(100))});
    for (const auto& link : links) {
      const TransferId id =
          link->submit({.bytes = static_cast<std::int64_t>(random.below(200)), .owner = i, .kind = "reload"});
      if (random.below(10) == 0) link->cancel(id);
    }
    EXPECT_TRUE(pool.try_reserve(10));
  }
  simulator.run();
}

TEST(ChromeTrace, aSliceIsACompleteEventInMicroseconds) {
  const json event = last_event([](ChromeTrace& trace) {
    const int track = trace.add_track("replica 0", "link");
    trace.slice(track, "reload", {1'234'567}, {1'234'568}, 17, 2.5);
  });
  EXPECT_EQ(event.at("ph"), "X");
  EXPECT_EQ(event.at("name"), "reload of request 17");
  EXPECT_EQ(event.at("cat"), "reload");
  EXPECT_EQ(event.at("ts"), 1234.567);
  EXPECT_EQ(event.at("dur"), 0.001);
  EXPECT_EQ(event.at("args"), json({{"request", 17}, {"bytes", 2.5}}));
}

TEST(ChromeTrace, nanosecondsAreExactAfterACentury) {
  std::ostringstream out;
  ChromeTrace trace(out);
  trace.slice(trace.add_track("g", "t"), "x", {3'155'760'000'123'456'789}, {3'155'760'000'123'456'789}, 0, 0);
  trace.close();
  EXPECT_NE(out.str().find("\"ts\":3155760000123456.789,"), std::string::npos);
}

TEST(ChromeTrace, anEventWithoutOwnerNamesNoRequestAndNotANumberIsNull) {
  const json event = last_event([](ChromeTrace& trace) {
    trace.slice(trace.add_track("g", "GPU"), "draft", {0}, {1}, TraceSink::no_owner, std::nan(""));
  });
  EXPECT_EQ(event.at("name"), "draft");
  EXPECT_EQ(event.at("args"), json({{"requests", nullptr}}));
}

TEST(ChromeTrace, aCounterIsAStepCurve) {
  const json event =
      last_event([](ChromeTrace& trace) { trace.counter(trace.add_counter("memory", "hbm"), {2000}, 0.1); });
  EXPECT_EQ(event.at("ph"), "C");
  EXPECT_EQ(event.at("name"), "hbm");
  EXPECT_EQ(event.at("ts"), 2);
  EXPECT_EQ(event.at("args").at("value"), 0.1);
}

TEST(ChromeTrace, groupsAreProcessesAndTracksThreads) {
  std::ostringstream out;
  ChromeTrace trace(out);
  trace.slice(trace.add_track("gpu", "compute"), "draft", {0}, {1}, 0, 1);
  trace.slice(trace.add_track("links", "pcie"), "reload", {0}, {1}, 0, 1);
  trace.slice(trace.add_track("gpu", "copy"), "copy", {0}, {1}, 0, 1);
  trace.close();
  std::map<int, std::string> processes;
  std::map<std::string, std::string> group_of;
  const json parsed = json::parse(out.str());
  for (const json& event : parsed.at("traceEvents")) {
    if (!event.at("args").contains("name")) continue;
    const std::string name = event.at("args").at("name");
    if (event.at("name") == "process_name") processes[event.at("pid")] = name;
    if (event.at("name") == "thread_name") group_of[name] = processes.at(event.at("pid"));
  }
  EXPECT_EQ(processes.size(), 2U);
  EXPECT_EQ(group_of, (std::map<std::string, std::string>{{"compute", "gpu"}, {"pcie", "links"}, {"copy", "gpu"}}));
}

TEST(ChromeTrace, whatComputesStandsAboveWhatTransfersAndGroupsAsTheyWereDeclared) {
  std::ostringstream out;
  ChromeTrace trace(out);
  const int link = trace.add_track("replica 0", "link");
  const int other = trace.add_track("replica 1", "GPU");
  const int gpu = trace.add_track("replica 0", "GPU");
  for (const int track : {other, gpu}) trace.slice(track, "decode", {0}, {1}, TraceSink::no_owner, 1);
  trace.slice(link, "reload", {0}, {1}, 0, 1);
  trace.close();
  std::map<std::pair<int, int>, int> place;  // of processes (thread 0) and threads
  const json parsed = json::parse(out.str());
  for (const json& event : parsed.at("traceEvents")) {
    if (event.at("args").contains("sort_index")) {
      place[{event.at("pid"), event.at("tid")}] = event.at("args").at("sort_index");
    }
  }
  ASSERT_EQ(place.size(), 5U);
  EXPECT_LT((place[{1, 0}]), (place[{2, 0}]));               // replica 0 before replica 1
  EXPECT_LT((place[{1, gpu + 1}]), (place[{1, link + 1}]));  // its GPU before its link
}

TEST(ChromeTrace, aTrackOnWhichNothingHappensIsLeftOut) {
  std::ostringstream out;
  ChromeTrace trace(out);
  trace.add_track("g", "t");
  trace.add_counter("h", "c");
  trace.close();
  EXPECT_TRUE(json::parse(out.str()).at("traceEvents").empty());
}

TEST(ChromeTrace, aCounterIsWrittenWhenItChanges) {
  std::ostringstream out;
  ChromeTrace trace(out);
  const int counter = trace.add_counter("g", "queue");
  for (const double value : {0.0, 0.0, 2.0, 2.0, 0.0}) trace.counter(counter, {5}, value);
  trace.close();
  std::vector<double> values;
  const json parsed = json::parse(out.str());
  for (const json& event : parsed.at("traceEvents")) {
    if (event.at("ph") == "C") values.push_back(event.at("args").at("value"));
  }
  EXPECT_EQ(values, (std::vector<double>{0, 2, 0}));
}

TEST(ChromeTrace, namesAreEscapedAndBytesThatAreNotTextReplaced) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"a\"b\\c\n\x01", "a\"b\\c\n\x01"},
      {"caf\xc3\xa9 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xf0\x9f\x98\x80"},
      {"bad \xff\xc3", "bad \xef\xbf\xbd\xef\xbf\xbd"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // a surrogate
      {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"}};
  for (const auto& written : cases) {
    const json event =
        last_event([&](ChromeTrace& trace) { trace.slice(trace.add_track("g", "t"), written.first, {0}, {1}, 0, 0); });
    EXPECT_EQ(event.at("cat"), written.second);
    EXPECT_EQ(event.at("name"), written.second + " of request 0");
  }
}

TEST(ChromeTrace, slicesOfARunDoNotOverlapOnTheirTrack) {
  std::ostringstream out;
  ChromeTrace trace(out);
  trace_a_run(trace);
  trace.close();
  std::map<std::tuple<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> tracks;  // begin, end in ns
  const json parsed = json::parse(out.str());
  for (const json& event : parsed.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const std::int64_t begin = std::llround(event.at("ts").get<double>() * 1000);
    const std::int64_t length = std::llround(event.at("dur").get<double>() * 1000);
    tracks[{event.at("pid"), event.at("tid")}].emplace_back(begin, begin + length);
  }
  std::size_t slices = 0;
  for (auto& [track, of] : tracks) {
    std::sort(of.begin(), of.end());
    for (std::size_t i = 1; i < of.size(); ++i) EXPECT_LE(of[i - 1].second, of[i].first);
    slices += of.size();
  }
  EXPECT_GT(tracks.size(), 3U);  // the shared link needs several
  EXPECT_GT(slices, 700U);
}

TEST(ChromeTrace, tracingChangesNothingAboutTheRun) {
  std::ostringstream first;
  std::ostringstream second;
  for (std::ostringstream* out : {&first, &second}) {
    ChromeTrace trace(*out);
    trace_a_run(trace);
  }
  EXPECT_EQ(first.str(), second.str());
}

TEST(ChromeTrace, theDestructorLeavesValidJson) {
  std::ostringstream out;
  { ChromeTrace(out).add_track("g", "t"); }
  EXPECT_TRUE(json::accept(out.str()));
  std::ostringstream empty;
  { ChromeTrace trace(empty); }
  EXPECT_TRUE(json::accept(empty.str()));
}

TEST(ChromeTrace, memoryDoesNotGrowWithTheRun) {
  // What was traced has left for the stream before the trace is closed.
  std::ostringstream out;
  ChromeTrace trace(out);
  const int track = trace.add_track("g", "t");
  for (int i = 0; i < 100'000; ++i) trace.slice(track, "step", {i}, {i + 1}, 0, 0);
  const auto before = static_cast<std::size_t>(out.tellp());
  trace.close();
  EXPECT_LT(static_cast<std::size_t>(out.tellp()) - before, std::size_t{1} << 17);
}

TEST(ChromeTrace, aFullDiskIsInTheStateOfTheStream) {
  std::ofstream full("/dev/full");
  ChromeTrace trace(full);
  trace.add_track("g", "t");
  EXPECT_TRUE(full.good());
  trace.close();
  EXPECT_FALSE(full.good());
}

TEST(ChromeTrace, tracingAfterCloseIsAnError) {
  std::ostringstream out;
  ChromeTrace trace(out);
  const int track = trace.add_track("g", "t");
  EXPECT_THROW(trace.slice(track, "x", {2}, {1}, 0, 0), InvariantViolation);
  trace.close();
  EXPECT_THROW(trace.slice(track, "x", {1}, {2}, 0, 0), InvariantViolation);
}

}  // namespace
}  // namespace KVSIM_FILE
