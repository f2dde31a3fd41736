// Sessions, classes, rates over time and parts of a trace, as scenarios say them, and what does not go together.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/capacity/capacity_plan.h"
#include "planner/plan/scenario_costs.h"
#include "tests/scenario/summary.h"
#include "tests/scenario/temporary_folder.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

/// The message has this part.
::testing::AssertionResult says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << message << "\" does not say \"" << part << "\"";
}

const std::string kLengths = "context: 2k tokens, output: 50 tokens";
const std::string kSession = "sessions: {turns: 3, growth: 100 tokens, think_time: 1 s, count: 9}";
const std::string kClass = "{name: a, share: 1, context: 2k tokens, output: 50 tokens}";

std::string refusal(const std::string& workload, std::vector<std::string> more = {}) {
  more.insert(more.begin(), "workload={" + workload + "}");
  return small_refusal(more);
}

TEST(Traffic, SessionsThatMakeNoSenseAreRefusedByKey) {
  EXPECT_EQ(refusal("closed: {concurrency: 4}, " + kLengths + ", " + kSession), "");
  EXPECT_TRUE(says(refusal("closed: {concurrency: 4}, requests: 9, " + kLengths + ", " + kSession),
                   "workload.requests: with sessions, use sessions.count"));
  EXPECT_TRUE(says(refusal("trace: {format: csv, path: t.csv, arrivals_only: true}, " + kLengths + ", " + kSession),
                   "workload.sessions: a trace says when each request arrives, and a turn waits for the one "
                   "before: use arrivals or closed"));
  EXPECT_TRUE(
      says(refusal("closed: {concurrency: 4}, chunks: {count: 9, per_request: 2}, " + kLengths + ", " + kSession),
           "workload.sessions: a prompt of chunks is no part of the one after it"));
  EXPECT_TRUE(says(refusal("closed: {concurrency: 4}, classes: [" + kClass + "], " + kSession),
                   "workload.sessions: classes are of requests that stand alone"));
  EXPECT_TRUE(says(
      refusal("closed: {concurrency: 4}, " + kLengths + ", sessions: {turns: 3, growth: 1 token, think_time: 0 s}"),
      "run: an endless run: give run.duration, or workload.sessions.count"));
  EXPECT_TRUE(
      says(refusal("closed: {concurrency: 4}, " + kLengths +
                   ", sessions: {turns: 3, growth: 1 token, think_time: {distribution: exponential}, count: 9}"),
           "workload.sessions.think_time: mean is 0 s, expected above 0"));
  const auto agents = [](const std::string& count) {
    return refusal("closed: {concurrency: 4}, " + kLengths +
                   ", sessions: {turns: 3, growth: 1 token, think_time: 1 s, count: 9, sub_agents: {count: " + count +
                   ", turns: 2, context: 9 tokens}}");
  };
  EXPECT_EQ(agents("{distribution: uniform, min: 1, max: 10000}"), "");
  EXPECT_TRUE(says(agents("{distribution: uniform, min: 1}"),
                   "workload.sessions.sub_agents.count: a turn begins up to 10000000 at once, expected 10000 or fewer: "
                   "give max"));
  const std::vector<std::string> stored{"decode={policy: full_kv}", "schedule.policy=fcfs", "prefill=prefix_cache"};
  const auto placed = [&](const char* placement) {
    std::vector<std::string> all = stored;
    all.emplace_back(placement);
    return refusal("closed: {concurrency: 4}, " + kLengths + ", " + kSession, all);
  };
  EXPECT_EQ(placed("placement={policy: lru}"), "");
  EXPECT_TRUE(says(placed("placement={policy: belady}"),
                   "placement.policy: belady must know all requests beforehand, and when a session's next turn "
                   "comes is known when the one before it is over"));
  EXPECT_TRUE(says(placed("placement={policy: lru, granularity: contexts}"),
                   "placement.granularity: what the turns of a session share are blocks: use blocks"));
}

// Six turns a session: 6 requests/s are one session a second, and were taken for six.
TEST(Traffic, RatesOfRequestsAreNoRatesOfSessions) {
  const auto load = [](const std::string& rate, const std::string& sessions) {
    return refusal("arrivals: {rate: " + rate + "}, requests: 9, " + kLengths + sessions);
  };
  EXPECT_EQ(load("6 requests/s", ""), "");
  EXPECT_EQ(load("6 /s", ""), "");
  EXPECT_TRUE(says(load("6 sessions/s", ""),
                   "workload.arrivals.rate: \"6 sessions/s\" is of sessions, and this workload has none: write"));
  const auto of_sessions = [](const std::string& rate) {
    return refusal("arrivals: {rate: " + rate + "}, " + kLengths +
                   ", sessions: {turns: 6, growth: 100 tokens, think_time: 1 s, count: 9}");
  };
  EXPECT_EQ(of_sessions("6 sessions/s"), "");
  EXPECT_EQ(of_sessions("6 /s"), "");
  for (const char* rate : {"6 requests/s", "360 req/min"}) {
    const std::string message = of_sessions(rate);
    EXPECT_TRUE(says(message, "is of requests, and those that arrive are sessions, of 6 requests each in the mean"));
    EXPECT_TRUE(says(message, "write \"1/s\" for so many requests")) << message;
  }
}

TEST(Traffic, ClassesThatMakeNoSenseAreRefusedByKey) {
  const std::string load = "closed: {concurrency: 4}, requests: 9, ";
  EXPECT_EQ(refusal(load + "classes: [" + kClass + "]"), "");
  EXPECT_TRUE(says(refusal(load + "context: 1k tokens, classes: [" + kClass + "]"),
                   "workload.context: each of the classes has lengths of its own: remove this key"));
  EXPECT_TRUE(says(refusal(load + "output: 9 tokens, classes: [" + kClass + "]"),
                   "workload.output: each of the classes has lengths of its own: remove this key"));
  EXPECT_TRUE(says(refusal(load + "prefixes: {count: 2, tokens: 9 tokens}, classes: [" + kClass + "]"),
                   "workload.prefixes: each of the classes has prefixes of its own, if any: remove this key"));
  EXPECT_TRUE(says(refusal(load + "chunks: {count: 9, per_request: 2}, classes: [" + kClass + "]"),
                   "workload.chunks: prompts of classes are not made of chunks: remove one of the keys"));
  EXPECT_TRUE(says(refusal("trace: {format: csv, path: t.csv}, classes: [" + kClass + "]"),
                   "workload.classes: the trace brings its own lengths"));
  EXPECT_TRUE(says(refusal(load + "classes: [" + kClass + ", " + kClass + "]"),
                   "workload.classes: two of them are called \"a\""));
  EXPECT_TRUE(says(refusal(load + "classes: [{name: a.b, share: 1, context: 1k tokens, output: 9 tokens}]"),
                   "workload.classes: \"a.b\" is part of keys of results: expected a name without . * [ ]"));
}

TEST(Traffic, RatesThatMakeNoSenseAreRefusedByKey) {
  const auto arrivals = [](const std::string& keys) {
    return refusal("arrivals: {" + keys + "}, requests: 9, " + kLengths);
  };
  EXPECT_EQ(arrivals("over_time: {table: [{at: 0 s, rate: 1/s}]}"), "");
  EXPECT_EQ(arrivals("rate: 2/s, over_time: {amplitude: 0.5, period: 1 h}"), "");
  EXPECT_TRUE(
      says(arrivals("process: poisson"), "workload.arrivals: missing key \"rate\", expected requests per time"));
  EXPECT_TRUE(says(arrivals("over_time: {amplitude: 0.5, period: 1 h}"),
                   "workload.arrivals: missing key \"rate\", expected requests per time"));
  EXPECT_TRUE(says(arrivals("rate: 2/s, over_time: {period: 1 h}"),
                   "workload.arrivals.over_time: amplitude is 0, expected above 0, at most 1 (or a table)"));
}

// Left out, the mean is the table's; given, it scales the table.
TEST(Traffic, ATableOfRatesBringsItsMeanAlong) {
  const auto of = [](const std::string& rate) {
    return small_scenario({"workload={arrivals: {" + rate +
                           "over_time: {table: [{at: 0 s, rate: 1/s}, {at: 1 h, rate: 3/s}], period: 2 h}}, requests: "
                           "40, " +
                           kLengths + "}"});
  };
  EXPECT_EQ(of("").workload.arrivals->rate_per_s, 2);
  EXPECT_EQ(summary(measure(of(""))), summary(measure(of("rate: 2/s, "))));
  const auto first = [&](const std::string& rate) { return make_feed(of(rate), 1)->next()->arrival_ns; };
  EXPECT_NEAR(static_cast<double>(first("rate: 4/s, ")), static_cast<double>(first("")) / 2, 2);
}

// Each request is judged by what its class asks for.
TEST(Traffic, ClassesAreMeasuredByTheirOwnObjectives) {
  const serving::Measurements m = measure_with(
      {"decode={policy: full_kv}", "schedule.policy=fcfs", "prefill=recompute", "slo={ttft_p99: 1 ns}",
       "workload={closed: {concurrency: 4}, requests: 200, classes: [{name: short, share: 3, context: 500 tokens, "
       "output: 20 tokens, slo: {ttft_p99: 100 s}}, {name: long, share: 1, context: 9k tokens, output: 80 tokens}]}"});
  const serving::ClassMeasurement& brief = m.classes.at("short");
  const serving::ClassMeasurement& lengthy = m.classes.at("long");
  EXPECT_EQ(brief.completed + lengthy.completed, 200U);
  EXPECT_NEAR(static_cast<double>(brief.completed), 150, 25);
  EXPECT_EQ(brief.within_slo, brief.completed);
  EXPECT_EQ(lengthy.within_slo, 0U);
  EXPECT_EQ(m.within_slo, brief.completed);
  EXPECT_EQ(brief.ttft_s.count(), brief.completed);
  EXPECT_LT(brief.e2e_s.mean(), lengthy.e2e_s.mean());
  EXPECT_EQ(m.prompt_tokens, static_cast<std::int64_t>(500 * brief.completed + 9000 * lengthy.completed));
}

// One class is the workload with its lengths, but for the random numbers: lengths that are fixed show no difference.
TEST(Traffic, OneClassIsTheWorkloadItself) {
  const auto of = [](const std::string& what) {
    return measure_with({"workload={arrivals: {rate: 2/s}, requests: 60, " + what + "}"});
  };
  serving::Measurements one = of("classes: [" + kClass + "]");
  EXPECT_EQ(one.classes.at("a").completed, 60U);
  one.classes.clear();
  EXPECT_EQ(summary(one), summary(of(kLengths)));
}

TEST(Traffic, ATraceIsCutThinnedAndRepeated) {
  TemporaryFolder folder;
  folder.write("t.csv",
               "arrival_s,prompt_tokens,output_tokens\n0,1000,5\n1,2000,5\n2,3000,5\n3,4000,5\n4,5000,5\n5,6000,5\n");
  const auto of = [&](const std::string& keys) {
    return small_scenario({"workload={trace: {format: csv, path: " + folder.path() + "/t.csv" + keys + "}}"}).trace;
  };
  EXPECT_EQ(of("")->size(), 6U);
  const auto cut = of(", from: 1 s, until: 3 s, repeat: 2");
  ASSERT_EQ(cut->size(), 4U);
  EXPECT_EQ((*cut)[3].prompt_tokens, 3000);
  EXPECT_EQ((*cut)[3].arrival_ns, 3'000'000'000);
  EXPECT_LT(of(", keep: 0.3")->size(), 6U);
  EXPECT_TRUE(says(refusal("trace: {format: csv, path: " + folder.path() + "/t.csv, from: 3 s, until: 2 s}"),
                   "workload.trace: until is 2 s, expected more than the 3 s of from"));
  EXPECT_TRUE(says(refusal("trace: {format: csv, path: " + folder.path() + "/t.csv, from: 60 s}"),
                   "the trace has no request left: expected other times, or a larger share to keep"));
}

template <class Action>
std::string failure_of(Action action) {
  try {
    action();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

models::RequestSpec recorded(std::int64_t arrival_s, std::int32_t session, std::int64_t think_ns = -1) {
  static std::uint64_t id = 0;
  models::RequestSpec r;
  r.id = id++;
  r.arrival_ns = arrival_s * 1'000'000'000;
  r.prompt_tokens = 1000;
  r.output_tokens = 100;
  r.session = session;
  r.think_ns = think_ns;
  return r;
}

// Of two sessions and a request that belongs to none, the turns after the first come when the one before is over: after
// the recorded time, or after the time between arrivals, which time_scale leaves alone.
TEST(Traffic, TurnsOfATracesSessionsWaitForTheOneBefore) {
  TemporaryFolder folder;
  folder.write("t.csv", "arrival_s,prompt_tokens,output_tokens\n0,1000,100\n");
  scenario::Scenario s =
      small_scenario({"decode={policy: full_kv}", "schedule.policy=fcfs", "prefill=recompute",
                      "workload={trace: {format: csv, time_scale: 0.5, path: " + folder.path() + "/t.csv}}"});
  s.workload.trace->sessions = true;
  s.trace = std::make_shared<const std::vector<models::RequestSpec>>(
      std::vector{recorded(0, 0), recorded(1, 1), recorded(2, 0), recorded(3, -1), recorded(4, 0, 7'000'000'000)});
  const auto feed = make_feed(s, 1);
  ASSERT_NE(feed->turns(), nullptr);
  EXPECT_EQ(feed->next()->session, 0);
  EXPECT_EQ(feed->next()->session, 1);
  EXPECT_EQ(feed->next()->session, -1);
  EXPECT_FALSE(feed->next());
  EXPECT_EQ(feed->turns()->turn_over(0), 4'000'000'000);
  EXPECT_EQ(feed->turns()->next_turn(0).arrival_ns, 2'000'000'000);
  EXPECT_EQ(feed->turns()->turn_over(0), 7'000'000'000);
  EXPECT_FALSE(feed->turns()->turn_over(0));
  EXPECT_FALSE(feed->turns()->turn_over(1));

  const serving::Measurements m = measure(s);
  EXPECT_EQ(m.completed, 5U);
  EXPECT_EQ(m.sessions.finished, 2U);
  EXPECT_EQ(m.sessions.alone, 1U);
  EXPECT_EQ(m.session_think_s.mean(), 5.5);
  EXPECT_GE(m.session_s.max(), 11 + 3 * m.e2e_s.min() - 1e-9);
}

TEST(Traffic, SessionsOfATraceThatHasNoneAreRefused) {
  TemporaryFolder folder;
  folder.write("t.csv", "arrival_s,prompt_tokens,output_tokens\n0,1000,5\n");
  const std::string trace = "trace: {format: csv, sessions: true, path: " + folder.path() + "/t.csv";
  EXPECT_TRUE(
      says(refusal(trace + "}"), "workload.trace.sessions: the trace says of no request which session it belongs to"));
  EXPECT_TRUE(says(refusal(trace + ", arrivals_only: true}, " + kLengths),
                   "workload.trace.sessions: turns are of recorded prompts: remove one of sessions"));
}

TEST(Traffic, ClosedFormsRefuseSessions) {
  const scenario::Scenario s = small_scenario({"workload={arrivals: {rate: 1/s}, " + kLengths + ", " + kSession + "}"});
  EXPECT_TRUE(says(failure_of([&] { (void)planner::traffic_of(s); }), "small.yaml: workload.sessions: "));
}

TEST(Traffic, ClosedFormsAndCapacityRefuseWhatTheyDoNotKnow) {
  const std::vector<std::pair<std::string, std::string>> unknown{
      {"workload={arrivals: {rate: 1/s}, requests: 9, classes: [" + kClass + "]}", "small.yaml: workload.classes: "},
      {"workload={arrivals: {rate: 1/s, over_time: {amplitude: 1, period: 1 h}}, requests: 9, " + kLengths + "}",
       "is 2/s. --set \"workload.arrivals={process: poisson, rate: 2/s}\""},
      {"workload={arrivals: {process: gamma, cv: 1.5, rate: 8/s, over_time: {table: [{at: 0 s, rate: 1/s}, {at: 6 h, "
       "rate: 5/s}, {at: 12 h, rate: 2/s}], period: 24 h}}, requests: 9, " +
           kLengths + "}",
       // 1, 5 and 2 for 6, 6 and 12 h: a mean of 2.5, scaled to 8.
       "small.yaml: workload.arrivals.over_time: "},
      {"workload={arrivals: {process: gamma, cv: 1.5, rate: 8/s, over_time: {table: [{at: 0 s, rate: 1/s}, {at: 6 h, "
       "rate: 5/s}, {at: 12 h, rate: 2/s}], period: 24 h}}, requests: 9, " +
           kLengths + "}",
       "the highest of this one is 16/s. --set \"workload.arrivals={process: gamma, cv: 1.5, rate: 16/s}\""}};
  for (const auto& [workload, message] : unknown) {
    const scenario::Scenario s = small_scenario({workload, "slo={ttft_p99: 1 s}"});
    EXPECT_TRUE(says(failure_of([&] { (void)planner::traffic_of(s); }), message));
    EXPECT_TRUE(says(failure_of([&] { (void)planner::capacity::plan_capacity(s, {}); }), message));
  }
}

// Session 0 asks at 0 and 20 s; its first turn begins two sub-agents, 1 s and 2 s later, one of which has a second
// turn.
TEST(Traffic, ATracesSubAgentsAreBegunByATurnAndWaitedFor) {
  TemporaryFolder folder;
  folder.write("t.csv",
               "ts,in,out,who,by,done\n"
               "0,1000,100,a,,2\n"
               "3,500,10,b,a,4\n"
               "4,500,10,c,a,6\n"
               "9,600,10,b,a,15\n"
               "20,1200,100,a,,23\n");
  scenario::Scenario s = small_scenario(
      {"decode={policy: full_kv}", "schedule.policy=fcfs", "prefill=recompute",
       "workload={trace: {format: columns, sessions: true, path: " + folder.path() +
           "/t.csv, columns: {arrival: ts, prompt: in, output: out, session: who, parent: by, end: done, time: s}}}"});
  const auto feed = make_feed(s, 1);
  EXPECT_EQ(feed->next()->session, 0);
  EXPECT_FALSE(feed->next());
  const auto agents = feed->turns()->begin_sub_agents(0);
  ASSERT_EQ(agents.size(), 2U);
  EXPECT_EQ(agents[0].think_ns, 1'000'000'000) << "after the end of the first turn, at 2 s";
  EXPECT_EQ(agents[1].think_ns, 2'000'000'000);
  EXPECT_EQ(agents[0].parent, 0);
  EXPECT_EQ(feed->turns()->turn_over(0), 5'000'000'000) << "after b's end at 15 s";
  EXPECT_EQ(feed->turns()->turn_over(1), 5'000'000'000) << "from 4 to 9 s";
  EXPECT_FALSE(feed->turns()->turn_over(2));

  const serving::Measurements m = measure(s);
  EXPECT_EQ(m.completed, 5U);
  EXPECT_EQ(m.sessions.finished, 1U);
  EXPECT_EQ(m.sub_agent_s.count(), 2U);
}

TEST(Traffic, NoSubAgentsAreAShareOf0) {
  const auto with = [](const std::string& agents) {
    return measure(
        small_scenario({"decode={policy: full_kv}", "schedule.policy=fcfs", "prefill=recompute",
                        "workload={closed: {concurrency: 4}, context: 1k tokens, output: 50 tokens, sessions: "
                        "{turns: 3, growth: 50 tokens, think_time: 1 s, count: 9" +
                            agents + "}}"}));
  };
  const serving::Measurements none = with(""), zero = with(
                                                   ", sub_agents: {share: 0, count: 2, turns: 2, context: 1k "
                                                   "tokens}");
  EXPECT_EQ(zero.sessions.sub_agents_begun, 0U);
  EXPECT_EQ(zero.completed, 27U);
  EXPECT_EQ(zero.session_s.mean(), none.session_s.mean());
  EXPECT_TRUE(says(
      failure_of([&] { (void)with(", sub_agents: {share: -0.1, count: 2, turns: 2, context: 1k tokens}"); }), "share"));
}

TEST(Traffic, RequestsOfNoSessionAreNoSessionsOfOne) {
  TemporaryFolder folder;
  folder.write("t.csv", "ts,in,out,who\n0,1000,100,a\n1,500,10,\n2,200000,10,\n3,500,10,\n9,1200,100,a\n");
  const scenario::Scenario s =
      small_scenario({"decode={policy: full_kv}", "schedule.policy=fcfs", "prefill=recompute",
                      "workload={trace: {format: columns, sessions: true, path: " + folder.path() +
                          "/t.csv, columns: {arrival: ts, prompt: in, output: out, session: who, time: s}}}"});
  const serving::Measurements m = measure(s);
  EXPECT_EQ(m.completed, 4U);
  EXPECT_EQ(m.refused, 1U);
  EXPECT_EQ(m.sessions.alone, 3U);
  EXPECT_EQ(m.sessions.begun, 1U);
  EXPECT_EQ(m.sessions.finished, 1U);
  EXPECT_EQ(m.sessions.cut, 0U);
  EXPECT_EQ(m.sessions.turns, 2);
  EXPECT_EQ(m.session_s.count(), 1U);
  EXPECT_EQ(m.first_turn_ttft_s.count() + m.later_turn_ttft_s.count(), 2U);
}

TEST(Traffic, OverlaidTracesAreOneLoad) {
  TemporaryFolder folder;
  folder.write("a.csv", "arrival_s,prompt_tokens,output_tokens\n0,1000,5\n10,2000,5\n20,3000,5\n");
  folder.write("b.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,5\n4,200,5\n");
  const auto of = [&](const std::string& overlay) {
    return small_scenario(
        {"decode={policy: full_kv}", "schedule.policy=fcfs", "prefill=recompute",
         "workload={trace: {format: csv, path: " + folder.path() + "/a.csv, overlay: [" + overlay + "]}}"});
  };
  const std::string b = "{format: csv, path: " + folder.path() + "/b.csv";
  const scenario::Scenario s = of(b + ", at: 10 s, time_scale: 2, repeat: 2}, " + b + ", until: 2 s}");
  std::vector<std::int64_t> tokens;
  std::vector<double> at_s;
  for (const models::RequestSpec& r : *s.trace) {
    tokens.push_back(r.prompt_tokens);
    at_s.push_back(static_cast<double>(r.arrival_ns) / 1e9);
  }
  EXPECT_EQ(tokens, (std::vector<std::int64_t>{1000, 100, 2000, 100, 200, 3000, 100, 200}));
  EXPECT_EQ(at_s, (std::vector<double>{0, 0, 10, 10, 18, 20, 26, 34}));
  EXPECT_EQ(measure(s).completed, 8U);
  const std::string mooncake = "{format: mooncake, path: x.jsonl}", bailian = "{format: bailian, path: y.jsonl}";
  EXPECT_TRUE(says(refusal("trace: {format: csv, path: a.csv, overlay: [" + mooncake + ", " + bailian + "]}"),
                   "workload.trace.overlay: bailian has blocks of 16 tokens and another of the traces blocks of 512"));
  EXPECT_TRUE(
      says(refusal("trace: {format: csv, path: " + folder.path() + "/a.csv, overlay: [" + b + ", sessions: true}]}"),
           "unknown key \"sessions\""));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
