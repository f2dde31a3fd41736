// Internal: where a timeline goes.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

namespace kvsim::engine {

class TraceOutput {
 public:
  virtual ~TraceOutput() = default;
  /// A failure is remembered and reported by close().
  virtual void write(std::string_view text) = 0;
  /// Flushes; throws TraceWriteError if anything could not be written.
  virtual void close() = 0;
};

/// Throws TraceWriteError if the file cannot be created.
std::unique_ptr<TraceOutput> open_trace_file(const std::string& path, bool gzip);
std::unique_ptr<TraceOutput> borrow_trace_stream(std::ostream& out);

}  // namespace kvsim::engine
