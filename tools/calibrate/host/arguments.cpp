#include "tools/calibrate/host/arguments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "models/schema/spelling.h"

namespace kvsim::calibrate {
namespace {

constexpr double kBudget = 120;
constexpr double kQuickBudget = 6;

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
                 "(default 120, with --quick 6)")
      ->type_name("S");
  app.add_option("--seed", result.seed, "Of the random data and the order of shapes")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--device", result.device, "Which GPU, counted from 0")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--storage", result.storage,
                 "Folder on the drive that the benchmark storage reads and writes; without it that is left out")
      ->type_name("DIR");
  app.add_flag("--dry-run", result.dry_run, "Say what would be measured and written, without a GPU, and end");
  app.add_flag("--list", list, "Name the benchmarks and end");
  app.footer(
      "Exit status: 0 done; 1 run-time error or a wrong result; 2 bad usage or no CUDA device; 130 interrupted.\n"
      "Examples:\n  kvsim-calibrate --quick --out quick\n  kvsim-calibrate --only linear,memory --models llama-3.1-8b\n"
      "  kvsim-calibrate --dry-run\n  kvsim-calibrate --only storage --storage /mnt/nvme --out drive   (needs no GPU)");
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
  if (result.storage.empty()) {
    if (std::find(only.begin(), only.end(), "storage") != only.end()) {
      throw schema::InputError("--only storage: expected --storage DIR, a folder on the drive to be timed");
    }
    std::erase(result.benchmarks, "storage");
  }
  for (int i = 0; i < argc; ++i) result.command_line += (i > 0 ? " " : "") + std::string(argv[i]);
  return result;
}

std::span<const BenchmarkInfo> benchmarks() {
  static constexpr std::array<BenchmarkInfo, 19> table{{
      {"launch", "what it costs to launch a kernel, alone and in a CUDA graph"},
      {"memory", "device memory bandwidth by size: read, write, copy"},
      {"transfer", "host to device, device to host and both at once, pinned and pageable"},
      {"gather", "scattered rows of 128 B to 1 MiB from host memory: copies, batched copies, a reading kernel"},
      {"linear", "linear layers of the catalogue's models at 1 to 4096 tokens, bf16 and fp8"},
      {"experts", "routed experts: one product for each that 1 to 4096 tokens choose, in one launch"},
      {"decode_attention", "paged decode attention, batch 1 to 256, KV 1k to 128k"},
      {"uneven_attention", "decode attention over sequences of different lengths"},
      {"verify_attention", "2 to 64 query tokens over a long KV"},
      {"quantised_attention", "decode attention over KV of 4, 2 and 1 bits with fused dequantisation"},
      {"prefill_attention", "causal attention of a prompt over itself"},
      {"latent_attention", "attention over latents (MLA): decoding, absorbed, and prompts, expanded"},
      {"quantise", "quantising and dequantising KV"},
      {"topk", "selecting the k largest attention scores"},
      {"interference", "a kernel bound by device memory and host copies at once: the slowdown of each"},
      {"collectives", "all-reduce, all-gather, reduce-scatter and all-to-all between 2, 4, 8 GPUs by NCCL"},
      {"host_memory", "host memory by threads of the CPU: read, write, copy, 64 KiB to 64 MiB"},
      {"storage", "reads and writes of files past the page cache, 4 KiB to 16 MiB by 1 to 16 threads (--storage DIR)"},
      {"replay", "draft and verify iterations with real weights, KV and reloads, in lock-step and staggered"},
  }};
  return table;
}

std::vector<std::string> chosen_benchmarks(std::span<const std::string> wanted) {
  std::vector<std::string> known;
  for (const BenchmarkInfo& info : benchmarks()) known.emplace_back(info.name);
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw schema::InputError(fmt::format("--only: unknown benchmark \"{}\"{}", name, schema::suggest(name, known)));
    }
  }
  if (wanted.empty()) return known;
  std::erase_if(known,
                [&](const std::string& name) { return std::find(wanted.begin(), wanted.end(), name) == wanted.end(); });
  return known;
}

std::string benchmark_list() {
  std::string text;
  for (const BenchmarkInfo& info : benchmarks()) text += fmt::format("{:<20} {}\n", info.name, info.description);
  return text;
}

}  // namespace kvsim::calibrate
