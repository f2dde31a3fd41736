#include "tools/calibrate/host/device_state.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kvsim::calibrate {
namespace {

struct Reason {
  std::uint64_t bit;
  const char* word;
};

/// nvmlClocksThrottleReasons, as nvml.h numbers them.
constexpr std::array<Reason, 6> kReasons{{{0x4, "power cap"},
                                          {0x8, "hardware slowdown"},
                                          {0x10, "sync boost"},
                                          {0x20, "heat"},
                                          {0x40, "heat (hardware)"},
                                          {0x80, "power brake"}}};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

const char* word_of(const std::optional<bool>& known) {
  return !known ? "unknown" : *known ? "on" : "off";
}

}  // namespace

std::string throttling(std::uint64_t clock_reasons) {
  std::vector<std::string> words;
  for (const Reason& reason : kReasons) {
    if ((clock_reasons & reason.bit) != 0) words.emplace_back(reason.word);
  }
  return fmt::format("{}", fmt::join(words, "+"));
}

DeviceState state_of(const std::vector<DeviceLook>& looks) {
  DeviceState state;
  state.looks = looks.size();
  if (looks.empty()) return state;
  std::vector<double> sm, memory;
  std::uint64_t reasons = 0;
  std::size_t throttled = 0;
  for (const DeviceLook& look : looks) {
    sm.push_back(look.sm_clock_mhz);
    memory.push_back(look.memory_clock_mhz);
    state.power_w += look.power_w / static_cast<double>(looks.size());
    state.temperature_c = std::max(state.temperature_c, look.temperature_c);
    state.other_processes = std::max(state.other_processes, look.other_processes);
    if (throttling(look.clock_reasons).empty()) continue;
    reasons |= look.clock_reasons;
    ++throttled;
  }
  state.sm_clock_mhz = median(std::move(sm));
  state.memory_clock_mhz = median(std::move(memory));
  state.throttled_share = static_cast<double>(throttled) / static_cast<double>(looks.size());
  state.throttled_by = throttling(reasons);
  return state;
}

std::string remark(const DeviceState& state) {
  std::vector<std::string> parts;
  if (!state.throttled_by.empty()) {
    parts.push_back(fmt::format("throttled ({}) in {:.0f} % of {} looks, SM clock {:.0f} MHz", state.throttled_by,
                                100 * state.throttled_share, state.looks, state.sm_clock_mhz));
  }
  if (state.other_processes > 0) {
    parts.push_back(fmt::format("{} other process{} computed on the GPU", state.other_processes,
                                state.other_processes == 1 ? "" : "es"));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string> device_state_columns() {
  return {"gpu",
          "version",
          "benchmark",
          "looks",
          "sm_clock_mhz",
          "most_sm_clock_mhz",
          "memory_clock_mhz",
          "power_w",
          "power_limit_w",
          "temperature_c",
          "throttled_share",
          "throttled_by",
          "ecc",
          "mig",
          "other_processes"};
}

CsvRow device_state_row(const std::string& gpu, const std::string& version, const std::string& benchmark,
                        const DeviceState& state, const DeviceLimits& limits) {
  return CsvRow(gpu, version, benchmark, state.looks, state.sm_clock_mhz, limits.most_sm_clock_mhz,
                state.memory_clock_mhz, state.power_w, limits.power_limit_w, state.temperature_c, state.throttled_share,
                state.throttled_by.empty() ? "nothing" : state.throttled_by, word_of(limits.ecc), word_of(limits.mig),
                state.other_processes);
}

struct DeviceWatch::Shared {
  std::mutex mutex;
  std::condition_variable ended;
  bool ending = false;
  std::vector<DeviceLook> looks;
  std::thread thread;

  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      ending = true;
    }
    ended.notify_all();
    if (thread.joinable()) thread.join();
  }
};

DeviceWatch::DeviceWatch(std::function<DeviceLook()> look) : shared_(std::make_unique<Shared>()) {
  constexpr std::chrono::milliseconds kBetween{50};
  Shared* const shared = shared_.get();
  shared->thread = std::thread([shared, look = std::move(look), kBetween] {
    std::unique_lock<std::mutex> lock(shared->mutex);
    do {
      lock.unlock();
      const DeviceLook seen = look();
      lock.lock();
      shared->looks.push_back(seen);
    } while (!shared->ended.wait_for(lock, kBetween, [shared] { return shared->ending; }));
  });
}

DeviceWatch::~DeviceWatch() {
  shared_->stop();
}

std::vector<DeviceLook> DeviceWatch::end() {
  shared_->stop();
  return std::move(shared_->looks);
}

}  // namespace kvsim::calibrate
