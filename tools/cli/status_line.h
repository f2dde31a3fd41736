// One line on the terminal that says how far things have come.
#pragma once

#include <chrono>
#include <string>

namespace kvsim::cli {

/// Shows nothing unless stderr is a terminal; gone when it is destroyed. For one thread at a time.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  [[nodiscard]] bool enabled() const { return enabled_; }
  /// Whether the line that is shown is old enough for another one.
  [[nodiscard]] bool due() const;
  /// Since the line was made.
  [[nodiscard]] double elapsed_s() const;
  void show(const std::string& text);

 private:
  bool enabled_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point shown_;
  bool visible_ = false;
};

}  // namespace kvsim::cli
