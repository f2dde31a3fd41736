// NVIDIA's management library, which comes with the driver: loaded where it is there, and not needed to build.
#pragma once

#include <memory>
#include <string>

#include "tools/calibrate/host/device_state.h"

namespace kvsim::calibrate {

class Nvml {
 public:
  /// The device of that PCI bus id ("0000:3b:00.0"); null where the library, or the device in it, is not there, with
  /// the reason in `why`.
  [[nodiscard]] static std::unique_ptr<Nvml> open(const std::string& bus_id, std::string& why,
                                                  const char* library = "libnvidia-ml.so.1");
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  [[nodiscard]] DeviceLook look() const;
  [[nodiscard]] DeviceLimits limits() const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);
  std::unique_ptr<Functions> functions_;
};

}  // namespace kvsim::calibrate
