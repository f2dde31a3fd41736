#include "tools/cli/status_line.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tools/cli/console.h"

namespace kvsim::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenLines{100};

bool on_terminal() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

}  // namespace

StatusLine::StatusLine() : enabled_(on_terminal()), begin_(Clock::now()), shown_(begin_) {}

StatusLine::~StatusLine() {
  if (visible_) static_cast<void>(write_all(STDERR_FILENO, "\r\x1b[K"));
}

bool StatusLine::due() const {
  return enabled_ && Clock::now() - shown_ >= kBetweenLines;
}

double StatusLine::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void StatusLine::show(const std::string& text) {
  if (!enabled_) return;
  shown_ = Clock::now();
  visible_ = true;
  static_cast<void>(write_all(STDERR_FILENO, "\r" + text + "\x1b[K"));
}

}  // namespace kvsim::cli
