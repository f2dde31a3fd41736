// What every trace reader checks of a request before it becomes one. Internal to the trace readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "models/workload/line_reader.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {

class TraceBuilder {
 public:
  /// Throws schema::InputError where an option makes no sense.
  TraceBuilder(const LineReader& lines, const TraceOptions& options);

  /// Whether the requested number of requests is there: stop reading.
  [[nodiscard]] bool full() const { return options_.max_requests > 0 && requests_.size() >= options_.max_requests; }

  /// Fails at `byte` of the current line unless 1 <= tokens <= max_request_tokens.
  void check_tokens(std::string_view field, std::int64_t tokens, std::size_t byte) const;

  /// Adds a request that arrives `arrival_ns` after the trace's start, which `byte` of the current line says; fails
  /// there where that is negative, beyond a hundred years or before the previous request's. Lengths must have been
  /// checked.
  void add(std::int64_t arrival_ns, std::size_t byte, std::int64_t prompt_tokens, std::int64_t output_tokens,
           std::vector<std::uint64_t> prefix_blocks = {});

  [[nodiscard]] bool empty() const { return requests_.empty(); }
  [[nodiscard]] std::vector<RequestSpec> take() { return std::move(requests_); }

 private:
  const LineReader& lines_;
  TraceOptions options_;
  std::int64_t last_ns_ = 0;
  std::vector<RequestSpec> requests_;
};

/// Seconds, milliseconds, ... to nanoseconds, rounded; max_arrival_ns + 1 or -1 where out of range or not a number.
std::int64_t to_arrival_ns(double value, double ns_per_unit);

// One reader a format.
void read_mooncake_trace(LineReader& lines, TraceBuilder& trace);
void read_bailian_trace(LineReader& lines, TraceBuilder& trace);
void read_azure_trace(LineReader& lines, TraceBuilder& trace);
void read_csv_trace(LineReader& lines, TraceBuilder& trace);
void read_vllm_bench_trace(LineReader& lines, TraceBuilder& trace);

}  // namespace kvsim::models
