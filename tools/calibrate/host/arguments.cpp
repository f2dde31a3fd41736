#include "tools/calibrate/host/arguments.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "tools/calibrate/host/benchmarks.h"

namespace kvsim::calibrate {
namespace {

constexpr double kBudget = 120;
constexpr double kQuickBudget = 7;

std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty() || !left.front().starts_with("-")) {
    return fmt::format("{} (kvsim-calibrate --help says more)", error.what());
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return fmt::format("unknown option \"{}\"{}", left.front(), schema::suggest(left.front(), names));
}

}  // namespace

std::string program_version() {
  return KVSIM_VERSION;
}

Arguments parse_arguments(int argc, const char* const* argv) {
  Arguments result;
  std::vector<std::string> only;
  bool list = false;
  CLI::App app("Times real kernels on a CUDA GPU, for a kernel profile that kvsim loads.", "kvsim-calibrate");
  app.set_version_flag("--version", "kvsim-calibrate " + program_version());
  app.add_option("--out", result.out, "Folder for the results; must be new or empty")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_flag("--force", result.force, "Write into a folder that is not empty, over files of the same names");
  app.add_option("--only", only, "Only these benchmarks (--list names them)")->delimiter(',')->type_name("NAME,...");
  app.add_option("--models", result.models, "Shapes of these models of the catalogue only")
      ->delimiter(',')
      ->type_name("NAME,...");
  app.add_flag("--quick", result.quick, "A small part of every benchmark, in less than two minutes");
  app.add_option("--budget", result.budget_s,
                 "Seconds for each benchmark; what is left then is skipped, and said "
                 "(default 120, with --quick 7)")
      ->type_name("S");
  app.add_option("--seed", result.seed, "Of the random data and the order of shapes")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--device", result.device, "Which GPU, counted from 0")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--list", list, "Name the benchmarks and end");
  app.footer(
      "Exit status: 0 done; 1 run-time error or a wrong result; 2 bad usage or no CUDA device; 130 interrupted.\n"
      "Examples:\n  kvsim-calibrate --quick --out quick\n  kvsim-calibrate --only linear,memory --models llama-3.1-8b");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    result.answer = app.help();
    return result;
  } catch (const CLI::CallForVersion& version) {
    result.answer = fmt::format("{}\n", version.what());
    return result;
  } catch (const CLI::ParseError& error) {
    throw schema::InputError(complaint(app, error));
  }
  if (list) {
    result.answer = benchmark_list();
    return result;
  }
  if (app.count("--budget") == 0) {
    result.budget_s = result.quick ? kQuickBudget : kBudget;
  } else if (!(result.budget_s > 0) || !std::isfinite(result.budget_s)) {
    throw schema::InputError("--budget: expected a number of seconds above 0");
  }
  if (result.out.empty()) throw schema::InputError("--out: a folder is missing");
  result.benchmarks = chosen_benchmarks(only);
  for (int i = 0; i < argc; ++i) result.command_line += (i > 0 ? " " : "") + std::string(argv[i]);
  return result;
}

}  // namespace kvsim::calibrate
