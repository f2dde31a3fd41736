// Writes the timeline as Chrome trace-event JSON, which opens in Perfetto (ui.perfetto.dev) and chrome://tracing. It is
// streamed: memory does not grow with the length of the run.
// Source: "Trace Event Format", Google, 2016; Perfetto's documentation, "Chrome JSON format".
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

#include "sim/engine/trace.h"

namespace kvsim::engine {

/// A group becomes a process, a track a thread, both in the order of their declaration, but GPUs before links; one on
/// which nothing happens is left out. A slice becomes a complete event ("X"): its name is what happened, to which
/// request; its category is what happened alone; its `args` hold the request, and the value as requests (on the track
/// kGpuRow, trace.h) or bytes. A counter becomes counter events ("C"), one whenever it changes. Times are
/// microseconds with three decimals: nanoseconds, exactly.
class ChromeTrace final : public TraceSink {
 public:
  /// Writes to `out`, which must outlive the trace, and whose state tells of what could not be written.
  explicit ChromeTrace(std::ostream& out);
  /// Closes the JSON if close() did not.
  ~ChromeTrace() override;
  ChromeTrace(const ChromeTrace&) = delete;
  ChromeTrace& operator=(const ChromeTrace&) = delete;

  int add_track(std::string_view group, std::string_view name) override;
  int add_counter(std::string_view group, std::string_view name) override;
  void slice(int track, std::string_view name, SimTime begin, SimTime end, std::uint64_t owner, double value) override;
  void counter(int counter, SimTime at, double value) override;

  /// Completes the JSON and flushes it. Nothing may be traced afterwards; closing again does nothing.
  void close();

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace kvsim::engine
