// The field table of generated requests: when they arrive, how long they are, what they share.
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "models/reuse/rag_task.h"
#include "models/schemas.h"
#include "models/workload/dataset.h"
#include "sim/scenario/schemas.h"

namespace kvsim::scenario {
namespace {

using models::ArrivalKind;
using models::ArrivalSpec;
using models::Distribution;
using models::LengthSpec;
using models::RateOverTime;
using models::SharedChunkSpec;
using models::SharedPrefixSpec;
using models::TimeSpec;
using schema::rate;

/// Returns why a distribution has no spread of its own; empty where it has.
template <class Spec>
std::string unread_spread(const Spec& spec) {
  return has_cv(spec.distribution) ? "" : "this distribution has no spread of its own: use lognormal or gamma";
}

/// Why a law does not look at its mean; empty where it does.
template <class Spec>
std::string unread_mean(const Spec& spec) {
  if (spec.distribution == Distribution::uniform) return "distribution uniform lies between min and max: use those";
  return spec.distribution == Distribution::empirical ? "distribution empirical draws from values: use those" : "";
}

/// `amount`: of what there is a mean, and `whole` of what draws are: tokens, but for what is counted otherwise.
ObjectSchema<LengthSpec> length_schema(const char* name, const char* description,
                                       const schema::ScalarSpec& amount = tokens(),
                                       const schema::ScalarSpec& whole = tokens()) {
  ObjectSchema<LengthSpec> s(name, description);
  const schema::ScalarSpec mean = schema::ScalarSpec(amount).at_least(1);
  const schema::ScalarSpec at_least_one = schema::ScalarSpec(whole).at_least(1);
  s.shorthand("mean");
  s.optional("distribution", &LengthSpec::distribution,
             choice<Distribution>(
                 {{word(Distribution::fixed), Distribution::fixed, "always the mean"},
                  {word(Distribution::uniform), Distribution::uniform, "between min and max, both included"},
                  {word(Distribution::lognormal), Distribution::lognormal, "log-normal with mean and cv"},
                  {word(Distribution::exponential), Distribution::exponential, "exponential with this mean"},
                  {word(Distribution::gamma), Distribution::gamma, "gamma with mean and cv"},
                  {word(Distribution::empirical), Distribution::empirical, "one of `values`, equally likely"}}),
             "shape of the distribution");
  s.optional("mean", &LengthSpec::mean, mean, "mean before min and max apply");
  s.optional("cv", &LengthSpec::cv, number().non_negative().at_most(models::kMostCv),
             "standard deviation / mean (lognormal, gamma)");
  s.optional("min", &LengthSpec::min, at_least_one, "shorter draws are raised to this");
  s.optional("max", &LengthSpec::max, at_least_one, "longer draws are cut to this");
  s.list("values", &LengthSpec::values, at_least_one, Presence::optional, "lengths of the empirical distribution");
  s.unread({"mean"}, unread_mean<LengthSpec>);
  s.unread({"cv"}, unread_spread<LengthSpec>);
  s.unread({"values"}, [](const LengthSpec& spec) {
    return spec.distribution == Distribution::empirical ? "" : "this distribution draws no values: use empirical";
  });
  refuse_problems(s);
  return s;
}

ObjectSchema<TimeSpec> time_law_schema(const char* name, const char* description) {
  ObjectSchema<TimeSpec> s(name, description);
  s.shorthand("mean");
  s.optional(
      "distribution", &TimeSpec::distribution,
      choice<Distribution>({{word(Distribution::fixed), Distribution::fixed, "always the mean"},
                            {word(Distribution::uniform), Distribution::uniform, "between min and max"},
                            {word(Distribution::lognormal), Distribution::lognormal, "log-normal with mean and cv"},
                            {word(Distribution::exponential), Distribution::exponential, "exponential with this mean"},
                            {word(Distribution::gamma), Distribution::gamma, "gamma with mean and cv"}}),
      "shape of the distribution");
  s.optional("mean", &TimeSpec::mean_s, time().non_negative(), "mean before min and max apply");
  s.optional("cv", &TimeSpec::cv, number().non_negative().at_most(models::kMostCv),
             "standard deviation / mean (lognormal, gamma)");
  s.optional("min", &TimeSpec::min_s, time().non_negative(), "shorter draws are raised to this");
  s.optional("max", &TimeSpec::max_s, time().non_negative(), "longer draws are cut to this");
  s.unread({"mean"}, unread_mean<TimeSpec>);
  s.unread({"cv"}, unread_spread<TimeSpec>);
  refuse_problems(s);
  return s;
}

ObjectSchema<RateOverTime> over_time_schema() {
  using Point = RateOverTime::Point;
  ObjectSchema<Point> point("table", "One point of a table of rates.");
  point.required("at", &Point::at_s, time().non_negative(), "since the start, or within the period; the first is 0 s");
  point.required("rate", &Point::rate_per_s, rate().non_negative(), "requests per time from here on");
  ObjectSchema<RateOverTime> s("over_time", "A rate that changes: a table, or a sine.");
  s.list("table", &RateOverTime::table, point, Presence::optional,
         "rates in order of time; with `rate` beside it they are scaled so that it is their mean over the period, or, "
         "without a period, the last of them",
         {.at_least = 1});
  s.optional("linear", &RateOverTime::linear, boolean(),
             "between two points the rate changes evenly, from the last one to the first of the next period; false: "
             "it stays until the next point");
  s.optional("period", &RateOverTime::period_s, time().positive(),
             "after this the table, or the sine, begins again; without it a table's last rate stays");
  s.optional("amplitude", &RateOverTime::amplitude, number().above(0).at_most(1),
             "of a sine about `rate`: rate x (1 + amplitude sin(2 pi (t + phase) / period))");
  s.optional("phase", &RateOverTime::phase_s, time(), "of a sine: it begins so far into its period");
  refuse_problems(s);
  return s;
}

ObjectSchema<ArrivalSpec> arrival_schema() {
  ArrivalSpec no_rate;
  no_rate.rate_per_s = 0;  // not given
  ObjectSchema<ArrivalSpec> s("arrivals", "Requests, or sessions, that arrive on their own (open loop).", no_rate);
  s.optional("process", &ArrivalSpec::kind,
             choice<ArrivalKind>(
                 {{word(ArrivalKind::poisson), ArrivalKind::poisson, "independent exponential gaps"},
                  {word(ArrivalKind::gamma), ArrivalKind::gamma, "gamma gaps: bursty for cv > 1, regular for cv < 1"},
                  {word(ArrivalKind::constant), ArrivalKind::constant, "equal gaps"}}),
             "law of the gaps between arrivals");
  s.optional("rate", &ArrivalSpec::rate_per_s, rate().positive(),
             "requests per time, over all replicas; of sessions, those that begin; with over_time its mean, or the "
             "last of a table without period; a table brings it along");
  s.optional("cv", &ArrivalSpec::cv, number().positive().at_most(models::kMostCv),
             "coefficient of variation of the gaps (gamma)");
  s.object("over_time", &ArrivalSpec::over_time, over_time_schema(), Presence::optional,
           "how the rate changes; left out: it stays");
  s.unread({"cv"}, [](const ArrivalSpec& spec) {
    return spec.kind == ArrivalKind::gamma ? "" : "gaps of this process have a spread of their own: use process: gamma";
  });
  s.check([](const ArrivalSpec& spec, const Reporter& report) {
    if (!report.node().find_path("rate")) {
      if (spec.over_time && !spec.over_time->table.empty()) return;
      report.fail("", "missing key \"rate\", expected requests per time");
    }
    if (const std::string problem = problem_with(spec); !problem.empty()) report.fail("rate", problem);
  });
  return s;
}

void add_shared_prefixes(ObjectSchema<SharedPrefixSpec>& s, Presence tokens) {
  s.required("count", &SharedPrefixSpec::count, integer().at_least(1).at_most(1e6), "how many different ones");
  s.optional("popularity", &SharedPrefixSpec::popularity, number().non_negative().at_most(10),
             "Zipf exponent: the k-th prefix is used in proportion to 1/k^popularity; 0: all alike");
  s.object("tokens", &SharedPrefixSpec::tokens, length_schema("tokens", "Prefix lengths."), tokens,
           "tokens of a prefix, before the prompt's own; whole blocks of 256 of them are shared");
}

ObjectSchema<SharedPrefixSpec> prefixes_schema() {
  ObjectSchema<SharedPrefixSpec> s("prefixes", "Beginnings that prompts share; their lengths are drawn once a run.");
  add_shared_prefixes(s, Presence::optional);
  s.reference_list("datasets", &SharedPrefixSpec::datasets, "dataset", models::dataset_schema(), Presence::optional,
                   "where prefixes come from, in turn: log-normal lengths, and what compressing them costs");
  s.optional("scale", &SharedPrefixSpec::scale, number().positive().at_most(1000),
             "lengths of data sets are multiplied by this, as of another tokenizer");
  s.optional(
      "longest", &SharedPrefixSpec::longest,
      tokens().at_least(1).at_most(static_cast<double>(models::max_request_tokens)),
      "longer prefixes from data sets are cut to so many tokens, such as a model's window less query and output");
  s.exclusive({"tokens", "datasets"});
  const auto of_datasets = [](const char* instead) {
    return [instead](const SharedPrefixSpec& spec) { return spec.datasets.empty() ? instead : ""; };
  };
  s.unread({"scale"}, of_datasets("lengths are those of tokens: use tokens.mean, or datasets"));
  s.unread({"longest"}, of_datasets("lengths are those of tokens: use tokens.max, or datasets"));
  s.check([](const SharedPrefixSpec& spec, const Reporter& report) {
    if (spec.datasets.empty()) return;
    const std::string problem = problem_with(spec);
    if (!problem.empty()) report.fail(spec.scale != SharedPrefixSpec{}.scale ? "scale" : "datasets", problem);
  });
  return s;
}

ObjectSchema<SharedChunkSpec> chunks_schema() {
  ObjectSchema<SharedChunkSpec> s("chunks", "Retrieved pieces of documents that prompts are made of.");
  const auto at_most = [](std::int64_t most) { return integer().at_least(1).at_most(static_cast<double>(most)); };
  s.required("count", &SharedChunkSpec::count, at_most(models::most_chunks), "how many different ones");
  s.optional("popularity", &SharedChunkSpec::popularity, number().non_negative().at_most(10),
             "Zipf exponent: the k-th chunk is drawn in proportion to 1/k^popularity; 0: all alike");
  s.required("per_request", &SharedChunkSpec::per_request, at_most(models::most_chunks_per_request),
             "chunks of one prompt, all different, in the order in which they are drawn");
  s.optional("tokens", &SharedChunkSpec::tokens, tokens().at_least(1), "of each chunk, shared as one block");
  refuse_problems(s, "per_request");
  return s;
}

ObjectSchema<models::SubAgentSpec> sub_agents_schema() {
  using models::SubAgentSpec;
  ObjectSchema<SubAgentSpec> s("sub_agents",
                               "Sessions that turns of another one begin, and which its next turn waits for.");
  s.optional("share", &SubAgentSpec::share, number().at_least(0).at_most(1),
             "of the turns that another one follows: so many begin sub-agents; 0: none does");
  s.object("count", &SubAgentSpec::count,
           length_schema("count", "Sub-agents of a turn.", number().at_most(models::kMostSubAgents), integer()),
           Presence::required, "how many such a turn begins, at once");
  s.object("turns", &SubAgentSpec::turns, length_schema("turns", "Turns of a sub-agent.", number(), integer()),
           Presence::required, "requests of each; they grow, answer and think as the session's own");
  s.object("context", &SubAgentSpec::context, length_schema("context", "First prompts of sub-agents."),
           Presence::required, "tokens of its first prompt, which shares nothing with other sessions");
  s.check([](const SubAgentSpec& spec, const Reporter& report) {
    for (const auto& [key, law] : {std::pair{"count", &spec.count}, std::pair{"turns", &spec.turns}}) {
      if (law->distribution != Distribution::fixed || law->mean == std::floor(law->mean)) continue;
      report.fail(key, fmt::format("{} is no whole number: expected one, or a distribution with this mean", law->mean));
    }
    if (spec.count.distribution == Distribution::uniform && spec.count.max > models::kMostSubAgents) {
      report.fail("count", fmt::format("a turn begins up to {} at once, expected {} or fewer: give max", spec.count.max,
                                       models::kMostSubAgents));
    }
  });
  return s;
}

ObjectSchema<SessionInput> sessions_schema() {
  ObjectSchema<SessionInput> s(
      "sessions",
      "Users, or agents, whose requests wait for each other: a turn comes when the one before it is answered and the "
      "user has thought, and its prompt is all that was said before and new tokens.");
  s.object("turns", KVSIM_MEMBER(spec.turns), length_schema("turns", "Turns of a session.", number(), integer()),
           Presence::required, "requests of a session");
  s.check([](const SessionInput& input, const Reporter& report) {
    const LengthSpec& turns = input.spec.turns;
    if (turns.distribution == Distribution::fixed && turns.mean != std::floor(turns.mean)) {
      report.fail("turns", fmt::format("{} turns of every session are no whole number: expected one, or a distribution "
                                       "with this mean",
                                       turns.mean));
    }
  });
  s.object("growth", KVSIM_MEMBER(spec.growth), length_schema("growth", "New tokens of a turn."), Presence::required,
           "new tokens of a prompt after the first, behind the prompt before it and its answer; the first one is "
           "`context` long");
  s.object("think_time", KVSIM_MEMBER(spec.think_time),
           time_law_schema("think_time", "From the end of a turn to the next one."), Presence::required,
           "from the last token of an answer to the next turn: a user reads and writes, an agent's tool runs");
  s.object("sub_agents", KVSIM_MEMBER(spec.sub_agents), sub_agents_schema(), Presence::optional,
           "agents that turns begin; the next turn comes when all of them have ended and think_time is over");
  s.optional("count", &SessionInput::count, integer().non_negative(),
             "how many sessions; 0: until run.duration is over");
  return s;
}

ObjectSchema<ClassInput> classes_schema() {
  ObjectSchema<ClassInput> s("classes", "One kind of requests among others.");
  ObjectSchema<SharedPrefixSpec> prefixes("prefixes", "Beginnings that prompts of a class share.");
  add_shared_prefixes(prefixes, Presence::required);
  s.required("name", KVSIM_MEMBER(requests.name), text().non_empty(), "what results call it");
  s.required("share", KVSIM_MEMBER(requests.share), number().above(0).at_most(1e6),
             "of the requests, in proportion to the shares of the other classes");
  s.object("context", KVSIM_MEMBER(requests.prompt), length_schema("context", "Prompt lengths."), Presence::required,
           "prompt tokens of its requests");
  s.object("output", KVSIM_MEMBER(requests.output), length_schema("output", "Output lengths."), Presence::required,
           "output tokens of its requests");
  s.object("prefixes", KVSIM_MEMBER(requests.prefixes), prefixes, Presence::optional,
           "what its prompts begin with, before `context` tokens of their own");
  s.object("slo", &ClassInput::slo, slo_schema(), Presence::optional, "its objectives; left out: the scenario's");
  return s;
}

void check_classes(const WorkloadConfig& w, const Reporter& report) {
  if (w.classes.empty()) return;
  const auto own = [&](bool given, const char* key, const char* why) {
    if (given) report.fail(key, why);
  };
  own(w.context.has_value(), "context", "each of the classes has lengths of its own: remove this key");
  own(w.output.has_value(), "output", "each of the classes has lengths of its own: remove this key");
  own(w.prefixes.has_value(), "prefixes", "each of the classes has prefixes of its own, if any: remove this key");
  own(w.chunks.has_value(), "chunks", "prompts of classes are not made of chunks: remove one of the keys");
  own(w.recorded_prompts(), "classes",
      "the trace brings its own lengths: remove this key, or add trace.arrivals_only: true");
  std::set<std::string> names;
  for (const ClassInput& of : w.classes) {
    const std::string& name = of.requests.name;
    if (!names.insert(name).second) report.fail("classes", fmt::format("two of them are called \"{}\"", name));
    if (name.find_first_of(".*[]") != std::string::npos) {
      report.fail("classes", fmt::format("\"{}\" is part of keys of results: expected a name without . * [ ]", name));
    }
  }
}

void check_sessions(const WorkloadConfig& w, const Reporter& report) {
  if (!w.sessions) return;
  if (w.trace)
    report.fail("sessions",
                "a trace says when each request arrives, and a turn waits for the one before: use arrivals or closed");
  if (w.chunks) report.fail("sessions", "a prompt of chunks is no part of the one after it: remove one of the keys");
  if (!w.classes.empty()) report.fail("sessions", "classes are of requests that stand alone: remove one of the keys");
  if (w.requests > 0) report.fail("requests", "with sessions, use sessions.count");
}

/// Rates are of what arrives: requests, or the first ones of sessions.
void check_rates(const WorkloadConfig& w, const Reporter& report) {
  const auto check = [&](const std::string& key, const schema::ConfigNode* rate) {
    if (rate == nullptr || !rate->is_scalar()) return;
    const std::string_view of = schema::subject_of_rate(rate->text());
    if (of.empty() || (of == "sessions") == w.sessions.has_value()) return;
    const double per_s = schema::parse_rate(rate->text());
    const auto words = [](double figure) { return schema::round_quantity(schema::Dimension::rate, figure, 6); };
    if (!w.sessions) {
      report.fail(key, fmt::format("\"{}\" is of sessions, and this workload has none: write \"{}\" for requests, or "
                                   "give workload.sessions",
                                   rate->text(), words(per_s)));
    }
    const double requests = models::mean_requests(w.sessions->spec);
    report.fail(key, fmt::format("\"{}\" is of requests, and those that arrive are sessions, of {:.6g} requests each "
                                 "in the mean: write \"{}\" for so many requests",
                                 rate->text(), requests, words(per_s / requests)));
  };
  check("arrivals.rate", report.node().find_path("arrivals.rate"));
  const schema::ConfigNode* table = report.node().find_path("arrivals.over_time.table");
  if (table == nullptr || !table->is_sequence()) return;
  for (std::size_t i = 0; i < table->items().size(); ++i) {
    check(fmt::format("arrivals.over_time.table.{}.rate", i), table->items()[i].find("rate"));
  }
}

}  // namespace

ObjectSchema<WorkloadConfig> workload_schema() {
  ObjectSchema<ClosedLoop> closed("closed",
                                  "A fixed number of clients, each sending its next request when one is done.");
  closed.required("concurrency", &ClosedLoop::concurrency, integer().at_least(1).at_most(kMostClients),
                  "requests in the system at any time, over all replicas; with sessions: users, each of whom is in one "
                  "session, and begins the next one when that is over");
  ObjectSchema<WorkloadConfig> s("workload", "Where requests come from and how long they are.");
  s.object("arrivals", &WorkloadConfig::arrivals, arrival_schema(), Presence::optional, "open loop");
  s.object("closed", &WorkloadConfig::closed, closed, Presence::optional, "closed loop");
  s.object("trace", &WorkloadConfig::trace, trace_schema(), Presence::optional, "recorded requests");
  s.exclusive({"arrivals", "closed", "trace"});
  s.object("context", &WorkloadConfig::context, length_schema("context", "Prompt lengths."), Presence::optional,
           "prompt tokens of a request; not with a trace that brings them");
  s.object("output", &WorkloadConfig::output, length_schema("output", "Output lengths."), Presence::optional,
           "output tokens of a request; not with a trace that brings them");
  s.object("prefixes", &WorkloadConfig::prefixes, prefixes_schema(), Presence::optional,
           "what prompts begin with, before `context` tokens of their own; not with a trace that brings them");
  s.object("chunks", &WorkloadConfig::chunks, chunks_schema(), Presence::optional,
           "what prompts are made of, before `context` tokens of their own (the query); not with a trace that brings "
           "them, or "
           "prefixes");
  s.reference_list("tasks", &WorkloadConfig::tasks, "rag_task", models::rag_task_schema(), Presence::optional,
                   "what prompts of chunks ask for, in turn; left out: samsum, musique, hotpotqa", {.at_least = 1});
  s.object("sessions", &WorkloadConfig::sessions, sessions_schema(), Presence::optional,
           "requests that wait for each other: `arrivals` or `closed` are of sessions; `context` is of their first "
           "prompts");
  s.list("classes", &WorkloadConfig::classes, classes_schema(), Presence::optional,
         "kinds of requests with lengths and objectives of their own, in place of context, output and prefixes",
         {.at_least = 1});
  s.optional("requests", &WorkloadConfig::requests, integer().non_negative(),
             "how many requests; 0: until run.duration is over");
  s.check([](const WorkloadConfig& w, const Reporter& report) {
    if (w.chunks && w.prefixes) {
      report.fail("chunks", "prompts begin with prefixes or with chunks, not with both: remove one of the keys");
    }
    if (w.trace && w.requests > 0) report.fail("requests", "with a trace, use trace.max_requests");
    check_sessions(w, report);
    check_rates(w, report);
    check_classes(w, report);
    if (!w.recorded_prompts()) {
      if (!w.classes.empty()) return;
      if (!w.context) report.fail("", "missing key \"context\", expected prompt lengths such as {mean: 8k tokens}");
      if (!w.output) report.fail("", "missing key \"output\", expected output lengths such as {mean: 512 tokens}");
      return;
    }
    if (w.context)
      report.fail("context", "the trace brings its own lengths: remove this key, or add trace.arrivals_only: true");
    if (w.output)
      report.fail("output", "the trace brings its own lengths: remove this key, or add trace.arrivals_only: true");
    if (w.prefixes)
      report.fail("prefixes", "the trace brings its own prompts: remove this key, or add trace.arrivals_only: true");
    if (w.chunks)
      report.fail("chunks", "the trace brings its own prompts: remove this key, or add trace.arrivals_only: true");
  });
  return s;
}

}  // namespace kvsim::scenario
