#include "tools/calibrate/host/benchmarks.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"

namespace kvsim::calibrate {

std::span<const BenchmarkInfo> benchmarks() {
  static constexpr std::array<BenchmarkInfo, 14> table{{
      {"launch", "what it costs to launch a kernel, alone and in a CUDA graph"},
      {"memory", "device memory bandwidth by size: read, write, copy"},
      {"transfer", "host to device, device to host and both at once, pinned and pageable"},
      {"gather", "scattered rows of 128 B to 1 MiB from host memory: copies, batched copies, a reading kernel"},
      {"linear", "linear layers of the catalogue's models at 1 to 4096 tokens, bf16 and fp8"},
      {"decode_attention", "paged decode attention, batch 1 to 256, KV 1k to 128k"},
      {"uneven_attention", "decode attention over sequences of different lengths"},
      {"verify_attention", "2 to 64 query tokens over a long KV"},
      {"quantised_attention", "decode attention over KV of 4, 2 and 1 bits with fused dequantisation"},
      {"prefill_attention", "causal attention of a prompt over itself"},
      {"quantise", "quantising and dequantising KV"},
      {"topk", "selecting the k largest attention scores"},
      {"interference", "a kernel bound by device memory and host copies at once: the slowdown of each"},
      {"replay", "draft and verify iterations with real weights, KV and reloads, in lock-step and staggered"},
  }};
  return table;
}

std::vector<std::string> chosen_benchmarks(std::span<const std::string> wanted) {
  std::vector<std::string> known;
  for (const BenchmarkInfo& info : benchmarks()) known.emplace_back(info.name);
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw schema::InputError(fmt::format("--only: unknown benchmark \"{}\"{}", name, schema::suggest(name, known)));
    }
  }
  if (wanted.empty()) return known;
  std::erase_if(known,
                [&](const std::string& name) { return std::find(wanted.begin(), wanted.end(), name) == wanted.end(); });
  return known;
}

std::string benchmark_list() {
  std::string text;
  for (const BenchmarkInfo& info : benchmarks()) text += fmt::format("{:<20} {}\n", info.name, info.description);
  return text;
}

}  // namespace kvsim::calibrate
