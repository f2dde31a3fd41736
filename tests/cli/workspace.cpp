#include "tests/cli/workspace.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace kvsim::test {

namespace fs = std::filesystem;

std::string tiny_scenario() {
  return R"(name: tiny
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm}
  host: {memory: 256 GiB}
workload:
  closed: {concurrency: 4}
  context: {mean: 8k tokens}
  output: {mean: 64 tokens}
prefill: stored
decode: {policy: draft_verify, compressor: kvzip, keep_ratio: 0.2, draft_length: 8}
schedule: {policy: staggered}
run: {duration: 4 s, warmup: 1 s, seed: 1}
)";
}

std::string placement_scenario() {
  return R"(name: placed
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm}
  host: {memory: 6 GB}
  storage:
    - {name: ssd, capacity: 10 GB, read: 7 GB/s, write: 5 GB/s}
    - {name: remote, read: 2 GB/s, latency: 5 ms}
workload:
  arrivals: {process: poisson, rate: 1/s}
  prefixes: {count: 24, popularity: 0.8, datasets: [qasper, 2wikimqa]}
  context: {mean: 64 tokens}
  output: {mean: 32 tokens}
  requests: 300
prefill: prefix_cache
placement: {policy: utility}
decode: {policy: full_kv}
run: {warmup: 60 s, seed: 1}
)";
}

std::string chunk_scenario() {
  return R"(name: chunks
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm}
  host: {memory: 6 GB}
workload:
  arrivals: {process: poisson, rate: 2/s}
  chunks: {count: 200, popularity: 0.8, per_request: 4}
  context: {mean: 64 tokens}
  output: {mean: 32 tokens}
  requests: 200
prefill: {policy: selective}
placement: {policy: lru}
decode: {policy: full_kv}
slo: {quality_floor: 0.8}
run: {warmup: 10 s, seed: 1}
)";
}

std::string edited(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
    throw std::logic_error("not there exactly once: " + from);
  }
  return std::string(text).replace(at, from.size(), to);
}

Workspace::Workspace() {
  std::string path = (fs::temp_directory_path() / "kvsim-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = path;
}

Workspace::~Workspace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Workspace::write(const std::string& name, const std::string& text) {
  const fs::path path = fs::path(folder_) / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return name;
}

std::vector<std::string> Workspace::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    const fs::path& path = entry.path();
    if (path.filename() == ".kvsim" && fs::exists(path / "manifest.json")) continue;
    if (path.filename() == "manifest.json" && path.parent_path().filename() == ".kvsim") continue;
    names.push_back(entry.path().lexically_relative(folder_).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace kvsim::test
