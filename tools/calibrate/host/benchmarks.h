// The benchmarks by name. A benchmark writes the file of its name, with .csv.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvsim::calibrate {

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
