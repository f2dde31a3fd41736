#include "tools/cli/output_files.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

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

[[noreturn]] void fail(const std::string& path, int error) {
  throw OutputError(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

/// What a file is called until it is whole.
std::string temporary_name(std::string_view name, ::pid_t process, unsigned number) {
  return fmt::format(".{}.{}-{}.tmp", name, process, number);
}

/// The process that called a file so until it would be whole; none where the name has another form.
std::optional<::pid_t> writer_of(std::string_view temporary, std::string_view name) {
  ::pid_t process = 0;
  unsigned number = 0;
  const std::size_t begin = std::min(name.size() + 2, temporary.size());
  const char* const end = temporary.data() + temporary.size();
  const auto [dash, no_process] = std::from_chars(temporary.data() + begin, end, process);
  if (no_process != std::errc{} || dash == end) return std::nullopt;
  if (std::from_chars(dash + 1, end, number).ec != std::errc{} || process <= 0) return std::nullopt;
  return temporary == temporary_name(name, process, number) ? std::optional(process) : std::nullopt;
}

bool is_another_living(::pid_t process) {
  return process != ::getpid() && (::kill(process, 0) == 0 || errno != ESRCH);
}

/// An open file that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }
  /// Closes now; returns errno, 0 if all went well.
  int close() {
    const int result = ::close(number_);
    number_ = -1;
    return result == 0 ? 0 : errno;
  }

 private:
  int number_;
};

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
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) fail(path, EISDIR);
    throw OutputError(fmt::format("cannot write {}: it exists and is no regular file", path));
  }
  if (!target.has_filename()) fail(path, EISDIR);
  constexpr int mode = 0666;  // less the umask, as for any file
  while (true) {
    temporary_ = (target.parent_path() / temporary_name(target.filename().string(), ::getpid(), counter++)).string();
    const Descriptor file(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file.get() >= 0) return;
    const int error = errno;
    temporary_.clear();
    // An earlier process of this number was killed, as the first of a container always has the same.
    if (error != EEXIST) fail(path, error);
  }
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

PendingFile::~PendingFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void PendingFile::write(std::string_view text) const {
  Descriptor file(::open(temporary_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (file.get() < 0) fail(path_, errno);
  if (const int error = write_all(file.get(), text); error != 0) fail(path_, error);
  if (const int error = file.close(); error != 0) fail(path_, error);
}

void PendingFile::commit() {
  {
    // To disk before the name changes, so that a crash cannot leave the name with half the contents.
    Descriptor file(::open(temporary_.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0 || ::fsync(file.get()) != 0) fail(path_, errno);
    if (const int error = file.close(); error != 0) fail(path_, error);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, errno);
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

OutputFolder::OutputFolder(std::string path, const std::vector<std::string>& names, std::vector<std::string> inputs)
    : path_(std::move(path)), names_(names), inputs_(std::move(inputs)) {
  for (const std::string& name : names) refuse_input("--out", (fs::path(path_) / name).string(), inputs_);
  note_signals();
  try {
    make();
    const PendingFile probe((fs::path(path_) / names.front()).string());
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
  for (const std::string& folder : made_) {
    if (::rmdir(folder.c_str()) != 0) return;  // there is something in it
  }
}

void OutputFolder::remove_leftovers() const noexcept try {
  std::error_code error;
  for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
    const std::string temporary = at->path().filename().string();
    for (const std::string& name : names_) {
      const auto writer = writer_of(temporary, name);
      if (writer && !is_another_living(*writer)) ::unlink(at->path().c_str());
    }
  }
} catch (const std::exception&) {  // no memory for a name: it stays
}

void OutputFolder::write(const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [name, text] : files) refuse_input("--out", (fs::path(path_) / name).string(), inputs_);
  std::vector<PendingFile> pending;
  for (const auto& [name, text] : files) {
    pending.emplace_back((fs::path(path_) / name).string());
    pending.back().write(text);
  }
  for (PendingFile& file : pending) file.commit();
}

}  // namespace kvsim::cli
