#include "models/kernels/linear_shapes.h"

#include <fmt/format.h>

#include <algorithm>

namespace kvsim::models {
namespace {

const LinearForm* form_of(const KernelProfile& profile, NumberFormat weights) {
  return form_for(profile.fitted.linear, &LinearForm::weights, weights);
}

const MoeForm* experts_form_of(const KernelProfile& profile, const LlmSpec& model) {
  return form_for(profile.fitted.moe, &MoeForm::weights, model.weight_format());
}

}  // namespace

std::vector<LinearShape> attention_shapes(const LlmSpec& m, double gpus) {
  if (m.window_heads_differ()) {
    std::vector<LinearShape> all = attention_shapes(m.full_part(), gpus);
    const std::vector<LinearShape> slide = attention_shapes(m.window_part(), gpus);
    all.insert(all.end(), slide.begin(), slide.end());
    return all;
  }
  const auto layers = static_cast<double>(m.attention_layers());
  const auto hidden = static_cast<double>(m.hidden);
  const double heads = static_cast<double>(m.heads) / gpus;
  if (m.attention != AttentionKind::mla) {
    const double queries = static_cast<double>(m.heads * m.head_dim) / gpus;
    const double gate = m.output_gate ? queries : 0;
    const double kv =
        2 * static_cast<double>(m.kv_heads * m.head_dim) * m.kv_copies(static_cast<std::int64_t>(gpus)) / gpus;
    constexpr auto kPart = LinearShape::Part::attention;
    const auto sharing = static_cast<double>(m.shared_kv_layers);
    std::vector<LinearShape> shapes{{queries + gate + kv, hidden, layers - sharing, kPart},
                                    {hidden, queries, layers, kPart}};
    if (sharing > 0) shapes.push_back({queries + gate, hidden, sharing, kPart});
    return shapes;
  }
  const MlaShape& s = m.mla;
  const auto query = static_cast<double>(s.q_lora_rank);
  const auto latent = static_cast<double>(s.kv_lora_rank);
  const auto nope = static_cast<double>(s.qk_nope_head_dim);
  const auto rope = static_cast<double>(s.qk_rope_head_dim);
  const auto value = static_cast<double>(s.v_head_dim);
  std::vector<LinearShape> shapes{
      {query + latent + rope, hidden, layers, LinearShape::Part::attention},
      {heads * (nope + rope), query > 0 ? query : hidden, layers, LinearShape::Part::attention},
      {heads * (nope + value), latent, layers, LinearShape::Part::attention},
      {hidden, heads * value, layers, LinearShape::Part::attention}};
  if (m.output_gate) shapes.push_back({heads * value, hidden, layers, LinearShape::Part::attention});
  return shapes;
}

namespace {

/// Layers that keep a state, whose heads the GPUs share; what they have beside two projections as if it were a third.
void add_state_shapes(const LlmSpec& m, double gpus, std::vector<LinearShape>& shapes) {
  const StateLayers& s = m.state;
  if (s.layers == 0) return;
  const auto layers = static_cast<double>(s.layers), hidden = static_cast<double>(m.hidden);
  shapes.push_back({static_cast<double>(s.in_width) / gpus, hidden, layers, LinearShape::Part::attention});
  shapes.push_back({hidden, static_cast<double>(s.out_width()) / gpus, layers, LinearShape::Part::attention});
  const double further = static_cast<double>(s.further_parameters) / hidden / gpus;
  if (further >= 1) shapes.push_back({further, hidden, layers, LinearShape::Part::attention});
}

/// Indexers, which every GPU has whole: their one key is every head's.
void add_indexer_shapes(const LlmSpec& m, std::vector<LinearShape>& shapes) {
  const Indexer& i = m.indexer;
  if (i.layers == 0) return;
  const auto layers = static_cast<double>(i.layers), hidden = static_cast<double>(m.hidden);
  const double queries = m.mla.q_lora_rank > 0 ? static_cast<double>(m.mla.q_lora_rank) : hidden;
  shapes.push_back({static_cast<double>(i.heads * i.head_dim), queries, layers, LinearShape::Part::attention});
  shapes.push_back({static_cast<double>(i.head_dim + i.heads), hidden, layers, LinearShape::Part::attention});
}

void add_gated_block(const LlmSpec& m, std::int64_t width, double layers, double gpus,
                     std::vector<LinearShape>& shapes) {
  const double inner = static_cast<double>(width) / gpus;
  if (inner <= 0 || layers <= 0) return;
  const auto hidden = static_cast<double>(m.hidden);
  shapes.push_back({m.gated_blocks ? 2 * inner : inner, hidden, layers});
  shapes.push_back({hidden, inner, layers});
}

}  // namespace

std::vector<LinearShape> body_shapes(const LlmSpec& m, double gpus) {
  std::vector<LinearShape> shapes = attention_shapes(m, gpus);
  add_state_shapes(m, gpus, shapes);
  add_indexer_shapes(m, shapes);
  add_gated_block(m, m.intermediate, static_cast<double>(m.block_layers()) - static_cast<double>(m.routed_layers()),
                  gpus, shapes);
  if (static_cast<double>(m.routed_layers()) <= 0) return shapes;
  shapes.push_back(router_shape(m));
  if (m.moe.expert_hidden > 0) {  // every GPU has both whole
    const auto narrow = static_cast<double>(m.moe.expert_hidden), hidden = static_cast<double>(m.hidden);
    shapes.push_back({narrow, hidden, static_cast<double>(m.routed_layers())});
    shapes.push_back({hidden, narrow, static_cast<double>(m.routed_layers())});
  }
  const std::vector<LinearShape> shared = shared_expert_shapes(m, gpus);
  shapes.insert(shapes.end(), shared.begin(), shared.end());
  return shapes;
}

std::vector<LinearShape> shared_expert_shapes(const LlmSpec& m, double gpus) {
  std::vector<LinearShape> shapes;
  add_gated_block(m, m.moe.shared_width(), static_cast<double>(m.routed_layers()), gpus, shapes);
  return shapes;
}

LinearShape router_shape(const LlmSpec& m) {
  return {static_cast<double>(m.moe.experts), static_cast<double>(m.hidden), static_cast<double>(m.routed_layers())};
}

double linear_calls_per_pass(const LlmSpec& m) {
  const bool mla = m.attention == AttentionKind::mla;
  const auto moe = static_cast<double>(m.routed_layers()), blocks = static_cast<double>(m.block_layers());
  const double attention = mla ? 4 : 2;
  const double moe_block = 3.0 + (m.moe.shared_width() > 0 ? 2.0 : 0.0) + (m.moe.expert_hidden > 0 ? 2.0 : 0.0);
  return static_cast<double>(m.attention_layers()) * attention + (blocks - moe) * 2.0 + moe * moe_block +
         2.0 * static_cast<double>(m.state.layers + m.indexer.layers) + 1.0;
}

LinearShape head_shape(const LlmSpec& m, double gpus) {
  return {static_cast<double>(m.vocabulary) / gpus, static_cast<double>(m.hidden), 1, LinearShape::Part::head};
}

bool covers_linear(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, std::string& why) {
  const double width = model.weight_bytes_per_parameter;
  const bool known = width == bytes_per_element(model.weight_format());
  if (profile.fitted.linear.empty()) {
    why = "the profile has no fitted form";
  } else if (!model.stated_weight_format && model.weight_bytes_override > 0) {
    why = "the model's weight_bytes is given, and no weight_format that kernels were measured in";
  } else if (!model.stated_weight_format && !known) {
    const bool attention_apart = model.stated_attention_format.has_value();
    const bool experts = attention_apart && model.moe.experts > 0;
    why = fmt::format(
        "weights {}of {} bytes are in no format that kernels were measured in (arithmetic in 16 bit, which "
        "they are turned into){}",
        experts           ? "of experts "
        : attention_apart ? "of feed-forward blocks "
                          : "",
        width,
        attention_apart ? fmt::format(", and those of attention beside them, in {}, go without their forms",
                                      word(model.attention_format()))
                        : "");
  } else if (form_of(profile, model.weight_format()) == nullptr) {
    why = fmt::format("the profile has no fitted form for {} weights", word(model.weight_format()));
  } else if (form_of(profile, model.attention_format()) == nullptr) {
    why = fmt::format("the profile has no fitted form for {} weights of attention", word(model.attention_format()));
  } else if (form_of(profile, model.head_format()) == nullptr) {
    why = fmt::format("the profile has no fitted form for {} weights of the LM head", word(model.head_format()));
  } else if (model.moe.experts > 0 && experts_form_of(profile, model) == nullptr) {
    why = fmt::format("the profile has no fitted form for routed experts with {} weights", word(model.weight_format()));
  } else if (machine.multiprocessors <= 0) {
    why = "the GPU's multiprocessors are not given";
  } else {
    return true;
  }
  return false;
}

FormTime linear_time(const KernelProfile& profile, const LinearForm& form, const LinearShape& shape, double tokens,
                     const Machine& machine, const LinearRun& run) {
  FormTime t = form.time(tokens, shape.n, shape.k, machine, run);
  for (const LinearTable& table : profile.tables.linear) {
    if (table.weights != form.weights || table.n != shape.n || table.k != shape.k) continue;
    const double measured = std::clamp(tokens, table.points.front().size, table.points.back().size);
    t.seconds *= table.at(measured) / form.time(measured, shape.n, shape.k, profile.machine->peaks()).seconds;
  }
  return t;
}

FormTime linear_time(const KernelProfile& profile, const LlmSpec& model, const LinearShape& shape, double tokens,
                     const Machine& machine) {
  return linear_time(profile, *form_of(profile, weights_of(model, shape)), shape, tokens, machine,
                     {.quantised = profile.fused.quantise && tokens <= static_cast<double>(profile.captured_tokens)});
}

SplitTime linear_times(const KernelProfile& profile, const LlmSpec& model, const std::vector<LinearShape>& shapes,
                       double tokens, const Machine& machine) {
  SplitTime sum;
  for (const LinearShape& shape : shapes) {
    const FormTime t = linear_time(profile, model, shape, tokens, machine);
    sum.seconds += shape.calls * t.seconds;
    if (t.memory_bound) sum.memory_bound_s += shape.calls * t.seconds;
  }
  return sum;
}

}  // namespace kvsim::models
