// kvsim workload generate: the requests of a scenario as a trace.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "planner/command_keys.h"
#include "planner/traffic/servegen.h"
#include "planner/traffic/trace_writer.h"
#include "tools/cli/commands/workload.h"
#include "tools/cli/output_files.h"
#include "tools/cli/signals.h"
#include "tools/cli/simulating.h"

namespace kvsim::cli {
namespace workload_generate_internal {
namespace {

using schema::InputError;

struct Options {
  std::string scenario;
  std::vector<std::string> set;
  std::optional<std::int64_t> seed;
  std::int64_t requests = 0;  ///< 0: as the scenario has it
  std::string answer_time;    ///< of all answers of sessions; empty: not given
  std::string from, until;    ///< of ServeGen's windows
  std::string format = "csv";
  std::string out;
  bool force = false;
};

/// Throws schema::InputError where the workload has no trace, or the format cannot hold what it has.
void check(const scenario::Scenario& s, const Options& options) {
  const scenario::WorkloadConfig& w = s.workload;
  if (w.closed) {
    throw InputError(
        fmt::format("{}: workload.closed: in a closed loop requests arrive when others are done, which only a "
                    "simulation knows: give workload.arrivals, or a trace",
                    options.scenario));
  }
  const char* const sessions = w.sessions ? "sessions" : "trace.sessions";
  if (w.has_sessions() && options.answer_time.empty()) {
    throw InputError(fmt::format(
        "{}: workload.{}: a turn arrives when the one before it is answered, which only a simulation knows: give "
        "--answer-time, such as 0s or 5s, which all answers then take",
        options.scenario, sessions));
  }
  if (!w.has_sessions() && !options.answer_time.empty()) {
    throw InputError(fmt::format("--answer-time: is of workloads with sessions, and {} has none", options.scenario));
  }
  const bool recorded_agents =
      w.trace && w.trace->sessions &&
      std::any_of(s.trace->begin(), s.trace->end(), [](const models::RequestSpec& r) { return r.parent >= 0; });
  if (recorded_agents || (w.sessions && w.sessions->spec.sub_agents)) {
    throw InputError(
        fmt::format("{}: workload.{}: which of the sub-agents is the last to end, only a simulation knows: simulate "
                    "the scenario itself",
                    options.scenario, recorded_agents ? "trace.sessions" : "sessions.sub_agents"));
  }
  if (w.trace && !w.recorded_prompts() && (w.prefixes || w.chunks) && planner::traffic::writes_blocks(options.format)) {
    throw InputError(
        fmt::format("{}: workload.trace.arrivals_only: what generated prompts share is not written beside "
                    "recorded arrivals: use a format without blocks, such as csv",
                    options.scenario));
  }
  if (options.requests == 0 && w.endless() && !s.serving.run.duration_s) {
    throw InputError(fmt::format("{}: nothing says how many requests: give --requests", options.scenario));
  }
}

double time_of(const char* option, const std::string& text) {
  try {
    const double seconds = schema::parse_real(schema::Dimension::time, text);
    if (seconds >= 0) return seconds;
  } catch (const schema::UnitError& e) {
    throw InputError(fmt::format("{}: {}", option, e.what()));
  }
  throw InputError(fmt::format("{}: must be 0 or more, found \"{}\"", option, text));
}

/// The requests of a feed in order of arrival: with sessions, each turn comes when all answers take the same time.
class InOrder {
 public:
  InOrder(serving::RequestFeed& feed, double answer_s)
      : feed_(feed), answer_ns_(std::llround(std::min(answer_s, kLongest_s) * 1e9)), first_(feed.next()) {}

  std::optional<models::RequestSpec> next() {
    if (!first_ && turns_.empty()) return std::nullopt;
    models::RequestSpec r;
    if (!turns_.empty() && (!first_ || turns_.begin()->first <= first_->arrival_ns)) {
      const auto [at_ns, session] = *turns_.begin();
      turns_.erase(turns_.begin());
      r = feed_.turns()->next_turn(session);
      r.arrival_ns = at_ns;
    } else {
      r = *std::exchange(first_, std::nullopt);
      first_ = feed_.next();
    }
    if (feed_.turns() == nullptr || r.session < 0) return r;
    const auto think_ns = feed_.turns()->turn_over(r.session);
    if (think_ns && *think_ns <= models::max_arrival_ns - answer_ns_ - r.arrival_ns) {
      turns_.emplace(r.arrival_ns + answer_ns_ + *think_ns, r.session);
    }
    return r;
  }

 private:
  static constexpr double kLongest_s = static_cast<double>(models::max_arrival_ns) * 1e-9 / 2;

  serving::RequestFeed& feed_;
  std::int64_t answer_ns_;
  std::optional<models::RequestSpec> first_;
  std::multimap<std::int64_t, std::int32_t> turns_;  // session by arrival of its next turn
};

/// Calls `use` with each line. Returns how many requests there were.
template <class Use>
std::int64_t write_lines(const scenario::Scenario& s, const Options& options, Use&& use) {
  const bool blocks = planner::traffic::writes_blocks(options.format);
  const auto feed = scenario::make_feed(s, s.serving.run.seed, blocks);
  planner::traffic::TraceWriter writer(options.format, feed->prefix_block_tokens());
  use(writer.header());
  // As a run has it: a workload without an end goes on until the run is over.
  const bool timed = options.requests == 0 && s.workload.endless();
  const double until_ns = timed ? *s.serving.run.duration_s * 1e9 : std::numeric_limits<double>::infinity();
  const std::int64_t most = options.requests > 0 ? options.requests : std::numeric_limits<std::int64_t>::max();
  InOrder requests(*feed, options.answer_time.empty() ? 0 : time_of("--answer-time", options.answer_time));
  for (std::int64_t n = 0; n < most; ++n) {
    const std::optional<models::RequestSpec> r = requests.next();
    if (!r || static_cast<double>(r->arrival_ns) > until_ns) return n;
    use(writer.line(*r));
  }
  return most;
}

/// Calls `use` with each line of what a folder of ServeGen's says. Returns how many requests there were.
template <class Use>
std::int64_t write_clients(const Options& options, Use&& use) {
  if (!options.set.empty()) throw InputError("--set: changes a scenario, which ServeGen's folder is not");
  if (!options.answer_time.empty()) {
    throw InputError("--answer-time: is of workloads with sessions, and ServeGen's folders have none");
  }
  if (options.until.empty()) throw InputError("--until: expected the end of the time to draw, such as \"1 h\"");
  const double from_s = options.from.empty() ? 0 : time_of("--from", options.from);
  const double until_s = time_of("--until", options.until);
  const planner::traffic::ServeGen clients(options.scenario);
  if (!(from_s < until_s) || until_s > clients.end_s()) {
    throw InputError(fmt::format("--until: is {} s, expected above {} s (--from), at most {} s, where the windows end",
                                 until_s, from_s, clients.end_s()));
  }
  planner::traffic::TraceWriter writer(options.format, 0);
  use(writer.header());
  const std::int64_t most = options.requests > 0 ? options.requests : std::numeric_limits<std::int64_t>::max();
  std::int64_t left = most;
  clients.generate(from_s, until_s, static_cast<std::uint64_t>(options.seed.value_or(1)),
                   [&](const models::RequestSpec& request) {
                     use(writer.line(request));
                     return --left > 0;
                   });
  return most - left;
}

/// The scenario, ready to be drawn from.
scenario::Scenario scenario_of(const Options& options) {
  for (const auto& [value, option] : {std::pair(&options.from, "--from"), std::pair(&options.until, "--until")}) {
    if (!value->empty()) throw InputError(fmt::format("{}: is of ServeGen's folders, not of a scenario", option));
  }
  std::vector<std::string> changes = options.set;
  if (options.seed) changes.push_back(fmt::format("run.seed={}", *options.seed));
  if (options.requests > 0) {
    // The workload's own number would end it sooner.
    const scenario::Written written = scenario::ScenarioFile(options.scenario, changes).parse();
    const char* const key = written.workload.sessions ? "workload.sessions.count" : "workload.requests";
    if (!written.workload.trace) changes.push_back(fmt::format("{}={}", key, options.requests));
  }
  scenario::Scenario s = scenario::load_scenario(options.scenario, changes);
  planner::refuse_unread_by("workload generate", s);
  check(s, options);
  refuse_input("--out", options.out, files_read(s.file, s));
  return s;
}

void generate(Console& console, const Options& options) {
  planner::traffic::TraceWriter(options.format, 0);  // throws for what cannot be written
  refuse_to_overwrite(options.out, options.force);
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(options.scenario, ignored);
  std::optional<scenario::Scenario> s;
  if (!folder) s = scenario_of(options);
  note_signals();  // what is printed ends with a line
  const auto write = [&](auto&& use) {
    const auto unless_interrupted = [&use](const std::string& line) {
      if (interrupted()) throw Interrupted();
      use(line);
    };
    const std::int64_t written =
        folder ? write_clients(options, unless_interrupted) : write_lines(*s, options, unless_interrupted);
    if (written >= options.requests) return;
    Console::complain(fmt::format("warning: {} ends after {} request{}: --requests asks for {}", options.scenario,
                                  written, written == 1 ? "" : "s", options.requests));
  };

  constexpr std::size_t kFlushAt = std::size_t{1} << 20U;
  std::string text;
  if (options.out.empty()) {
    write([&](const std::string& line) {
      text += line;
      if (text.size() < kFlushAt) return;
      console.print(text);
      text.clear();
    });
    return console.print(text);
  }
  PendingStream file(options.out);
  write([&](const std::string& line) { file.out() << line; });
  file.close();
  file.commit();
}

}  // namespace
}  // namespace workload_generate_internal

std::function<void(Console&)> declare_workload_generate(CLI::App& app) {
  using namespace workload_generate_internal;
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("generate", "Write the requests of a scenario as a trace");
  sub->footer(
      "Examples:\n  kvsim workload generate scenarios/capacity/chat.yaml --requests 10000 --out chat.csv\n"
      "  kvsim workload generate scenario.yaml --format mooncake --seed 7 --out made.jsonl\n"
      "  kvsim workload generate data/reason/deepseek-r1 --until \"1 h\" --out reason.csv");
  sub->add_option("SCENARIO", options->scenario, "The scenario; or a folder of ServeGen's clients")
      ->required()
      ->type_name("FILE");
  declare_set(*sub, options->set);
  sub->add_option(
         "--format", options->format,
         fmt::format("One of {}. Default: csv", fmt::join(planner::traffic::TraceWriter::written_formats(), ", ")))
      ->type_name("F");
  add_whole_number(
      *sub, "--requests", 1, 1'000'000'000, [options](std::int64_t n) { options->requests = n; },
      "How many. Default: as many as the scenario has: workload.requests, the trace's, or those of run.duration");
  add_whole_number(
      *sub, "--seed", 0, std::numeric_limits<std::int64_t>::max(), [options](std::int64_t n) { options->seed = n; },
      "Seed of the random numbers, in place of run.seed");
  sub->add_option("--answer-time", options->answer_time,
                  "With sessions: the time that every answer takes, after which its session goes on")
      ->type_name("TIME");
  sub->add_option("--from", options->from, "Of ServeGen's windows, the time to begin with. Default: 0 s")
      ->type_name("TIME");
  sub->add_option("--until", options->until, "The same to end with, e.g. \"1 h\"")->type_name("TIME");
  sub->add_option("--out", options->out, "Write to FILE instead of stdout")->type_name("FILE");
  sub->add_flag("--force", options->force, "Replace a file that exists");
  return [options](Console& console) { generate(console, *options); };
}

}  // namespace kvsim::cli
