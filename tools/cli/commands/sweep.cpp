// kvsim sweep: one scenario at many points, saved as they finish.
#include <atomic>
#include <charconv>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "planner/infeasible.h"
#include "planner/sweep/journal.h"
#include "planner/sweep/plan.h"
#include "planner/sweep/runner.h"
#include "tools/cli/command.h"
#include "tools/cli/output_files.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/cli/simulating.h"
#include "tools/results/metrics.h"
#include "tools/results/provenance.h"
#include "tools/results/stated_error.h"
#include "tools/results/sweep.h"

namespace kvsim::cli {
namespace sweep_internal {
namespace {

namespace sweep = planner::sweep;
using schema::InputError;
using sweep::Journal;
using sweep::PointResult;

struct SweepOptions : SimulationOptions {
  std::string scenario;
  std::vector<std::string> vary;    ///< PATH=SPEC
  std::string sample;               ///< "lhs:N"; empty: a grid
  std::string points;               ///< CSV file in place of `vary`
  std::vector<std::string> merged;  ///< folders of shards to put together, in place of everything else
  std::string shard;                ///< "k/n"; empty: all points
  std::string out;
  bool resume = false;
  bool json = false;
  bool details = false;
  bool csv = false;
  std::string metric;  ///< empty: what the scenario asks for
};

constexpr const char* kJournal = "points.jsonl";
constexpr const char* kTable = "sweep.csv";
constexpr const char* kDocument = "sweep.json";
constexpr const char* kResolved = "resolved.yaml";

/// By a sweep, the first of them while it runs.
std::vector<std::string> files_written() {
  return {kJournal, kTable, kDocument, kResolved};
}

std::string in_folder(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

std::string journal_in(const std::string& folder) {
  return in_folder(folder, kJournal);
}

/// N of "lhs:N".
std::size_t sample_size(const std::string& sample) {
  constexpr std::string_view prefix = "lhs:";
  std::size_t points = 0;
  const char* end = sample.data() + sample.size();
  const bool known = sample.starts_with(prefix);
  const auto [stopped, error] = std::from_chars(sample.data() + (known ? prefix.size() : 0), end, points);
  if (!known || error != std::errc{} || stopped != end) {
    throw InputError(fmt::format("--sample: expected lhs:N such as lhs:100, found \"{}\"", sample));
  }
  return points;
}

/// Samples are drawn with the scenario's seed.
sweep::Design design_of(const SweepOptions& options, const scenario::ScenarioFile& file) {
  if (!options.points.empty()) return sweep::Design::list(options.points);
  std::vector<sweep::AxisSpec> axes;
  for (const std::string& vary : options.vary) axes.push_back(sweep::parse_axis(vary));
  return options.sample.empty()
             ? sweep::Design::grid(axes)
             : sweep::Design::latin_hypercube(axes, sample_size(options.sample), file.parse().serving.run.seed);
}

void refuse_existing(const Journal& journal, const std::string& path) {
  if (journal.empty()) return;
  throw InputError(fmt::format(
      "{} exists: the folder holds a sweep already; --resume goes on with it, or name another folder", path));
}

/// Contents that an earlier run of the same sweep left in the journal, which this process has. Reports damaged lines.
sweep::JournalContents earlier(const Journal& journal, const SweepOptions& options, const sweep::Plan& plan) {
  const std::string path = journal_in(options.out);
  if (!options.resume) refuse_existing(journal, path);
  auto contents = sweep::read_journal(path);
  if (!contents) return {plan, {}, 0, {}};  // it is new, or was cut off in its first line
  const std::string other = difference(contents->plan, plan);
  if (!other.empty())
    throw InputError(fmt::format("{} is the journal of another sweep: it differs in {}", path, other));
  for (const auto& damaged : contents->damaged) Console::complain(to_string(damaged, path));
  return std::move(*contents);
}

void deliver(Console& console, const SweepOptions& options, const results::Sweep& sweep, OutputFolder* folder) {
  const std::string json = options.json || folder != nullptr ? results::sweep_json(sweep) : std::string();
  const std::string csv = options.csv || folder != nullptr ? results::sweep_csv(sweep) : std::string();
  if (folder != nullptr) {
    folder->write({{kTable, csv}, {kDocument, json}, {kResolved, sweep.plan.resolved}}, {.journal = kJournal});
  }
  if (options.json) {
    console.print(json);
  } else if (options.csv) {
    console.print(csv);
  } else {
    console.print(results::sweep_page(sweep), options.details);
  }
  for (const PointResult& point : sweep.points) {
    if (point.simulated()) return;
  }
  if (!sweep.points.empty()) {
    throw planner::Infeasible(fmt::format("no point of the sweep can be simulated; {}", sweep.points.front().reason));
  }
}

/// "3 of 12 points are saved in DIR; --resume continues".
std::string saved(const SweepOptions& options, std::size_t done, std::size_t total) {
  return fmt::format("{} of {} points saved in {}; --resume continues", done, total, options.out);
}

results::Sweep ranked(sweep::Plan plan, std::vector<PointResult> points, const std::string& metric) {
  if (metric.empty()) return results::ranked_as_asked(std::move(plan), std::move(points));
  return {std::move(plan), std::move(points), metric};
}

class Sitting {
 public:
  Sitting(const SweepOptions& options, const sweep::Plan& plan, const scenario::ScenarioFile& file)
      : options_(options), plan_(plan), file_(file), total_(plan.points().size()), ranked_(options.metric.empty()) {
    if (!options.out.empty()) {
      std::vector<std::string> inputs = files_read(options.scenario, file.parse());
      inputs.push_back(options.points);
      folder_.emplace(options.out, files_written(), std::move(inputs));
      journal_ = Journal::open(journal_in(options.out));
      sweep::JournalContents contents = earlier(*journal_, options, plan);
      done_ = std::move(contents.points);
      bytes_ = contents.bytes;
      begun_ = bytes_ > 0;
    }
    runner_.jobs = options.jobs;
    runner_.encode = results::encoded_figures;
    runner_.assumptions = [](const scenario::Scenario& scenario) { return results::assumptions_of(scenario); };
    runner_.how_sure = [](const scenario::Scenario& scenario, const serving::Measurements& measured) {
      return results::how_sure(scenario, measured);
    };
    runner_.proceed = [] { return !interrupted(); };
    runner_.checked = [this](const scenario::Scenario& scenario) {
      const std::scoped_lock lock(checking_);
      if (!ranked_ && results::may_have(scenario, options_.metric)) ranked_ = true;
      if (!workable_) workable_ = scenario;
    };
  }

  results::Sweep run() {
    const std::size_t before = done_.size();
    if (!check_points(file_, plan_.design, remaining(plan_, done_), runner_)) stop_at(before);
    if (!ranked_ && !done_.empty()) results::refuse_metric_of_no_point({plan_, done_, options_.metric});
    if (!ranked_ && done_.empty() && workable_) results::refuse_metric_of_others(*workable_, options_.metric);
    begin_journal();
    PointProgress progress(total_, before);
    std::atomic<std::size_t> finished{before};
    runner_.finished = [&] {
      ++finished;
      progress.finished();
    };
    try {
      sweep::SweepResult result = sweep::run_sweep(file_, plan_, std::move(done_), journal_.get(), runner_);
      if (journal_) journal_->close();
      if (result.interrupted) stop_at(result.points.size());
      return ranked(plan_, std::move(result.points), options_.metric);
    } catch (const sweep::JournalError& error) {
      throw OutputError(fmt::format("{}; {}", error.what(), saved(options_, finished, total_)));
    }
  }

  OutputFolder* folder() { return folder_ ? &*folder_ : nullptr; }

 private:
  void begin_journal() {
    if (!journal_) return;
    journal_->keep(bytes_);
    if (bytes_ == 0) {
      folder_->forget(kJournal);
      journal_->begin(plan_);
    }
    begun_ = true;
  }

  [[noreturn]] void stop_at(std::size_t done) const {
    if (!folder_ || !begun_) throw Interrupted();
    throw Interrupted(saved(options_, done, total_));
  }

  const SweepOptions& options_;
  const sweep::Plan& plan_;
  const scenario::ScenarioFile& file_;
  std::size_t total_;
  std::optional<OutputFolder> folder_;
  std::unique_ptr<Journal> journal_;
  std::vector<PointResult> done_;
  std::size_t bytes_ = 0;  // of whole lines in the journal that was there
  bool begun_ = false;     // the journal: there is a sweep to go on with
  std::mutex checking_;
  bool ranked_;                                 // by the metric: some point
  std::optional<scenario::Scenario> workable_;  // a point that can be simulated
  sweep::RunnerOptions runner_;
};

/// Runs it, or goes on with it, and delivers files and output. Throws schema::InputError, OutputError, Interrupted
/// (what is finished is in the journal), planner::Infeasible where no point can be simulated, and what
/// planner::run_experiment throws.
void run_sweep(Console& console, SweepOptions options) {
  if (!options.metric.empty()) options.metric = results::checked_metric(options.metric);
  const sweep::Shard shard = options.shard.empty() ? sweep::Shard{} : sweep::parse_shard(options.shard);
  const scenario::ScenarioFile file = scenario_file(options.scenario, options);
  sweep::Design design = design_of(options, file);
  sweep::check_paths(design.axes(), seeds_of(options));
  scenario::Scenario base = sweep::base_of(file, design);
  const scenario::UnreadByAll unread = sweep::unread_by_all(file, design, options.jobs);
  unread.refuse();
  base.remarks = unread.remarks();
  for (const std::string& remark : base.remarks) Console::complain("warning: " + remark);
  const sweep::Plan plan = sweep::make_plan(base, std::move(design), shard, results::kvsim_version());
  Sitting sitting(options, plan, file);
  const results::Sweep result = sitting.run();
  deliver(console, options, result, sitting.folder());
}

/// Puts shards together and delivers them like a sweep.
void merge_sweeps(Console& console, SweepOptions options) {
  if (!options.metric.empty()) options.metric = results::checked_metric(options.metric);
  std::vector<std::string> journals;
  for (const std::string& folder : options.merged) {
    static_cast<void>(output::checked_folder(folder, kJournal));
    journals.push_back(journal_in(folder));
  }
  sweep::MergedSweep merged = sweep::merge_journals(journals);
  const results::Sweep result = ranked(std::move(merged.plan), std::move(merged.points), options.metric);
  results::refuse_metric_of_no_point(result);
  std::optional<OutputFolder> folder;
  std::unique_ptr<Journal> journal;  // until all files are there
  if (!options.out.empty()) {
    folder.emplace(options.out, files_written(), journals);
    journal = Journal::open(journal_in(options.out));
    refuse_existing(*journal, journal_in(options.out));
    folder->forget(kJournal);
    journal->begin(result.plan);
    for (const PointResult& point : result.points) journal->append(point);
    journal->close();
  }
  deliver(console, options, result, folder ? &*folder : nullptr);
}

void check_usage(const SweepOptions& o) {
  const auto refuse = [](const char* message) { throw schema::InputError(message); };
  if (o.json && o.csv) refuse("--json and --csv: expected one of the two");
  if (!o.merged.empty()) {
    if (!o.scenario.empty() || !o.vary.empty() || !o.points.empty() || !o.sample.empty() || !o.shard.empty() ||
        !o.set.empty() || o.seed || o.replications || o.resume) {
      refuse(
          "--merge puts finished shards together: expected their folders, --out, and nothing that changes the sweep");
    }
    return;
  }
  if (o.scenario.empty()) refuse("SCENARIO is required (kvsim sweep --help says more)");
  if (o.vary.empty() == o.points.empty()) {
    refuse("expected what to sweep: --vary PATH=VALUES, or --points FILE.csv, one of the two");
  }
  if (!o.sample.empty() && !o.points.empty()) refuse("--sample draws points from --vary, not from --points");
  if (o.resume && o.out.empty()) refuse("--resume goes on with the sweep in a folder: name it with --out");
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<SweepOptions>();
  app.add_option("SCENARIO", options->scenario, "Scenario file (YAML)")->type_name("FILE");
  app.add_option("--vary", options->vary,
                 "A key and its values; repeatable. VALUES is a list 0.1,0.2,0.4, a\n"
                 "range with both ends 5:60:5 or 16k tokens:64k tokens:16k tokens, a\n"
                 "range with a factor 1:64:*2, or, to sample from, 0.1:0.9")
      ->type_name("A.B.C=VALUES")
      ->allow_extra_args(false);
  app.add_option("--sample", options->sample, "N points of a Latin hypercube in place of the full grid")
      ->type_name("lhs:N");
  app.add_option("--points", options->points, "CSV file with a header of keys and a row a point, in place of --vary")
      ->type_name("FILE");
  declare_simulation_options(app, *options);
  app.add_option("--out", options->out,
                 "Folder for sweep.csv, sweep.json, resolved.yaml, and for\npoints.jsonl, where points are saved as "
                 "they finish")
      ->type_name("DIR");
  app.add_flag("--resume", options->resume, "Go on with the sweep in --out");
  app.add_option("--shard", options->shard, "Only every n-th point, from the k-th on")->type_name("k/n");
  app.add_option("--merge", options->merged, "Put the shards in these folders together")->type_name("DIR");
  app.add_option(
         "--metric", options->metric,
         "Figure that ranks points, by its path in the JSON result. By default\npoints that meet the objectives come "
         "first, by\nthroughput.output_tokens_per_s in a closed loop, else by\nlatency_s.ttft.mean")
      ->type_name("PATH");
  app.add_flag("--json", options->json, "Print one JSON document");
  app.add_flag("--details", options->details, kDetailsHelp);
  app.add_flag("--csv", options->csv, "Print CSV, a row a point");
  return [options](Console& console) {
    check_usage(*options);
    if (options->merged.empty()) {
      run_sweep(console, *options);
    } else {
      merge_sweeps(console, *options);
    }
  };
}

}  // namespace
}  // namespace sweep_internal

extern const Command sweep_command;
const Command sweep_command{"sweep", "Simulate a scenario at many points of its keys",
                            "kvsim sweep scenarios/long_context/headline.yaml --vary decode.draft_length=10:40:10 \\\n"
                            "    --vary decode.keep_ratio=0.1,0.2,0.4 --replications 3 --out results",
                            sweep_internal::declare};

}  // namespace kvsim::cli
