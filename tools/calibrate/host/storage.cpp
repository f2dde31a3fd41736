#include "tools/calibrate/host/storage.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

constexpr std::int64_t kAlignment = 4096;
constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;
constexpr int kMostThreads = 16;

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  throw std::runtime_error(fmt::format("{}: cannot {} ({})", path.string(), what, std::strerror(errno)));
}

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

/// Memory as direct I/O wants it.
class StorageFile::Block {
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

/// A thread's block, and where it goes or comes from.
class StorageFile::Worker {
 public:
  Worker(const StorageFile& file, const StorageCase& c, int thread, std::atomic<int>& wrong, std::atomic<int>& failed)
      : file_(file), c_(c), thread_(thread), block_(c.bytes), wrong_(wrong), failed_(failed) {
    fill_host(block_.get(), static_cast<std::size_t>(c.bytes), file.seed_);
  }
  void prepare(std::uint64_t round) {
    const auto places = static_cast<std::uint64_t>(file_.bytes_ / c_.bytes);
    const std::uint64_t random =
        random_bits(file_.seed_ + 1 + static_cast<std::uint64_t>(thread_), round + (c_.write ? 1ULL << 32 : 0));
    offset_ = static_cast<std::int64_t>(random % places) * c_.bytes;
    if (c_.write) fill(block_.get(), c_.bytes, offset_, file_.seed_);  // what stands there already
  }
  void run() {
    const int descriptor = file_.file_;
    moved_ = c_.write ? move_all(block_.get(), c_.bytes, offset_,
                                 [descriptor](const std::byte* from, std::size_t count, std::int64_t at) {
                                   return ::pwrite(descriptor, from, count, at);
                                 })
                      : move_all(block_.get(), c_.bytes, offset_,
                                 [descriptor](std::byte* to, std::size_t count, std::int64_t at) {
                                   return ::pread(descriptor, to, count, at);
                                 });
  }
  void check() {
    if (!moved_) {
      ++failed_;
      return;
    }
    for (std::int64_t at = 0; at < c_.bytes; at += kAlignment) {
      std::uint64_t word = 0;
      std::memcpy(&word, block_.get() + at, sizeof word);
      if (word != first_word(file_.seed_, (offset_ + at) / kAlignment)) ++wrong_;
    }
  }

 private:
  const StorageFile& file_;
  const StorageCase& c_;
  int thread_;
  Block block_;
  std::atomic<int>&wrong_, &failed_;
  std::int64_t offset_ = 0;
  bool moved_ = false;
};

Spread StorageFile::time(const StorageCase& c) const {
  std::atomic<int> wrong{0}, failed{0};
  const Spread spread = time_rounds(c.threads, [&](int thread) { return Worker(*this, c, thread, wrong, failed); });
  if (failed.load() > 0) throw std::runtime_error(fmt::format("storage: {} transfers failed", failed.load()));
  if (wrong.load() > 0) {
    throw std::runtime_error(fmt::format("storage: {} pages are not what was written", wrong.load()));
  }
  return spread;
}

HostTable measure_storage(const std::filesystem::path& folder, bool quick, double budget_s, std::uint64_t seed,
                          const std::string& gpu, const std::string& version) {
  HostTable table{CsvFile(host_columns("storage_operation")), {}};
  constexpr std::int64_t kWhole = std::int64_t{4} << 30, kQuick = std::int64_t{256} << 20;
  const std::int64_t free = static_cast<std::int64_t>(std::filesystem::space(folder).available / 4);
  const std::int64_t bytes = std::min(quick ? kQuick : kWhole, free) / kMostBytes * kMostBytes;
  if (bytes < kMostThreads * kMostBytes / 4) {
    table.note = fmt::format("{} has too little room", folder.string());
    return table;
  }
  const StorageFile file(folder, bytes, seed);
  if (!file.direct()) {
    table.note = fmt::format("{} does not pass the page cache by: times are of memory", folder.string());
  }
  table.fill(storage_cases(quick), budget_s, seed, [&](const StorageCase& c) {
    const Spread spread = file.time(c);
    return CsvRow(gpu, version, c.write ? "write" : "read", c.threads, c.bytes, spread,
                  static_cast<double>(c.threads) * static_cast<double>(c.bytes) / spread.median / 1e6);
  });
  return table;
}

}  // namespace kvsim::calibrate
