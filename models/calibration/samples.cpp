#include "models/calibration/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/schema/text_number.h"

namespace kvsim::models {

std::vector<LayerShape> linear_shapes(const LlmSpec& m, int tensor_parallel) {
  std::vector<LayerShape> shapes;
  const auto [heads, kv_heads] = head_counts(m, tensor_parallel);
  if (heads <= 0) return shapes;
  const auto dim = static_cast<double>(m.head_dim);
  const auto hidden = static_cast<double>(m.hidden);
  shapes.push_back({"qkv_proj", (heads + 2 * kv_heads) * dim, hidden});
  shapes.push_back({"o_proj", hidden, heads * dim});
  if (m.moe.experts == 0) {
    const double width = static_cast<double>(m.intermediate) / tensor_parallel;
    shapes.push_back({"gate_up_proj", 2 * width, hidden});
    shapes.push_back({"down_proj", hidden, width});
  }
  shapes.push_back({"lm_head", static_cast<double>(m.vocabulary) / tensor_parallel, hidden});
  return shapes;
}

std::pair<double, double> head_counts(const LlmSpec& m, int tensor_parallel) {
  if (m.attention != AttentionKind::gqa || m.heads % tensor_parallel != 0) return {0, 0};
  const auto heads = static_cast<double>(m.heads) / tensor_parallel;
  const auto kv_heads = static_cast<double>(m.kv_heads) / tensor_parallel;
  return {heads, kv_heads < 1 ? 1 : kv_heads};  // replicated below one
}

LayerFolder layer_folder(std::string_view name) {
  constexpr std::string_view kShard = "_tp";
  LayerFolder result;
  const std::size_t shard = name.rfind(kShard);
  if (shard != std::string_view::npos) {
    const auto gpus = schema::number_from<int>(name.substr(shard + kShard.size()));
    if (gpus && *gpus >= 1) {
      result.tensor_parallel = *gpus;
      name = name.substr(0, shard);
    }
  }
  const std::size_t mark = name.rfind('_');
  result.model = mark == std::string_view::npos ? name : name.substr(mark + 1);
  return result;
}

std::vector<std::string> csv_files(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".csv" && !it->is_directory()) files.push_back(it->path().string());
  }
  if (error) throw schema::InputError(fmt::format("{}: cannot be read ({})", path, error.message()));
  if (files.empty()) {
    throw schema::InputError(
        fmt::format("{}: holds no .csv file, expected {}", path, "tables of measured kernel times"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::size_t count(const Samples& s) {
  return std::apply([&s](auto... table) { return ((s.*table).size() + ...); }, kKernelTables) - s.skew.size() +
         std::apply([&s](auto... table) { return ((s.device.*table).size() + ...); }, kDeviceTables);
}

}  // namespace kvsim::models
