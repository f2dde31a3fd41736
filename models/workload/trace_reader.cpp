#include "models/workload/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>
#include <utility>
#include <vector>

#include "models/schema/spelling.h"
#include "models/schema/units.h"
#include "models/workload/distributions.h"

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

namespace {

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / kNsPerSecond;
}

}  // namespace

std::int64_t to_arrival_ns(double value, double ns_per_unit) {
  const double ns = std::round(value * ns_per_unit);
  if (!(ns >= 0)) return -1;
  return ns <= static_cast<double>(max_arrival_ns) ? static_cast<std::int64_t>(ns) : max_arrival_ns + 1;
}

TraceBuilder::TraceBuilder(const LineReader& lines, const TraceOptions& options) : lines_(lines), options_(options) {
  if (!(options_.time_scale >= least_time_scale && options_.time_scale <= most_time_scale)) {
    throw schema::InputError(
        fmt::format("time_scale is {}, expected {} to {}", options_.time_scale, least_time_scale, most_time_scale));
  }
}

void TraceBuilder::check_tokens(std::string_view field, std::int64_t tokens, std::size_t byte) const {
  if (tokens < 1 || tokens > max_request_tokens) {
    lines_.fail(byte, fmt::format("{} is {}, expected 1 to {} tokens", field, tokens, max_request_tokens));
  }
}

void TraceBuilder::add(std::int64_t arrival_ns, std::size_t byte, std::int64_t prompt_tokens,
                       std::int64_t output_tokens, std::vector<std::uint64_t> prefix_blocks) {
  if (arrival_ns < 0 || arrival_ns > max_arrival_ns) {
    lines_.fail(byte,
                "the request arrives before the trace's start or a hundred "
                "years after it, expected a time since the start");
  }
  if (arrival_ns < last_ns_) {
    lines_.fail(byte, fmt::format("the request arrives {:.9g} s after the start, {:.9g} s before the one above it, "
                                  "expected requests in order of arrival",
                                  seconds(arrival_ns), seconds(last_ns_ - arrival_ns)));
  }
  last_ns_ = arrival_ns;
  RequestSpec request;
  request.id = requests_.size();
  request.arrival_ns = arrival_ns;
  if (options_.time_scale != 1.0) {
    request.arrival_ns = to_arrival_ns(static_cast<double>(arrival_ns), options_.time_scale);
    if (request.arrival_ns > max_arrival_ns) {
      lines_.fail(byte, fmt::format("with time_scale {} the request arrives after a hundred "
                                    "years, expected a smaller time_scale",
                                    options_.time_scale));
    }
  }
  request.prompt_tokens = prompt_tokens;
  request.output_tokens = output_tokens;
  request.prefix_blocks = std::move(prefix_blocks);
  requests_.push_back(std::move(request));
}

namespace {

/// Hyndman-Fan 7: position p (n - 1) among the sorted values, linear in between.
double percentile(const std::vector<std::int64_t>& sorted, double p) {
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const auto low = static_cast<double>(sorted[below]);
  return low + (position - static_cast<double>(below)) * (static_cast<double>(sorted[above]) - low);
}

LengthStatistics describe_lengths(std::vector<std::int64_t> lengths) {
  std::sort(lengths.begin(), lengths.end());
  double sum = 0;
  for (const std::int64_t v : lengths) sum += static_cast<double>(v);
  return {.mean = sum / static_cast<double>(lengths.size()),
          .p50 = percentile(lengths, 0.50),
          .p99 = percentile(lengths, 0.99),
          .min = lengths.front(),
          .max = lengths.back()};
}

double gap_cv(std::span<const RequestSpec> requests) {
  if (requests.size() < 3) return 0;
  const auto gaps = static_cast<double>(requests.size() - 1);
  const double mean = static_cast<double>(requests.back().arrival_ns - requests.front().arrival_ns) / gaps;
  if (mean <= 0) return 0;
  double squares = 0;
  for (std::size_t i = 1; i < requests.size(); ++i) {
    const double off = static_cast<double>(requests[i].arrival_ns - requests[i - 1].arrival_ns) - mean;
    squares += off * off;
  }
  return std::sqrt(squares / gaps) / mean;
}

void describe_reuse(std::span<const RequestSpec> requests, std::int64_t block_tokens, TraceStatistics& out) {
  std::unordered_set<std::uint64_t> seen;
  std::uint64_t reused = 0;
  double reused_tokens = 0, tokens = 0;
  for (const RequestSpec& r : requests) {
    tokens += static_cast<double>(r.prompt_tokens);
    std::int64_t start = 0;
    for (const std::uint64_t block : r.prefix_blocks) {
      if (!seen.insert(block).second) {
        ++reused;
        reused_tokens += static_cast<double>(std::clamp<std::int64_t>(r.prompt_tokens - start, 0, block_tokens));
      }
      start += block_tokens;
    }
    out.blocks += r.prefix_blocks.size();
  }
  out.distinct_blocks = seen.size();
  if (out.blocks > 0) {
    out.block_reuse = static_cast<double>(reused) / static_cast<double>(out.blocks);
    out.token_reuse = reused_tokens / tokens;
  }
}

/// From the first arrival to the last.
double span_s(std::span<const RequestSpec> requests) {
  return static_cast<double>(requests.back().arrival_ns - requests.front().arrival_ns) / kNsPerSecond;
}

}  // namespace

double arrival_rate(std::span<const RequestSpec> requests) {
  if (requests.empty()) return 0;
  const double span = span_s(requests);
  return span > 0 ? static_cast<double>(requests.size() - 1) / span : 0;
}

TraceStatistics describe_trace(std::span<const RequestSpec> requests, std::int64_t block_tokens) {
  TraceStatistics out;
  if (requests.empty()) return out;
  out.requests = requests.size();
  out.span_s = span_s(requests);
  out.rate_per_s = arrival_rate(requests);
  out.gap_cv = gap_cv(requests);

  std::vector<std::int64_t> lengths;
  lengths.reserve(requests.size());
  for (const RequestSpec& r : requests) lengths.push_back(r.prompt_tokens);
  out.prompt = describe_lengths(lengths);
  lengths.clear();
  for (const RequestSpec& r : requests) lengths.push_back(r.output_tokens);
  out.output = describe_lengths(std::move(lengths));
  describe_reuse(requests, block_tokens, out);
  return out;
}

}  // namespace kvsim::models
