// kvsim backtest: measured serving points beside what the simulator predicts of them.
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "models/schema/overrides.h"
#include "models/schema/spelling.h"
#include "models/schema/yaml.h"
#include "planner/backtest/backtest.h"
#include "planner/infeasible.h"
#include "tools/cli/command.h"
#include "tools/cli/named_things.h"
#include "tools/cli/output_files.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/cli/simulating.h"
#include "tools/results/backtest.h"
#include "tools/results/backtest_recordings.h"
#include "tools/results/stated_error.h"

namespace kvsim::cli {
namespace backtest_internal {
namespace {

namespace backtest = planner::backtest;
using backtest::ServingPoint;
using schema::InputError;

constexpr const char* kDocument = "backtest.json";
constexpr const char* kTable = "points.csv";
constexpr const char* kLoad = "load.csv";
constexpr const char* kPage = "backtest.md";
constexpr const char* kErrors = "stated_errors.yaml";

struct Options : SimulationOptions {
  std::vector<std::string> files;
  std::vector<std::string> given;
  std::vector<std::string> include;
  std::string show;
  std::string out;
  std::size_t worst = 10;
  bool json = false;
  bool details = false;
};

std::vector<ServingPoint> points_of(const Options& options) {
  backtest::Given given;
  for (const std::string& assignment : options.given) given.push_back(backtest::parse_given(assignment));
  std::vector<ServingPoint> points;
  for (const std::string& file : options.files) {
    static_cast<void>(output::checked_folder(file));  // of a file: there is none
    for (ServingPoint& point : backtest::read_points(file, given)) points.push_back(std::move(point));
  }
  backtest::tell_recordings_apart(points);
  return points;
}

backtest::BacktestOptions simulation_of(const Options& options) {
  backtest::BacktestOptions simulation;
  simulation.include = options.include;
  simulation.changes = options.set;
  for (std::string& seed : seeds_of(options)) simulation.changes.push_back(std::move(seed));
  simulation.jobs = options.jobs;
  return simulation;
}

/// The point of this id, or at this line of its file.
const ServingPoint& find_point(const std::vector<ServingPoint>& points, const std::string& row) {
  std::vector<const ServingPoint*> found;
  std::vector<std::string> ids;
  for (const ServingPoint& p : points) {
    ids.push_back(p.id);
    if (p.id == row || std::to_string(p.origin.line()) == row) found.push_back(&p);
  }
  if (found.size() == 1) return *found.front();
  if (!found.empty()) {
    throw InputError(fmt::format("--show: several points are \"{}\", at {} and {}", row, found[0]->origin.str(),
                                 found[1]->origin.str()));
  }
  const std::string meant = schema::did_you_mean(schema::nearest(row, ids));
  throw InputError(fmt::format("--show: no point has the id \"{}\", nor is at that line{}{}", row,
                               meant.empty() ? "" : "; ", meant));
}

void show(Console& console, const Options& options, const std::vector<ServingPoint>& points) {
  const ServingPoint& point = find_point(points, options.show);
  backtest::PointScenario scenario = backtest::point_scenario(point, backtest::Published::built_in(),
                                                              catalogue_with(options.include), options.include);
  if (!scenario.out_of_scope.empty()) {
    throw planner::Infeasible(fmt::format("{}: out of scope: {}", point.id, scenario.out_of_scope));
  }
  const std::vector<std::string> changes = simulation_of(options).changes;
  backtest::check_changes(scenario.document, changes);
  for (const std::string& change : changes) schema::apply_set(scenario.document, change);
  console.print(schema::to_yaml(scenario.document));
}

std::vector<std::pair<std::string, std::string>> files_of(const backtest::Backtest& result, const std::string& json,
                                                          const results::Page& page) {
  std::vector<std::pair<std::string, std::string>> files{
      {kDocument, json}, {kTable, results::backtest_csv(result)}, {kPage, results::to_markdown(page)}};
  if (planner::StatedErrors errors = backtest::stated_errors_of(result); !errors.groups.empty()) {
    errors.drafted = planner::StatedErrors::built_in().drafted;  // fitted to points of their own
    files.emplace_back(kErrors, schema::to_yaml(planner::stated_errors_schema().dump(errors)));
  }
  if (std::string load = results::backtest_load_csv(result); !load.empty()) files.emplace_back(kLoad, std::move(load));
  for (auto& plot : results::backtest_plots(result)) files.push_back(std::move(plot));
  return files;
}

void run(Console& console, const Options& options) {
  if (options.files.empty()) {
    if (options.json || !options.out.empty() || !options.show.empty()) {
      throw InputError("FILES is needed with --json, --out and --show: without it only the shipped errors are printed");
    }
    return console.print(results::stated_errors_page(planner::StatedErrors::built_in()));
  }
  std::vector<ServingPoint> points = points_of(options);
  if (!options.show.empty()) return show(console, options, points);
  std::optional<OutputFolder> folder;
  if (!options.out.empty()) {
    std::vector<std::string> inputs = options.files;
    inputs.insert(inputs.end(), options.include.begin(), options.include.end());
    folder.emplace(options.out, std::vector<std::string>{kDocument, kTable, kLoad, kPage, kErrors}, std::move(inputs));
  }
  backtest::BacktestOptions simulation = simulation_of(options);
  backtest::Backtest result;
  {
    PointProgress progress(points.size(), 0);
    simulation.proceed = [] { return !interrupted(); };
    simulation.finished = [&progress] { progress.finished(); };
    result = backtest::run_backtest(std::move(points), simulation);
  }
  if (result.interrupted) throw Interrupted();
  result.files = options.files;
  const std::string json = options.json || folder ? results::json_text(results::backtest_json(result)) : std::string();
  const results::Page page = results::backtest_page(result, options.worst);
  if (folder) folder->write(files_of(result, json, page));
  if (options.json) {
    console.print(json);
  } else {
    console.print(page, options.details);
  }
  if (result.simulated() == 0) throw planner::Infeasible("no point can be simulated: all are out of scope");
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  app.add_option("FILES", o.files,
                 "Measured serving points: CSV with a header, or results (.json) of\nvllm bench serve --save-result, "
                 "GuideLLM or AIPerf; recorded runs,\nrequest by request (.jsonl, CSV, a folder). Without any, the\n"
                 "errors are printed that kvsim states of its answers")
      ->type_name("FILE");
  app.add_option("--given", o.given,
                 "A column that files leave out or rows leave empty, such as\nsystem=h100_sxm; repeatable")
      ->type_name("COLUMN=TEXT")
      ->allow_extra_args(false);
  app.add_option("--show", o.show, "Print the scenario of a point, by its id or line, and simulate\nnothing")
      ->type_name("POINT");
  declare_simulation_options(app, o);
  app.add_option("--include", o.include, "A file with further catalogue entries; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--worst", o.worst, "Points to name, those with the largest errors")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--out", o.out,
                 "Folder for backtest.json, points.csv, backtest.md,\nstated_errors.yaml, tpot.svg, ttft.svg, load.csv")
      ->type_name("DIR");
  app.add_flag("--json", o.json, "Print one JSON document");
  app.add_flag("--details", o.details, kDetailsHelp);
  return [options](Console& console) { run(console, *options); };
}

}  // namespace
}  // namespace backtest_internal

extern const Command backtest_command;
const Command backtest_command{"backtest", "Compare measured serving points with what is predicted of them",
                               "kvsim backtest points.csv --out results/backtest", backtest_internal::declare};

}  // namespace kvsim::cli
