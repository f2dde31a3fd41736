#include "tests/cli/command.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace kvsim::test {
namespace {

std::string temporary_file() {
  std::string path = "/tmp/kvsim-cli-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0) throw std::runtime_error("no temporary file");
  ::close(file);
  return path;
}

[[noreturn]] void become(const std::vector<std::string>& command, const std::string& out, const std::string& err,
                         const std::string& folder) {
  if (!folder.empty() && ::chdir(folder.c_str()) != 0) ::_exit(127);
  const int in_file = ::open("/dev/null", O_RDONLY);
  const int out_file = ::open(out.c_str(), O_WRONLY | O_TRUNC);
  const int err_file = ::open(err.c_str(), O_WRONLY | O_TRUNC);
  if (::dup2(in_file, 0) < 0 || ::dup2(out_file, 1) < 0 || ::dup2(err_file, 2) < 0) ::_exit(127);
  ::signal(SIGINT, SIG_DFL);  // a shell that runs tests in the background has it ignored
  ::setenv("KVSIM", KVSIM_BINARY, 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

std::string read_file(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Child::Child(const std::vector<std::string>& command, const Redirect& redirect)
    : out_path_(temporary_file()), err_path_(temporary_file()) {
  id_ = ::fork();
  if (id_ < 0) throw std::runtime_error("fork failed");
  if (id_ == 0) become(command, redirect.out.empty() ? out_path_ : redirect.out, err_path_, redirect.folder);
}

Child::~Child() {
  if (id_ > 0) wait();
  ::unlink(out_path_.c_str());
  ::unlink(err_path_.c_str());
}

CommandResult Child::wait() {
  int status = 0;
  ::waitpid(id_, &status, 0);
  id_ = -1;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, read_file(out_path_), read_file(err_path_)};
}

CommandResult kvsim(const std::vector<std::string>& arguments, const Redirect& redirect) {
  std::vector<std::string> command{KVSIM_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return Child(command, redirect).wait();
}

CommandResult shell(const std::string& line, const Redirect& redirect) {
  return Child({"/bin/sh", "-c", line}, redirect).wait();
}

}  // namespace kvsim::test
