// The command line of kvsim-calibrate, and the benchmarks that it names. A benchmark writes the file of its name, with
// .csv.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvsim::calibrate {

struct Arguments {
  std::vector<std::string> benchmarks;  ///< in the order in which they run
  std::vector<std::string> models;      ///< whose shapes are measured; all of the catalogue where empty
  std::string out = "calibration";      ///< folder of the results
  bool force = false;                   ///< write into a folder that is not empty
  bool quick = false;
  double budget_s = 0;  ///< of each benchmark, in seconds
  std::uint64_t seed = 1;
  int device = 0;
  std::string storage;       ///< folder on the device whose reads and writes are timed; empty: none is
  bool dry_run = false;      ///< say what would be measured, and end
  std::string command_line;  ///< as typed, for the record
  std::string answer;        ///< what --help, --list or --version print; nothing else is to be done then
};

/// Throws schema::InputError for what cannot be understood.
Arguments parse_arguments(int argc, const char* const* argv);

/// The version of the program, "0.1.0".
std::string program_version();

struct BenchmarkInfo {
  std::string_view name;
  std::string_view description;
};

/// In the order in which they run.
std::span<const BenchmarkInfo> benchmarks();

/// The names that `wanted` asks for, in the order of benchmarks(), all where it is empty. Throws schema::InputError for
/// an unknown one, with the nearest.
std::vector<std::string> chosen_benchmarks(std::span<const std::string> wanted);

/// For --list.
std::string benchmark_list();

}  // namespace kvsim::calibrate
