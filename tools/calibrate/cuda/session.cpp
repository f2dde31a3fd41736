#include "tools/calibrate/cuda/session.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "tools/calibrate/cuda/kernels.h"

namespace kvsim::calibrate {
namespace {

/// Empty where there is no such file.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Link of the card and its slot at best; while nothing runs, links slow down, so the present speed says little.
std::string pcie_of(int device) {
  const std::string id = bus_id_of(device);
  if (id.empty()) return {};
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

std::string bus_id_of(int device) {
  constexpr int kLength = 32;
  std::array<char, kLength> name{};
  if (cudaDeviceGetPCIBusId(name.data(), kLength, device) != cudaSuccess) return {};
  std::string id = name.data();
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return id;
}

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

namespace {

constexpr double kTargetSeconds = 0.1;
constexpr std::size_t kLeastRepeats = 5;
constexpr std::size_t kMostRepeats = 50;
constexpr std::uint64_t kFlushSeed = 0xf1;

std::size_t flush_words(const cudaDeviceProp& device) {
  constexpr std::size_t least = std::size_t{64} << 20;
  return std::max<std::size_t>(least, 2 * static_cast<std::size_t>(device.l2CacheSize)) / sizeof(std::uint32_t);
}

}  // namespace

Timer::Timer(const cudaDeviceProp& device)
    : blocks_(read_blocks(device.multiProcessorCount)),
      flushed_(flush_words(device)),
      sums_(static_cast<std::size_t>(blocks_)) {
  fill_words(flushed_.get(), flushed_.size(), kFlushSeed, stream_);
  stream_.synchronise();
}

void Timer::flush_cache() const {
  read_memory(flushed_.get(), flushed_.size() * sizeof(std::uint32_t), sums_.get(), blocks_, stream_);
}

Spread Timer::time(const Work& work, Caches caches) const {
  const auto once = [&] {
    stop_if_interrupted();
    if (caches == Caches::cold) flush_cache();
    hold(stream_);
    begin_.record(stream_);
    work(stream_);
    end_.record(stream_);
    end_.synchronise();
    return end_.ms_since(begin_);
  };
  once();
  std::vector<double> samples{once()};
  const std::size_t repeats = repeats_for(samples.front() / 1e3, kTargetSeconds, kLeastRepeats, kMostRepeats);
  while (samples.size() < repeats) samples.push_back(once());
  return spread_of(std::move(samples));
}

std::pair<Spread, Spread> Timer::time_both(const Work& first, const Work& second) const {
  std::vector<double> firsts, seconds;
  const auto once = [&] {
    stop_if_interrupted();
    hold(stream_);
    begin_.record(stream_);
    other_.wait_for(begin_.get());
    second(other_);
    other_end_.record(other_);
    first(stream_);
    end_.record(stream_);
    end_.synchronise();
    other_end_.synchronise();
    firsts.push_back(end_.ms_since(begin_));
    seconds.push_back(other_end_.ms_since(begin_));
  };
  once();
  firsts.clear();
  seconds.clear();
  once();
  const double longest = std::max(firsts.front(), seconds.front());
  const std::size_t repeats = repeats_for(longest / 1e3, kTargetSeconds, kLeastRepeats, kMostRepeats);
  while (firsts.size() < repeats) once();
  return {spread_of(firsts), spread_of(seconds)};
}

Session::Session(const Arguments& args, const cudaDeviceProp& properties, std::vector<models::LlmSpec> specs)
    : arguments(args),
      device(properties),
      models(std::move(specs)),
      timer(properties),
      gpu(column_name(properties.name)),
      version(program_version()) {}

std::size_t Session::usable_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  return free / 10 * 9;
}

std::size_t Session::usable_host_bytes() {
  const long pages = sysconf(_SC_AVPHYS_PAGES);
  const long bytes = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && bytes > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(bytes) / 4 : 0;
}

int Session::blocks() const {
  return read_blocks(device.multiProcessorCount);
}

void Session::note(const std::string& benchmark, const std::string& text) {
  std::string& note = notes_[benchmark];
  note += (note.empty() ? "" : "; ") + text;
  fmt::print(stderr, "{}: {}\n", benchmark, text);
}

}  // namespace kvsim::calibrate
