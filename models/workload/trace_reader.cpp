#include "models/workload/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/schema/spelling.h"
#include "models/workload/trace_builder.h"

namespace kvsim::models {
namespace {

constexpr std::array formats{
    TraceFormat{"mooncake", "JSON lines: timestamp (ms), input_length, output_length, hash_ids of 512-token blocks",
                512, read_mooncake_trace},
    TraceFormat{"azure", "CSV: TIMESTAMP (date and time), ContextTokens, GeneratedTokens", 0, read_azure_trace},
    TraceFormat{"bailian", "JSON lines: timestamp (s), input_length, output_length, hash_ids of 16-token blocks", 16,
                read_bailian_trace},
    TraceFormat{"csv", "CSV: arrival_s, prompt_tokens, output_tokens", 0, read_csv_trace},
    TraceFormat{"vllm_bench", "JSON lines: arrival_time (s, any clock), input_toks, output_toks; others are ignored", 0,
                read_vllm_bench_trace},
};

std::string expected_file(const TraceFormat& format) {
  return fmt::format("a {} trace ({})", format.name, format.description);
}

std::vector<RequestSpec> read_lines(const TraceFormat& format, LineReader lines, const TraceOptions& options) {
  TraceBuilder trace(lines, options);
  format.read(lines, trace);
  if (trace.empty()) lines.fail_file(fmt::format("has no requests, expected {}", expected_file(format)));
  return trace.take();
}

}  // namespace

std::span<const TraceFormat> trace_formats() {
  return formats;
}

const TraceFormat& find_trace_format(std::string_view name) {
  const auto found = std::find_if(formats.begin(), formats.end(), [&](const auto& f) { return f.name == name; });
  if (found != formats.end()) return *found;
  std::vector<std::string> names;
  names.reserve(formats.size());
  for (const TraceFormat& f : formats) names.emplace_back(f.name);
  throw schema::InputError(fmt::format("unknown trace format \"{}\"{}", name, schema::suggest(name, names)));
}

std::vector<RequestSpec> read_trace(const TraceFormat& format, const std::string& path, const TraceOptions& options) {
  return read_lines(format, LineReader::open(path, expected_file(format)), options);
}

std::vector<RequestSpec> read_trace_text(const TraceFormat& format, const std::string& name, std::string_view text,
                                         const TraceOptions& options) {
  return read_lines(format, LineReader::from_text(name, text), options);
}

}  // namespace kvsim::models
