#include "tests/cli/terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace kvsim::test {

std::string on_terminal(const std::vector<std::string>& arguments, const std::string& folder,
                        const std::map<std::string, std::string>& environment, unsigned short columns) {
  winsize size{};
  size.ws_row = 50;
  size.ws_col = columns;
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child < 0) throw std::runtime_error("no pseudo-terminal");
  if (child == 0) {
    if (::chdir(folder.c_str()) != 0) ::_exit(127);
    ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);  // progress is another matter
    ::unsetenv("NO_COLOR");
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<std::string> words{KVSIM_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  std::string text;
  std::array<char, 4096> buffer{};
  // Reading fails with EIO once the other side is closed.
  for (ssize_t n = 0; (n = ::read(terminal, buffer.data(), buffer.size())) > 0;) {
    for (ssize_t i = 0; i < n; ++i) {
      if (buffer[static_cast<std::size_t>(i)] != '\r') text += buffer[static_cast<std::size_t>(i)];
    }
  }
  ::close(terminal);
  ::waitpid(child, nullptr, 0);
  return text;
}

}  // namespace kvsim::test
