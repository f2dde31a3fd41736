// Sessions, whose requests wait for each other, and classes of requests.
#include <algorithm>

#include <fmt/format.h>

#include "tools/results/metrics/metric.h"

namespace kvsim::results {
namespace {

using serving::ClassMeasurement;
using serving::Measurements;
using serving::SessionMeasurement;

constexpr std::string_view kNoSession = "no session ended in the measured time";
constexpr std::string_view kNoTurn = "no such turn finished in the measured time";

template <class T>
auto of(T SessionMeasurement::*member) {
  return [member](const View& v) { return count(v.measured().sessions.*member); };
}

std::vector<std::string> classes(const scenario::Scenario& scenario) {
  std::vector<std::string> names;
  for (const serving::ClassConfig& one : scenario.serving.classes) names.push_back(one.name);
  return names;
}

const Condition kClassed{"with classes", [](const scenario::Scenario& s) { return !s.serving.classes.empty(); }};
const Names kClasses{"class of requests", [](const Outcome& o) { return classes(o.scenario); }, classes};

const ClassMeasurement& class_of(const View& v) {
  static const ClassMeasurement none;
  const auto found = v.measured().classes.find(v.name);
  return found == v.measured().classes.end() ? none : found->second;
}

Metrics class_sample(const std::string& key, const std::string& sentence, engine::Sample ClassMeasurement::*sample,
                     std::string_view reason) {
  const auto row = [&](const char* statistic, auto value) {
    return Metric{fmt::format("classes.*.{}.{}", key, statistic),
                  kSeconds,
                  Better::less,
                  fmt::format("{}, of the class", sentence),
                  [=](const View& v) { return number(value(class_of(v).*sample), reason); },
                  nullptr,
                  nullptr,
                  false,
                  {},
                  statistic};
  };
  return {row("mean", [](const engine::Sample& s) { return s.mean(); }),
          row("p50", [](const engine::Sample& s) { return s.quantile(0.5); }),
          row("p99", [](const engine::Sample& s) { return s.quantile(0.99); }),
          row("max", [](const engine::Sample& s) { return s.max(); })};
}

Metrics class_rows() {
  Metrics rows{{"classes.*.requests", kRequests, kNeither, "requests of the class that finished in the measured time",
                [](const View& v) { return count(class_of(v).completed); }},
               {"classes.*.attainment", kShare, kHigher,
                "of these, those that met every latency objective of the class", [](const View& v) {
                  const auto& all = v.config().classes;
                  const auto own = std::find_if(all.begin(), all.end(),
                                                [&v](const serving::ClassConfig& one) { return one.name == v.name; });
                  if (own == all.end() || !own->slo.value_or(v.config().slo).any()) {
                    return missing(kNoObjective);
                  }
                  return ratio(static_cast<double>(class_of(v).within_slo), static_cast<double>(class_of(v).completed),
                               kNothingFinished);
                }}};
  append(rows,
         class_sample("ttft_s", "s from arrival to first output token", &ClassMeasurement::ttft_s, kNothingFinished));
  append(rows,
         class_sample("tpot_s", "s per output token after the first", &ClassMeasurement::tpot_s, kNothingFinished));
  append(rows,
         class_sample("e2e_s", "s from arrival to last output token", &ClassMeasurement::e2e_s, kNothingFinished));
  return rows;
}

}  // namespace

const Condition kSessions{"with sessions", [](const scenario::Scenario& s) { return s.workload.has_sessions(); }};

namespace {

const Condition kSubAgents{"with sub-agents of sessions", [](const scenario::Scenario& s) {
                             if (s.workload.sessions) return s.workload.sessions->spec.sub_agents.has_value();
                             return s.workload.has_sessions() && s.workload.trace->columns &&
                                    !s.workload.trace->columns->parent.empty();
                           }};

Metrics sub_agent_metrics() {
  Metrics rows{{"sessions.sub_agents.begun", kCount, kNeither, "sub-agents that began in the whole run",
                of(&SessionMeasurement::sub_agents_begun)},
               {"sessions.sub_agents.cut", kCount, kLower,
                "sub-agents that ended by a turn that was refused, in the whole run; their sessions go on",
                of(&SessionMeasurement::sub_agents_cut)},
               {"sessions.sub_agents.under_way", kCount, kNeither, "sub-agents that were not over when the run ended",
                of(&SessionMeasurement::sub_agents_under_way)}};
  append(rows, sample_metrics("sessions.sub_agents.duration_s",
                              "s from a sub-agent's first request to its last output token; of those that ended in the "
                              "measured time",
                              &Measurements::sub_agent_s, "no sub-agent ended in the measured time"));
  return when(kSubAgents, std::move(rows));
}

}  // namespace

Metrics traffic_metrics() {
  Metrics rows{
      {"sessions.begun", kCount, kNeither, "sessions that began in the whole run", of(&SessionMeasurement::begun)},
      {"sessions.finished", kCount, kHigher, "sessions whose last turn finished in the measured time",
       of(&SessionMeasurement::finished)},
      {"sessions.cut", kCount, kLower, "sessions that ended by a turn that was refused, in the whole run",
       of(&SessionMeasurement::cut)},
      {"sessions.under_way", kCount, kNeither, "sessions that were not over when the run ended",
       of(&SessionMeasurement::under_way)},
      {"sessions.alone", kRequests, kNeither,
       "requests of a trace that belong to no session, in the whole run; no other figure of sessions counts them",
       of(&SessionMeasurement::alone)},
      {"sessions.mean_turns", kPlain, kNeither, "requests of a finished session, mean",
       [](const View& v) {
         const SessionMeasurement& m = v.measured().sessions;
         return ratio(static_cast<double>(m.turns), static_cast<double>(m.finished), kNoSession);
       }},
      {"sessions.think_s", kSeconds, kNeither,
       "from the end of a turn to the session's next one, its sub-agents between them, mean over turns whose think "
       "time began in the measured time",
       [](const View& v) { return number(v.measured().session_think_s.mean(), "no turn was followed by another"); }},
      {"sessions.per_s", kPerS, kHigher, "sessions that finished, a second", [](const View& v) {
         return ratio(static_cast<double>(v.measured().sessions.finished), v.measured().measured_s, kNoTime);
       }}};
  append(rows, sample_metrics("sessions.duration_s", "s from a session's first request to its last output token",
                              &Measurements::session_s, kNoSession));
  append(rows, sample_metrics("sessions.ttft_first_s", "s to the first output token of first turns, of sub-agents too",
                              &Measurements::first_turn_ttft_s, kNoTurn));
  append(rows, sample_metrics("sessions.ttft_later_s", "s to the first output token of turns after the first",
                              &Measurements::later_turn_ttft_s, kNoTurn));
  rows = when(kSessions, std::move(rows));
  append(rows, sub_agent_metrics());
  append(rows, when(kClassed, for_each(kClasses, class_rows())));
  return rows;
}

}  // namespace kvsim::results
