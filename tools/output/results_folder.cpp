#include "tools/output/results_folder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <boost/crc.hpp>

#include "models/schema/error.h"

namespace kvsim::output {
namespace {

namespace fs = std::filesystem;
using schema::InputError;

constexpr const char* kLock = "lock";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kNew = "new";
constexpr const char* kSwap = "swap";
// A name that no file of the folder can have.
constexpr std::string_view kNextManifest = kOwnFolder;

/// Another process has locked the folder.
class Busy : public OutputError {
 public:
  using OutputError::OutputError;
};

std::string join(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

std::string own(const std::string& folder) {
  return join(folder, kOwnFolder);
}

/// None where there is no such file. Throws InputError where it cannot be read.
std::optional<std::string> text_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw InputError(path + ": cannot be read");
  return text;
}

/// The manifest that replaces a damaged one does not depend on it.
Manifest manifest_or_none(const std::string& path) {
  try {
    const auto text = text_of(path);
    return text ? parsed_manifest(path, *text) : Manifest{};
  } catch (const InputError&) {
    return {};
  }
}

bool is_unchanged(const std::string& folder, const FileSet::File& file) {
  return !file.checksum || checksum_of_file(join(folder, file.name)) == file.checksum;
}

void move_file(const std::string& from, const std::string& to) {
  // It may have been moved before: by a process that was killed then, or, without locks, by another one.
  if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) cannot_write(to, errno);
}

/// Removes a folder of kvsim's own with the files in it.
void discard(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    ::unlink(at->path().c_str());
  }
  ::rmdir(folder.c_str());
}

std::string decided_in(const std::string& folder) {
  return join(join(own(folder), kSwap), kNextManifest);
}

bool is_pending(const std::string& folder) {
  struct stat status {};
  return ::stat(decided_in(folder).c_str(), &status) == 0;
}

/// Moves the files of a decided set up. Each step may have been done before.
void complete_swap(const std::string& folder) {
  const std::string swap = join(own(folder), kSwap), manifest = join(own(folder), kManifest);
  const std::string decided = decided_in(folder);
  if (const auto text = text_of(decided)) {
    const Manifest now = parsed_manifest(decided, *text);
    for (const FileSet& set : now.sets) {
      for (const FileSet::File& file : set.files) move_file(join(swap, file.name), join(folder, file.name));
    }
    for (const FileSet& set : manifest_or_none(manifest).sets) {
      for (const FileSet::File& file : set.files) {
        if (now.set_of(file.name) == nullptr && is_unchanged(folder, file)) {
          ::unlink(join(folder, file.name).c_str());
        }
      }
    }
    flush_folder(folder);
    if (now.sets.empty()) {
      ::unlink(manifest.c_str());
      ::unlink(decided.c_str());
    } else {
      move_file(decided, manifest);
    }
    flush_folder(own(folder));
  }
  ::rmdir(swap.c_str());
}

/// The file system has no locks.
bool lacks_locks(int error) {
  return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP || error == EINVAL;
}

/// The fault of a set in words; empty where it is whole.
std::string what_is_wrong(const std::string& folder, const FileSet& set) {
  const auto is_there = [&folder](const std::string& name) {
    std::error_code error;
    return fs::is_regular_file(join(folder, name), error);
  };
  for (const FileSet::File& file : set.files) {
    if (!is_there(file.name)) return file.name + " is missing";
    if (!is_unchanged(folder, file)) return file.name + " is not as it was written";
  }
  if (!set.journal.empty() && !is_there(set.journal)) return set.journal + " is missing";
  return {};
}

std::string what_is_wrong(const std::string& folder, const Manifest& manifest, std::string_view name) {
  for (const FileSet& set : manifest.sets) {
    if (!name.empty() && !set.has(name)) continue;
    const std::string wrong = what_is_wrong(folder, set);
    if (wrong.empty()) continue;
    std::vector<std::string> names;
    for (const FileSet::File& file : set.files) names.push_back(file.name);
    return fmt::format(
        "incomplete: {}, of {}, which belong together; write them again, or remove {} to take the files "
        "as they are",
        wrong, fmt::join(names, ", "), own(folder));
  }
  return {};
}

constexpr std::chrono::milliseconds kBetweenTries{20};
constexpr int kTries = 10;     // of a lock
constexpr int kPatience = 50;  // with a writer that is completing a swap

}  // namespace

Checksum checksum_of(std::string_view text) {
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  return {text.size(), crc.checksum()};
}

std::optional<Checksum> checksum_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  boost::crc_32_type crc;
  std::uint64_t bytes = 0;
  std::vector<char> chunk(std::size_t{1} << 16U);
  while (file) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    crc.process_bytes(chunk.data(), count);
    bytes += count;
  }
  return file.bad() ? std::nullopt : std::optional(Checksum{bytes, crc.checksum()});
}

FolderLock::FolderLock(const std::string& folder, const std::string& path)
    : traces_{join(own(folder), kLock), own(folder)} {
  const std::string& name = traces_.front();
  constexpr int folder_mode = 0777, mode = 0666;  // less the umask
  for (int tries = 0; file_ < 0;) {
    struct stat opened {
    }, named{};
    if (::mkdir(traces_.back().c_str(), folder_mode) != 0 && errno != EEXIST) cannot_write(path, errno);
    if (::lstat(traces_.back().c_str(), &named) == 0 && !S_ISDIR(named.st_mode)) cannot_write(path, ENOTDIR);
    const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file < 0 && errno == ENOENT) continue;  // the process that had it has just removed it
    if (file < 0) cannot_write(path, errno);
    alone_ = ::flock(file, LOCK_EX | LOCK_NB) == 0;
    const int error = alone_ ? 0 : errno;
    // The process that had it may have removed it: then what this process has locked is no longer the lock.
    const bool there = ::fstat(file, &opened) == 0 && ::stat(name.c_str(), &named) == 0 &&
                       opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
    if (there && (alone_ || lacks_locks(error))) {
      file_ = file;
      return;
    }
    ::close(file);
    if (error == EWOULDBLOCK) {
      // A reader that completes a swap has it for a moment.
      if (++tries == kTries) throw Busy(fmt::format("another kvsim is at work in {}", folder));
      std::this_thread::sleep_for(kBetweenTries);
    } else if (error != 0 && !lacks_locks(error)) {
      cannot_write(path, error);
    }
  }
}

FolderLock::~FolderLock() {
  ::unlink(traces_.front().c_str());
  ::close(file_);
  ::rmdir(traces_.back().c_str());  // where no manifest is in it
}

LockedFolder::LockedFolder(const std::string& folder, const std::string& first)
    : folder_(folder), lock_(folder, join(folder, first)) {
  complete_swap(folder_);
  discard(join(own(folder_), kNew));
}

LockedFolder::~LockedFolder() {
  discard(join(own(folder_), kNew));
}

std::string LockedFolder::staged(const std::string& name) const {
  const std::string folder = join(own(folder_), kNew);
  constexpr int mode = 0777;  // less the umask
  if (::mkdir(folder.c_str(), mode) != 0 && errno != EEXIST) cannot_write(join(folder_, name), errno);
  return join(folder, name);
}

void LockedFolder::write_alone(const std::string& name, std::string_view text) const {
  const std::string place = staged(name), path = join(folder_, name);
  write_file(place, text, path);
  if (::rename(place.c_str(), path.c_str()) != 0) cannot_write(path, errno);
}

void LockedFolder::add(const std::string& name, std::string_view text) const {
  write_file(staged(name), text, join(folder_, name));
}

void LockedFolder::adopt(const std::string& name, const std::string& from) const {
  flush_file(from, join(folder_, name));
  if (::rename(from.c_str(), staged(name).c_str()) != 0) cannot_write(join(folder_, name), errno);
}

/// Takes inputs out of the sets that the folder has now.
void LockedFolder::release(Manifest& manifest, const std::vector<std::string>& inputs) const {
  std::size_t released = 0;
  for (FileSet& set : manifest.sets) {
    released += std::erase_if(set.files, [&inputs](const FileSet::File& file) {
      return std::find(inputs.begin(), inputs.end(), file.name) != inputs.end();
    });
  }
  if (released == 0) return;
  std::erase_if(manifest.sets, [](const FileSet& set) { return set.files.empty(); });
  const std::string place = staged(std::string(kNextManifest)), path = join(own(folder_), kManifest);
  write_file(place, manifest_text(manifest), path);
  if (::rename(place.c_str(), path.c_str()) != 0) cannot_write(path, errno);
}

void LockedFolder::replace(FileSet set, const std::vector<std::string>& inputs) const {
  const auto by_name = [](const FileSet::File& a, const FileSet::File& b) { return a.name < b.name; };
  std::sort(set.files.begin(), set.files.end(), by_name);
  Manifest manifest = manifest_or_none(join(own(folder_), kManifest));
  release(manifest, inputs);
  std::erase_if(manifest.sets, [&set](const FileSet& old) {
    const auto in_old = [&old](const FileSet::File& file) { return old.has(file.name); };
    return std::any_of(set.files.begin(), set.files.end(), in_old);
  });
  manifest.sets.push_back(std::move(set));
  std::sort(manifest.sets.begin(), manifest.sets.end(),
            [](const FileSet& a, const FileSet& b) { return a.files.front().name < b.files.front().name; });
  swap_in(manifest);
}

void LockedFolder::forget(const std::string& journal) const {
  Manifest manifest = manifest_or_none(join(own(folder_), kManifest));
  if (std::erase_if(manifest.sets, [&](const FileSet& set) { return set.journal == journal; }) > 0) swap_in(manifest);
}

void LockedFolder::swap_in(const Manifest& manifest) const {
  const std::string swap = join(own(folder_), kSwap);
  write_file(staged(std::string(kNextManifest)), manifest_text(manifest), join(own(folder_), kManifest));
  flush_folder(join(own(folder_), kNew));
  if (::rename(join(own(folder_), kNew).c_str(), swap.c_str()) != 0) cannot_write(swap, errno);
  flush_folder(own(folder_));
  complete_swap(folder_);
}

void settle(const std::string& folder) {
  for (int tries = 0; is_pending(folder); ++tries) {
    try {
      const FolderLock lock(folder, own(folder));
      complete_swap(folder);
    } catch (const Busy& busy) {
      if (tries == kPatience) throw InputError(busy.what());
    } catch (const OutputError& error) {
      throw InputError(
          fmt::format("{}: incomplete: the kvsim that replaced these results was ended, and they cannot be "
                      "completed: {}",
                      folder, error.what()));
    }
  }
}

std::optional<Manifest> checked_folder(const std::string& folder, std::string_view name) {
  const std::string path = join(own(folder), kManifest);
  while (true) {
    settle(folder);
    const auto text = text_of(path);
    if (!text && is_pending(folder)) continue;
    if (!text) return std::nullopt;
    Manifest manifest = parsed_manifest(path, *text);
    const std::string wrong = what_is_wrong(folder, manifest, name);
    if (wrong.empty()) return manifest;
    if (is_pending(folder) || text_of(path) != text) continue;  // another process replaces the set
    throw InputError(fmt::format("{}: {}", folder, wrong));
  }
}

std::string read_checked(const std::string& path, const std::function<std::string()>& read) {
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string(), name = fs::path(path).filename().string();
  while (true) {
    const std::optional<Manifest> manifest = checked_folder(folder, name);
    std::string text = read();
    const FileSet* set = manifest ? manifest->set_of(name) : nullptr;
    if (set == nullptr) return text;
    const auto file =
        std::find_if(set->files.begin(), set->files.end(), [&](const FileSet::File& f) { return f.name == name; });
    if (file == set->files.end() || !file->checksum || checksum_of(text) == *file->checksum) return text;
  }
}

}  // namespace kvsim::output
