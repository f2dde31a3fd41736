// Reads and writes of a file system, past the page cache: the tier below host memory. Needs no GPU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/calibrate/host/rounds.h"

namespace kvsim::calibrate {

/// Threads that each move `bytes` once, at the same time.
struct StorageCase {
  bool write = false;
  std::int64_t bytes = 4096;
  int threads = 1;
};

/// Blocks of 4 KiB to 16 MiB by 1 to 16 threads, read and written.
[[nodiscard]] std::vector<StorageCase> storage_cases(bool quick);

/// A file of random bytes that goes when this does.
class StorageFile {
 public:
  /// In `folder`, of `bytes`, a multiple of 16 MiB. Throws std::runtime_error where it cannot be made.
  StorageFile(const std::filesystem::path& folder, std::int64_t bytes, std::uint64_t seed);
  StorageFile(const StorageFile&) = delete;
  StorageFile& operator=(const StorageFile&) = delete;
  ~StorageFile();

  /// Milliseconds from the first thread's start to the last one's end, of rounds at random places of the file; every
  /// block that was read is checked against what was written. Throws std::runtime_error.
  [[nodiscard]] Spread time(const StorageCase& c) const;
  /// Whether the page cache is passed by. Where the file system does not let it, times are of memory, not of the
  /// device.
  [[nodiscard]] bool direct() const { return direct_; }

 private:
  class Block;
  class Worker;
  std::filesystem::path path_;
  std::int64_t bytes_ = 0;
  std::uint64_t seed_ = 0;
  int file_ = -1;
  bool direct_ = false;
};

/// storage.csv, within the budget (making the file comes on top). `gpu` may be empty: no device is used.
[[nodiscard]] HostTable measure_storage(const std::filesystem::path& folder, bool quick, double budget_s,
                                        std::uint64_t seed, const std::string& gpu, const std::string& version);

}  // namespace kvsim::calibrate
