#include "tools/calibrate/host/machine_record.h"

#include <cctype>
#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace kvsim::calibrate {
namespace {

/// Text that could be read as something else stands in quotation marks.
void say(YAML::Emitter& yaml, const char* key, const std::string& text) {
  if (!text.empty()) yaml << YAML::Key << key << YAML::Value << YAML::DoubleQuoted << text;
}

template <class Number>
void count(YAML::Emitter& yaml, const char* key, Number number) {
  if (number > 0) yaml << YAML::Key << key << YAML::Value << number;
}

}  // namespace

double implied_bandwidth(const MachineRecord& machine) {
  constexpr double transfers_per_clock = 2;
  return transfers_per_clock * static_cast<double>(machine.memory_clock_khz) * 1e3 *
         static_cast<double>(machine.memory_bus_bits) / 8;
}

std::string dotted_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string column_name(const std::string& gpu) {
  std::string result;
  for (const char c : gpu) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!result.empty() && result.back() != '_') {
      result += '_';
    }
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  return result;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

std::string machine_yaml(const MachineRecord& machine) {
  YAML::Emitter yaml;
  yaml << YAML::BeginMap;
  say(yaml, "gpu", machine.gpu);
  if (machine.compute_capability > 0) {
    say(yaml, "compute_capability",
        fmt::format("{}.{}", machine.compute_capability / 10, machine.compute_capability % 10));
  }
  count(yaml, "multiprocessors", machine.multiprocessors);
  count(yaml, "l2_bytes", machine.l2_bytes);
  count(yaml, "memory_bytes", machine.memory_bytes);
  count(yaml, "memory_clock_khz", machine.memory_clock_khz);
  count(yaml, "memory_bus_bits", machine.memory_bus_bits);
  if (implied_bandwidth(machine) > 0) {
    yaml << YAML::Key << "implied_memory_bytes_per_s" << YAML::Value
         << fmt::format("{:.6g}", implied_bandwidth(machine));
  }
  say(yaml, "pcie", machine.pcie);
  if (machine.driver_version > 0) say(yaml, "driver_supports_cuda", dotted_version(machine.driver_version));
  say(yaml, "driver_release", machine.driver_release);
  if (machine.runtime_version > 0) say(yaml, "cuda_runtime", dotted_version(machine.runtime_version));
  say(yaml, "date", machine.date);
  say(yaml, "command", machine.command);
  say(yaml, "kvsim_version", machine.kvsim_version);
  yaml << YAML::Key << "seed" << YAML::Value << machine.seed;
  yaml << YAML::Key << "files" << YAML::Value << YAML::Flow << machine.files;
  if (!machine.notes.empty()) {
    yaml << YAML::Key << "notes" << YAML::Value << YAML::BeginMap;
    for (const auto& [benchmark, note] : machine.notes) say(yaml, benchmark.c_str(), note);
    yaml << YAML::EndMap;
  }
  yaml << YAML::EndMap;
  return std::string(yaml.c_str()) + "\n";
}

}  // namespace kvsim::calibrate
