// Timelines of every kind of scenario, read as Perfetto would: named and placed tracks, nothing that overlaps.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct Slice {
  std::int64_t begin_ns, end_ns;
  std::string name, category;
  Json args;
};

/// What a timeline holds, by the names that Perfetto shows.
struct Timeline {
  std::vector<std::string> groups;                                         ///< in the order of their places
  std::map<std::string, std::vector<Slice>> tracks;                        ///< by "group/track"
  std::map<std::string, std::vector<std::string>> order;                   ///< tracks of a group, by their places
  std::map<std::string, std::vector<std::pair<double, double>>> counters;  ///< by "group/counter": time, value
};

std::int64_t nanoseconds(const Json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

/// Fails where an event comes before what names it.
Timeline read_timeline(const std::string& text) {
  Timeline t;
  std::map<int, std::string> groups;
  std::map<std::pair<int, int>, std::string> tracks;
  std::map<int, int> group_at;
  std::map<std::pair<int, int>, int> track_at;
  const Json document = Json::parse(text);
  for (const Json& e : document.at("traceEvents")) {
    const std::string phase = e.at("ph");
    const int group = e.at("pid"), track = phase == "C" ? 0 : e.at("tid").get<int>();
    if (phase == "M" && e.at("name") == "process_name") groups[group] = e.at("args").at("name");
    if (phase == "M" && e.at("name") == "thread_name") tracks[{group, track}] = e.at("args").at("name");
    if (phase == "M" && e.at("name") == "process_sort_index") group_at[group] = e.at("args").at("sort_index");
    if (phase == "M" && e.at("name") == "thread_sort_index") track_at[{group, track}] = e.at("args").at("sort_index");
    if (phase == "M") continue;
    EXPECT_TRUE(groups.contains(group) && group_at.contains(group)) << e;
    if (phase == "C") {
      t.counters[groups[group] + "/" + e.at("name").get<std::string>()].emplace_back(e.at("ts"),
                                                                                     e.at("args").at("value"));
      continue;
    }
    EXPECT_EQ(phase, "X");
    EXPECT_TRUE((tracks.contains({group, track}) && track_at.contains({group, track}))) << e;
    const std::int64_t begin = nanoseconds(e.at("ts"));
    t.tracks[groups[group] + "/" + tracks[{group, track}]].push_back(
        {begin, begin + nanoseconds(e.at("dur")), e.at("name"), e.at("cat"), e.at("args")});
  }
  std::map<int, std::string> by_place;
  for (const auto& [group, place] : group_at) by_place[place] = groups[group];
  for (const auto& [place, name] : by_place) t.groups.push_back(name);
  std::map<std::pair<std::string, int>, std::string> tracks_by_place;
  for (const auto& [track, place] : track_at) tracks_by_place[{groups[track.first], place}] = tracks[track];
  for (const auto& [place, name] : tracks_by_place) t.order[place.first].push_back(name);
  return t;
}

class TimelineTest : public Workspace {
 protected:
  Timeline timeline(const std::string& scenario, const Words& sets, const std::string& duration) {
    Words words{"run", KVSIM_SOURCE_DIR "/scenarios/" + scenario, "--trace-out", "t.json"};
    for (const char* set : {"run.warmup=1 ms", "run.replications=1"}) words.insert(words.end(), {"--set", set});
    words.insert(words.end(), {"--set", "run.duration=" + duration});
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 0) << r.err;
    return read_timeline(read("t.json"));
  }
};

void expect_sound(const Timeline& t, const std::string& what) {
  EXPECT_FALSE(t.tracks.empty()) << what;
  for (auto [track, slices] : t.tracks) {
    std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return std::pair(a.begin_ns, a.end_ns) < std::pair(b.begin_ns, b.end_ns);
    });
    const bool computes = track.ends_with("/GPU");
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const Slice& s = slices[i];
      if (i > 0) {
        ASSERT_GE(s.begin_ns, slices[i - 1].end_ns) << what << " " << track << " " << s.name;
      }
      EXPECT_FALSE(s.category.empty()) << what << " " << track;
      EXPECT_TRUE(s.args.contains(computes ? "requests" : "bytes")) << what << " " << track << s.args;
      if (s.args.contains("request")) {
        EXPECT_EQ(s.name, s.category + " of request " + s.args.at("request").dump());
      }
    }
  }
  for (const auto& [counter, values] : t.counters) {
    for (std::size_t i = 1; i < values.size(); ++i) {
      ASSERT_GE(values[i].first, values[i - 1].first) << what << " " << counter;
      ASSERT_NE(values[i].second, values[i - 1].second) << what << " " << counter;
    }
    const bool has_unit = counter.ends_with("(bytes)") || counter.find("requests") != std::string::npos ||
                          counter.ends_with("transfers under way");
    EXPECT_TRUE(has_unit) << what << " " << counter;
  }
  for (const auto& [group, tracks] : t.order) {
    const auto gpu = std::find(tracks.begin(), tracks.end(), "GPU");
    if (gpu != tracks.end()) {
      EXPECT_EQ(gpu, tracks.begin()) << what << " " << group;
    }
  }
}

std::set<std::string> categories(const Timeline& t, const std::string& track) {
  std::set<std::string> names;
  const auto found = t.tracks.find(track);
  if (found == t.tracks.end()) return names;
  for (const Slice& s : found->second) names.insert(s.category);
  return names;
}

TEST_F(TimelineTest, EveryKindOfScenarioHasNamedTracksWithoutOverlapAndCountersThatOnlyGoOn) {
  struct Case {
    std::string scenario;
    Words sets;
    std::string duration;
  };
  const std::vector<Case> cases{
      {"long_context/headline.yaml", {}, "20 s"},
      {"long_context/headline.yaml", {"decode.policy=full_kv", "schedule.policy=fcfs"}, "5 s"},
      {"long_context/headline.yaml", {"cluster.replicas=2", "schedule.policy=fcfs"}, "10 s"},
      {"long_context/headline.yaml", {"cluster.host.discipline=fair_share"}, "20 s"},
      {"tiered_eviction/published.yaml", {}, "60 s"},
      {"tiered_eviction/published.yaml", {"cluster.host.discipline=fair_share"}, "60 s"},
      {"remote_prefix/published.yaml", {}, "10 s"},
      {"speculative_prefetch/long_context.yaml", {}, "2 s"},
      {"selective_reuse/published.yaml", {}, "30 s"},
      {"composition/reuse_verified.yaml", {}, "20 s"},
      {"composition/utility_verified.yaml", {}, "20 s"},
      {"composition/utility_verified.yaml", {"schedule.policy=staggered"}, "20 s"},
      {"composition/four_systems.yaml", {}, "60 s"},
      {"baselines/llama-3.1-8b.yaml", {"decode.policy=draft_verify+drafter"}, "5 s"}};
  for (const Case& c : cases) {
    std::string what = c.scenario;
    for (const std::string& set : c.sets) what += " " + set;
    expect_sound(timeline(c.scenario, c.sets, c.duration), what);
  }
}

TEST_F(TimelineTest, AReplicaIsOneGroupWithItsGpuItsLinksAndItsCounters) {
  const Timeline t = timeline("long_context/headline.yaml", {"cluster.replicas=2"}, "20 s");
  EXPECT_EQ(t.groups, (Words{"replica 0", "replica 1"}));
  const Words rows{"GPU", "host link, to the GPU", "host link, from the GPU"};
  EXPECT_EQ(t.order.at("replica 0"), rows);
  EXPECT_EQ(t.order.at("replica 1"), rows);
  for (const char* counter : {"KV memory (bytes)", "host memory (bytes)", "queued requests", "running requests"}) {
    EXPECT_TRUE(t.counters.contains("replica 0/" + std::string(counter))) << counter;
  }
  EXPECT_TRUE(categories(t, "replica 0/GPU").contains("draft+verify"));
  EXPECT_EQ(categories(t, "replica 0/host link, to the GPU"), (std::set<std::string>{"first load", "reload"}));
}

TEST_F(TimelineTest, TransfersThatShareALinkStandOnRowsOfTheirOwn) {
  const Timeline t = timeline("tiered_eviction/published.yaml", {"cluster.host.discipline=fair_share"}, "200 s");
  EXPECT_TRUE(categories(t, "replica 0/host link, to the GPU #1").contains("load"));
}

TEST_F(TimelineTest, ADemotionIsNobodys) {
  write("s.yaml", placement_scenario());
  ASSERT_EQ(run({"run", "s.yaml", "--trace-out", "t.json"}).status, 0);
  std::size_t demotions = 0;
  for (const auto& [track, slices] : read_timeline(read("t.json")).tracks) {
    for (const Slice& s : slices) {
      if (s.category == "demotion") {
        EXPECT_FALSE(s.args.contains("request")) << track;
        ++demotions;
      } else if (s.category == "store" || s.category == "load") {
        EXPECT_TRUE(s.args.contains("request")) << track;
      }
    }
  }
  EXPECT_GT(demotions, 0U);
}

TEST_F(TimelineTest, RunningRequestsAreThoseThatTheGpuWorksOn) {
  // Closed loop of four: none waits for long, never more than four run.
  write("s.yaml", tiny_scenario());
  ASSERT_EQ(run({"run", "s.yaml", "--trace-out", "t.json"}).status, 0);
  const Timeline t = read_timeline(read("t.json"));
  double most = 0;
  for (const auto& [at, running] : t.counters.at("replica 0/running requests")) most = std::max(most, running);
  EXPECT_EQ(most, 4);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
