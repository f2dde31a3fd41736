// The tables that kvsim-calibrate alone writes (docs/calibrator.md).
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/calibration/table_kind.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

void refuse_word(const TableRow& row, const char* column, std::string_view word, std::string_view expected,
                 Readings& into) {
  into.refused.push_back({row.origin(), fmt::format("{} is \"{}\", expected {}", column, word, expected)});
}

AttentionVariant variant_of(const TableRow& row) {
  AttentionVariant v;
  v.from = row.source();
  v.decode.from = v.from;
  v.decode.shape = {row.number("num_heads"), row.number("num_kv_heads"), row.number("head_dim")};
  v.decode.requests = row.number("batch");
  v.decode.kv_length = row.number("kv_len");
  v.longest_kv = v.decode.kv_length;
  v.bytes_read = v.decode.kv_bytes();
  v.seconds = row.number("measured_ms") * kMillisecond;
  return v;
}

bool whole_kv(const TableRow& row, Readings& into) {
  if (format_of(row.text("kv_dtype")) == NumberFormat::bf16) return true;
  refuse_word(row, "kv_dtype", row.text("kv_dtype"), "bfloat16", into);
  return false;
}

}  // namespace

void add_uneven(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  if (!whole_kv(row, into)) return;
  AttentionVariant v = variant_of(row);
  v.longest_kv = row.number("longest_kv_len");
  into.samples.variants.push_back(std::move(v));
}

void add_verify(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  const std::optional<NumberFormat> format = format_of(row.text("kv_dtype"));
  if (format != NumberFormat::bf16 && format != NumberFormat::fp8) {
    return refuse_word(row, "kv_dtype", row.text("kv_dtype"), "bfloat16 or fp8_e4m3", into);
  }
  AttentionVariant v = variant_of(row);
  v.decode.kv = *format;
  v.bytes_read = v.decode.kv_bytes();
  v.query_tokens = row.number("query_tokens");
  into.samples.variants.push_back(std::move(v));
}

void add_low_bit(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  AttentionVariant v = variant_of(row);
  v.kv_bits = row.number("kv_bits");
  v.bytes_read = row.number("kv_bytes_read");
  if (v.kv_bits != 1 && v.kv_bits != 2 && v.kv_bits != 4 && v.kv_bits != 16) {
    refuse_word(row, "kv_bits", row.text("kv_bits"), "1, 2, 4 or 16", into);
    return;
  }
  into.samples.variants.push_back(std::move(v));
}

void add_key_scales(const TableRow& row, const Shard& shard, Readings& into) {
  const std::string_view scales = row.text("key_scales");
  if (scales != "token" && scales != "channel" && scales != "none") {
    return refuse_word(row, "key_scales", scales, "token, channel or none", into);
  }
  const std::size_t before = into.samples.variants.size();
  add_low_bit(row, shard, into);
  if (into.samples.variants.size() > before) into.samples.variants.back().keys_by_channel = scales == "channel";
}

void add_memory(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  const std::string_view kind = row.text("kind");
  const std::string_view caches = row.text("caches");
  if (kind != "read" && kind != "write" && kind != "copy") {
    return refuse_word(row, "kind", kind, "read, write or copy", into);
  }
  if (caches != "cold" && caches != "warm") return refuse_word(row, "caches", caches, "cold or warm", into);
  const double moved = row.number("bytes") * (kind == "copy" ? 2 : 1);
  into.samples.device.memory.push_back(
      {row.source(), std::string(kind), caches == "cold", moved, row.number("measured_ms") * kMillisecond});
}

void add_copy(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  const std::string_view direction = row.text("direction");
  const bool both = direction == "h2d_with_d2h" || direction == "d2h_with_h2d";
  if (!both && direction != "h2d" && direction != "d2h") {
    return refuse_word(row, "direction", direction, "h2d, d2h, h2d_with_d2h or d2h_with_h2d", into);
  }
  const std::string_view memory = row.text("host_memory");
  if (memory == "pageable") return;  // KV is kept in pinned memory
  if (memory != "pinned") return refuse_word(row, "host_memory", memory, "pinned or pageable", into);
  into.samples.device.copies.push_back({row.source(), direction.substr(0, 3) == "h2d", both, row.number("bytes"),
                                        row.number("measured_ms") * kMillisecond});
}

void add_gather(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  constexpr std::array<std::pair<std::string_view, const char*>, 3> kMethods{
      {{"copy_each", "single_copies"}, {"copy_batch", "batched_copies"}, {"mapped_kernel", "mapped_reads"}}};
  for (const auto& [word, name] : kMethods) {
    if (row.text("method") != word) continue;
    into.samples.device.gathers.push_back(
        {row.source(), name, row.number("rows"), row.number("row_bytes"), row.number("measured_ms") * kMillisecond});
    return;
  }
  refuse_word(row, "method", row.text("method"), "copy_each, copy_batch or mapped_kernel", into);
}

void add_top_k(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  into.samples.device.top_k.push_back({row.source(), row.number("rows"), row.number("columns"), row.number("k"),
                                       row.number("measured_ms") * kMillisecond});
}

void add_quantise(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  const std::string_view operation = row.text("operation");
  if (operation != "quantise" && operation != "dequantise") {
    return refuse_word(row, "operation", operation, "quantise or dequantise", into);
  }
  into.samples.device.quantise.push_back({row.source(), operation == "dequantise", row.number("bits"),
                                          row.number("bytes_full"), row.number("bytes_packed"),
                                          row.number("measured_ms") * kMillisecond});
}

void add_storage(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  const std::string_view operation = row.text("storage_operation");
  if (operation != "read" && operation != "write") {
    return refuse_word(row, "storage_operation", operation, "read or write", into);
  }
  into.samples.device.storage.push_back({row.source(), operation == "write", row.number("threads"), row.number("bytes"),
                                         row.number("measured_ms") * kMillisecond});
}

void add_host_memory(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  const std::string_view operation = row.text("host_memory_operation");
  if (operation != "read" && operation != "write" && operation != "copy") {
    return refuse_word(row, "host_memory_operation", operation, "read, write or copy", into);
  }
  into.samples.device.host_memory.push_back({row.source(), std::string(operation), row.number("threads"),
                                             row.number("bytes"), row.number("measured_ms") * kMillisecond});
}

void add_state(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  const double share = row.number("throttled_share");
  if (!(share >= 0 && share <= 1)) {
    return refuse_word(row, "throttled_share", row.text("throttled_share"), "a share from 0 to 1", into);
  }
  into.samples.device.states.push_back({row.source(), std::string(row.text("benchmark")), row.number("sm_clock_mhz"),
                                        row.number("most_sm_clock_mhz"), share, std::string(row.text("throttled_by")),
                                        row.number("other_processes")});
}

void add_launch(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  constexpr std::array<std::string_view, 6> kKinds{"event_pair",      "kernel_alone",    "kernel_in_stream",
                                                   "kernel_in_graph", "host_per_launch", "host_per_graph"};
  const std::string_view what = row.text("what");
  if (std::find(kKinds.begin(), kKinds.end(), what) == kKinds.end()) {
    return refuse_word(row, "what", what, fmt::format("{}", fmt::join(kKinds, ", ")), into);
  }
  into.samples.device.launch.push_back({row.source(), std::string(what), row.number("measured_ms") * kMillisecond});
}

void add_interference(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  constexpr std::string_view kKernel = "kernel_";
  const auto is_kernel = [&](std::string_view word) { return word.substr(0, kKernel.size()) == kKernel; };
  const std::string_view timed = row.text("timed");
  const std::string_view against = row.text("against");
  const std::string_view kernel = is_kernel(timed) ? timed : against;
  const std::string_view copy = is_kernel(timed) ? against : timed;
  if (!is_kernel(kernel) || (copy != "h2d" && copy != "d2h")) {
    return refuse_word(row, "timed", fmt::format("{} against {}", timed, against),
                       "a kernel_ against h2d or d2h, or the other way round", into);
  }
  into.samples.device.interference.push_back(
      {row.source(), is_kernel(timed), copy == "h2d", std::string(kernel.substr(kKernel.size())), row.number("bytes"),
       row.number("alone_ms") * kMillisecond, row.number("measured_ms") * kMillisecond});
}

}  // namespace kvsim::models
