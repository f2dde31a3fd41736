#include "planner/traffic/trace_writer.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "models/workload/shared_prefixes.h"
#include "models/workload/trace_reader.h"

namespace kvsim::planner::traffic {

using models::RequestSpec;

/// How a format is written; those that are read alone have no line.
struct TraceWriter::Format {
  std::string_view name;
  std::string (TraceWriter::*line)(const RequestSpec& request);
  std::string_view header;  ///< or, without a line, why it cannot be written
};

namespace {

constexpr int kSeconds = 9, kMilliseconds = 6;  // digits of their ns

/// A time in a unit of 10^digits ns, without zeros at its end.
std::string decimal(std::int64_t ns, int digits) {
  std::int64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  std::string text = std::to_string(ns / unit);
  if (ns % unit == 0) return text;
  text += fmt::format(".{:0{}}", ns % unit, digits);
  while (text.back() == '0') text.pop_back();
  return text;
}

/// Any day will do: readers count from the first request.
std::string date(std::int64_t ns) {
  constexpr std::int64_t first_s = 1'704'067'200;  // 2024-01-01
  const std::int64_t tenths_us = (ns + 50) / 100;
  const auto second = static_cast<std::time_t>(first_s + tenths_us / 10'000'000);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:07}", fmt::gmtime(second), tenths_us % 10'000'000);
}

}  // namespace

std::span<const TraceWriter::Format> TraceWriter::formats() {
  static constexpr std::array<Format, 9> all{
      {{"mooncake", &TraceWriter::mooncake_line, ""},
       {"azure", &TraceWriter::azure_line, "TIMESTAMP,ContextTokens,GeneratedTokens\n"},
       {"bailian", &TraceWriter::bailian_line, ""},
       {"burstgpt", &TraceWriter::burstgpt_line, "Timestamp,Session ID,Request tokens,Response tokens,Total tokens\n"},
       {"columns", nullptr, "has no names of its own: write csv"},
       {"csv", &TraceWriter::csv_line, "arrival_s,prompt_tokens,output_tokens\n"},
       {"llmservingsim", nullptr,
        "has a session a line, and the times that tools take: write bailian, which keeps sessions"},
       {"vllm_bench", &TraceWriter::vllm_bench_line, ""},
       {"weka", nullptr, "has a session a line, and how long each call took: write bailian, which keeps sessions"}}};
  return all;
}

const TraceWriter::Format& TraceWriter::find(std::string_view format) {
  const std::string_view name = models::find_trace_format(format).name;
  const auto found = std::ranges::find(formats(), name, &Format::name);
  if (found == formats().end() || found->line == nullptr) {
    throw schema::InputError(
        fmt::format("format {} {}", format, found == formats().end() ? "cannot be written" : found->header));
  }
  return *found;
}

std::vector<std::string_view> TraceWriter::written_formats() {
  std::vector<std::string_view> names;
  for (const Format& format : formats()) {
    if (format.line != nullptr) names.push_back(format.name);
  }
  return names;
}

bool writes_blocks(std::string_view format) {
  return models::find_trace_format(format).block_tokens > 0;
}

TraceWriter::TraceWriter(std::string_view format, std::int64_t block_tokens)
    : format_(find(format)), block_tokens_(block_tokens) {}

std::string TraceWriter::header() const {
  return std::string(format_.header);
}

std::string TraceWriter::block_ids(const RequestSpec& r) {
  const std::int64_t tokens = models::find_trace_format(format_.name).block_tokens;
  std::vector<std::uint64_t> ids;
  for (std::int64_t begin = 0; begin < r.prompt_tokens; begin += tokens) {
    // Equal where the prompt up to here is: by the chained block that this one ends in, and where in it.
    const std::int64_t end = std::min(begin + tokens, r.prompt_tokens);
    const auto source = block_tokens_ > 0 ? static_cast<std::size_t>((end - 1) / block_tokens_) : 0;
    if (block_tokens_ == 0 || source >= r.prefix_blocks.size()) {
      ids.push_back(next_id_++);
      continue;
    }
    const auto within = static_cast<std::uint64_t>(end - static_cast<std::int64_t>(source) * block_tokens_);
    const std::uint64_t key = models::mixed_hash(r.prefix_blocks[source] * 0x9E3779B97F4A7C15U + within);
    const auto [at, fresh] = ids_.try_emplace(key, next_id_);
    if (fresh) ++next_id_;
    ids.push_back(at->second);
  }
  return fmt::format("[{}]", fmt::join(ids, ", "));
}

std::string TraceWriter::line(const RequestSpec& request) {
  return (this->*format_.line)(request);
}

std::string TraceWriter::csv_line(const RequestSpec& r) {
  return fmt::format("{},{},{}\n", decimal(r.arrival_ns, kSeconds), r.prompt_tokens, r.output_tokens);
}

std::string TraceWriter::azure_line(const RequestSpec& r) {
  return fmt::format("{},{},{}\n", date(r.arrival_ns), r.prompt_tokens, r.output_tokens);
}

std::string TraceWriter::burstgpt_line(const RequestSpec& r) {
  return fmt::format("{},{},{},{},{}\n", decimal(r.arrival_ns, kSeconds),
                     r.session < 0 ? std::string() : std::to_string(r.session), r.prompt_tokens, r.output_tokens,
                     r.prompt_tokens + r.output_tokens);
}

std::string TraceWriter::vllm_bench_line(const RequestSpec& r) {
  return fmt::format("{{\"arrival_time\": {}, \"input_toks\": {}, \"output_toks\": {}}}\n",
                     decimal(r.arrival_ns, kSeconds), r.prompt_tokens, r.output_tokens);
}

std::string TraceWriter::mooncake_line(const RequestSpec& r) {
  return fmt::format("{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": {}, \"hash_ids\": {}}}\n",
                     decimal(r.arrival_ns, kMilliseconds), r.prompt_tokens, r.output_tokens, block_ids(r));
}

std::string TraceWriter::bailian_line(const RequestSpec& r) {
  std::int64_t parent = -1;
  if (r.session >= 0) {
    const auto [at, first] = last_of_session_.try_emplace(r.session, r.id);
    if (!first) parent = static_cast<std::int64_t>(std::exchange(at->second, r.id));
  }
  return fmt::format(
      "{{\"chat_id\": {}, \"parent_chat_id\": {}, \"timestamp\": {}, \"input_length\": {}, \"output_length\": {}, "
      "\"type\": \"text\", \"turn\": {}, \"hash_ids\": {}}}\n",
      r.id, parent, decimal(r.arrival_ns, kSeconds), r.prompt_tokens, r.output_tokens, std::max(r.turn, 1),
      block_ids(r));
}

}  // namespace kvsim::planner::traffic
