#include "tools/calibrate/cuda/device.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "tools/calibrate/cuda/check.h"

namespace kvsim::calibrate {
namespace {

/// Empty where there is no such file.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// What the card and its slot can do together; while nothing runs, links slow down, so the present speed says little.
std::string pcie_of(int device) {
  constexpr int kLength = 32;
  std::array<char, kLength> name{};
  if (cudaDeviceGetPCIBusId(name.data(), kLength, device) != cudaSuccess) return {};
  std::string id = name.data();
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string folder = "/sys/bus/pci/devices/" + id + "/";
  const std::string speed = first_line(folder + "max_link_speed");
  const std::string width = first_line(folder + "max_link_width");
  return speed.empty() || width.empty() ? "" : fmt::format("{} x{}", speed, width);
}

std::int64_t attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

}  // namespace

cudaDeviceProp open_device(const Arguments& arguments) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    throw schema::InputError(fmt::format(
        "found no CUDA device{}", status == cudaSuccess ? "" : fmt::format(" ({})", cudaGetErrorString(status))));
  }
  if (arguments.device >= count) {
    throw schema::InputError(
        fmt::format("--device {}: there {} {}, counted from 0", arguments.device, count == 1 ? "is" : "are", count));
  }
  check(cudaSetDevice(arguments.device));
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, arguments.device));
  if (device.major < 8) {
    throw schema::InputError(fmt::format("{} has compute capability {}.{}; the kernels need 8.0 or later", device.name,
                                         device.major, device.minor));
  }
  return device;
}

MachineRecord describe_device(const cudaDeviceProp& device, const Arguments& arguments) {
  MachineRecord machine;
  machine.gpu = device.name;
  machine.compute_capability = device.major * 10 + device.minor;
  machine.multiprocessors = device.multiProcessorCount;
  machine.l2_bytes = device.l2CacheSize;
  machine.memory_bytes = static_cast<std::int64_t>(device.totalGlobalMem);
  machine.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, arguments.device);
  machine.memory_bus_bits = device.memoryBusWidth;
  check(cudaDriverGetVersion(&machine.driver_version));
  check(cudaRuntimeGetVersion(&machine.runtime_version));
  machine.driver_release = first_line("/sys/module/nvidia/version");
  machine.pcie = pcie_of(arguments.device);
  machine.date = utc_now();
  machine.command = arguments.command_line;
  machine.kvsim_version = program_version();
  machine.seed = arguments.seed;
  return machine;
}

}  // namespace kvsim::calibrate
