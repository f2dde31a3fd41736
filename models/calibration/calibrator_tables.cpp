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

/// The first two columns of all of them; attention names its framework between.
SampleSource source_of(const TableRow& row) {
  return {std::string(row.text(0)), {}, std::string(row.text(1)), row.origin()};
}

void refuse_word(const TableRow& row, const char* column, std::string_view word, std::string_view expected,
                 Readings& into) {
  into.refused.push_back({row.origin(), fmt::format("{} is \"{}\", expected {}", column, word, expected)});
}

struct VariantColumns {
  enum Column {
    kGpu,
    kFramework,
    kVersion,
    kHeads,
    kKvHeads,
    kHeadDim,
    kFormat,
    kBatch,
    kLength,
    kTime,
    kOwn,
    kSecondOwn,
    kThirdOwn
  };
};

AttentionVariant variant_of(const TableRow& row) {
  AttentionVariant v;
  v.from = {std::string(row.text(VariantColumns::kGpu)), std::string(row.text(VariantColumns::kFramework)),
            std::string(row.text(VariantColumns::kVersion)), row.origin()};
  v.decode.from = v.from;
  v.decode.shape = {row.number(VariantColumns::kHeads), row.number(VariantColumns::kKvHeads),
                    row.number(VariantColumns::kHeadDim)};
  v.decode.requests = row.number(VariantColumns::kBatch);
  v.decode.kv_length = row.number(VariantColumns::kLength);
  v.longest_kv = v.decode.kv_length;
  v.bytes_read = v.decode.kv_bytes();
  v.seconds = row.number(VariantColumns::kTime) * kMillisecond;
  return v;
}

bool whole_kv(const TableRow& row, Readings& into) {
  if (format_of(row.text(VariantColumns::kFormat)) == NumberFormat::bf16) return true;
  refuse_word(row, "kv_dtype", row.text(VariantColumns::kFormat), "bfloat16", into);
  return false;
}

}  // namespace

void add_uneven(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  if (!whole_kv(row, into)) return;
  AttentionVariant v = variant_of(row);
  v.longest_kv = row.number(VariantColumns::kSecondOwn);
  into.samples.variants.push_back(std::move(v));
}

void add_verify(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  const std::optional<NumberFormat> format = format_of(row.text(VariantColumns::kFormat));
  if (format != NumberFormat::bf16 && format != NumberFormat::fp8) {
    return refuse_word(row, "kv_dtype", row.text(VariantColumns::kFormat), "bfloat16 or fp8_e4m3", into);
  }
  AttentionVariant v = variant_of(row);
  v.decode.kv = *format;
  v.bytes_read = v.decode.kv_bytes();
  v.query_tokens = row.number(VariantColumns::kOwn);
  into.samples.variants.push_back(std::move(v));
}

void add_low_bit(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  AttentionVariant v = variant_of(row);
  v.kv_bits = row.number(VariantColumns::kOwn);
  v.bytes_read = row.number(VariantColumns::kSecondOwn);
  if (v.kv_bits != 1 && v.kv_bits != 2 && v.kv_bits != 4 && v.kv_bits != 16) {
    refuse_word(row, "kv_bits", row.text(VariantColumns::kOwn), "1, 2, 4 or 16", into);
    return;
  }
  into.samples.variants.push_back(std::move(v));
}

void add_key_scales(const TableRow& row, const Shard& shard, Readings& into) {
  const std::string_view scales = row.text(VariantColumns::kThirdOwn);
  if (scales != "token" && scales != "channel" && scales != "none") {
    return refuse_word(row, "key_scales", scales, "token, channel or none", into);
  }
  const std::size_t before = into.samples.variants.size();
  add_low_bit(row, shard, into);
  if (into.samples.variants.size() > before) into.samples.variants.back().keys_by_channel = scales == "channel";
}

void add_memory(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  enum Column { kGpu, kVersion, kKind, kCaches, kBytes, kTime };
  const std::string_view kind = row.text(kKind);
  const std::string_view caches = row.text(kCaches);
  if (kind != "read" && kind != "write" && kind != "copy") {
    return refuse_word(row, "kind", kind, "read, write or copy", into);
  }
  if (caches != "cold" && caches != "warm") return refuse_word(row, "caches", caches, "cold or warm", into);
  const double moved = row.number(kBytes) * (kind == "copy" ? 2 : 1);
  into.samples.device.memory.push_back(
      {source_of(row), std::string(kind), caches == "cold", moved, row.number(kTime) * kMillisecond});
}

void add_copy(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  enum Column { kGpu, kVersion, kDirection, kMemory, kBytes, kTime };
  const std::string_view direction = row.text(kDirection);
  const bool both = direction == "h2d_with_d2h" || direction == "d2h_with_h2d";
  if (!both && direction != "h2d" && direction != "d2h") {
    return refuse_word(row, "direction", direction, "h2d, d2h, h2d_with_d2h or d2h_with_h2d", into);
  }
  const std::string_view memory = row.text(kMemory);
  if (memory == "pageable") return;  // KV is kept in pinned memory
  if (memory != "pinned") return refuse_word(row, "host_memory", memory, "pinned or pageable", into);
  into.samples.device.copies.push_back(
      {source_of(row), direction.substr(0, 3) == "h2d", both, row.number(kBytes), row.number(kTime) * kMillisecond});
}

void add_gather(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  enum Column { kGpu, kVersion, kMethod, kRowBytes, kRows, kTime };
  constexpr std::array<std::pair<std::string_view, const char*>, 3> kMethods{
      {{"copy_each", "single_copies"}, {"copy_batch", "batched_copies"}, {"mapped_kernel", "mapped_reads"}}};
  for (const auto& [word, name] : kMethods) {
    if (row.text(kMethod) != word) continue;
    into.samples.device.gathers.push_back(
        {source_of(row), name, row.number(kRows), row.number(kRowBytes), row.number(kTime) * kMillisecond});
    return;
  }
  refuse_word(row, "method", row.text(kMethod), "copy_each, copy_batch or mapped_kernel", into);
}

void add_top_k(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  enum Column { kGpu, kVersion, kRows, kColumns, kK, kTime };
  into.samples.device.top_k.push_back(
      {source_of(row), row.number(kRows), row.number(kColumns), row.number(kK), row.number(kTime) * kMillisecond});
}

void add_quantise(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  enum Column { kGpu, kVersion, kOperation, kBits, kFull, kPacked, kTime };
  const std::string_view operation = row.text(kOperation);
  if (operation != "quantise" && operation != "dequantise") {
    return refuse_word(row, "operation", operation, "quantise or dequantise", into);
  }
  into.samples.device.quantise.push_back({source_of(row), operation == "dequantise", row.number(kBits),
                                          row.number(kFull), row.number(kPacked), row.number(kTime) * kMillisecond});
}

void add_storage(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  enum Column { kGpu, kVersion, kOperation, kThreads, kBytes, kTime };
  const std::string_view operation = row.text(kOperation);
  if (operation != "read" && operation != "write") {
    return refuse_word(row, "storage_operation", operation, "read or write", into);
  }
  into.samples.device.storage.push_back({source_of(row), operation == "write", row.number(kThreads), row.number(kBytes),
                                         row.number(kTime) * kMillisecond});
}

void add_host_memory(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  enum Column { kGpu, kVersion, kOperation, kThreads, kBytes, kTime };
  const std::string_view operation = row.text(kOperation);
  if (operation != "read" && operation != "write" && operation != "copy") {
    return refuse_word(row, "host_memory_operation", operation, "read, write or copy", into);
  }
  into.samples.device.host_memory.push_back({source_of(row), std::string(operation), row.number(kThreads),
                                             row.number(kBytes), row.number(kTime) * kMillisecond});
}

void add_state(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  enum Column { kGpu, kVersion, kBenchmark, kClock, kMostClock, kShare, kBy, kOthers };
  const double share = row.number(kShare);
  if (!(share >= 0 && share <= 1)) {
    return refuse_word(row, "throttled_share", row.text(kShare), "a share from 0 to 1", into);
  }
  into.samples.device.states.push_back({source_of(row), std::string(row.text(kBenchmark)), row.number(kClock),
                                        row.number(kMostClock), share, std::string(row.text(kBy)),
                                        row.number(kOthers)});
}

void add_launch(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  enum Column { kGpu, kVersion, kWhat, kLaunches, kTime };
  constexpr std::array<std::string_view, 6> kKinds{"event_pair",      "kernel_alone",    "kernel_in_stream",
                                                   "kernel_in_graph", "host_per_launch", "host_per_graph"};
  const std::string_view what = row.text(kWhat);
  if (std::find(kKinds.begin(), kKinds.end(), what) == kKinds.end()) {
    return refuse_word(row, "what", what, fmt::format("{}", fmt::join(kKinds, ", ")), into);
  }
  into.samples.device.launch.push_back({source_of(row), std::string(what), row.number(kTime) * kMillisecond});
}

void add_interference(const TableRow& row, const Shard& /*shard*/, Readings& into) {
  enum Column { kGpu, kVersion, kTimed, kAgainst, kBytes, kAlone, kTime };
  constexpr std::string_view kKernel = "kernel_";
  const auto is_kernel = [&](std::string_view word) { return word.substr(0, kKernel.size()) == kKernel; };
  const std::string_view timed = row.text(kTimed);
  const std::string_view against = row.text(kAgainst);
  const std::string_view kernel = is_kernel(timed) ? timed : against;
  const std::string_view copy = is_kernel(timed) ? against : timed;
  if (!is_kernel(kernel) || (copy != "h2d" && copy != "d2h")) {
    return refuse_word(row, "timed", fmt::format("{} against {}", timed, against),
                       "a kernel_ against h2d or d2h, or the other way round", into);
  }
  into.samples.device.interference.push_back({source_of(row), is_kernel(timed), copy == "h2d",
                                              std::string(kernel.substr(kKernel.size())), row.number(kBytes),
                                              row.number(kAlone) * kMillisecond, row.number(kTime) * kMillisecond});
}

}  // namespace kvsim::models
