// The GPU's state while a benchmark ran: clocks, power, temperature, why clocks were held down, ECC, MIG, and
// other processes on it. A card that throttles or is shared gives slow tables, and the tables cannot show why.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/calibrate/host/output.h"

namespace kvsim::calibrate {

/// One look at the card; 0 where the driver does not say.
struct DeviceLook {
  unsigned sm_clock_mhz = 0;
  unsigned memory_clock_mhz = 0;
  double power_w = 0;
  unsigned temperature_c = 0;
  std::uint64_t clock_reasons = 0;  ///< NVML's bits
  unsigned other_processes = 0;     ///< that compute on it, beside this one
};

/// Limits that stay as they are during a run.
struct DeviceLimits {
  unsigned most_sm_clock_mhz = 0;
  double power_limit_w = 0;
  std::optional<bool> ecc;  ///< none: not known, or the card has none
  std::optional<bool> mig;
};

/// Summary of all looks during one benchmark.
struct DeviceState {
  std::size_t looks = 0;
  double sm_clock_mhz = 0;  ///< median
  double memory_clock_mhz = 0;
  double power_w = 0;  ///< mean
  unsigned temperature_c = 0;
  double throttled_share = 0;  ///< of the looks, those at which something held the clocks down
  std::string throttled_by;    ///< "power cap+heat"; empty: nothing
  unsigned other_processes = 0;
};

/// Why clocks are held down, in words joined by +; empty where they are not. An idle card, clocks that the user has
/// set and a clock for displays are no throttling.
[[nodiscard]] std::string throttling(std::uint64_t clock_reasons);

[[nodiscard]] DeviceState state_of(const std::vector<DeviceLook>& looks);

/// A remark for machine.yaml and the terminal: throttling, other processes; empty: nothing.
[[nodiscard]] std::string remark(const DeviceState& state);

/// device_state.csv: a row for each benchmark.
[[nodiscard]] std::vector<std::string> device_state_columns();
[[nodiscard]] CsvRow device_state_row(const std::string& gpu, const std::string& version, const std::string& benchmark,
                                      const DeviceState& state, const DeviceLimits& limits);

/// Looks at a card every so often on a thread of its own, until it ends.
class DeviceWatch {
 public:
  /// `look` is called from that thread alone.
  explicit DeviceWatch(std::function<DeviceLook()> look);
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;
  ~DeviceWatch();
  /// Ends looking and gives what was seen, at least one look.
  [[nodiscard]] std::vector<DeviceLook> end();

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace kvsim::calibrate
