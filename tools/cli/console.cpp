#include "tools/cli/console.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/text/visible.h"

namespace kvsim::cli {

void Console::print(std::string_view text) const {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == EPIPE) throw ClosedPipe();
  if (error != 0) throw OutputError(fmt::format("cannot write to standard output: {}", std::strerror(error)));
}

void Console::print(const results::Page& page, bool details) const {
  results::TextStyle all = style();
  all.details = details;
  print(results::to_text(page, all));
}

void Console::complain(std::string_view said) {
  static_cast<void>(write_all(STDERR_FILENO, fmt::format("kvsim: {}\n", text::visible(said))));
}

results::TextStyle Console::style() {
  results::TextStyle style;
  if (::isatty(STDOUT_FILENO) == 0) return style;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  style.colour =
      (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
  winsize size{};
  constexpr std::size_t narrowest = 40;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = std::clamp<std::size_t>(size.ws_col, narrowest, style.width);
  }
  return style;
}

void secure_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free descriptor is this one. Read-only: writing to a stdout that is not there must fail.
    if (::open("/dev/null", O_RDONLY) != descriptor) std::_Exit(1);
  }
}

}  // namespace kvsim::cli
