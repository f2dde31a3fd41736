// kvsim calibrate: from measured kernel times to a profile (fit), and how well one redoes a measured replay (replay).
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/calibration/calibrate.h"
#include "models/calibration/physics.h"
#include "models/calibration/replay_files.h"
#include "models/kernels/profile.h"
#include "models/schema/error.h"
#include "models/schema/units.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"
#include "planner/replay/replay.h"
#include "tools/cli/command.h"
#include "tools/cli/named_things.h"
#include "tools/cli/output_files.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/results/calibration.h"
#include "tools/results/replay.h"
#include "tools/results/section.h"

namespace kvsim::cli {
namespace calibrate_internal {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> paths;
  std::vector<std::string> include;
  std::string gpu;
  std::string model;
  std::string cross_validate = "shapes,models,machines";
  std::string overhead;
  std::vector<std::string> drop_slow;
  std::string out;
  std::string report;
  bool no_tables = false;
  bool force = false;
  bool json = false;
  models::CalibrationOptions fit;
};

void read_cross_validation(const std::string& list, models::CalibrationOptions& fit) {
  fit.leave_out_shapes = fit.leave_out_models = fit.other_machines = false;
  if (list == "none") return;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    if (word == "shapes") {
      fit.leave_out_shapes = true;
    } else if (word == "models") {
      fit.leave_out_models = true;
    } else if (word == "machines") {
      fit.other_machines = true;
    } else {
      throw schema::InputError(
          fmt::format("--cross-validate: \"{}\" is unknown, expected some of shapes, models, "
                      "machines with commas between, or none",
                      word));
    }
    begin = end + 1;
  }
}

/// Layer folder that a file's folder is, if it is a layer profile.
models::LayerFolder folder_of(const std::string& file) {
  std::error_code error;
  return models::layer_folder(fs::absolute(file, error).lexically_normal().parent_path().filename().string());
}

models::Readings read_all(const Options& options, const models::Catalogue& catalogue) {
  models::Readings readings;
  for (const std::string& path : options.paths) {
    std::error_code error;
    const bool folder = fs::is_directory(path, error);
    for (const std::string& file : models::csv_files(path)) {
      std::optional<models::LlmSpec> model;
      const models::LayerFolder of = folder_of(file);
      if (models::needs_model(file)) {
        const std::string name = options.model.empty() ? of.model : options.model;
        if (options.model.empty() && !catalogue.contains(models::EntryKind::model, name)) {
          throw schema::InputError(
              fmt::format("{}: is a layer profile of a model, expected its name as --model or in its folder's name, "
                          "GPU_MODEL or GPU_MODEL_tp2",
                          file));
        }
        model = catalogue.model(name, schema::Origin("--model"));
      }
      models::read_samples(file, model ? &*model : nullptr, !folder, readings, of.tensor_parallel);
    }
  }
  return readings;
}

template <class Spec, class Get>
std::vector<Spec> all_of(const models::Catalogue& catalogue, models::EntryKind kind, const Get& get) {
  std::vector<Spec> specs;
  for (const auto& line : catalogue.list(kind)) specs.push_back((catalogue.*get)(line.name, {}));
  return specs;
}

void refuse_same_file(const std::string& out, const std::string& report) {
  if (out.empty() || report.empty()) return;
  if (!same_file(out, report)) return;
  throw schema::InputError(fmt::format("--out and --report are the same file, {}; expected two", report));
}

/// Forms of every GPU whose own profile has them.
std::map<std::string, models::FittedForms> known_forms(const models::Catalogue& catalogue) {
  std::map<std::string, models::FittedForms> forms;
  for (const auto& line : catalogue.list(models::EntryKind::gpu)) {
    const models::GpuSpec gpu = catalogue.gpu(line.name);
    if (gpu.profile.empty()) continue;
    const models::KernelProfile profile = catalogue.profile(gpu.profile);
    if (is_measured_machine(profile, gpu)) forms[gpu.name] = profile.fitted;
  }
  return forms;
}

/// The name stands as a key in YAML and as a word in `--set cluster.gpu.profile=NAME`.
void check_name(const std::string& name) {
  const auto harmless = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (!name.empty() && std::ranges::all_of(name, harmless)) return;
  throw schema::InputError(
      fmt::format("--name: \"{}\" is no name, expected letters, digits, hyphens, points and underscores", name));
}

/// Copies cannot be faster than the link that the catalogue gives the GPU; 25 % more is what one host differs from
/// another.
void check_host_link(const models::Calibration& fitted, const models::GpuSpec& gpu,
                     const models::Catalogue& catalogue) {
  constexpr double kMostAbove = 1.25;
  if (!fitted.host_link || gpu.host_link.empty()) return;
  const models::LinkSpec known = catalogue.link(gpu.host_link);
  const auto check = [&](const char* way, double found, double is) {
    if (found <= kMostAbove * is) return;
    throw schema::InputError(
        fmt::format("host copies {} the GPU: {} fitted, the link of {} in the catalogue, {}, has {}; expected rows of "
                    "this machine, "
                    "or a catalogue entry of the GPU (--include) that names its link",
                    way, schema::format_bandwidth(found), gpu.name, gpu.host_link, schema::format_bandwidth(is)));
  };
  check("to", fitted.host_link->read_bytes_per_s.value, known.read_bytes_per_s.value);
  check("from", fitted.host_link->write_bytes_per_s.value, known.write_bytes_per_s.value);
}

void stop_if_interrupted() {
  if (interrupted()) throw Interrupted();
}

void fit(Console& console, Options options) {
  const models::Catalogue catalogue = catalogue_with(options.include);
  const models::GpuSpec gpu = catalogue.gpu(options.gpu, schema::Origin("--gpu"));
  check_name(options.fit.profile);
  read_cross_validation(options.cross_validate, options.fit);
  if (!options.overhead.empty()) {
    try {
      options.fit.iteration_overhead_s = schema::parse_time(options.overhead);
    } catch (const schema::UnitError& e) {
      throw schema::InputError(fmt::format("--iteration-overhead: {}", e.what()));
    }
    if (*options.fit.iteration_overhead_s < 0) {
      throw schema::InputError(
          fmt::format("--iteration-overhead: {} is no time, expected 0 or more", options.overhead));
    }
  }
  for (const models::NumberFormat format : models::kWeightFormats) {
    const auto& asked = options.drop_slow;
    if (std::ranges::find(asked, models::word(format)) != asked.end()) options.fit.drop_slow.push_back(format);
  }
  if (options.no_tables) options.fit.tables = false;
  options.fit.known = known_forms(catalogue);
  refuse_same_file(options.out, options.report);
  for (const std::string& path : {options.out, options.report}) refuse_to_overwrite(path, options.force);
  std::vector<std::string> inputs = options.include;
  for (const std::string& path : options.paths) {
    for (std::string& file : models::csv_files(path)) inputs.push_back(std::move(file));
  }
  refuse_input("--out", options.out, inputs);
  refuse_input("--report", options.report, inputs);
  options.fit.before_step = stop_if_interrupted;
  const models::Readings readings = read_all(options, catalogue);
  std::vector<PendingFile> files;
  if (!options.out.empty()) files.emplace_back(options.out);
  if (!options.report.empty()) files.emplace_back(options.report);
  std::optional<StatusLine> line("fitting");
  const models::Calibration result = models::calibrate(
      readings, gpu, all_of<models::GpuSpec>(catalogue, models::EntryKind::gpu, &models::Catalogue::gpu),
      all_of<models::LlmSpec>(catalogue, models::EntryKind::model, &models::Catalogue::model), options.fit);
  line.reset();
  check_host_link(result, gpu, catalogue);
  const std::string yaml = models::catalogue_yaml(result, gpu);
  models::Catalogue check = catalogue;  // what is written must load, beside or in place of what has its names
  const schema::ConfigNode document =
      schema::read_yaml(yaml + "override: true\n", options.out.empty() ? "fitted profile" : options.out);
  check.add({&document, 1});

  const results::Page page = results::calibration_page(result);
  stop_if_interrupted();
  if (!options.out.empty()) files.front().write(yaml);
  if (!options.report.empty()) files.back().write(results::to_markdown(page));
  for (PendingFile& file : files) file.commit();
  if (options.json) {
    console.print(results::json_text(results::calibration_json(result)));
  } else {
    console.print(page);
    if (options.out.empty()) console.print("\n" + yaml);
  }
}

std::vector<std::string> format_words() {
  std::vector<std::string> words;
  for (const models::NumberFormat format : models::kWeightFormats) words.emplace_back(models::word(format));
  return words;
}

void declare_fit(CLI::App& sub, Options& o) {
  sub.add_option("PATH", o.paths, "CSV files of measured kernel times, or folders of them")
      ->required()
      ->type_name("FILE");
  sub.add_option("--gpu", o.gpu, "The GPU to fit, one of `kvsim list gpus`")->required()->type_name("NAME");
  sub.add_option("--framework", o.fit.framework,
                 "Whose rows to fit; rows that name none count always. Default: vllm, else the only one")
      ->type_name("NAME");
  sub.add_option(
         "--model", o.model,
         "The model that layer profiles are of; otherwise their folder's name says it (GPU_MODEL or GPU_MODEL_tp2)")
      ->type_name("NAME");
  sub.add_option("--name", o.fit.profile, "Name of the profile")->type_name("PROFILE")->capture_default_str();
  sub.add_option("--data", o.fit.data, "What the rows are, for the profile's references")
      ->type_name("TEXT")
      ->capture_default_str();
  sub.add_option("--out", o.out, "Write the profile to FILE instead of stdout")->type_name("FILE");
  sub.add_option("--report", o.report, "Write the report to FILE as Markdown too")->type_name("FILE");
  sub.add_flag("--json", o.json, "Print the report as one JSON document");
  sub.add_flag("--force", o.force, "Replace files that exist");
  sub.add_option("--cross-validate", o.cross_validate, "What to hold out: shapes, models, machines, or none")
      ->type_name("LIST")
      ->capture_default_str();
  CLI::Option* tables = sub.add_flag("--tables", o.fit.tables, "Tables of the shapes measured, beside the forms");
  sub.add_flag("--no-tables", o.no_tables, "Forms only (the default)")->excludes(tables);
  sub.add_option("--iteration-overhead", o.overhead,
                 "Time of an iteration that no kernel takes. Default: 0.5 ms, assumed")
      ->type_name("T");
  sub.add_option("--drop-slow", o.drop_slow,
                 "Leave out linear layers of this format that take over a fifth longer than the same layer with more "
                 "tokens; repeatable")
      ->type_name("FORMAT")
      ->check(CLI::IsMember(format_words()))
      ->allow_extra_args(false);
  sub.add_option("--include", o.include, "A file with further catalogue entries; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

struct ReplayOptions {
  std::string folder;
  std::vector<std::string> include;
  std::string gpu, profile, link;
  std::size_t worst = 10;
  bool json = false;
};

void refuse_other_gpu(const std::vector<models::ReplayRow>& rows, const models::GpuSpec& gpu) {
  const std::string name = gpu.name.substr(0, gpu.name.find(' '));  // without "(changed)"
  for (const models::ReplayRow& row : rows) {
    if (models::names_gpu(row.gpu, name)) continue;
    throw schema::InputError(row.origin, fmt::format("is of {}, --gpu says {}", row.gpu, gpu.name));
  }
}

void replay(Console& console, const ReplayOptions& options) {
  const models::Catalogue catalogue = catalogue_with(options.include);
  planner::ReplayMachine machine;
  machine.gpu = catalogue.gpu(options.gpu, schema::Origin("--gpu"));
  machine.profile =
      catalogue.profile(options.profile.empty() ? machine.gpu.profile : options.profile, schema::Origin("--profile"));
  machine.host_link =
      catalogue.link(options.link.empty() ? machine.gpu.host_link : options.link, schema::Origin("--link"));
  const std::string described = (fs::path(options.folder) / "replay.yaml").string();
  const models::ReplayRun run = models::read_replay_run(described);
  machine.model = catalogue.model(run.model, schema::Origin(described));
  if (machine.model.layers != run.model_layers) {
    throw schema::InputError(fmt::format("{}: model_layers: {}, but {} has {}", described, run.model_layers, run.model,
                                         machine.model.layers));
  }
  const auto rows = models::read_replay_rows((fs::path(options.folder) / "replay.csv").string(), run);
  refuse_other_gpu(rows, machine.gpu);
  const planner::ReplayComparison comparison = planner::compare_replay(machine, run, rows);
  if (options.json) {
    console.print(results::json_text(results::replay_json(comparison)));
  } else {
    console.print(results::replay_page(comparison, options.worst));
  }
}

void declare_replay(CLI::App& sub, ReplayOptions& o) {
  sub.add_option("DIR", o.folder, "Folder that kvsim-calibrate wrote: replay.yaml and replay.csv")
      ->required()
      ->type_name("DIR");
  sub.add_option("--gpu", o.gpu, "The GPU it ran on, one of `kvsim list gpus`")->required()->type_name("NAME");
  sub.add_option("--profile", o.profile, "The profile to simulate it with. Default: the GPU's own")->type_name("NAME");
  sub.add_option("--link", o.link, "The link to host memory. Default: the GPU's own")->type_name("NAME");
  sub.add_option("--worst", o.worst, "Iterations to name, those with the largest errors")
      ->type_name("N")
      ->capture_default_str();
  sub.add_flag("--json", o.json, "Print the comparison as one JSON document");
  sub.add_option("--include", o.include, "A file with further catalogue entries; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  auto replayed = std::make_shared<ReplayOptions>();
  app.require_subcommand(1);
  CLI::App* sub = app.add_subcommand("fit", "Fit a kernel profile to measured kernel times");
  sub->footer("Example:\n  kvsim calibrate fit measured/kernels --gpu h100-sxm --name my-h100 --out my-h100.yaml");
  declare_fit(*sub, *options);
  CLI::App* again = app.add_subcommand("replay", "Simulate a measured replay of draft and verify, and compare");
  again->footer(
      "Example:\n  kvsim calibrate replay h100 --gpu h100-sxm --include mine.yaml --profile mine --link mine-host");
  declare_replay(*again, *replayed);
  return [options, replayed, again](Console& console) {
    again->parsed() ? replay(console, *replayed) : fit(console, *options);
  };
}

}  // namespace
}  // namespace calibrate_internal

extern const Command calibrate_command;
const Command calibrate_command{"calibrate", "Make kernel profiles from measurements",
                                "kvsim calibrate fit measured/kernels --gpu h100-sxm --out my-h100.yaml",
                                calibrate_internal::declare};

}  // namespace kvsim::cli
