#include "tools/cli/output_files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>

#include "models/schema/error.h"
#include "tools/cli/console.h"
#include "tools/cli/signals.h"

namespace kvsim::cli {
namespace {

namespace fs = std::filesystem;

/// Name of a file until it is whole.
std::string temporary_name(std::string_view name, ::pid_t process, unsigned number) {
  return fmt::format(".{}.{}-{}.tmp", name, process, number);
}

/// Throws OutputError where no file can have this name: a folder or a device has it.
void refuse_other_kinds(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
  if (S_ISDIR(status.st_mode)) output::cannot_write(path, EISDIR);
  throw OutputError(fmt::format("cannot write {}: it exists and is no regular file", path));
}

// Passes bytes on to a stream, whose state remembers a failure. Boost's own adapters lose a short write.
struct StreamSink {
  using char_type = char;
  using category = boost::iostreams::sink_tag;

  std::ostream* out;

  std::streamsize write(const char* bytes, std::streamsize count) const {
    out->write(bytes, count);
    return count;
  }
};

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const auto whole = [&error](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(path, error), error);
  };
  return whole(a) == whole(b) || fs::equivalent(a, b, error);
}

void refuse_input(std::string_view option, const std::string& output, std::span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    std::error_code ignored;  // what is not there is no input
    if (!fs::equivalent(output, input, ignored)) continue;
    throw schema::InputError(fmt::format(
        "{}: {} is an input of this command, which it would write over: expected another name", option, output));
  }
}

void refuse_to_overwrite(const std::string& path, bool force) {
  std::error_code error;
  if (!path.empty() && !force && fs::exists(path, error)) {
    throw schema::InputError(fmt::format("{} exists already; --force replaces it", path));
  }
}

PendingFile::PendingFile(const std::string& path) : path_(path) {
  note_signals();
  static std::atomic<unsigned> counter{0};
  const fs::path target(path);
  refuse_other_kinds(path);
  if (!target.has_filename()) output::cannot_write(path, EISDIR);
  constexpr int mode = 0666;  // less the umask, as for any file
  while (true) {
    temporary_ = (target.parent_path() / temporary_name(target.filename().string(), ::getpid(), counter++)).string();
    const output::Descriptor file(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file.get() >= 0) return;
    const int error = errno;
    temporary_.clear();
    // An earlier process of this number was killed, as the first of a container always has the same.
    if (error != EEXIST) output::cannot_write(path, error);
  }
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

PendingFile::~PendingFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void PendingFile::write(std::string_view text) const {
  output::write_file(temporary_, text, path_);
}

void PendingFile::commit() {
  // To disk before the name changes, so that a crash cannot leave the name with half the contents.
  output::flush_file(temporary_, path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) output::cannot_write(path_, errno);
  temporary_.clear();
}

void PendingFile::commit_to(const output::LockedFolder& folder) {
  folder.adopt(fs::path(path_).filename().string(), temporary_);
  temporary_.clear();
}

struct PendingStream::State {
  explicit State(const std::string& path)
      : pending(path), file(pending.temporary(), std::ios::binary | std::ios::trunc) {
    if (!path.ends_with(".gz")) return;
    gzip.push(boost::iostreams::gzip_compressor());
    gzip.push(StreamSink{&file});
  }

  PendingFile pending;
  std::ofstream file;
  boost::iostreams::filtering_ostream gzip;  // empty where nothing is packed
};

PendingStream::PendingStream(const std::string& path) : state_(std::make_unique<State>(path)) {}
PendingStream::~PendingStream() = default;
PendingStream::PendingStream(PendingStream&& other) noexcept = default;

std::ostream& PendingStream::out() {
  return state_->gzip.empty() ? static_cast<std::ostream&>(state_->file) : state_->gzip;
}

void PendingStream::close() {
  const bool packed = state_->gzip.empty() || state_->gzip.good();  // a stream without filters is never good
  if (!state_->gzip.empty()) state_->gzip.reset();                  // writes the rest and the checksum to the file
  state_->file.close();
  if (!packed || !state_->file) {
    throw OutputError(fmt::format("cannot write {} (is the disk full?)", state_->pending.path()));
  }
}

void PendingStream::commit() {
  state_->pending.commit();
}

void PendingStream::commit_to(const output::LockedFolder& folder) {
  state_->pending.commit_to(folder);
}

const PendingFile& PendingStream::file() const {
  return state_->pending;
}

OutputFolder::OutputFolder(std::string path, const std::vector<std::string>& names, std::vector<std::string> inputs)
    : path_(std::move(path)), inputs_(std::move(inputs)) {
  for (const std::string& name : names) refuse_input("--out", (fs::path(path_) / name).string(), inputs_);
  note_signals();
  try {
    make();
    for (const std::string& name : names) refuse_other_kinds((fs::path(path_) / name).string());
    lock_.emplace(path_, names.front());
    const std::vector<std::string>& traces = lock_->lock().traces();
    made_.insert(made_.begin(), traces.begin(), traces.end());
    if (!lock_->lock().is_alone()) {
      Console::complain(fmt::format(
          "warning: {}: the file system has no locks: let no other kvsim write there at the same time", path_));
    }
  } catch (...) {
    remove_if_empty();
    throw;
  }
}

OutputFolder::~OutputFolder() {
  remove_if_empty();
}

void OutputFolder::make() {
  std::error_code error;
  fs::path folder = fs::path(path_).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "results/"
  for (fs::path at = folder; !at.empty() && !fs::exists(at, error) && !error; at = at.parent_path()) {
    made_.push_back(at.string());
  }
  fs::create_directories(folder, error);
  if (error) throw OutputError(fmt::format("cannot make folder {}: {}", path_, error.message()));
}

void OutputFolder::remove_if_empty() noexcept {
  lock_.reset();
  for (const std::string& path : made_) {
    if (::rmdir(path.c_str()) != 0 && errno != ENOENT) return;  // there is something in it
  }
}

void OutputFolder::write(const std::vector<std::pair<std::string, std::string>>& files, const SetTraits& traits) {
  output::FileSet set{{}, traits.journal, traits.interrupted};
  for (const auto& [name, text] : files) {
    const std::string path = (fs::path(path_) / name).string();
    refuse_input("--out", path, inputs_);
    refuse_other_kinds(path);
  }
  for (const auto& [name, text] : files) {
    const bool timed = std::find(traits.timed.begin(), traits.timed.end(), name) != traits.timed.end();
    lock_->add(name, text);
    set.files.push_back({name, timed ? std::nullopt : std::optional(output::checksum_of(text))});
  }
  for (PendingStream* stream : traits.streams) {
    const PendingFile& file = stream->file();
    const fs::path parent = fs::path(file.path()).parent_path();
    const std::string name = fs::path(file.path()).filename().string();
    if (!same_file(parent.empty() ? "." : parent.string(), path_) || !output::can_list(name)) continue;
    set.files.push_back({name, output::checksum_of_file(file.temporary())});
    stream->commit_to(*lock_);
  }
  std::vector<std::string> read_here;
  for (const std::string& input : inputs_) {
    const fs::path parent = fs::path(input).parent_path();
    if (!same_file(parent.empty() ? "." : parent.string(), path_)) continue;
    read_here.push_back(fs::path(input).filename().string());
  }
  lock_->replace(std::move(set), read_here);
  for (PendingStream* stream : traits.streams) {
    if (!stream->file().temporary().empty()) stream->commit();
  }
}

}  // namespace kvsim::cli
