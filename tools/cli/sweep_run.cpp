#include "tools/cli/sweep_run.h"

#include <atomic>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/infeasible.h"
#include "planner/sweep/base.h"
#include "planner/sweep/merge.h"
#include "planner/sweep/runner.h"
#include "tools/cli/output_files.h"
#include "tools/cli/point_progress.h"
#include "tools/cli/signals.h"
#include "tools/results/provenance.h"
#include "tools/results/sweep_document.h"
#include "tools/results/sweep_page.h"

namespace kvsim::cli {
namespace {

namespace sweep = planner::sweep;
using schema::InputError;
using sweep::Journal;
using sweep::PointResult;

std::string journal_in(const std::string& folder) {
  return (std::filesystem::path(folder) / "points.jsonl").string();
}

/// The keys that options of their own set for all points.
std::vector<std::string> seeds_of(const SweepOptions& options) {
  std::vector<std::string> overrides;
  if (options.seed) overrides.push_back(fmt::format("run.seed={}", *options.seed));
  if (options.replications) overrides.push_back(fmt::format("run.replications={}", *options.replications));
  return overrides;
}

/// What all points have in common, unless an axis changes it.
std::vector<std::string> overrides_of(const SweepOptions& options) {
  std::vector<std::string> overrides = options.set;
  for (std::string& seed : seeds_of(options)) overrides.push_back(std::move(seed));
  return overrides;
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

sweep::Design design_of(const SweepOptions& options, std::uint64_t seed) {
  if (!options.points.empty()) return sweep::Design::list(options.points);
  std::vector<sweep::AxisSpec> axes;
  for (const std::string& vary : options.vary) axes.push_back(sweep::parse_axis(vary));
  return options.sample.empty() ? sweep::Design::grid(axes)
                                : sweep::Design::latin_hypercube(axes, sample_size(options.sample), seed);
}

/// The journal of an earlier sitting: of the same sweep, or nothing.
std::optional<sweep::JournalContents> earlier(const SweepOptions& options, const sweep::Plan& plan) {
  const std::string path = journal_in(options.out);
  std::error_code ignored;
  if (options.out.empty() || !std::filesystem::exists(path, ignored)) return std::nullopt;
  if (!options.resume) {
    throw InputError(
        fmt::format("{} exists: the folder holds a sweep already; --resume goes on with it, or name "
                    "another folder",
                    path));
  }
  auto contents = sweep::read_journal(path);
  if (!contents) contents.emplace().plan = plan;  // it was cut off in its first line
  const std::string other = difference(contents->plan, plan);
  if (!other.empty())
    throw InputError(fmt::format("{} is the journal of another sweep: it differs in {}", path, other));
  return contents;
}

void deliver(Console& console, const SweepOptions& options, const results::Sweep& sweep, OutputFolder* folder) {
  const std::string json = options.json || folder != nullptr ? results::sweep_json(sweep) : std::string();
  const std::string csv = options.csv || folder != nullptr ? results::sweep_csv(sweep) : std::string();
  if (folder != nullptr) {
    folder->write({{"sweep.csv", csv}, {"sweep.json", json}, {"resolved.yaml", sweep.plan.resolved}});
  }
  if (options.json) {
    console.print(json);
  } else if (options.csv) {
    console.print(csv);
  } else {
    console.print(results::sweep_page(sweep));
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

class Sitting {
 public:
  Sitting(const SweepOptions& options, const sweep::Plan& plan, const scenario::ScenarioFile& file)
      : options_(options), plan_(plan), file_(file), total_(plan.points().size()) {
    if (!options.out.empty()) folder_.emplace(options.out);
    if (auto contents = earlier(options, plan)) {
      done_ = std::move(contents->points);
      bytes_ = contents->bytes;
    }
    runner_.jobs = options.jobs;
    runner_.encode = results::encoded_figures;
    runner_.assumptions = [](const scenario::Scenario& scenario) { return results::assumptions_of(scenario); };
    runner_.proceed = [] { return !interrupted(); };
  }

  results::Sweep run() {
    const std::size_t before = done_.size();
    if (!check_points(file_, plan_.design, remaining(plan_, done_), runner_)) stop_at(before);
    open_journal();
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
      return {plan_, std::move(result.points), options_.metric};
    } catch (const sweep::JournalError& error) {
      throw OutputError(fmt::format("{}; {}", error.what(), saved(options_, finished, total_)));
    }
  }

  OutputFolder* folder() { return folder_ ? &*folder_ : nullptr; }

 private:
  void open_journal() {
    if (!folder_) return;
    const std::string path = journal_in(options_.out);
    std::error_code ignored;
    if (bytes_ == 0) std::filesystem::remove(path, ignored);  // nothing, or half a first line
    journal_ = bytes_ == 0 ? Journal::begin(path, plan_) : Journal::resume(path, bytes_);
  }

  [[noreturn]] void stop_at(std::size_t done) const {
    if (!folder_) throw Interrupted();
    throw Interrupted(saved(options_, done, total_));
  }

  const SweepOptions& options_;
  const sweep::Plan& plan_;
  const scenario::ScenarioFile& file_;
  std::size_t total_;
  std::optional<OutputFolder> folder_;
  std::unique_ptr<Journal> journal_;
  std::vector<PointResult> done_;
  std::size_t bytes_ = 0;  // of the journal that was there
  sweep::RunnerOptions runner_;
};

}  // namespace

void run_sweep(Console& console, const SweepOptions& options) {
  results::check_metric(options.metric);
  const sweep::Shard shard = options.shard.empty() ? sweep::Shard{} : sweep::parse_shard(options.shard);
  const std::vector<std::string> overrides = overrides_of(options);
  const scenario::ScenarioFile file(options.scenario, overrides);
  sweep::Design design = design_of(options, file.parse().serving.run.seed);
  sweep::check_paths(design.axes(), seeds_of(options));
  const auto base = sweep::base_of(file, design, [] { return !interrupted(); });
  if (!base) throw Interrupted();
  const sweep::Plan plan = sweep::make_plan(*base, std::move(design), shard, results::kvsim_version());
  Sitting sitting(options, plan, file);
  const results::Sweep result = sitting.run();
  deliver(console, options, result, sitting.folder());
}

void merge_sweeps(Console& console, const SweepOptions& options) {
  results::check_metric(options.metric);
  std::vector<std::string> journals;
  for (const std::string& folder : options.merged) journals.push_back(journal_in(folder));
  sweep::MergedSweep merged = sweep::merge_journals(journals);
  const results::Sweep result{std::move(merged.plan), std::move(merged.points), options.metric};
  std::optional<OutputFolder> folder;
  if (!options.out.empty()) {
    folder.emplace(options.out);
    const std::unique_ptr<Journal> journal = Journal::begin(journal_in(options.out), result.plan);
    for (const PointResult& point : result.points) journal->append(point);
    journal->close();
  }
  deliver(console, options, result, folder ? &*folder : nullptr);
}

}  // namespace kvsim::cli
