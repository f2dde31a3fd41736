#include "planner/sweep/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/schema/error.h"

namespace kvsim::planner::sweep {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::chrono::milliseconds kBetweenFlushes{100};

[[noreturn]] void fail(const std::string& path, int error) {
  throw JournalError(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

std::string to_line(const PointResult& r) {
  const Json reason = r.reason, assumptions = r.assumptions, fallbacks = r.fallbacks;
  if (!r.simulated()) {
    return fmt::format(R"({{"index":{},"status":"infeasible","reason":{}}})", r.point, reason.dump());
  }
  return fmt::format(R"({{"index":{},"status":"done","result":{},"assumptions":{},"fallbacks":{}}})", r.point, r.result,
                     assumptions.dump(), fallbacks.dump());
}

/// Takes the file for this process alone.
void lock(int file, const std::string& path) {
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) throw JournalError(fmt::format("another kvsim is at work on {}", path));
  fail(path, errno);
}

/// A file that was made is on the disk when its folder is.
void flush_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;  // not every file system lets folders be opened; the lines themselves are what counts
  ::fsync(file);
  ::close(file);
}

}  // namespace

Journal::Journal(std::string path, int file, std::size_t bytes)
    : path_(std::move(path)), file_(file), bytes_(bytes), flusher_([this] { flush_until_stopped(); }) {}

std::unique_ptr<Journal> Journal::begin(const std::string& path, const Plan& plan) {
  constexpr int mode = 0666;  // less the umask, as for any file
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, mode);
  if (file < 0 && errno == EEXIST) {
    throw schema::InputError(fmt::format(
        "{} exists: the folder holds a sweep already; --resume goes on with it, or name another folder", path));
  }
  if (file < 0) fail(path, errno);
  std::unique_ptr<Journal> journal(new Journal(path, file, 0));
  try {
    lock(file, path);
    journal->write_line(sweep::to_line(plan));
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
  flush_folder_of(path);
  return journal;
}

std::unique_ptr<Journal> Journal::resume(const std::string& path, std::size_t bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) fail(path, errno);
  std::unique_ptr<Journal> journal(new Journal(path, file, bytes));
  lock(file, path);
  if (::ftruncate(file, static_cast<off_t>(bytes)) != 0) fail(path, errno);
  return journal;
}

Journal::~Journal() {
  stop();
  ::close(file_);
}

void Journal::append(const PointResult& result) {
  write_line(to_line(result));
}

void Journal::write_line(std::string line) {
  line += '\n';
  const std::lock_guard guard(mutex_);
  if (error_ != 0) fail(path_, error_);
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_ = errno;
      // Half a line at the end would be ignored; half a line within would not.
      if (::ftruncate(file_, static_cast<off_t>(bytes_)) != 0) error_ = errno;
      fail(path_, error_);
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  bytes_ += line.size();
  unflushed_ = true;
  changed_.notify_one();
}

void Journal::flush_until_stopped() {
  std::unique_lock guard(mutex_);
  while (true) {
    changed_.wait(guard, [this] { return unflushed_ || stopping_; });
    if (!unflushed_) return;
    unflushed_ = false;
    guard.unlock();  // nobody waits for the disk
    const int error = ::fsync(file_) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
    guard.lock();
    if (error_ == 0) error_ = error;
    changed_.wait_for(guard, kBetweenFlushes, [this] { return stopping_; });
  }
}

void Journal::stop() {
  if (!flusher_.joinable()) return;
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  flusher_.join();
}

void Journal::close() {
  stop();
  if (error_ != 0) fail(path_, error_);
}

}  // namespace kvsim::planner::sweep
