#include "tools/calibrate/host/storage.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "tools/calibrate/host/interrupt.h"
#include "tools/calibrate/host/plan.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

constexpr std::int64_t kAlignment = 4096;
constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;
constexpr int kMostThreads = 16;

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  throw std::runtime_error(fmt::format("{}: cannot {} ({})", path.string(), what, std::strerror(errno)));
}

/// Memory as direct I/O wants it.
class Block {
 public:
  explicit Block(std::int64_t bytes)
      : data_(static_cast<std::byte*>(::operator new (static_cast<std::size_t>(bytes),
                                                      std::align_val_t{static_cast<std::size_t>(kAlignment)}))) {}
  [[nodiscard]] std::byte* get() const { return data_.get(); }

 private:
  struct Release {
    void operator()(std::byte* data) const {
      ::operator delete (data, std::align_val_t{static_cast<std::size_t>(kAlignment)});
    }
  };
  std::unique_ptr<std::byte, Release> data_;
};

/// Words that the file holds of a page.
std::uint64_t first_word(std::uint64_t seed, std::int64_t page) {
  return random_bits(seed, static_cast<std::uint64_t>(page));
}

/// Every page begins with a word of its own; what comes behind is the same random data in all.
void fill(std::byte* to, std::int64_t bytes, std::int64_t offset, std::uint64_t seed) {
  for (std::int64_t at = 0; at < bytes; at += kAlignment) {
    const std::uint64_t word = first_word(seed, (offset + at) / kAlignment);
    std::memcpy(to + at, &word, sizeof word);
  }
}

/// All of it, however the system cuts it.
template <class Move>
bool move_all(std::byte* data, std::int64_t bytes, std::int64_t offset, const Move& move) {
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t moved = move(data + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (moved <= 0) return false;
    done += moved;
  }
  return true;
}

}  // namespace

std::vector<StorageCase> storage_cases(bool quick) {
  std::vector<StorageCase> cases;
  for (const std::int64_t bytes : sizes_between(4096, kMostBytes, true)) {
    for (const std::int64_t threads : sizes_between(1, kMostThreads, true)) {
      if (quick && threads != 1 && threads != kMostThreads) continue;
      for (const bool write : {false, true}) cases.push_back({write, bytes, static_cast<int>(threads)});
    }
  }
  return cases;
}

StorageFile::StorageFile(const std::filesystem::path& folder, std::int64_t bytes, std::uint64_t seed)
    : path_(folder / fmt::format("kvsim-calibrate-{}.tmp", getpid())), bytes_(bytes), seed_(seed) {
  constexpr int kMode = 0600;
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_DIRECT, kMode);
  direct_ = file_ >= 0;
  if (file_ < 0) {
    ::unlink(path_.c_str());  // some file systems make the file and then refuse
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
  }
  if (file_ < 0) fail(path_, "make a file");
  ::unlink(path_.c_str());  // it goes with its last descriptor, whatever ends the program
  const Block block(kMostBytes);
  fill_host(block.get(), static_cast<std::size_t>(kMostBytes), seed);
  for (std::int64_t offset = 0; offset < bytes_; offset += kMostBytes) {
    fill(block.get(), kMostBytes, offset, seed_);
    const auto write = [this](const std::byte* from, std::size_t count, std::int64_t at) {
      return ::pwrite(file_, from, count, at);
    };
    if (!move_all(block.get(), kMostBytes, offset, write)) {
      const int reason = errno;
      ::close(file_);
      errno = reason;
      fail(path_, "write");
    }
  }
  ::fsync(file_);
}

StorageFile::~StorageFile() {
  ::close(file_);
}

/// Threads that do the same over and over, each round together.
struct StorageFile::Rounds {
  Rounds(const StorageFile& of, const StorageCase& what)
      : file(of), c(what), together(what.threads + 1), wrong(0), failed(0) {}

  void work(int thread) {
    const Block block(c.bytes);
    fill_host(block.get(), static_cast<std::size_t>(c.bytes), file.seed_);
    const std::int64_t places = file.bytes_ / c.bytes;
    for (std::uint64_t round = 0;; ++round) {
      const std::uint64_t random =
          random_bits(file.seed_ + 1 + static_cast<std::uint64_t>(thread), round + (c.write ? 1ULL << 32 : 0));
      const std::int64_t offset = static_cast<std::int64_t>(random % static_cast<std::uint64_t>(places)) * c.bytes;
      if (c.write) fill(block.get(), c.bytes, offset, file.seed_);  // what stands there already
      together.arrive_and_wait();
      if (over.load()) return;
      const bool moved =
          c.write ? move_all(block.get(), c.bytes, offset,
                             [this](const std::byte* from, std::size_t count, std::int64_t at) {
                               return ::pwrite(file.file_, from, count, at);
                             })
                  : move_all(block.get(), c.bytes, offset, [this](std::byte* to, std::size_t count, std::int64_t at) {
                      return ::pread(file.file_, to, count, at);
                    });
      together.arrive_and_wait();
      if (!moved) {
        ++failed;
        continue;
      }
      for (std::int64_t at = 0; at < c.bytes; at += kAlignment) {
        std::uint64_t word = 0;
        std::memcpy(&word, block.get() + at, sizeof word);
        if (word != first_word(file.seed_, (offset + at) / kAlignment)) ++wrong;
      }
    }
  }

  double one_ms() {
    together.arrive_and_wait();
    const auto begin = std::chrono::steady_clock::now();
    together.arrive_and_wait();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  const StorageFile& file;
  const StorageCase c;
  std::barrier<> together;
  std::atomic<bool> over{false};
  std::atomic<int> wrong, failed;
};

Spread StorageFile::time(const StorageCase& c) const {
  constexpr double kTargetSeconds = 0.3;
  constexpr std::size_t kLeast = 5, kMost = 200;
  Rounds rounds(*this, c);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(c.threads));
  for (int i = 0; i < c.threads; ++i) threads.emplace_back([&rounds, i] { rounds.work(i); });
  std::vector<double> samples;
  static_cast<void>(rounds.one_ms());
  samples.push_back(rounds.one_ms());
  const std::size_t repeats = repeats_for(samples.front() / 1e3, kTargetSeconds, kLeast, kMost);
  while (samples.size() < repeats && !interrupt_noted()) samples.push_back(rounds.one_ms());
  rounds.over.store(true);
  rounds.together.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  stop_if_interrupted();
  if (rounds.failed.load() > 0)
    throw std::runtime_error(fmt::format("storage: {} transfers failed", rounds.failed.load()));
  if (rounds.wrong.load() > 0) {
    throw std::runtime_error(fmt::format("storage: {} pages are not what was written", rounds.wrong.load()));
  }
  return spread_of(std::move(samples));
}

StorageResult measure_storage(const std::filesystem::path& folder, bool quick, double budget_s, std::uint64_t seed,
                              const std::string& gpu, const std::string& version) {
  StorageResult result{CsvFile({"gpu", "version", "storage_operation", "threads", "bytes", "measured_ms", "p10_ms",
                                "p90_ms", "repeats", "gb_per_s"}),
                       {}};
  constexpr std::int64_t kWhole = std::int64_t{4} << 30, kQuick = std::int64_t{256} << 20;
  const std::int64_t free = static_cast<std::int64_t>(std::filesystem::space(folder).available / 4);
  const std::int64_t bytes = std::min(quick ? kQuick : kWhole, free) / kMostBytes * kMostBytes;
  if (bytes < kMostThreads * kMostBytes / 4) {
    result.note = fmt::format("{} has too little room", folder.string());
    return result;
  }
  const Budget budget(budget_s);
  const StorageFile file(folder, bytes, seed);
  if (!file.direct())
    result.note = fmt::format("{} does not pass the page cache by: times are of memory", folder.string());
  std::vector<StorageCase> cases = storage_cases(quick);
  shuffle(cases, seed);
  std::size_t done = 0;
  for (const StorageCase& c : cases) {
    if (budget.spent()) break;
    const Spread spread = file.time(c);
    result.file.add(CsvRow(gpu, version, c.write ? "write" : "read", c.threads, c.bytes, spread,
                           static_cast<double>(c.threads) * static_cast<double>(c.bytes) / spread.median / 1e6));
    ++done;
  }
  if (done < cases.size()) {
    result.note += fmt::format("{}{} of {} cases left out after {:g} s", result.note.empty() ? "" : "; ",
                               cases.size() - done, cases.size(), budget_s);
  }
  return result;
}

}  // namespace kvsim::calibrate
