#include "planner/sweep/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
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
  const Json reason = r.reason, assumptions = r.assumptions, fallbacks = r.fallbacks, how_sure = r.how_sure;
  if (!r.simulated()) {
    return fmt::format(R"({{"index":{},"status":"infeasible","reason":{}}})", r.point, reason.dump());
  }
  return fmt::format(R"({{"index":{},"status":"done","result":{},"assumptions":{},"fallbacks":{},"how_sure":{}}})",
                     r.point, r.result, assumptions.dump(), fallbacks.dump(), how_sure.dump());
}

// The checksum is the last key of the line's object, and covers what stands before it.
constexpr std::string_view kSeal = R"(,"crc32":")";
constexpr std::string_view kSealEnd = R"("})";
constexpr std::size_t kDigits = 8;

std::string checksum(std::string_view text) {
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  return fmt::format("{:08x}", crc.checksum());
}

}  // namespace

std::string sealed(std::string_view object) {
  object.remove_suffix(1);
  return fmt::format("{}{}{}{}", object, kSeal, checksum(object), kSealEnd);
}

/// Whether it ends like a line of a journal, whatever the checksum.
static bool has_seal(std::string_view line) {
  const std::size_t end = kDigits + kSealEnd.size();
  return line.ends_with(kSealEnd) && line.size() > end && line.substr(0, line.size() - end).ends_with(kSeal);
}

bool is_intact(std::string_view line) {
  const std::size_t seal = kSeal.size() + kDigits + kSealEnd.size();
  if (line.size() < seal) return false;
  const std::string_view object = line.substr(0, line.size() - seal);
  return line.substr(object.size()) == fmt::format("{}{}{}", kSeal, checksum(object), kSealEnd);
}

namespace {

/// Opens the file, made if it is not there. Throws JournalError.
int opened(const std::string& path) {
  constexpr int mode = 0666;  // less the umask, as for any file
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, mode);
  if (file < 0 && errno == ELOOP) {
    throw JournalError(fmt::format("cannot write {}: it is a symbolic link, and none is followed", path));
  }
  if (file < 0) fail(path, errno);
  return file;
}

/// A file that was made is on the disk when its folder is.
void flush_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;  // not every file system lets folders be opened; the lines themselves are what counts
  ::fsync(file);
  ::close(file);
}

/// Gets what was written to the disk; errno, 0 where all is well or the file is of a kind that has none.
int flushed(int file) {
  return ::fsync(file) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

}  // namespace

Journal::Journal(std::string path, int file) : path_(std::move(path)), file_(file) {
  try {
    flusher_ = std::thread([this] { flush_until_stopped(); });
  } catch (const std::system_error&) {  // no room for a thread: close() gets all of it to the disk
  }
}

std::unique_ptr<Journal> Journal::open(const std::string& path) {
  return std::unique_ptr<Journal>(new Journal(path, opened(path)));
}

bool Journal::empty() const {
  struct stat status {};
  return ::fstat(file_, &status) == 0 && status.st_size == 0;
}

void Journal::keep(std::size_t bytes) {
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail(path_, errno);
  bytes_ = bytes;
}

void Journal::begin(const Plan& plan) {
  write_line(sweep::to_line(plan));
  flush_folder_of(path_);
}

Journal::~Journal() {
  stop();
  if (empty()) ::unlink(path_.c_str());
  ::close(file_);
}

void Journal::append(const PointResult& result) {
  write_line(to_line(result));
}

void Journal::write_line(std::string line) {
  line = sealed(line) + '\n';
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
    const int error = flushed(file_);
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
  if (unflushed_ && error_ == 0) error_ = flushed(file_);
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
    // Sweeps begun by a version that did not write it go on.
    if (json.contains("how_sure")) json.at("how_sure").get_to(result.how_sure);
  } else {
    result.reason = json.at("reason");
    if (result.reason.empty()) throw std::invalid_argument("no reason");
  }
  return result;
}

/// The number that a damaged line begins with, which may itself be what was damaged.
std::optional<std::size_t> claimed_point(std::string_view line) {
  constexpr std::string_view kBegin = R"({"index":)";
  std::size_t point = 0;
  if (!line.starts_with(kBegin)) return std::nullopt;
  const auto [end, error] = std::from_chars(line.data() + kBegin.size(), line.data() + line.size(), point);
  return error == std::errc{} ? std::optional(point) : std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  void read(std::string_view line) {
    const schema::Origin origin = schema::Origin(path_).at(++line_number_, 1);
    if (!contents_) return read_plan(line, origin);
    if (!is_intact(line)) {
      contents_->damaged.push_back({line_number_, claimed_point(line)});
      return;
    }
    PointResult result;
    try {
      result = to_point(line);
    } catch (const std::exception&) {
      throw schema::InputError(origin, "not a line of a sweep's journal");
    }
    if (result.point >= seen_.size() || !contents_->plan.shard.holds(result.point)) {
      throw schema::InputError(origin, fmt::format("point {} is none of this sweep's", result.point));
    }
    if (seen_[result.point]) throw schema::InputError(origin, fmt::format("point {} is there twice", result.point));
    seen_[result.point] = true;
    contents_->points.push_back(std::move(result));
  }

  std::optional<JournalContents> finish(std::size_t bytes) {
    if (!contents_) return std::nullopt;
    contents_->bytes = bytes;
    name_damaged();
    return std::move(contents_);
  }

 private:
  [[noreturn]] static void refuse_damaged(const schema::Origin& origin) {
    throw schema::InputError(origin,
                             "damaged: its checksum is another one, and it says which sweep this is: begin anew in "
                             "another folder, or remove this file");
  }

  void read_plan(std::string_view line, const schema::Origin& origin) {
    constexpr std::string_view kBeginning = R"({"schema_version":)";
    if (has_seal(line) && !is_intact(line)) refuse_damaged(origin);
    JournalContents contents;
    try {
      contents.plan = to_plan(line);
    } catch (const schema::InputError& error) {
      throw schema::InputError(origin, error.what());
    } catch (const std::exception&) {
      if (line.starts_with(kBeginning)) refuse_damaged(origin);
      throw schema::InputError(origin, "not the first line of a sweep's journal");
    }
    if (!is_intact(line)) refuse_damaged(origin);
    seen_.resize(contents.plan.design.size());
    contents_ = std::move(contents);
  }

  /// Leaves only points that lack; none where another line has taken the place of each that was damaged.
  void name_damaged() {
    std::vector<std::size_t> lacking;
    for (const std::size_t point : contents_->plan.points()) {
      if (!seen_[point]) lacking.push_back(point);
    }
    if (lacking.empty()) contents_->damaged.clear();
    for (auto& d : contents_->damaged) {
      if (!std::binary_search(lacking.begin(), lacking.end(), d.point.value_or(seen_.size()))) d.point.reset();
    }
  }

  std::string path_;
  std::optional<JournalContents> contents_;
  std::vector<bool> seen_;
  int line_number_ = 0;
};

}  // namespace

std::string to_string(const JournalContents::Damaged& damaged, const std::string& path) {
  const std::string rest =
      damaged.point ? fmt::format("point {} is simulated again", *damaged.point) : "the line does not count";
  return fmt::format("{}:{}:1: damaged: its checksum is another one; {}", path, damaged.line, rest);
}

std::optional<JournalContents> read_journal(const std::string& path) {
  const std::string text = text_of(path);
  Reader reader(path);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    reader.read(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return reader.finish(begin);
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
    if (!shard->damaged.empty()) {
      const std::string damage = to_string({shard->damaged.front().line, {}}, path);
      refuse(fmt::format("{}; --resume in that folder simulates what lacks", damage));
    }
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
