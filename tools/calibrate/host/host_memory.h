// Host memory by threads of the CPU: what it gives to all that read, write and copy it at once. Needs no GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/calibrate/host/rounds.h"

namespace kvsim::calibrate {

enum class MemoryAccess { read, write, copy };
std::string_view name_of(MemoryAccess access);

/// Threads that each pass once over `bytes` of an own buffer, at the same time.
struct HostMemoryCase {
  MemoryAccess access = MemoryAccess::read;
  std::int64_t bytes = 65536;
  int threads = 1;
};

/// 64 KiB to 64 MiB by one thread to as many as the CPU runs at once.
[[nodiscard]] std::vector<HostMemoryCase> host_memory_cases(bool quick);

/// Milliseconds of a round, at another place of `buffer_bytes` a thread each time, so that caches hold little of it.
/// Throws std::runtime_error where the first round did not do what it should.
[[nodiscard]] Spread time_host_memory(const HostMemoryCase& c, std::int64_t buffer_bytes, std::uint64_t seed);

/// host_memory.csv, within the budget. `gpu` may be empty: no device is used.
[[nodiscard]] HostTable measure_host_memory(bool quick, double budget_s, std::uint64_t seed, const std::string& gpu,
                                            const std::string& version);

}  // namespace kvsim::calibrate
