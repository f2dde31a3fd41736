#include "tools/calibrate/host/nvml.h"

#include <unistd.h>

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tools/calibrate/host/library.h"

namespace kvsim::calibrate {
namespace {

// The part of nvml.h that is used, which need not be there to build; its interface is kept from version to version.
constexpr int kSuccess = 0;
constexpr unsigned kSmClock = 1, kMemoryClock = 2;
constexpr unsigned kGpuTemperature = 0;

}  // namespace

struct Nvml::Functions {
  using Device = void*;
  struct Process {  // nvmlProcessInfo_t of the functions that end in _v3
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
  };

  Library library;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_bus_id)(const char*, Device*) = nullptr;
  int (*clock)(Device, unsigned, unsigned*) = nullptr;
  int (*most_clock)(Device, unsigned, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;        // milliwatts
  int (*power_limit)(Device, unsigned*) = nullptr;  // likewise
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*clock_reasons)(Device, unsigned long long*) = nullptr;
  int (*ecc)(Device, unsigned*, unsigned*) = nullptr;
  int (*mig)(Device, unsigned*, unsigned*) = nullptr;
  int (*processes)(Device, unsigned*, void*) = nullptr;  // of Process
  Device device = nullptr;
  bool initialised = false;

  [[nodiscard]] unsigned read(int (*function)(Device, unsigned*)) const {
    unsigned value = 0;
    return function != nullptr && function(device, &value) == kSuccess ? value : 0;
  }
  [[nodiscard]] unsigned read(int (*function)(Device, unsigned, unsigned*), unsigned what) const {
    unsigned value = 0;
    return function != nullptr && function(device, what, &value) == kSuccess ? value : 0;
  }
  [[nodiscard]] std::optional<bool> mode(int (*function)(Device, unsigned*, unsigned*)) const {
    unsigned now = 0, next = 0;
    if (function == nullptr || function(device, &now, &next) != kSuccess) return std::nullopt;
    return now != 0;
  }
  [[nodiscard]] unsigned other_processes() const {
    std::array<Process, 64> found{};
    auto count = static_cast<unsigned>(found.size());
    if (processes == nullptr || processes(device, &count, found.data()) != kSuccess) return 0;
    unsigned others = 0;
    for (unsigned i = 0; i < count && i < found.size(); ++i) others += found[i].pid != static_cast<unsigned>(getpid());
    return others;
  }
};

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

Nvml::~Nvml() {
  if (functions_->initialised) static_cast<void>(functions_->shutdown());
}

std::unique_ptr<Nvml> Nvml::open(const std::string& bus_id, std::string& why, const char* library) {
  auto f = std::make_unique<Functions>();
  std::string reason;
  if (!f->library.open(library, reason)) {
    why = fmt::format("{} is not there", library);
    return nullptr;
  }
  if (!f->library.find("nvmlInit_v2", f->init) || !f->library.find("nvmlShutdown", f->shutdown) ||
      !f->library.find("nvmlDeviceGetHandleByPciBusId_v2", f->device_by_bus_id)) {
    why = fmt::format("{} lacks functions", library);
    return nullptr;
  }
  if (const int status = f->init(); status != kSuccess) {
    why = fmt::format("{} did not start ({})", library, status);
    return nullptr;
  }
  f->initialised = true;
  std::unique_ptr<Nvml> nvml(new Nvml(std::move(f)));
  Functions& functions = *nvml->functions_;
  if (const int status = functions.device_by_bus_id(bus_id.c_str(), &functions.device); status != kSuccess) {
    why = fmt::format("{} knows no device {} ({})", library, bus_id, status);
    return nullptr;
  }
  functions.library.find("nvmlDeviceGetClockInfo", functions.clock);
  functions.library.find("nvmlDeviceGetMaxClockInfo", functions.most_clock);
  functions.library.find("nvmlDeviceGetPowerUsage", functions.power);
  functions.library.find("nvmlDeviceGetEnforcedPowerLimit", functions.power_limit);
  functions.library.find("nvmlDeviceGetTemperature", functions.temperature);
  functions.library.find("nvmlDeviceGetCurrentClocksThrottleReasons", functions.clock_reasons);
  if (functions.clock_reasons == nullptr) {  // its newer name
    functions.library.find("nvmlDeviceGetCurrentClocksEventReasons", functions.clock_reasons);
  }
  functions.library.find("nvmlDeviceGetEccMode", functions.ecc);
  functions.library.find("nvmlDeviceGetMigMode", functions.mig);
  functions.library.find("nvmlDeviceGetComputeRunningProcesses_v3", functions.processes);
  return nvml;
}

DeviceLook Nvml::look() const {
  const Functions& f = *functions_;
  constexpr double kMilli = 1e-3;
  DeviceLook look;
  look.sm_clock_mhz = f.read(f.clock, kSmClock);
  look.memory_clock_mhz = f.read(f.clock, kMemoryClock);
  look.power_w = kMilli * f.read(f.power);
  look.temperature_c = f.read(f.temperature, kGpuTemperature);
  unsigned long long reasons = 0;
  if (f.clock_reasons != nullptr && f.clock_reasons(f.device, &reasons) == kSuccess) look.clock_reasons = reasons;
  look.other_processes = f.other_processes();
  return look;
}

DeviceLimits Nvml::limits() const {
  const Functions& f = *functions_;
  constexpr double kMilli = 1e-3;
  return {f.read(f.most_clock, kSmClock), kMilli * f.read(f.power_limit), f.mode(f.ecc), f.mode(f.mig)};
}

}  // namespace kvsim::calibrate
