#include "models/workload/trace_statistics.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <vector>

namespace kvsim::models {
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
  return static_cast<double>(requests.back().arrival_ns - requests.front().arrival_ns) / 1e9;
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
