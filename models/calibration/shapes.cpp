#include "models/calibration/shapes.h"

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

}  // namespace kvsim::models
