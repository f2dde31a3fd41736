#include "tools/cli/simulating.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <exception>
#include <filesystem>
#include <limits>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "planner/parallel.h"
#include "planner/planned_dispatch.h"
#include "sim/scenario/keys_without_effect.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/results/figure_rows.h"
#include "tools/results/section.h"

namespace kvsim::cli {
namespace {

constexpr int kMostJobs = 1024;
constexpr int kMostReplications = 10000;

constexpr const char* kResult = "result.json";
constexpr const char* kResultPage = "result.md";
constexpr const char* kTiming = "timing.json";
constexpr const char* kResolved = "resolved.yaml";

/// "trace.json.gz" and "lossy" make "trace.lossy.json.gz".
std::string labelled(const std::string& path, const std::string& label) {
  if (label.empty()) return path;
  const std::filesystem::path whole(path);
  const std::string name = whole.filename().string();
  const std::size_t dot = std::min(name.find('.', 1), name.size());
  std::string tidy = label;
  std::replace_if(
      tidy.begin(), tidy.end(), [](char c) { return c == ':' || c == '/'; }, '-');
  return (whole.parent_path() / (name.substr(0, dot) + "." + tidy + name.substr(dot))).string();
}

/// Files that --out gets, {name, contents}. Several runs have a resolved scenario each.
std::vector<std::pair<std::string, std::string>> files_of(const Presentation& presentation,
                                                          const std::vector<results::Outcome>& outcomes) {
  std::string markdown;
  for (const results::Page& page : presentation.markdown_pages) {
    markdown += (markdown.empty() ? "" : "\n") + results::to_markdown(page);
  }
  std::vector<std::pair<std::string, std::string>> files{
      {kResult, results::json_text(presentation.document)},
      {kResultPage, markdown},
      {kTiming, results::json_text(results::timing_document(outcomes))}};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    std::string label = outcomes[i].policy;
    if (label.empty() && outcomes.size() > 1) label = std::to_string(i + 1);
    files.emplace_back(labelled(kResolved, label), scenario::resolved_yaml(outcomes[i].scenario));
  }
  return files;
}

RunProgress progress_of(const std::vector<Planned>& planned) {
  std::vector<RunProgress::Run> runs;
  runs.reserve(planned.size());
  for (const Planned& p : planned) {
    runs.push_back({p.scenario.serving.run.duration_s, static_cast<std::size_t>(p.scenario.replications)});
  }
  return RunProgress(runs);
}

class Experiments {
 public:
  explicit Experiments(const std::vector<Planned>& planned)
      : planned_(planned), progress_(progress_of(planned)), results_(planned.size()), errors_(planned.size()) {}

  /// Where interrupted, of some the first replications alone, or none.
  std::vector<planner::ExperimentResult> run(int jobs) {
    const auto wanted = static_cast<std::size_t>(jobs);
    const std::size_t workers = std::min(wanted, planned_.size());
    const int jobs_each = static_cast<int>(std::max<std::size_t>(1, wanted / workers));
    planner::on_threads(workers, [this, jobs_each] { work(jobs_each); });
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
    return std::move(results_);
  }

 private:
  void work(int jobs) {
    for (std::size_t i = next_++; i < planned_.size() && !stop_ && !interrupted(); i = next_++) {
      try {
        run_one(i, jobs);
      } catch (...) {
        errors_[i] = std::current_exception();
        stop_ = true;  // the others would run for nothing
      }
      progress_.finished(i);
    }
  }

  void run_one(std::size_t i, int jobs) {
    const Planned& planned = planned_[i];
    planner::ExperimentOptions options;
    options.jobs = jobs;
    options.trace = planned.trace;
    options.requests = planned.requests;
    options.timeline = planned.timeline;
    options.progress = [this, i](std::size_t replication, double simulated_s) {
      progress_.report(i, replication, simulated_s);
      return !stop_ && !interrupted();
    };
    try {
      const auto go_on = [&options] { return options.progress(0, 0); };
      results_[i] = planner::run_experiment(planner::with_best_planned_weights(planned.scenario, go_on), options);
    } catch (const serving::ConfigurationError& e) {
      const std::string policy = planned.policy.empty() ? "" : fmt::format(" (policy {})", planned.policy);
      throw schema::InputError(fmt::format("{}: {}: {}{}", planned.scenario.file, e.key(), e.what(), policy));
    }
  }

  const std::vector<Planned>& planned_;
  RunProgress progress_;
  std::vector<planner::ExperimentResult> results_;
  std::vector<std::exception_ptr> errors_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace

void add_whole_number(CLI::App& app, const std::string& name, std::int64_t least, std::int64_t most,
                      const std::function<void(std::int64_t)>& use, const std::string& description) {
  const auto read = [=](const std::string& text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc{} || stopped != end || value < least || value > most) {
      const bool bounded = most != std::numeric_limits<std::int64_t>::max();
      const std::string range =
          bounded ? fmt::format("from {} to {}", least, most) : fmt::format("of at least {}", least);
      throw CLI::ValidationError(name, fmt::format("expected a whole number {}, found \"{}\"", range, text));
    }
    use(value);
  };
  app.add_option_function<std::string>(name, read, description)->type_name("N");
}

void declare_set(CLI::App& app, std::vector<std::string>& set) {
  app.add_option("--set", set, "Change a key of the scenario; repeatable")
      ->type_name("A.B.C=VALUE")
      ->allow_extra_args(false);
}

void declare_simulation_options(CLI::App& app, SimulationOptions& options) {
  options.jobs = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostJobs);
  declare_set(app, options.set);
  add_whole_number(
      app, "--seed", 0, std::numeric_limits<std::int64_t>::max(), [&options](std::int64_t n) { options.seed = n; },
      "Seed of every random stream (run.seed)");
  add_whole_number(
      app, "--replications", 1, kMostReplications, [&options](std::int64_t n) { options.replications = n; },
      "Runs with seeds seed, seed + 1, ... (run.replications)");
  add_whole_number(
      app, "--jobs", 1, kMostJobs, [&options](std::int64_t n) { options.jobs = static_cast<int>(n); },
      "Runs at once, by default one per processor; no result depends on it");
}

void declare_run_options(CLI::App& app, RunOptions& options) {
  declare_simulation_options(app, options);
  app.add_option("--out", options.out, "Folder for result.json, result.md, resolved.yaml, timing.json")
      ->type_name("DIR");
  app.add_option("--trace-out", options.trace_out, "Timeline of the first replication, for Perfetto; gzip for FILE.gz")
      ->type_name("FILE");
  app.add_option(
         "--requests", options.requests,
         "Requests of the first replication that finished, a line each\n(CSV), in order of arrival; gzip for FILE.gz")
      ->type_name("FILE");
  CLI::Option* json = app.add_flag("--json", options.json, "Print one JSON document");
  app.add_flag("--csv", options.csv, "Print a table of all figures, a line a run")->excludes(json);
  app.add_flag("--details", options.details, kDetailsHelp);
  app.add_flag("--timing", options.timing, "Wall-clock figures in the JSON too, which then differs between runs");
}

namespace {

/// A key that an option says cannot be set, too: one of the two would count in silence.
void refuse_said_twice(const SimulationOptions& options) {
  const auto refuse = [&options](bool given, std::string_view option, std::string_view key) {
    for (const std::string& set : options.set) {
      if (!given || std::string_view(set).substr(0, set.find('=')) != key) continue;
      throw schema::InputError(fmt::format("--set {}: {} says it, too: give one of them", key, option));
    }
  };
  refuse(options.seed.has_value(), "--seed", "run.seed");
  refuse(options.replications.has_value(), "--replications", "run.replications");
}

}  // namespace

std::vector<std::string> seeds_of(const SimulationOptions& options) {
  refuse_said_twice(options);
  std::vector<std::string> overrides;
  if (options.seed) overrides.push_back(fmt::format("run.seed={}", *options.seed));
  if (options.replications) overrides.push_back(fmt::format("run.replications={}", *options.replications));
  return overrides;
}

scenario::ScenarioFile scenario_file(const std::string& file, const SimulationOptions& options) {
  std::vector<std::string> overrides = options.set;
  for (std::string& seed : seeds_of(options)) overrides.push_back(std::move(seed));
  return scenario::ScenarioFile(file, overrides);
}

void remark_on_keys(const std::vector<scenario::Scenario*>& scenarios) {
  scenario::UnreadByAll of_all;
  std::map<std::string, scenario::UnreadByAll> of_file;
  for (const scenario::Scenario* one : scenarios) {
    of_all.add(*one);
    of_file[one->file].add(*one);
  }
  of_all.refuse();
  for (scenario::Scenario* one : scenarios) one->remarks = of_file[one->file].remarks();
  for (const auto& [file, unread] : of_file) {
    for (const std::string& remark : unread.remarks()) Console::complain("warning: " + remark);
  }
}

void remark_on_keys(std::vector<Planned>& planned) {
  std::vector<scenario::Scenario*> scenarios;
  for (Planned& one : planned) scenarios.push_back(&one.scenario);
  remark_on_keys(scenarios);
}

std::vector<results::Outcome> run_experiments(std::vector<Planned> planned, int jobs, WhenInterrupted when) {
  std::vector<planner::ExperimentResult> all = Experiments(planned).run(jobs);
  const bool some_of_each = std::all_of(all.begin(), all.end(), [](const auto& r) { return r.replications > 0; });
  if (interrupted() && !(when == WhenInterrupted::keep_finished && some_of_each)) throw Interrupted();
  std::vector<results::Outcome> outcomes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t asked =
        std::exchange(planned[i].scenario.replications, static_cast<std::int64_t>(all[i].replications));
    const serving::Measurements& m = all[i].measured;
    if (m.arrived > 0 && m.refused == m.arrived) {
      Console::complain(fmt::format("warning: {}: every request was refused, so every figure is empty{}{}",
                                    planned[i].scenario.file, all[i].refusals.empty() ? "" : "; ",
                                    all[i].refusals.empty() ? "" : all[i].refusals.front()));
    }
    outcomes.push_back({std::move(planned[i].scenario), std::move(all[i]), std::move(planned[i].policy), {}});
    results::Outcome& outcome = outcomes.back();
    if (const std::int64_t kept = outcome.scenario.replications; kept < asked) {
      outcome.interrupted = fmt::format("results are of the first {} of {} replications", kept, asked);
    }
  }
  return outcomes;
}

std::vector<std::string> files_read(const std::string& file, const scenario::Settings& scenario) {
  std::vector<std::string> files{file};
  std::vector<std::string> named = scenario.include;
  if (const auto& trace = scenario.workload.trace) {
    named.push_back(trace->path);
    for (const scenario::TraceInput& other : trace->overlay) named.push_back(other.path);
  }
  for (const std::string& name : named) {
    files.push_back((std::filesystem::path(file).parent_path() / name).string());
    files.push_back(name);  // traces are looked for in the working directory, too
  }
  return files;
}

RunFiles::RunFiles(const RunOptions& options, const std::vector<std::string>& labels,
                   const std::vector<std::string>& inputs) {
  std::vector<std::string> names{kResult, kResultPage, kTiming};
  for (const std::string& label : labels) names.push_back(labelled(kResolved, label));
  std::vector<std::string> taken;  // by other outputs
  if (!options.out.empty()) {
    for (const std::string& name : names) taken.push_back((std::filesystem::path(options.out) / name).string());
  }
  const auto places = [&](const char* option, const std::string& path) {
    std::vector<std::string> files;
    if (path.empty()) return files;
    for (const std::string& label : labels) {
      files.push_back(labelled(path, label));
      refuse_input(option, files.back(), inputs);
      for (const std::string& other : taken) {
        if (!same_file(files.back(), other)) continue;
        throw schema::InputError(
            fmt::format("{}: {} is another output of this command: expected another name", option, files.back()));
      }
    }
    taken.insert(taken.end(), files.begin(), files.end());
    return files;
  };
  const std::vector<std::string> traces = places("--trace-out", options.trace_out);
  const std::vector<std::string> requests = places("--requests", options.requests);
  if (!options.out.empty()) folder_.emplace(options.out, names, inputs);
  for (const std::string& path : traces) {
    trace_files_.emplace_back(path);
    traces_.push_back(std::make_unique<engine::ChromeTrace>(trace_files_.back().out()));
  }
  for (const std::string& path : requests) {
    request_files_.emplace_back(path);
    requests_.push_back(std::make_unique<RequestTable>(request_files_.back().out()));
  }
}

void RunFiles::give_to(Planned& planned, std::size_t i) const {
  if (!traces_.empty()) planned.trace = traces_[i].get();
  if (requests_.empty()) return;
  planned.requests = requests_[i].get();
  requests_[i]->name_classes(planned.scenario.serving.classes);
}

void RunFiles::finish(const Presentation& presentation, const std::vector<results::Outcome>& outcomes) {
  for (const auto& trace : traces_) trace->close();
  for (const auto& requests : requests_) requests->close();
  for (PendingStream& file : trace_files_) file.close();
  for (PendingStream& file : request_files_) file.close();
  std::vector<PendingStream*> streams;
  for (PendingStream& file : trace_files_) streams.push_back(&file);
  for (PendingStream& file : request_files_) streams.push_back(&file);
  if (folder_) {
    return folder_->write(files_of(presentation, outcomes),
                          {.timed = {kTiming}, .interrupted = presentation.interrupted, .streams = streams});
  }
  for (PendingStream* file : streams) file->commit();
}

void deliver(Console& console, const RunOptions& options, RunFiles& files, const Presentation& presentation,
             const std::vector<results::Outcome>& outcomes) {
  files.finish(presentation, outcomes);
  if (options.json) {
    console.print(results::json_text(presentation.document));
    return;
  }
  if (options.csv) {
    // A table has no place for sentences.
    for (const results::Outcome& outcome : outcomes) {
      for (const std::string& what : outcome.result.own_fallbacks) {
        const std::string of = outcome.policy.empty() ? outcome.scenario.file : outcome.policy;
        Console::complain(fmt::format("warning: {}: {}", of, what));
      }
    }
    console.print(results::outcomes_csv(outcomes));
    return;
  }
  bool first = true;
  for (const results::Page& page : presentation.pages) {
    if (!first) console.print("\n");
    first = false;
    console.print(page, options.details);
  }
}

}  // namespace kvsim::cli
