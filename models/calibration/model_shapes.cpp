#include "models/calibration/model_shapes.h"

#include "models/calibration/operator_fits.h"
#include "models/calibration/samples.h"

namespace kvsim::models {

ModelShapes shapes_of(const std::vector<LlmSpec>& models) {
  ModelShapes result;
  for (const LlmSpec& model : models) {
    ShapeSet linear;
    ShapeSet attention;
    for (const int tensor_parallel : {1, 2, 4, 8}) {
      for (const LayerShape& shape : linear_shapes(model, tensor_parallel)) linear.insert({shape.n, shape.k});
      const auto [heads, kv_heads] = head_counts(model, tensor_parallel);
      attention.insert({heads * kHeadDimLabel + static_cast<double>(model.head_dim), kv_heads});
    }
    result.linear.push_back(std::move(linear));
    result.attention.push_back(std::move(attention));
    if (model.attention == AttentionKind::mla) {
      ShapeSet latent;
      for (const double gpus : {1.0, 2.0, 4.0, 8.0}) {
        const double heads = static_cast<double>(model.heads) / gpus;
        for (const HeadShape& shape : {absorbed_shape(model.mla, heads), expanded_shape(model.mla, heads)}) {
          latent.insert({shape.heads * kHeadDimLabel + shape.head_dim, shape.kv_heads});
        }
      }
      result.latent.push_back(std::move(latent));
    }
    if (model.moe.experts == 0) continue;
    result.moe.push_back({{static_cast<double>(model.hidden), static_cast<double>(model.moe.expert_intermediate)}});
  }
  return result;
}

}  // namespace kvsim::models
