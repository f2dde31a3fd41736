// machine.yaml: on what and how the figures were measured.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kvsim::calibrate {

struct MachineRecord {
  std::string gpu;
  int compute_capability = 0;  ///< 90 for 9.0
  int multiprocessors = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t memory_clock_khz = 0;  ///< 0 where the driver does not say
  int memory_bus_bits = 0;
  int driver_version = 0;      ///< 13000 for 13.0
  int runtime_version = 0;     ///< likewise
  std::string driver_release;  ///< of the kernel module; empty where it cannot be read
  std::string pcie;            ///< e.g. "32.0 GT/s PCIe x16", the fastest the slot and card do; empty likewise
  std::string date;            ///< UTC, 2024-05-31T12:00:00Z
  std::string command;
  std::string kvsim_version;
  std::uint64_t seed = 0;
  std::vector<std::string> files;            ///< written in this run
  std::map<std::string, std::string> notes;  ///< by benchmark: what was skipped, or why it has no file
};

/// Bytes/s that clock and bus width imply at two transfers a clock; 0 where one is unknown.
double implied_bandwidth(const MachineRecord& machine);

/// "13.0" for 13000.
std::string dotted_version(int version);

/// A name for `framework` columns: lower case, words joined by underscores: "NVIDIA H100 PCIe" is nvidia_h100_pcie.
std::string column_name(const std::string& gpu);

/// Now, in UTC.
std::string utc_now();

std::string machine_yaml(const MachineRecord& machine);

}  // namespace kvsim::calibrate
