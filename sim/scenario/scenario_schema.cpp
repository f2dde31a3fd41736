// The field tables of a scenario: every key with its unit, range, default and sentence. Parsing, validation, the JSON
// Schema, the reference page and the resolved scenario all come from here.
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "models/acceptance/acceptance.h"
#include "models/compression/compressor_spec.h"
#include "models/drafting/drafter_spec.h"
#include "models/hardware/gpu.h"
#include "models/hardware/link_spec.h"
#include "models/kernels/profile.h"
#include "models/llm/llm_spec.h"
#include "models/placement/placement_spec.h"
#include "models/prefetch/prefetch_spec.h"
#include "models/reuse/rag_task.h"
#include "models/schemas.h"
#include "models/workload/dataset.h"
#include "models/workload/trace_reader.h"
#include "sim/cache/placement/placements.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schemas.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/replica_fleet.h"
#include "sim/serving/schedule_policy.h"

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
using schema::boolean;
using schema::bytes;
using schema::choice;
using schema::integer;
using schema::number;
using schema::ObjectSchema;
using schema::one_of;
using schema::Presence;
using schema::rate;
using schema::Reporter;
using schema::text;
using schema::time;
using schema::tokens;
using serving::DecodePolicy;

constexpr double kLongestRun_s = 24000.0 * 3600.0;  // a thousand days; the clock ends after 292 years

#define KVSIM_MEMBER(path)   \
  [](auto& whole) -> auto& { \
    return whole.path;       \
  }

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
  s.check([](const LengthSpec& spec, const Reporter& report) {
    if (const std::string problem = problem_with(spec); !problem.empty()) report.fail("", problem);
  });
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
  s.check([](const TimeSpec& spec, const Reporter& report) {
    if (const std::string problem = problem_with(spec); !problem.empty()) report.fail("", problem);
  });
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
  s.check([](const RateOverTime& rates, const Reporter& report) {
    if (const std::string problem = problem_with(rates); !problem.empty()) report.fail("", problem);
  });
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
  s.check([](const SharedChunkSpec& spec, const Reporter& report) {
    if (const std::string problem = problem_with(spec); !problem.empty()) report.fail("per_request", problem);
  });
  return s;
}

ObjectSchema<models::TraceColumns> columns_schema() {
  using models::TimeForm;
  using models::TraceColumns;
  ObjectSchema<TraceColumns> s("columns",
                               "What a log calls what requests are made of: columns (CSV), or members (JSON).");
  s.required("arrival", &TraceColumns::arrival, text().non_empty(), "when it arrived");
  s.required("prompt", &TraceColumns::prompt, text().non_empty(), "tokens of its prompt");
  s.required("output", &TraceColumns::output, text().non_empty(), "tokens of its output");
  s.optional("session", &TraceColumns::session, text(), "what requests of a session have in common");
  s.optional("end", &TraceColumns::end, text(), "when it was answered, in the form of arrival (with session)");
  s.optional(
      "parent", &TraceColumns::parent, text(),
      "of a sub-agent's session, the session whose turn began it (with session); nothing or null: none did, or an "
      "earlier request of the session said it");
  s.optional("blocks", &TraceColumns::blocks, text(),
             "JSON lines: list of numbers of the prompt's whole blocks; equal numbers are equal blocks after equal "
             "beginnings");
  s.optional("block_size", &TraceColumns::block_tokens, tokens().at_most(models::most_block_tokens),
             "tokens of each of these");
  s.optional("time", &TraceColumns::time,
             choice<TimeForm>({{"found", TimeForm::found, "dates, or time since 1970, as the first request has it"},
                               {"date", TimeForm::date, "ISO 8601"},
                               {"s", TimeForm::seconds, "seconds since any moment"},
                               {"ms", TimeForm::milliseconds, "milliseconds"},
                               {"us", TimeForm::microseconds, "microseconds"},
                               {"ns", TimeForm::nanoseconds, "nanoseconds"}}),
             "how times are written; they count from the first request");
  s.check([](const TraceColumns& columns, const Reporter& report) {
    if (const std::string problem = problem_with(columns); !problem.empty()) report.fail("", problem);
  });
  return s;
}

ObjectSchema<serving::SloConfig> slo_schema() {
  using serving::SloConfig;
  ObjectSchema<SloConfig> s(
      "slo",
      "Latency objectives. The share of requests that a percentile names must stay within all of its "
      "limits at once: 99 % within ttft_p99 and tpot_p99, 95 % within ttft_p95.");
  for (const serving::SloMetricEntry& entry : serving::kSloMetrics) {
    for (std::size_t p = 0; p < serving::kSloPercentiles.size(); ++p) {
      const auto limit = [ m = static_cast<std::size_t>(entry.metric), p ](auto& slo) -> auto& {
        return slo.limits_s[m][p];
      };
      s.optional(serving::slo_key(entry.metric, p).c_str(), limit, time().positive(), entry.description);
    }
  }
  s.unknown_keys(fmt::format("expected {}, quality_floor, or functional_floor", serving::expected_slo_keys()));
  s.optional("quality_floor", &SloConfig::quality_floor, number().above(0).at_most(1),
             "score of an answer / mean score of answers to prompts computed whole: an answer below it is no goodput");
  s.optional("functional_floor", &SloConfig::functional_floor, number().above(0).at_most(1),
             "functional correctness (calls, code format, completion: the least that is known) relative to full KV: an "
             "answer below it, or of which it is not known, is no goodput");
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

/// What is said of a recording, whether it is the only one or not.
void add_recording(ObjectSchema<TraceInput>& trace) {
  trace.required("format", &TraceInput::format, one_of(words_of(models::trace_formats())), "file format");
  trace.required("path", &TraceInput::path, text().non_empty(),
                 "file; relative to the scenario's folder, or to the working directory where it is not there");
  trace.optional("max_requests", &TraceInput::max_requests, integer().non_negative(), "only the first so many; 0: all");
  trace.optional("time_scale", &TraceInput::time_scale,
                 number().at_least(models::least_time_scale).at_most(models::most_time_scale),
                 "arrival times are multiplied by this: 0.5 doubles the rate");
  trace.object("columns", &TraceInput::columns, columns_schema(), Presence::optional,
               "names of columns, of format columns");
  trace.optional(
      "skip_invalid", &TraceInput::skip_invalid, boolean(),
      "lines that are no request (aborted, without tokens or a time) are left out, and results say how many; "
      "else the first is refused");
  trace.optional("sort", &TraceInput::sort, boolean(),
                 "requests are in any order, such as that in which they ended, and are sorted by arrival; else they "
                 "have to arrive one after the other");
  trace.optional("from", KVSIM_MEMBER(cut.from_s), time().non_negative(),
                 "requests before this time (after time_scale) are left out, and the rest begins at 0 s");
  trace.optional("until", KVSIM_MEMBER(cut.until_s), time().positive(),
                 "requests at this time (after time_scale) or later are left out");
  trace.optional("keep", KVSIM_MEMBER(cut.keep), number().above(0).at_most(1),
                 "share of the requests that is kept, chosen by chance and always the same");
  trace.optional("repeat", KVSIM_MEMBER(cut.repeat), integer().at_least(1).at_most(10000),
                 "how often they come, one round after the other, with the same prompts: a prefix cache finds those of "
                 "the round before");
  trace.check([](const TraceInput& input, const Reporter& report) {
    const bool named = input.format == "columns";
    if (named && !input.columns) {
      report.fail("",
                  "missing key \"columns\", expected names such as {arrival: ts, prompt: prompt_tokens, output: "
                  "completion_tokens}");
    }
    if (!named && input.columns) report.fail("columns", "belongs to format: columns, and would have no effect here");
    if (const std::string problem = problem_with(input.cut); !problem.empty()) report.fail("", problem);
  });
}

ObjectSchema<TraceInput> overlay_schema() {
  ObjectSchema<TraceInput> s("overlay", "A recording whose requests come beside those of the trace.");
  add_recording(s);
  s.optional("at", &TraceInput::at_s, time().non_negative(),
             "when its time begins: its requests, scaled and cut, come so much later");
  return s;
}

ObjectSchema<TraceInput> trace_schema() {
  ObjectSchema<TraceInput> trace("trace", "Requests recorded elsewhere.");
  add_recording(trace);
  trace.optional(
      "arrivals_only", &TraceInput::arrivals_only, boolean(),
      "only when requests arrive is taken from the file: prompts and outputs are generated as with `arrivals`");
  trace.list(
      "overlay", &TraceInput::overlay, overlay_schema(), Presence::optional,
      "other recordings, whose requests are merged with these by time; those of one file share its prompts, those "
      "of different files none",
      {.at_least = 1});
  trace.optional("sessions", &TraceInput::sessions, boolean(),
                 "a session's first turn arrives as recorded, and each further one when the one before is answered and "
                 "the recorded time between the two is over, or, where the trace does not say when answers ended, the "
                 "time between their arrivals; of formats that say which session a request belongs to");
  trace.check([](const TraceInput& input, const Reporter& report) {
    if (input.sessions && input.arrivals_only) {
      report.fail("sessions", "turns are of recorded prompts: remove one of sessions and arrivals_only");
    }
    for (const TraceInput& other : input.overlay) {
      const std::int64_t tokens = other.block_tokens(), all = input.block_tokens();
      if (tokens > 0 && tokens != all && !input.arrivals_only) {
        report.fail("overlay",
                    fmt::format("{} has blocks of {} tokens and another of the traces blocks of {}: expected formats "
                                "with the same, or without blocks",
                                other.format, tokens, all));
      }
      if (input.sessions && other.time_scale != input.time_scale) {
        report.fail("overlay",
                    fmt::format("time_scale is {} of one trace and {} of another, and times between the turns "
                                "of sessions are not scaled: expected the same for all, or sessions: false",
                                input.time_scale, other.time_scale));
      }
    }
  });
  return trace;
}

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

void add_gpu(ObjectSchema<Scenario>& cluster) {
  ObjectSchema<Scenario> s("gpu", "The GPUs of one replica.");
  s.reference("type", KVSIM_MEMBER(serving.cluster.gpu), "gpu", models::gpu_schema(), Presence::required, "which GPU");
  s.optional("tensor_parallel", KVSIM_MEMBER(serving.cluster.parallel.tensor), integer().at_least(1).at_most(1024),
             "GPUs that share every matrix, KV heads and host links");
  s.optional("attention_data_parallel", KVSIM_MEMBER(serving.cluster.parallel.attention_data),
             integer().at_least(1).at_most(1024),
             "ranks of tensor_parallel GPUs each, with attention, dense layers, shared experts and requests of their "
             "own; they hold the routed experts together");
  s.optional(
      "expert_parallel", KVSIM_MEMBER(serving.cluster.parallel.expert), integer().at_least(1).at_most(1024),
      "parts into which the GPUs of all ranks are cut to hold whole routed experts each; 1: all share every expert");
  s.optional("expert_imbalance", KVSIM_MEMBER(serving.cluster.parallel.expert_imbalance),
             number().at_least(1).at_most(64).because("it is the fullest over the mean"),
             "tokens of the part with most, over the mean of all, beyond what chance does to experts alike");
  s.optional("pipeline_parallel", KVSIM_MEMBER(serving.cluster.parallel.pipeline), integer().at_least(1).at_most(1024),
             "stages that hold a part of the layers each; a replica has tensor_parallel x attention_data_parallel x "
             "this many GPUs");
  s.optional(
      "memory_fraction", KVSIM_MEMBER(serving.cluster.memory_fraction), number().above(0).at_most(1),
      "of GPU memory as CUDA has it, what weights, activations and KV may use together (vLLM: "
      "gpu-memory-utilization); SGLang: of what is free before weights; TensorRT-LLM: of what is left beside them");
  s.optional("activations", KVSIM_MEMBER(serving.cluster.activation_bytes), bytes().non_negative().usually(1, 1e13),
             "per GPU, within that fraction, for activations and workspaces; by default what the engine takes "
             "(engine.memory), vllm's where there is none");
  s.optional(
      "kv_tokens", &Scenario::kv_tokens, tokens().at_least(1).at_most(1e12),
      "KV memory of a replica as its start-up log states it (\"GPU KV cache size\"), in place of what weights and "
      "activations leave; one of kv_tokens, kv_blocks, kv_bytes");
  s.optional("kv_blocks", &Scenario::kv_blocks, integer().at_least(1).at_most(1e12),
             "likewise, in blocks (num-gpu-blocks-override)");
  s.optional("kv_bytes", &Scenario::kv_bytes, bytes().positive().usually(1e6, 1e13),
             "likewise, of one GPU (\"Available KV cache memory\", kv-cache-memory-bytes)");
  s.reference("profile", &Scenario::profile, "profile", models::profile_schema(), Presence::optional,
              "kernel profile; by default the GPU's own");
  s.reference("peer_link", &Scenario::peer_link, "link", models::link_schema(), Presence::optional,
              "link between the replica's GPUs; by default the GPU's own");
  cluster.object(
      "gpu", [](auto& x) -> auto& { return x; }, s, Presence::required, "the GPUs of one replica");
}

void add_host(ObjectSchema<Scenario>& cluster) {
  using transport::Queueing;
  ObjectSchema<Scenario> s("host", "The host memory of one replica and the way to it.");
  s.optional("memory", KVSIM_MEMBER(serving.cluster.host_memory_bytes), bytes().non_negative(),
             "host memory per replica for KV");
  s.reference("link", &Scenario::host_link, "link", models::link_schema(), Presence::optional,
              "link between host memory and one GPU; each GPU has its own; by default the GPU's own");
  s.optional(
      "discipline", KVSIM_MEMBER(serving.cluster.host_link_discipline),
      choice<Queueing>({{"serialised", Queueing::serialised, "one transfer at a time, in order of request"},
                        {"fair_share", Queueing::fair_share, "all transfers at once, equal shares of the bandwidth"}}),
      "how transfers share the link");
  s.optional(
      "shared", KVSIM_MEMBER(serving.cluster.host_shared), boolean(),
      "placement: the host memory of all replicas (replicas x memory) is one tier, which each reads over its own "
      "link");
  s.list("outages", KVSIM_MEMBER(serving.cluster.host_outages), outage_schema(), Presence::optional,
         "placement: failures of the links to host memory, both directions");
  s.check([](const Scenario& x, const Reporter& report) { check_outages(x.serving.cluster.host_outages, report); });
  cluster.object(
      "host", [](auto& x) -> auto& { return x; }, s, Presence::optional, "host memory and link");
}

ObjectSchema<serving::NodeConfig> node_schema() {
  using serving::NodeConfig;
  ObjectSchema<NodeConfig> s("node", "What replicas run on and are bought in; a replica lies within nodes.");
  s.required(
      "gpus", &NodeConfig::gpus, integer().at_least(1).at_most(1024),
      "GPUs of a node: as many whole replicas as fit share one, and a larger replica takes several; all are paid "
      "for");
  s.optional("memory", &NodeConfig::memory_bytes, bytes().positive(),
             "host memory of a node for KV, in equal parts for the replicas on it, in place of host.memory (with "
             "host.shared it is one tier all the same)");
  s.reference("link", &NodeConfig::link, "link", models::link_schema(), Presence::optional,
              "what joins nodes, of each GPU, where a replica takes several: its collectives go within nodes over "
              "gpu.peer_link, then between them over this; left out: over gpu.peer_link alone, which is said");
  s.optional("price", &NodeConfig::usd_per_hour, schema::price().non_negative(),
             "of a node with all GPUs and host memory in it; left out: those of its parts by the price table");
  return s;
}

/// Which machines read which keys of cluster.
void add_cluster_rules(ObjectSchema<Scenario>& cluster) {
  cluster.unread({"router"}, [](const Scenario& s) {
    return s.serving.cluster.replicas > 1 || s.serving.cluster.pools
               ? ""
               : "there is one replica, which gets every request: give cluster.replicas";
  });
  cluster.unread({"gpu.memory_fraction", "gpu.activations"}, [](const Scenario& s) {
    const auto& stated = s.serving.cluster.stated_kv;
    return stated ? "the KV memory is stated beside it: remove one of the keys" : "";
  });
  cluster.unread({"gpu.peer_link"}, [](const Scenario& s) {
    return s.serving.cluster.parallel.gpus() > 1
               ? ""
               : "a replica has one GPU, without peers: give cluster.gpu.tensor_parallel";
  });
  cluster.unread({"host.link", "host.discipline"}, [](const Scenario& s) {
    const serving::ServingConfig& c = s.serving;
    const bool loads = c.cluster.pools || c.placement || c.prefill != serving::PrefillKind::recompute;
    return loads || serving::configured_policy(c).offloads()
               ? ""
               : "KV stays on the GPU: give placement, prefill: stored, or a decode policy with KV in host memory";
  });
  cluster.unread({"gpu.expert_imbalance"}, [](const Scenario& s) {
    return s.serving.cluster.parallel.expert > 1 ? "" : "all GPUs share every expert: give cluster.gpu.expert_parallel";
  });
  cluster.unread({"node.link"}, [](const Scenario& s) {
    const serving::ClusterConfig& c = s.serving.cluster;
    return !c.node || c.parallel.gpus() > c.node->gpus ? ""
                                                       : "a replica lies within one node: its GPUs use gpu.peer_link";
  });
}

ObjectSchema<Scenario> cluster_schema() {
  ObjectSchema<Scenario> s("cluster", "The machines.");
  s.optional("replicas", KVSIM_MEMBER(serving.cluster.replicas), integer().at_least(1).at_most(10000),
             "identical replicas, each with all of the following");
  s.optional("router", KVSIM_MEMBER(serving.cluster.router), one_of(words_of(serving::routers())),
             "which replica an arriving request goes to; left out: session where the workload has sessions, else "
             "least_loaded");
  add_gpu(s);
  add_host(s);
  s.object("node", KVSIM_MEMBER(serving.cluster.node), node_schema(), Presence::optional,
           "what replicas are bought in; left out: GPUs are bought one by one");
  s.list("storage", KVSIM_MEMBER(serving.cluster.storage), storage_schema(), Presence::optional,
         "tiers below host memory, or the storage node's, the nearest first (placement)");
  s.object("pools", KVSIM_MEMBER(serving.cluster.pools), pools_schema(), Presence::optional,
           "two pools of nodes around a storage node, in place of replicas with host memory");
  add_cluster_rules(s);
  return s;
}

ObjectSchema<serving::DraftTree> draft_tree_schema() {
  using serving::DraftTree;
  ObjectSchema<DraftTree> s("tree", "Drafts that branch; of each the step accepts one path of at most draft_length.");
  s.required("top_k", &DraftTree::top_k, integer().at_least(1).at_most(1024),
             "candidates that each pass but the first goes on with (SGLang: speculative_eagle_topk)");
  s.required("tokens", &DraftTree::tokens, integer().at_least(2).at_most(4096),
             "query tokens of a request's step, the one after its context among them (SGLang: "
             "speculative_num_draft_tokens)");
  return s;
}

ObjectSchema<serving::DrafterConfig> drafter_schema() {
  using serving::DrafterConfig;
  ObjectSchema<DrafterConfig> s("drafter", "An auxiliary drafter beside the model: an EAGLE head, MTP, a small model.");
  s.reference("type", &DrafterConfig::spec, "drafter", models::drafter_schema(), Presence::required, "which drafter");
  s.optional("draft_length", &DrafterConfig::draft_length,
             integer().at_least(1).at_most(64).or_word("own", 0, "as many as the catalogue gives it"),
             "tokens that it proposes before a step");
  s.object("tree", &DrafterConfig::tree, draft_tree_schema(), Presence::optional,
           "drafts that branch, under decode policies drafter and lossy+drafter; left out: a chain");
  s.object("acceptance", &DrafterConfig::acceptance, models::acceptance_schema(), Presence::optional,
           "how many of them the step accepts, in place of what is published of it");
  s.check([](const DrafterConfig& d, const Reporter& report) {
    if (d.acceptance && d.acceptance->kind == models::AcceptanceKind::compressor) {
      report.fail("acceptance.model", "a drafter has no compressor: expected constant, positions or another model");
    }
    if (d.tree && d.spec.block) report.fail("tree", "a drafter of whole blocks proposes no tree: remove this key");
  });
  return s;
}

ObjectSchema<serving::SparseConfig> sparse_schema() {
  using serving::SparseConfig;
  ObjectSchema<SparseConfig> s("sparse", "What sparse_self drafts with, in place of what other policies draft with.");
  s.reference("selection", &SparseConfig::selection, "compressor", models::compressor_schema(), Presence::optional,
              "what chooses the tokens to read; by default the compressor");
  s.optional("keep_ratio", &SparseConfig::keep_ratio, number().above(0).at_most(1), "share of the full KV read");
  s.optional("draft_length", &SparseConfig::draft_length, integer().at_least(1).at_most(4096),
             "tokens drafted per round before one verification");
  s.object("acceptance", &SparseConfig::acceptance, models::acceptance_schema(), Presence::optional,
           "how many drafted tokens a verification accepts");
  return s;
}

/// Whether sparse_self's drafts have an own one of what other policies draft with.
template <class Member>
bool has_own(const Scenario& s, Member serving::SparseConfig::*member) {
  const auto& sparse = s.serving.decode.sparse;
  return serving::configured_policy(s.serving).keeps_full && sparse && ((*sparse).*member).has_value();
}

/// Why drafts read no compressed KV of the decode policy's own; empty where they do.
std::string unread_compressor(const Scenario& s) {
  const DecodePolicy decode = serving::configured_policy(s.serving);
  if (!decode.reads_compressed) {
    return fmt::format("decode policy {} reads no compressed KV: use another, such as lossy or draft_verify",
                       decode.name);
  }
  if (!decode.as_found()) return {};
  return s.workload.chunks ? "drafts read prompts as they were put together from chunks: use prefill"
                           : "drafts read prompts as they were stored: use placement.compressor";
}

/// Which decode policies, and what beside them, read which keys of decode.
void add_decode_rules(ObjectSchema<Scenario>& decode) {
  // A rule that looks at the policy alone.
  const auto by_policy = [](bool (*reads)(const DecodePolicy&), const char* without, const char* instead) {
    return [=](const Scenario& s) {
      const DecodePolicy policy = serving::configured_policy(s.serving);
      return reads(policy) ? std::string() : fmt::format("decode policy {} {}: {}", policy.name, without, instead);
    };
  };
  decode.unread({"compressor"}, [](const Scenario& s) {
    return has_own(s, &serving::SparseConfig::selection) ? "drafts read what decode.sparse.selection chooses: use that"
                                                         : unread_compressor(s);
  });
  decode.unread({"keep_ratio", "budget"}, [](const Scenario& s) {
    return has_own(s, &serving::SparseConfig::keep_ratio) ? "drafts read decode.sparse.keep_ratio of the KV: use that"
                                                          : unread_compressor(s);
  });
  decode.unread({"draft_length"}, [](const Scenario& s) {
    const DecodePolicy policy = serving::configured_policy(s.serving);
    const std::string& lengths = s.serving.decode.draft_lengths.policy;
    if (policy.proposes()) {
      return fmt::format("decode policy {} drafts with its drafter: use decode.drafter.draft_length", policy.name);
    }
    if (!policy.verifies) return fmt::format("decode policy {} drafts nothing: use draft_verify", policy.name);
    if (lengths != "fixed") return fmt::format("decode.draft_lengths.policy {} chooses how much is drafted", lengths);
    return std::string(has_own(s, &serving::SparseConfig::draft_length)
                           ? "drafts are as long as decode.sparse.draft_length says: use that"
                           : "");
  });
  decode.unread({"acceptance"}, [](const Scenario& s) {
    const DecodePolicy policy = serving::configured_policy(s.serving);
    if (!policy.verifies) {
      return fmt::format("decode policy {} verifies no drafts of its own: use draft_verify{}", policy.name,
                         policy.drafter ? ", or decode.drafter.acceptance" : "");
    }
    return std::string(has_own(s, &serving::SparseConfig::acceptance) ? "drafts have decode.sparse.acceptance: use that"
                                                                      : "");
  });
  const auto reloads = [](const DecodePolicy& p) { return p.verifies && !p.keeps_full && !p.as_found(); };
  decode.unread({"draft_limit"},
                by_policy([](const DecodePolicy& p) { return p.verifies; }, "verifies no drafts", "use draft_verify"));
  decode.unread({"resident", "offloaded"},
                by_policy(reloads, "reloads no full KV to verify drafts against", "use draft_verify"));
  decode.unread({"prefetch.top_k", "prefetch.overlap", "prefetch.query_tokens", "prefetch.row_tokens",
                 "prefetch.layout", "prefetch.copies", "prefetch.attention"},
                by_policy([](const DecodePolicy& p) { return p.fetches_pairs(); }, "fetches no KV pairs",
                          "use speculative_prefetch or fetch_on_demand"));
  decode.unread({"prefetch.dequantisation"},
                by_policy([](const DecodePolicy& p) { return p.low_bit_copy; }, "has no low-bit copy",
                          "use one with it, such as quantised_only"));
  decode.unread({"prefetch.attends_again"},
                by_policy([](const DecodePolicy& p) { return p.fetch == serving::Fetch::on_demand; }, "attends once",
                          "use fetch_on_demand"));
  decode.unread({"prefetch.buffered_layers"},
                by_policy([](const DecodePolicy& p) { return p.fetch == serving::Fetch::everything; },
                          "streams no layers", "use full_offload"));
  decode.unread({"drafter"}, by_policy([](const DecodePolicy& p) { return p.drafter; }, "has no auxiliary drafter",
                                       "use a policy with one, such as drafter"));
  decode.unread({"sparse"}, by_policy([](const DecodePolicy& p) { return p.keeps_full; },
                                      "does not draft on a part of the full KV", "use sparse_self"));
  decode.unread({"draft_lengths"}, by_policy([](const DecodePolicy& p) { return p.drafts(); }, "drafts nothing",
                                             "use draft_verify, or a policy with a drafter"));
}

ObjectSchema<Scenario> decode_schema() {
  ObjectSchema<Scenario> s("decode", "What a decoding step computes and against which representation of the KV.");
  s.required("policy", KVSIM_MEMBER(serving.decode.policy), one_of(words_of(serving::decode_policies())),
             "decode policy");
  s.reference("compressor", &Scenario::compressor, "compressor", models::compressor_schema(), Presence::optional,
              "KV compressor (all policies but full_kv and full_offload)");
  s.optional("keep_ratio", &Scenario::keep_ratio, number().above(0).at_most(1),
             "compressed KV / full KV, of token dropping; a quantiser's ratio follows from its bits");
  s.optional(
      "budget", KVSIM_MEMBER(serving.decode.budget), tokens().at_least(1),
      "tokens that token dropping leaves of a prompt (of the whole context, where the compressor acts on all), in "
      "place of keep_ratio; its figures are those at the share of each request that this is");
  s.optional("draft_length", KVSIM_MEMBER(serving.decode.draft_length), integer().at_least(1).at_most(4096),
             "tokens drafted per round before one verification (draft_lengths: policy fixed)");
  s.optional("draft_limit", KVSIM_MEMBER(serving.decode.draft_limit),
             integer().non_negative().at_most(8192).or_word("strict", serving::kStrictDraftLimit,
                                                            "the draft length and no more: a request whose "
                                                            "verification is late waits for it"),
             "most tokens drafted while a verification is late; 0: twice the longest draft length");
  s.optional("resident", KVSIM_MEMBER(serving.decode.resident), integer().non_negative(),
             "requests per replica whose full KV stays in GPU memory (pinned)");
  s.optional("offloaded", KVSIM_MEMBER(serving.decode.offloaded),
             integer().at_least(1).or_word("all", -1, "as many as memory and link allow"),
             "most requests per replica whose full KV lives in host memory");
  s.object("prefetch", &Scenario::prefetch, models::prefetch_schema(), Presence::optional,
           "what is fetched from host memory, or a storage node, beside a low-bit copy "
           "(speculative_prefetch, fetch_on_demand, full_offload)");
  s.object("acceptance", KVSIM_MEMBER(serving.decode.acceptance), models::acceptance_schema(), Presence::optional,
           "how many drafted tokens a verification accepts");
  s.object("drafter", KVSIM_MEMBER(serving.decode.drafter), drafter_schema(), Presence::optional,
           "auxiliary drafter (policies with one)");
  s.object("sparse", KVSIM_MEMBER(serving.decode.sparse), sparse_schema(), Presence::optional,
           "what sparse_self drafts with, where that is something else");
  s.object("draft_lengths", KVSIM_MEMBER(serving.decode.draft_lengths), draft_lengths_schema(), Presence::optional,
           "how many tokens each round drafts; by default draft_length");
  add_decode_rules(s);
  return s;
}

ObjectSchema<Scenario> run_schema() {
  ObjectSchema<Scenario> s("run", "How long, how often, with which random numbers.");
  s.optional("duration", KVSIM_MEMBER(serving.run.duration_s), time().positive().at_most(kLongestRun_s),
             "simulated time; without it the run ends with its last request");
  s.optional("warmup", KVSIM_MEMBER(serving.run.warmup_s), time().non_negative().at_most(kLongestRun_s),
             "simulated time that is not measured");
  s.optional("seed", KVSIM_MEMBER(serving.run.seed), integer().non_negative().of_any_size(), "of every random stream");
  s.optional(
      "sample_every", KVSIM_MEMBER(serving.run.sample_every_s), time().at_least(1e-6).at_most(kLongestRun_s),
      "requests running and waiting, KV memory in use, and what GPUs and links did are sampled at this period, "
      "warm-up included, for the result's timeline; without it that chooses one that leaves at most 120 samples");
  s.optional("most_in_flight", KVSIM_MEMBER(serving.run.most_in_flight), integer().at_least(1).at_most(1e9),
             "requests that may have arrived and not finished at once, over all replicas: one more ends the run with a "
             "message, for each takes some 500 bytes of memory");
  s.optional("replications", &Scenario::replications, integer().at_least(1).at_most(10000),
             "independent runs, with seeds seed, seed + 1, ...");
  s.optional("stretches", KVSIM_MEMBER(serving.run.stretches), boolean(),
             "iterations in which nothing else happens are one event; false makes each an event of its own: the same "
             "figures to the last bit, slower");
  return s;
}

ObjectSchema<Scenario> make_scenario_schema() {
  ObjectSchema<Scenario> s("scenario", "One simulation: model, machines, traffic and policies.");
  s.optional("name", &Scenario::name, text().non_empty(),
             "what the scenario is, for reports; by default the file's name without its ending");
  s.optional("description", &Scenario::description, text(), "what it shows and what to expect");
  s.list("assumptions", &Scenario::assumptions, text().non_empty(), Presence::optional,
         "what was taken for granted; repeated in every result");
  s.list("include", &Scenario::include, text().non_empty(), Presence::optional,
         "files with further catalogue entries, relative to the scenario's folder");
  s.reference("model", KVSIM_MEMBER(serving.model), "model", models::llm_schema(), Presence::required, "which LLM");
  s.object(
      "cluster", [](auto& x) -> auto& { return x; }, cluster_schema(), Presence::required, "the machines");
  s.object("workload", &Scenario::workload, workload_schema(), Presence::required, "the traffic");
  s.object(
      "prefill", [](auto& x) -> auto& { return x; }, prefill_schema(), Presence::optional, "prefill policy");
  s.object(
      "decode", [](auto& x) -> auto& { return x; }, decode_schema(), Presence::required, "decode policy");
  s.object("dispatch", &Scenario::dispatch, dispatch_schema(), Presence::optional,
           "paths through pools; by default policy online over all paths");
  s.object("placement", KVSIM_MEMBER(serving.placement), models::placement_schema(words_of(cache::placements())),
           Presence::optional,
           "what is kept of prompts, where and as what (prefill: prefix_cache, and those that reuse chunks)");
  s.object("schedule", KVSIM_MEMBER(serving.schedule), schedule_schema(), Presence::optional, "schedule policy");
  s.object("slo", KVSIM_MEMBER(serving.slo), slo_schema(), Presence::optional, "latency objectives");
  s.object(
      "run", [](auto& x) -> auto& { return x; }, run_schema(), Presence::optional, "length, seed, replications");
  add_pool_rules(s);
  s.unread(
      {"cluster.storage", "cluster.host.shared", "cluster.host.outages"},
      [](const Scenario& x) {
        return x.serving.placement ? "" : "belongs to placement, and there is none: remove this key";
      },
      schema::IfWritten::refused);
  s.unread({"placement"}, [](const Scenario& x) {
    const bool stores = x.serving.placement || !x.chunk_placement;
    return stores ? "" : "prefill.policy recompute stores nothing: use another, such as full_reuse";
  });
  add_chunk_rules(s);
  add_schedule_rules(s);
  return s;
}

#undef KVSIM_MEMBER

}  // namespace

const ObjectSchema<Scenario>& scenario_schema() {
  static const ObjectSchema<Scenario> schema = make_scenario_schema();
  return schema;
}

}  // namespace kvsim::scenario
