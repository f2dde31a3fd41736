#include "tools/calibrate/host/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

constexpr std::int64_t kShortestPass = std::int64_t{64} << 10;
constexpr std::int64_t kLongestPass = std::int64_t{64} << 20;
constexpr std::int64_t kBufferBytes = std::int64_t{256} << 20;  ///< of a thread, where there is room
constexpr std::int64_t kWord = sizeof(std::uint64_t);

/// One thread's buffers, and where in them it is.
class Worker {
 public:
  Worker(const HostMemoryCase& c, std::int64_t buffer_bytes, std::uint64_t seed, std::atomic<int>& wrong)
      : access_(c.access),
        words_(static_cast<std::size_t>(c.bytes / kWord)),
        places_(static_cast<std::uint64_t>(buffer_bytes / c.bytes)),
        from_(words_ * places_),
        to_(c.access == MemoryAccess::copy ? from_.size() : 0),
        wrong_(wrong) {
    fill_host(reinterpret_cast<std::byte*>(from_.data()), from_.size() * sizeof from_.front(), seed);
  }
  void prepare(std::uint64_t round) {
    at_ = round % places_ * words_;
    if (round == 0) expected_ = sum();
    first_ = round == 0;
  }
  void run() {
    switch (access_) {
      case MemoryAccess::read:
        found_ = sum();
        break;
      case MemoryAccess::write:
        std::memset(from_.data() + at_, kPattern, words_ * sizeof from_.front());
        break;
      case MemoryAccess::copy:
        std::memcpy(to_.data() + at_, from_.data() + at_, words_ * sizeof from_.front());
        break;
    }
  }
  void check() {
    if (!first_) return;
    std::uint64_t pattern = 0;
    std::memset(&pattern, kPattern, sizeof pattern);
    const auto begin = from_.begin() + static_cast<std::ptrdiff_t>(at_),
               end = begin + static_cast<std::ptrdiff_t>(words_);
    const bool right = access_ == MemoryAccess::read    ? found_ == expected_
                       : access_ == MemoryAccess::write ? std::count(begin, end, pattern) == end - begin
                                                        : std::equal(begin, end, to_.begin() + (begin - from_.begin()));
    if (!right) ++wrong_;
  }

 private:
  static constexpr int kPattern = 0x5e;
  [[nodiscard]] std::uint64_t sum() const {
    const auto begin = from_.begin() + static_cast<std::ptrdiff_t>(at_);
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(words_), std::uint64_t{0});
  }

  MemoryAccess access_;
  std::size_t words_;
  std::uint64_t places_;
  std::vector<std::uint64_t> from_, to_;
  std::atomic<int>& wrong_;
  std::size_t at_ = 0;
  std::uint64_t expected_ = 0, found_ = 0;
  bool first_ = false;
};

int most_threads() {
  constexpr int kMost = 64;  // fewer reach what the memory gives
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMost);
}

}  // namespace

std::string_view name_of(MemoryAccess access) {
  return access == MemoryAccess::read ? "read" : access == MemoryAccess::write ? "write" : "copy";
}

std::vector<HostMemoryCase> host_memory_cases(bool quick) {
  std::vector<HostMemoryCase> cases;
  for (const std::int64_t bytes : sizes_between(kShortestPass, kLongestPass, true)) {
    for (const std::int64_t threads : sizes_between(1, most_threads(), false)) {
      if (quick && threads != 1 && threads != most_threads()) continue;
      for (const MemoryAccess access : {MemoryAccess::read, MemoryAccess::write, MemoryAccess::copy}) {
        cases.push_back({access, bytes, static_cast<int>(threads)});
      }
    }
  }
  return cases;
}

Spread time_host_memory(const HostMemoryCase& c, std::int64_t buffer_bytes, std::uint64_t seed) {
  std::atomic<int> wrong{0};
  const Spread spread = time_rounds(c.threads, [&](int thread) {
    return Worker(c, std::max(buffer_bytes, c.bytes), seed + static_cast<std::uint64_t>(thread), wrong);
  });
  if (wrong.load() > 0) {
    throw std::runtime_error(
        fmt::format("host memory: {} of {} bytes by {} threads: wrong data", name_of(c.access), c.bytes, c.threads));
  }
  return spread;
}

HostTable measure_host_memory(bool quick, double budget_s, std::uint64_t seed, const std::string& gpu,
                              const std::string& version) {
  HostTable table{CsvFile(host_columns("host_memory_operation")), {}};
  // A quarter of what is there, shared by all threads; copies have two buffers.
  const std::int64_t room = sysconf(_SC_AVPHYS_PAGES) / 4 * sysconf(_SC_PAGE_SIZE);
  const std::int64_t buffer = std::min(kBufferBytes, room / (2 * most_threads()));
  std::vector<HostMemoryCase> cases = host_memory_cases(quick);
  if (std::erase_if(cases, [buffer](const HostMemoryCase& c) { return c.bytes > buffer; }) > 0) {
    table.note = fmt::format("there is room for {} bytes a thread alone", buffer);
  }
  table.fill(std::move(cases), budget_s, seed, [&](const HostMemoryCase& c) {
    const Spread spread = time_host_memory(c, buffer, seed);
    const double moved = static_cast<double>(c.threads) * static_cast<double>(c.bytes) *
                         (c.access == MemoryAccess::copy ? 2 : 1);  // read and written
    return CsvRow(gpu, version, name_of(c.access), c.threads, c.bytes, spread, moved / spread.median / 1e6);
  });
  return table;
}

}  // namespace kvsim::calibrate
