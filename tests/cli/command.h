// Runs a program and keeps what it said.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace kvsim::test {

struct CommandResult {
  int status = -1;  ///< exit status; 128 + the signal that killed it
  std::string out;
  std::string err;
};

/// Where a child's output goes instead of into the result.
struct Redirect {
  std::string out;     ///< a path, e.g. /dev/full; empty: captured
  std::string folder;  ///< working directory; empty: this one
};

/// A running kvsim. Its output goes to files in a folder of its own, so that it never blocks.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command, const Redirect& redirect = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t id() const { return id_; }
  /// Waits for its end.
  CommandResult wait();

 private:
  std::string out_path_, err_path_;
  pid_t id_ = -1;
};

/// kvsim with these arguments.
CommandResult kvsim(const std::vector<std::string>& arguments, const Redirect& redirect = {});
/// A line for /bin/sh, in which "$KVSIM" is the binary.
CommandResult shell(const std::string& line, const Redirect& redirect = {});

std::string read_file(const std::string& path);

}  // namespace kvsim::test
