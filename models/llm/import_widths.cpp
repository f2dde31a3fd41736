#include "models/llm/import_widths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "models/llm/llm_spec.h"
#include "models/schema/error.h"
#include "models/schemas.h"

namespace kvsim::models::imports {

using schema::InputError;

namespace {

/// `*` stands for anything.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, after = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// A module is excluded by its name, by one that it is a part of, and by the end of either.
bool excludes(const Quantisation& q, std::string_view module) {
  const std::string dotted = fmt::format(".{}.", module);
  return std::any_of(q.excluded.begin(), q.excluded.end(), [&](const std::string& pattern) {
    if (pattern.find('*') != std::string::npos) return matches(pattern, module) || matches(pattern + ".*", module);
    return !pattern.empty() && dotted.find("." + pattern + ".") != std::string::npos;
  });
}

/// The matrices of one layer, by module, with their parameters.
struct Matrix {
  std::string module;
  double parameters = 0;
  bool of_attention = false;
};

/// How a family calls what is in a layer.
struct ModuleNames {
  std::string attention = "self_attn.", state_in = "linear_attn.in_proj_qkv", state_out = "linear_attn.out_proj";
  std::string block = "mlp.", expert = "mlp.experts.0.", shared = "mlp.shared_experts.";
  std::array<const char*, 3> of_block{"up_proj", "down_proj", "gate_proj"};  // that one last, which two matrices lack
  std::array<const char*, 3> of_expert = of_block;
  std::array<const char*, 3> of_heads{"q_proj", "k_proj", "v_proj"};
};

ModuleNames names_of(const Family& family) {
  ModuleNames names;
  const auto call = [&names](const char* block, const char* expert, const char* shared) {
    names.block = block;
    names.expert = expert;
    names.shared = shared;
  };
  if (family.experts == ExpertKeys::mixtral || family.experts == ExpertKeys::kimi) {
    names.expert = "block_sparse_moe.experts.0.";
    names.of_expert = {"w1", "w2", "w3"};
  } else if (family.experts == ExpertKeys::gemma) {
    call("mlp.", "experts.0.", "mlp.");
  } else if (family.experts == ExpertKeys::qwen) {
    names.shared = "mlp.shared_expert.";
  } else if (family.experts == ExpertKeys::llama4) {
    call("feed_forward.", "feed_forward.experts.0.", "feed_forward.shared_expert.");
  } else if (family.experts == ExpertKeys::nemotron) {
    names.attention = "mixer.";
    call("mixer.", "mixer.experts.0.", "mixer.shared_experts.");
  }
  if (family.fused_names) {
    names.of_heads = {"qkv_proj", "qkv_proj", "qkv_proj"};
    names.of_block = {"gate_up_proj", "down_proj", "gate_up_proj"};
  }
  if (family.state == StateKeys::kda) {
    names.state_in = "self_attn.q_proj";
    names.state_out = "self_attn.o_proj";
  } else if (family.state == StateKeys::mamba1 || family.state == StateKeys::mamba2 ||
             family.state == StateKeys::granite) {
    const char* part = family.state == StateKeys::mamba2 ? "mixer." : "mamba.";
    names.state_in = std::string(part) + "in_proj";
    names.state_out = std::string(part) + "out_proj";
  }
  return names;
}

std::vector<Matrix> mixer_matrices(const LlmSpec& m, Layers::Mixer mixer, const ModuleNames& names) {
  const auto hidden = static_cast<double>(m.hidden), heads = static_cast<double>(m.heads);
  std::vector<Matrix> all;
  if (mixer == Layers::Mixer::none) return all;
  const auto add = [&](const std::string& name, double parameters) {
    if (parameters > 0) all.push_back({name, parameters, true});
  };
  if (mixer == Layers::Mixer::state) {
    add(names.state_in, hidden * static_cast<double>(m.state.in_width));
    add(names.state_out, hidden * static_cast<double>(m.state.out_width()));
    return all;
  }
  const auto attention = [&](const char* name, double parameters) { add(names.attention + name, parameters); };
  const double gated = m.output_gate ? 2 : 1;
  if (m.attention == AttentionKind::mla) {
    const auto rank = static_cast<double>(m.mla.kv_lora_rank), queries = static_cast<double>(m.mla.q_lora_rank);
    const auto nope = static_cast<double>(m.mla.qk_nope_head_dim), rope = static_cast<double>(m.mla.qk_rope_head_dim);
    const auto value = static_cast<double>(m.mla.v_head_dim);
    attention("q_proj", queries > 0 ? 0 : hidden * heads * (nope + rope));
    attention("q_a_proj", hidden * queries);
    attention("q_b_proj", queries * heads * (nope + rope));
    attention("kv_a_proj_with_mqa", hidden * (rank + rope));
    attention("kv_b_proj", rank * heads * (nope + value));
    attention("o_proj", gated * heads * value * hidden);
  } else {
    const auto head = static_cast<double>(m.head_dim), kv_heads = static_cast<double>(m.kv_heads);
    attention(names.of_heads[0], gated * hidden * heads * head);
    attention(names.of_heads[1], hidden * kv_heads * head);
    attention(names.of_heads[2], hidden * kv_heads * head);
    attention("o_proj", heads * head * hidden);
  }
  return all;
}

std::vector<Matrix> block_matrices(const LlmSpec& m, Layers::Block kind, const ModuleNames& names) {
  std::vector<Matrix> all;
  if (kind == Layers::Block::none) return all;
  const auto add = [&](const std::string& at, double parameters, const std::array<const char*, 3>& parts) {
    for (std::int64_t i = 0; i < m.block_matrices(); ++i) {
      all.push_back({at + parts.at(static_cast<std::size_t>(i)), parameters});
    }
  };
  const auto hidden = static_cast<double>(m.hidden);
  if (kind == Layers::Block::dense) {
    add(names.block, hidden * static_cast<double>(m.intermediate), names.of_block);
    return all;
  }
  add(names.expert,
      static_cast<double>(m.expert_width()) * static_cast<double>(m.moe.expert_intermediate) *
          static_cast<double>(m.moe.experts),
      names.of_expert);
  const auto shared = static_cast<double>(m.moe.shared_width());
  if (shared > 0) add(names.shared, hidden * shared, names.of_block);
  for (const char* name : {"fc1_latent_proj", "fc2_latent_proj"}) {
    if (m.moe.expert_hidden > 0) all.push_back({names.block + name, hidden * static_cast<double>(m.moe.expert_hidden)});
  }
  return all;
}

constexpr double kWide = bytes_per_element(NumberFormat::bf16);

/// Width of a matrix of a layer.
WeightWidth width_of(const Quantisation& q, const std::string& module) {
  if (excludes(q, module)) return width_in(NumberFormat::bf16);
  if (q.modules_at == nullptr) return q.width;
  for (std::string name = module;;) {  // its own, or that of a module that it is a part of
    if (const auto found = q.modules.find(name); found != q.modules.end()) return found->second;
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) break;
    name.resize(dot);
  }
  throw InputError(
      q.modules_at->origin(),
      fmt::format("quantized_layers: neither this nor the modules that are excluded say what {} is in", module));
}

/// Matrices of a kind.
struct Part {
  double parameters = 0, bytes = 0;
  std::vector<std::pair<WeightWidth, double>> by_width;  // with their parameters

  void add(const WeightWidth& width, double count) {
    parameters += count;
    bytes += count * width.bytes;
    for (auto& [known, of_it] : by_width) {
      if (known != width) continue;
      of_it += count;
      return;
    }
    by_width.emplace_back(width, count);
  }
  /// Width that most of them have; 16 bit where there is none.
  [[nodiscard]] WeightWidth most() const {
    const auto largest = std::max_element(by_width.begin(), by_width.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    return largest == by_width.end() ? width_in(NumberFormat::bf16) : largest->first;
  }
  void say(const char* what, std::vector<std::string>& remarks) const {
    for (const auto& [width, count] : by_width) {
      if (count == parameters || width == most()) continue;
      remarks.push_back(fmt::format("Of {}, {:.3g} % are in {}: held so, and timed as the others.", what,
                                    100 * count / parameters,
                                    width.bytes == kWide ? "16 bit" : fmt::format("{:g} bits", 8 * width.bytes)));
    }
  }
};

}  // namespace

void add_widths(ConfigNode& entry, const Quantisation& q, const Family& family, const Layers& layers,
                std::vector<std::string>& remarks) {
  const bool wide = q.modules_at == nullptr && q.width.format == NumberFormat::bf16;
  if (q.stated_at == nullptr || wide) return;
  ConfigNode whole = entry;
  append(whole, "description", "imported", *q.stated_at);
  const LlmSpec model = llm_schema().parse(whole, {"model", nullptr});
  Part attention, blocks;
  const ModuleNames names = names_of(family);
  using Mixer = Layers::Mixer;
  using Block = Layers::Block;
  std::map<Mixer, std::vector<Matrix>> of_mixer;
  for (const Mixer m : {Mixer::full, Mixer::window, Mixer::state, Mixer::none}) {
    of_mixer[m] = mixer_matrices(m == Mixer::window ? model.window_part() : model, m, names);
  }
  std::map<Block, std::vector<Matrix>> of_block;
  for (const Block b : {Block::dense, Block::routed, Block::none}) of_block[b] = block_matrices(model, b, names);
  const auto sharing_from = layers.mixers.size() - static_cast<std::size_t>(layers.shared_kv);
  for (std::size_t layer = 0; layer < layers.mixers.size(); ++layer) {
    for (const auto* matrices : {&of_mixer[layers.mixers[layer]], &of_block[layers.blocks[layer]]}) {
      for (const Matrix& matrix : *matrices) {
        if (layer >= sharing_from && (matrix.module.ends_with(".k_proj") || matrix.module.ends_with(".v_proj")))
          continue;
        Part& part = matrix.of_attention ? attention : blocks;
        part.add(width_of(q, fmt::format("model.layers.{}.{}", layer, matrix.module)), matrix.parameters);
      }
    }
  }
  const WeightWidth of_attention = attention.most(), of_blocks = blocks.most();
  const bool apart = of_attention.format && of_attention.bytes != of_blocks.bytes;
  const double tables = static_cast<double>(model.vocabulary * model.hidden) * (model.tied_embeddings ? 1 : 2);
  double count = static_cast<double>(model.parameters()) - tables;
  double bytes = (count - attention.parameters - blocks.parameters) * kWide + attention.bytes + blocks.bytes;
  if (apart) {  // all of attention, what is no matrix too
    const double all = model.parameter_groups().attention;
    count -= all;
    bytes -= all * of_attention.bytes;
  }
  const double mean = std::clamp(bytes / count, std::min(of_blocks.bytes, kWide), kWide);
  std::string text = fmt::format("{:.5g}", mean);
  // A width that is no format's must not be taken for one.
  if (!of_blocks.format && (text == "1" || text == "0.5625")) text = fmt::format("{:.17g}", mean);
  append(entry, "weight_bytes_per_parameter", text, *q.stated_at);
  if (of_blocks.format && of_blocks.format != NumberFormat::bf16) {
    append(entry, "weight_format", word(*of_blocks.format), *q.stated_at);
  }
  if (apart) append(entry, "attention_weight_format", word(*of_attention.format), *q.stated_at);
  if (const auto head = q.modules.find("lm_head"); head != q.modules.end()) {
    const NumberFormat format =
        head->second.bytes <= bytes_per_element(NumberFormat::nvfp4) ? NumberFormat::nvfp4 : NumberFormat::fp8;
    append(entry, "head_weight_format", word(format), *q.modules_at);
  }
  attention.say("attention's projections", remarks);
  blocks.say("the weights of feed-forward blocks", remarks);
}

}  // namespace kvsim::models::imports
