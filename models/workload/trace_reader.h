// Recorded request traces. Every format is one file here and one line of the table in trace_reader.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/workload/request_spec.h"

namespace kvsim::models {

class LineReader;
class TraceBuilder;

struct TraceFormat {
  std::string_view name;
  std::string_view description;
  std::int64_t block_tokens = 0;  ///< tokens per entry of RequestSpec::prefix_blocks; 0: the format has none
  void (*read)(LineReader& lines, TraceBuilder& trace) = nullptr;
};

struct TraceOptions {
  std::uint64_t max_requests = 0;  ///< read only the first so many; 0: all
  double time_scale = 1;           ///< arrival times are multiplied by this: 0.5 doubles the rate
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

}  // namespace kvsim::models
