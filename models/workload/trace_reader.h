// Recorded request traces. Every format is one file here and one line of the table in trace_reader.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/workload/line_reader.h"
#include "models/workload/request_source.h"

namespace kvsim::models {

class LineReader;
class TraceBuilder;

struct TraceFormat {
  std::string_view name;
  std::string_view description;
  std::int64_t block_tokens = 0;  ///< tokens per entry of RequestSpec::prefix_blocks; 0: the format has none
  void (*read)(LineReader& lines, TraceBuilder& trace) = nullptr;
};

inline constexpr double least_time_scale = 1e-6;
inline constexpr double most_time_scale = 1e6;

struct TraceOptions {
  std::uint64_t max_requests = 0;  ///< read only the first so many; 0: all
  double time_scale = 1;           ///< of arrival times, between the two above: 0.5 doubles the rate
};

/// All formats, by name.
std::span<const TraceFormat> trace_formats();

/// Throws schema::InputError naming the nearest format, or all of them.
const TraceFormat& find_trace_format(std::string_view name);

/// The trace's requests, numbered from 0, in order of arrival. Throws schema::InputError (`file:line:column: what is
/// wrong, what was expected`) at the first thing that is not as the format has it. Memory: the requests, and a line.
std::vector<RequestSpec> read_trace(const TraceFormat& format, const std::string& path,
                                    const TraceOptions& options = {});

/// The same from memory; `name` stands for the file's in messages.
std::vector<RequestSpec> read_trace_text(const TraceFormat& format, const std::string& name, std::string_view text,
                                         const TraceOptions& options = {});

// What every trace reader checks of a request before it becomes one. Internal to the trace readers.

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

// What `kvsim workload info` says about a trace.

struct LengthStatistics {
  double mean = 0;
  double p50 = 0;  ///< percentiles with linear interpolation (Hyndman-Fan 7)
  double p99 = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
};

struct TraceStatistics {
  std::uint64_t requests = 0;
  double span_s = 0;      ///< from the first arrival to the last
  double rate_per_s = 0;  ///< (requests - 1) / span; 0 where the span is
  double gap_cv = 0;      ///< coefficient of variation of the gaps: 1 for Poisson; 0 below two gaps
  LengthStatistics prompt;
  LengthStatistics output;

  // Reuse of prefix blocks with a cache that never evicts: a block is reused where an earlier request had it.
  std::uint64_t blocks = 0;
  std::uint64_t distinct_blocks = 0;
  double block_reuse = 0;  ///< share of blocks; 0 where the trace has none
  double token_reuse = 0;  ///< share of prompt tokens; a last, partly filled block counts for what it holds
};

/// (requests - 1) / span, in requests per second; 0 where there is no time between the first arrival and the last.
double arrival_rate(std::span<const RequestSpec> requests);

/// `block_tokens` is the trace format's (TraceFormat::block_tokens).
TraceStatistics describe_trace(std::span<const RequestSpec> requests, std::int64_t block_tokens);

}  // namespace kvsim::models
