#include "tools/output/write_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace kvsim::output {

void cannot_write(const std::string& path, int error) {
  throw OutputError(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

int Descriptor::close() {
  const int result = ::close(number_);
  number_ = -1;
  return result == 0 ? 0 : errno;
}

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void write_file(const std::string& place, std::string_view text, const std::string& path) {
  constexpr int mode = 0666;  // less the umask, as for any file
  Descriptor file(::open(place.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (file.get() < 0) cannot_write(path, errno);
  if (const int error = write_all(file.get(), text); error != 0) cannot_write(path, error);
  if (::fsync(file.get()) != 0) cannot_write(path, errno);
  if (const int error = file.close(); error != 0) cannot_write(path, error);
}

void flush_file(const std::string& place, const std::string& path) {
  Descriptor file(::open(place.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0 || ::fsync(file.get()) != 0) cannot_write(path, errno);
  if (const int error = file.close(); error != 0) cannot_write(path, error);
}

void flush_folder(const std::string& folder) {
  const Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.get() >= 0) ::fsync(file.get());
}

}  // namespace kvsim::output
