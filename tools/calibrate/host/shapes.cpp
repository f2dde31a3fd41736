#include "tools/calibrate/host/shapes.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "models/catalogue/catalogue.h"
#include "models/schema/error.h"
#include "tools/calibrate/kernels/experts.h"
#include "tools/calibrate/kernels/latent_attention.h"

namespace kvsim::calibrate {
namespace {

using models::AttentionKind;
using models::LlmSpec;

constexpr std::array<std::int64_t, 4> kTensorParallel{1, 2, 4, 8};

bool divides(std::int64_t parts, std::int64_t whole) {
  return whole > 0 && whole % parts == 0;
}

/// KV heads of one GPU: beyond one head each they are copies.
std::int64_t kv_heads_of(const LlmSpec& model, std::int64_t tensor_parallel) {
  return std::max<std::int64_t>(1, model.kv_heads / tensor_parallel);
}

void add_mla(std::set<LinearShape>& shapes, const LlmSpec& model, std::int64_t tp) {
  const models::MlaShape& mla = model.mla;
  const std::int64_t heads = model.heads / tp;
  if (mla.q_lora_rank > 0) {
    shapes.insert({mla.q_lora_rank + mla.kv_lora_rank + mla.qk_rope_head_dim, model.hidden});
    shapes.insert({heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim), mla.q_lora_rank});
  } else {
    shapes.insert({heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim), model.hidden});
    shapes.insert({mla.kv_lora_rank + mla.qk_rope_head_dim, model.hidden});
  }
  shapes.insert({heads * (mla.qk_nope_head_dim + mla.v_head_dim), mla.kv_lora_rank});
  shapes.insert({model.hidden, heads * mla.v_head_dim});
}

void add_feed_forward(std::set<LinearShape>& shapes, const LlmSpec& model, std::int64_t tp) {
  const bool has_dense = model.moe.experts == 0 || model.moe.dense_layers > 0;
  // The mean width of blocks that differ, as Nemotron-NAS has them, is no kernel's: those are of multiples of 16.
  if (has_dense && divides(16 * tp, model.intermediate)) {
    shapes.insert({2 * model.intermediate / tp, model.hidden});
    shapes.insert({model.hidden, model.intermediate / tp});
  }
  if (model.moe.experts > 0) {
    shapes.insert({2 * model.moe.expert_intermediate, model.hidden});
    shapes.insert({model.hidden, model.moe.expert_intermediate});
  }
}

}  // namespace

LayerShapes layer_shapes(const LlmSpec& model, std::int64_t tensor_parallel) {
  if (model.attention != AttentionKind::gqa) {
    throw schema::InputError(fmt::format("model \"{}\" has no grouped-query attention", model.name));
  }
  const std::int64_t queries = model.heads / tensor_parallel * model.head_dim;
  const std::int64_t keys = kv_heads_of(model, tensor_parallel) * model.head_dim;
  const std::int64_t intermediate = model.intermediate / tensor_parallel;
  return {{queries + 2 * keys, model.hidden},
          {model.hidden, queries},
          {2 * intermediate, model.hidden},
          {model.hidden, intermediate}};
}

std::vector<LinearShape> linear_shapes(std::span<const LlmSpec> models) {
  std::set<LinearShape> shapes;
  for (const LlmSpec& model : models) {
    for (const std::int64_t tp : kTensorParallel) {
      if (!divides(tp, model.heads)) continue;
      if (model.attention == AttentionKind::mla) {
        add_mla(shapes, model, tp);
      } else {
        const LayerShapes layer = layer_shapes(model, tp);
        shapes.insert({layer.qkv, layer.output});
      }
      add_feed_forward(shapes, model, tp);
      if (divides(tp, model.vocabulary)) shapes.insert({model.vocabulary / tp, model.hidden});
    }
  }
  std::vector<LinearShape> result(shapes.begin(), shapes.end());
  std::stable_sort(result.begin(), result.end(),
                   [](const LinearShape& a, const LinearShape& b) { return a.n * a.k < b.n * b.k; });
  return result;
}

std::vector<HeadShape> head_shapes(std::span<const LlmSpec> models) {
  std::set<HeadShape> shapes;
  const auto add = [&shapes](const LlmSpec& model) {
    const auto known = std::find(kHeadDims.begin(), kHeadDims.end(), model.head_dim);
    if (model.attention != AttentionKind::gqa || known == kHeadDims.end()) return;
    for (const std::int64_t tp : kTensorParallel) {
      const std::int64_t kv_heads = kv_heads_of(model, tp);
      if (!divides(tp, model.heads) || (model.heads / tp) % kv_heads != 0) continue;
      shapes.insert({static_cast<int>(model.heads / tp), static_cast<int>(kv_heads), *known, *known});
    }
  };
  for (const LlmSpec& model : models) {
    add(model.full_part());
    add(model.window_part());
  }
  return {shapes.begin(), shapes.end()};
}

LatentShapes latent_shapes(std::span<const LlmSpec> models) {
  std::set<int> heads;
  for (const LlmSpec& model : models) {
    const models::MlaShape& mla = model.mla;
    if (model.attention != AttentionKind::mla || mla.kv_lora_rank != kLatentValueDim ||
        mla.kv_lora_rank + mla.qk_rope_head_dim != kLatentKeyDim) {
      continue;
    }
    for (const std::int64_t tp : kTensorParallel) {
      if (divides(tp, model.heads)) heads.insert(static_cast<int>(model.heads / tp));
    }
  }
  LatentShapes shapes;
  for (const int n : heads) {
    shapes.absorbed.push_back({n, 1, kLatentKeyDim, kLatentValueDim});
    shapes.expanded.push_back({n, n, kExpandedKeyDim, kExpandedValueDim});
  }
  return shapes;
}

std::vector<ExpertShape> expert_shapes(std::span<const LlmSpec> models) {
  std::set<ExpertShape> shapes;
  constexpr std::int64_t kMany = 8;
  for (const LlmSpec& model : models) {
    if (model.moe.experts == 0 || !model.gated_blocks) continue;
    for (const auto& [tensor, expert] : {std::pair{std::int64_t{1}, std::int64_t{1}}, {kMany, 1}, {1, kMany}}) {
      if (!divides(expert, model.moe.experts) || !divides(kExpertStep * tensor, model.moe.expert_intermediate))
        continue;
      shapes.insert({model.expert_width(), model.moe.expert_intermediate / tensor, model.moe.experts_per_token,
                     model.moe.experts, tensor, expert});
    }
  }
  return {shapes.begin(), shapes.end()};
}

std::vector<LlmSpec> catalogue_models(std::span<const std::string> names) {
  const models::Catalogue catalogue = models::Catalogue::built_in();
  std::vector<LlmSpec> result;
  if (names.empty()) {
    for (const auto& line : catalogue.list(models::EntryKind::model)) result.push_back(catalogue.model(line.name));
  }
  for (const std::string& name : names) result.push_back(catalogue.model(name));
  return result;
}

}  // namespace kvsim::calibrate
