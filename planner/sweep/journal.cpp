#include "planner/sweep/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

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

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    throw schema::InputError(schema::Origin(path), "there is no such file, expected the journal of a sweep");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw schema::InputError(schema::Origin(path), "cannot be read");
  return text;
}

/// Throws std::exception for what is no such line.
PointResult to_point(std::string_view line) {
  const Json json = Json::parse(line);
  PointResult result;
  result.point = json.at("index");
  if (json.at("status") == "done") {
    result.result = json.at("result").dump();
    json.at("assumptions").get_to(result.assumptions);
    json.at("fallbacks").get_to(result.fallbacks);
  } else {
    result.reason = json.at("reason");
    if (result.reason.empty()) throw std::invalid_argument("no reason");
  }
  return result;
}

}  // namespace

std::optional<JournalContents> read_journal(const std::string& path) {
  const std::string text = text_of(path);
  std::optional<JournalContents> contents;
  std::vector<bool> seen;
  int line_number = 0;
  for (std::size_t begin = 0, end = text.find('\n'); end != std::string::npos;
       begin = end + 1, end = text.find('\n', begin)) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const schema::Origin origin = schema::Origin(path).at(++line_number, 1);
    if (!contents) {
      try {
        contents.emplace();
        contents->plan = to_plan(line);
      } catch (const schema::InputError& error) {
        throw schema::InputError(origin, error.what());
      } catch (const std::exception&) {
        throw schema::InputError(origin, "not the first line of a sweep's journal");
      }
      seen.resize(contents->plan.design.size());
    } else {
      PointResult result;
      try {
        result = to_point(line);
      } catch (const std::exception&) {
        throw schema::InputError(origin, "not a line of a sweep's journal");
      }
      if (result.point >= seen.size() || !contents->plan.shard.holds(result.point)) {
        throw schema::InputError(origin, fmt::format("point {} is none of this sweep's", result.point));
      }
      if (seen[result.point]) throw schema::InputError(origin, fmt::format("point {} is there twice", result.point));
      seen[result.point] = true;
      contents->points.push_back(std::move(result));
    }
    contents->bytes = end + 1;
  }
  return contents;
}

namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw schema::InputError("--merge: " + message);
}

void check_complete(const std::vector<std::string>& paths, const MergedSweep& merged) {
  const std::size_t expected = merged.plan.design.size();
  if (merged.points.size() == expected) return;
  std::size_t first = 0;
  while (first < merged.points.size() && merged.points[first].point == first) ++first;
  refuse(fmt::format("{} of {} points are missing from {} journal{}, the first is point {} ({})",
                     expected - merged.points.size(), expected, paths.size(), paths.size() == 1 ? "" : "s", first,
                     merged.plan.design.describe(first)));
}

}  // namespace

MergedSweep merge_journals(const std::vector<std::string>& paths) {
  std::optional<MergedSweep> merged;
  std::vector<std::string> owner;  // of each point: the journal it was in
  for (auto named = paths.begin(); named != paths.end(); ++named) {
    const std::string& path = *named;
    if (std::find(paths.begin(), named, path) != named) refuse(path + " is named twice");
    std::optional<JournalContents> shard = read_journal(path);
    if (!shard) refuse(path + " is empty");
    if (!merged) {
      merged = MergedSweep{shard->plan, {}};
      owner.resize(shard->plan.design.size());
    }
    const std::string other = difference(merged->plan, shard->plan, false);
    if (!other.empty())
      refuse(fmt::format("{} and {} are not of one sweep: they differ in {}", paths.front(), path, other));
    for (PointResult& result : shard->points) {
      std::string& there = owner[result.point];
      if (!there.empty()) refuse(fmt::format("point {} is in both {} and {}", result.point, there, path));
      there = path;
      merged->points.push_back(std::move(result));
    }
  }
  if (!merged) refuse("no folder was named");
  merged->plan.shard = {};
  std::sort(merged->points.begin(), merged->points.end(),
            [](const PointResult& a, const PointResult& b) { return a.point < b.point; });
  check_complete(paths, *merged);
  return std::move(*merged);
}

}  // namespace kvsim::planner::sweep
