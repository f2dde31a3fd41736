// kvsim reproduce: figures and tables of papers, and of a user's own measurements, beside what is simulated.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "tools/cli/command.h"
#include "tools/cli/output_files.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/cli/simulating.h"
#include "tools/page/page.h"
#include "tools/results/numbers.h"
#include "tools/results/section.h"
#include "tools/validation/experiments_page.h"

namespace kvsim::cli {
namespace reproduce_internal {
namespace {

using validation::ExperimentFile;

struct Options {
  std::vector<std::string> names;
  std::string paper;
  bool all = false, list = false, sensitivity = false, details = false, json = false;
  std::string out;
  int jobs = 0;  ///< 0: as many as there are cores
};

constexpr const char* kPage = "reproduce.html";
constexpr const char* kDocument = "reproduce.json";

std::vector<ExperimentFile> of_paper(std::vector<ExperimentFile> files, const std::string& paper) {
  std::vector<std::string> papers;
  for (const ExperimentFile& f : files) papers.push_back(validation::paper_of(f));
  if (std::find(papers.begin(), papers.end(), paper) == papers.end()) {
    papers.erase(std::unique(papers.begin(), papers.end()), papers.end());
    throw schema::InputError(fmt::format("--paper: unknown paper \"{}\"{}", paper, schema::suggest(paper, papers)));
  }
  std::erase_if(files, [&paper](const ExperimentFile& f) { return validation::paper_of(f) != paper; });
  return files;
}

std::vector<ExperimentFile> chosen(const Options& options) {
  if (options.names.empty()) {
    std::vector<ExperimentFile> files = validation::carried_experiments();
    return options.paper.empty() ? files : of_paper(std::move(files), options.paper);
  }
  std::vector<ExperimentFile> chosen;
  std::vector<ExperimentFile> carried;  // read where one is asked for
  for (const std::string& name : options.names) {
    if (name.ends_with(".yaml")) {
      chosen.push_back(validation::experiment_at(name));
      continue;
    }
    if (carried.empty()) carried = validation::carried_experiments();
    const auto found =
        std::find_if(carried.begin(), carried.end(), [&name](const ExperimentFile& f) { return f.name == name; });
    if (found == carried.end()) {
      std::vector<std::string> names;
      for (const ExperimentFile& f : carried) names.push_back(f.name);
      throw schema::InputError(fmt::format("unknown experiment \"{}\"{} (a file of your own ends in .yaml)", name,
                                           schema::suggest(name, names)));
    }
    chosen.push_back(*found);
  }
  for (auto one = chosen.begin(); one != chosen.end(); ++one) {
    const auto same = [&one](const ExperimentFile& other) { return other.name == one->name; };
    const auto again = std::find_if(one + 1, chosen.end(), same);
    if (again == chosen.end()) continue;
    throw schema::InputError(fmt::format("\"{}\" is named twice", one->name));
  }
  return chosen;
}

/// Results of runs, a file each, so that an interrupted reproduction goes on where it was.
std::string run_name(const std::string& fingerprint) {
  return fingerprint + ".json";
}

std::string runs_of(const std::string& out) {
  return (std::filesystem::path(out) / "runs").string();
}

std::optional<std::string> read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void reproduce(Console& console, const Options& options) {
  const int ways = static_cast<int>(!options.names.empty()) + static_cast<int>(!options.paper.empty()) +
                   static_cast<int>(options.all);
  if (ways > 1 || (ways == 0 && !options.list)) {
    throw schema::InputError("expected one of NAME, --paper and --all, or --list (kvsim reproduce --help says more)");
  }
  const std::vector<ExperimentFile> files = chosen(options);
  if (options.list) return console.print(validation::experiments_list(files));
  std::optional<OutputFolder> folder, runs_folder;
  validation::Runs::Options how;
  how.jobs = options.jobs > 0 ? options.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  how.proceed = [] { return !interrupted(); };
  std::unique_ptr<PointProgress> progress;
  how.begin = [&progress](std::size_t count) { progress = std::make_unique<PointProgress>(count, 0); };
  how.finished = [&progress] { progress->finished(); };
  if (!options.out.empty()) {
    folder.emplace(options.out, std::vector<std::string>{kPage, kDocument}, options.names);
    runs_folder.emplace(runs_of(options.out), std::vector<std::string>{"run.json"}, options.names);
    how.find = [&options](const std::string& f) {
      return read_whole((std::filesystem::path(runs_of(options.out)) / run_name(f)).string());
    };
    how.keep = [&runs_folder](const std::string& f, const std::string& text) {
      runs_folder->write_alone(run_name(f), text);
    };
  }
  validation::Runs runs(std::move(how));
  const std::vector<validation::Reproduced> all = validation::reproduce(files, runs, options.sensitivity);
  progress.reset();
  if (runs.interrupted()) {
    throw Interrupted(folder
                          ? fmt::format("{} {} in {}; the same command goes on", results::counted(runs.size(), "run"),
                                        runs.size() == 1 ? "is" : "are", options.out)
                          : std::string("nothing was saved; with --out the same command goes on"));
  }
  const std::string json = results::json_text(validation::experiments_document(all));
  if (folder) folder->write({{kPage, page::to_html(validation::experiments_page(all))}, {kDocument, json}});
  if (options.json) return console.print(json);
  console.print(validation::experiments_text(all), options.details);
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("NAME", options->names, "Experiments by name, as --list has them, or files of your own (.yaml)")
      ->type_name("NAME|FILE");
  app.add_option("--paper", options->paper, "All of a paper")->type_name("NAME");
  app.add_flag("--all", options->all, "All that there are");
  app.add_flag("--list", options->list, "Print what there is, and simulate nothing");
  app.add_flag("--sensitivity", options->sensitivity, "Judge again with other values of the free assumptions");
  app.add_option(
         "--out", options->out,
         "Folder for reproduce.html, reproduce.json and runs, where results\nare saved as they finish; the same "
         "command goes on with them")
      ->type_name("DIR");
  add_whole_number(
      app, "--jobs", 1, 1024, [options](std::int64_t jobs) { options->jobs = static_cast<int>(jobs); },
      "Runs at once; all cores by default. No result depends on it");
  app.add_flag("--details", options->details, kDetailsHelp);
  app.add_flag("--json", options->json, "Print one JSON document");
  return [options](Console& console) { reproduce(console, *options); };
}

}  // namespace
}  // namespace reproduce_internal

extern const Command reproduce_command;
const Command reproduce_command{"reproduce", "Simulate figures of papers, and judge them by the published points",
                                "kvsim reproduce --list\n  kvsim reproduce --paper vericache --out results/vericache",
                                reproduce_internal::declare};

}  // namespace kvsim::cli
