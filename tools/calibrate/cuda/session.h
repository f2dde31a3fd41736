// Means of every benchmark: the GPU at hand, the arguments, a way to time things and to say what was left out.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "models/llm/llm_spec.h"
#include "tools/calibrate/cuda/handles.h"
#include "tools/calibrate/host/arguments.h"
#include "tools/calibrate/host/interrupt.h"
#include "tools/calibrate/host/machine_record.h"
#include "tools/calibrate/host/output.h"
#include "tools/calibrate/host/plan.h"

namespace kvsim::calibrate {

/// Makes the asked-for device the current one. Throws schema::InputError where there is no device, not that one, or one
/// that lacks what the kernels need (compute capability 8.0).
cudaDeviceProp open_device(const Arguments& arguments);

/// "0000:3b:00.0", in lower case; empty where the runtime does not say.
std::string bus_id_of(int device);

/// The device's record in machine.yaml.
MachineRecord describe_device(const cudaDeviceProp& device, const Arguments& arguments);

enum class Caches { cold, warm };

/// Times work on a stream with events: once to warm up, then as often as fits into a tenth of a second, at least five
/// and at most fifty times. Before each repeat the L2 cache is flushed where caches are meant to be cold, by reading
/// (writing would leave dirty lines for the work to write back), and the stream is held until everything is in it.
class Timer {
 public:
  explicit Timer(const cudaDeviceProp& device);
  using Work = std::function<void(const Stream&)>;
  [[nodiscard]] Spread time(const Work& work, Caches caches) const;
  /// Times work on two streams that starts at the same moment on both: the time of each.
  [[nodiscard]] std::pair<Spread, Spread> time_both(const Work& first, const Work& second) const;
  [[nodiscard]] const Stream& stream() const { return stream_; }
  [[nodiscard]] const Stream& other_stream() const { return other_; }
  void flush_cache() const;

 private:
  Stream stream_, other_;
  Event begin_, end_, other_end_;
  int blocks_ = 1;
  DeviceBuffer<std::uint32_t> flushed_, sums_;
};

class Session {
 public:
  Session(const Arguments& arguments, const cudaDeviceProp& device, std::vector<models::LlmSpec> models);

  const Arguments& arguments;
  const cudaDeviceProp& device;
  const std::vector<models::LlmSpec> models;
  const Timer timer;
  const std::string gpu;      ///< for the `gpu` column
  const std::string version;  ///< for the `version` column

  /// Device memory that a benchmark may take: nine tenths of what is free.
  [[nodiscard]] std::size_t usable_bytes() const;
  /// Host memory that it may lock: a quarter of what is there, at most.
  [[nodiscard]] static std::size_t usable_host_bytes();
  [[nodiscard]] bool has_fp8() const { return device.major > 8 || (device.major == 8 && device.minor >= 9); }
  [[nodiscard]] int blocks() const;  ///< that fill the device with kernels that stream memory

  /// Goes into machine.yaml and to the terminal.
  void note(const std::string& benchmark, const std::string& text);
  [[nodiscard]] const std::map<std::string, std::string>& notes() const { return notes_; }

  /// Runs `measure` over the cases in random order until the budget is spent. It returns false for a case that does not
  /// fit into memory. What was skipped is noted.
  template <class Case, class Measure>
  void run_cases(const std::string& benchmark, std::vector<Case> cases, const Measure& measure) {
    shuffle(cases, arguments.seed);
    const Budget budget(arguments.budget_s);
    std::size_t too_large = 0;
    std::size_t done = 0;
    for (const Case& c : cases) {
      stop_if_interrupted();
      if (budget.spent()) break;
      if (!measure(c)) ++too_large;
      ++done;
    }
    if (too_large > 0) note(benchmark, fmt::format("{} of {} cases do not fit into memory", too_large, cases.size()));
    if (done < cases.size()) {
      note(benchmark,
           fmt::format("{} of {} cases left out after {:g} s", cases.size() - done, cases.size(), arguments.budget_s));
    }
  }

 private:
  std::map<std::string, std::string> notes_;
};

/// The columns that hold a Spread, where they stand at the end of a row: the median stands where the file's own column
/// for it is.
inline std::vector<std::string> with_spread(std::vector<std::string> columns) {
  for (const char* name : {"measured_ms", "p10_ms", "p90_ms", "repeats"}) columns.emplace_back(name);
  return columns;
}

}  // namespace kvsim::calibrate
