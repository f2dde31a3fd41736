#include "models/llm/import_widths.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "models/llm/llm_spec.h"
#include "models/schema/error.h"
#include "models/schema/scalar_spec.h"
#include "models/schemas.h"

namespace kvsim::models::imports {

using schema::InputError;

namespace {

/// A regular expression of literals, `.*`, `\.` and alternatives in brackets, as patterns.
std::vector<std::string> patterns_of(std::string_view expression, const ConfigNode& at) {
  std::vector<std::string> all{""};
  const auto add = [&all](std::string_view text) {
    for (std::string& pattern : all) pattern += text;
  };
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const std::string_view rest = expression.substr(i);
    const std::size_t closing = rest.find(')');
    const bool edge = (rest[0] == '^' && i == 0) || rest == "$";
    const auto plain = [](std::string_view names) {
      return names.find_first_of("()[]{}+?\\^$*") == std::string_view::npos;
    };
    if (rest.starts_with(".*") || rest.starts_with("\\.")) {
      add(rest[0] == '.' ? "*" : ".");
      ++i;
    } else if (rest[0] == '(' && closing != std::string_view::npos && plain(rest.substr(1, closing - 1)) &&
               all.size() < 64) {
      std::vector<std::string> longer;
      std::string_view inside = rest.substr(1, closing - 1);
      for (bool more = true; more;) {
        const std::size_t bar = inside.find('|');
        for (const std::string& pattern : all) longer.push_back(pattern + std::string(inside.substr(0, bar)));
        more = bar != std::string_view::npos;
        if (more) inside.remove_prefix(bar + 1);
      }
      all = std::move(longer);
      i += closing;
    } else if (edge) {
      continue;
    } else if (plain(rest.substr(0, 1))) {
      add(rest.substr(0, 1));
    } else {
      throw InputError(at.origin(), fmt::format("the expression {}: expected names, \".*\", \"\\.\" and (one|other)",
                                                at.describe()));
    }
  }
  if (!expression.ends_with("$")) add("*");  // it may match a part
  return all;
}

/// As the language model alone would call it.
std::string inner_name(std::string name) {
  for (const std::string_view outer :
       {"model.language_model.", "language_model.model.", "language_model.", "backbone."}) {
    if (name.starts_with(outer)) name = "model." + name.substr(outer.size());
  }
  return name;
}

void read_excluded(Quantisation& q, const ConfigNode* list) {
  if (list == nullptr) return;
  if (!list->is_sequence()) {
    throw InputError(list->origin(),
                     fmt::format("expected a list of what is not quantised, found {}", list->describe()));
  }
  for (const ConfigNode& item : list->items()) {
    std::vector<std::string> patterns{item.text()};
    if (item.text().starts_with("re:")) patterns = patterns_of(std::string_view(item.text()).substr(3), item);
    for (std::string& pattern : patterns) {
      q.excluded.push_back(inner_name(std::move(pattern)));
    }
  }
}

/// KV caches in 8 bit: "FP8", "8 bit float", {num_bits: 8, type: float}.
bool is_fp8(const ConfigNode* scheme) {
  if (scheme == nullptr) return false;
  if (scheme->is_map()) {
    const ConfigNode* bits = scheme->find("num_bits");
    const ConfigNode* type = scheme->find("type");
    if (bits && bits->text() == "8" && type && type->text() == "float") return true;
  } else if (scheme->text() == "FP8") {
    return true;
  }
  throw InputError(scheme->origin(), fmt::format("a KV cache in {}: expected FP8, 8 bits of type float, or none for "
                                                 "16 bit",
                                                 scheme->describe()));
}

WeightWidth width_in(NumberFormat format) {
  return {format, bytes_per_element(format)};
}

/// Of modelopt's file, or of config.json where that repeats it.
void read_algorithm(Quantisation& q, const ConfigNode& algorithm) {
  q.stated_at = &algorithm;
  if (algorithm.text() == "FP8") {
    q.width = width_in(NumberFormat::fp8);
    return;
  }
  if (algorithm.text() == "NVFP4") {
    q.width = width_in(NumberFormat::nvfp4);
    return;
  }
  if (algorithm.text() == "MIXED_PRECISION" && q.modules_at != nullptr) return;
  throw InputError(algorithm.origin(), fmt::format("quant_algo: {}: expected FP8 or NVFP4", algorithm.describe()));
}

constexpr double kMxScale = 1.0 / 32;  // bytes of a number: 8 bit for each 32

void set_mxfp4(Quantisation& q, std::vector<std::string>& remarks) {
  q.width = {std::nullopt, 0.5 + kMxScale};
  remarks.emplace_back("Weights in MXFP4, whose kernels nobody measured: steps say how they are timed.");
}

/// {num_bits: 8, type: float, strategy: block}, of compressed-tensors.
void read_weights(Quantisation& q, const ConfigNode& weights, std::vector<std::string>& remarks) {
  Fields fields(weights, "a map", "format of weights");
  q.stated_at = &weights;
  const std::int64_t bits = fields.whole("num_bits");
  const std::string type = fields.need("type").text();
  const std::int64_t group = fields.whole("group_size", 0);
  const ConfigNode* strategy = fields.find("strategy");
  if (bits == 8 && type == "float") {
    q.width = width_in(strategy && strategy->text() == "block" ? NumberFormat::fp8_block : NumberFormat::fp8);
    return;
  }
  if (bits == 4 && type == "float" && group == 16) {
    q.width = width_in(NumberFormat::nvfp4);
    return;
  }
  if (bits == 4 && type == "float" && group == 32) {
    set_mxfp4(q, remarks);
    return;
  }
  if (bits == 4 && type == "int" && group > 0) {
    constexpr double kScale = 2;  // bf16
    q.width = {std::nullopt, 0.5 + kScale / static_cast<double>(group)};
    remarks.emplace_back(
        "Weights are whole numbers of 4 bits, whose kernels nobody measured: steps say how they are timed.");
    return;
  }
  throw InputError(weights.origin(),
                   fmt::format("weights of {} bits, type {}, groups of {}: expected fp8, nvfp4 or 4-bit whole numbers",
                               bits, type, group));
}

/// Of mixed formats, module by module: {"model.layers.0.mlp.up_proj": {"quant_algo": "FP8"}, ...}.
void read_modules(Quantisation& q, Fields& fields, std::vector<std::string>& remarks) {
  const ConfigNode* modules = fields.find("quantized_layers");
  if (modules == nullptr) return;
  q.modules_at = modules;
  bool in_16_bit = false;
  static_cast<void>(Fields(*modules, "a map", "formats of modules"));
  for (const ConfigNode::Entry& module : modules->entries()) {
    Fields one(module.value, "a map", "format of a module");
    const ConfigNode& algorithm = one.need("quant_algo");
    WeightWidth width;
    if (algorithm.text() == "FP8") {
      width = width_in(NumberFormat::fp8);
    } else if (algorithm.text() == "NVFP4") {
      width = width_in(NumberFormat::nvfp4);
    } else if (algorithm.text() == "W4A16_NVFP4") {
      width.bytes = bytes_per_element(NumberFormat::nvfp4);
      in_16_bit = true;
    } else if (algorithm.text() == "MXFP8") {
      width.bytes = 1 + kMxScale;
    } else {
      throw InputError(algorithm.origin(),
                       fmt::format("quant_algo: {}: expected FP8, NVFP4, W4A16_NVFP4 or MXFP8", algorithm.describe()));
    }
    q.modules[inner_name(module.key)] = width;
  }
  if (in_16_bit) {
    remarks.emplace_back(
        "Weights in NVFP4 beside activations in 16 bit (W4A16_NVFP4), whose kernels nobody measured: steps say how "
        "they "
        "are timed.");
  }
}

/// The first of these keys that is there.
void read_kv(Quantisation& q, Fields& fields, const ConfigNode& map, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    q.fp8_kv = is_fp8(fields.find(key)) || q.fp8_kv;
    if (const ConfigNode* at = map.find(key); at != nullptr && (q.kv_at == nullptr || !at->is_null())) q.kv_at = at;
  }
}

/// Of a kind whose published checkpoints leave out some.
void say_nothing_excluded(const Quantisation& q, std::string_view list, std::vector<std::string>& remarks) {
  if (!q.excluded.empty() || q.modules_at != nullptr) return;
  remarks.push_back(
      fmt::format("The quantisation names nothing that stays in 16 bit ({}): all linear layers of attention and "
                  "feed-forward blocks are taken as quantised.",
                  list));
}

Quantisation read_file(const ConfigNode& file, std::vector<std::string>& remarks) {
  Quantisation q;
  Fields outer(file, "a map, the file of a quantisation", "quantisation");
  const ConfigNode* inner = outer.find("quantization");
  const ConfigNode& map = inner ? *inner : file;
  Fields fields(map, "a map", "quantisation");
  read_modules(q, fields, remarks);
  read_kv(q, fields, map, {"kv_cache_quant_algo"});
  read_excluded(q, fields.find("exclude_modules"));
  if (q.fp8_kv && fields.has("quant_algo") && fields.find("quant_algo") == nullptr) {  // of the KV alone
    q.width = width_in(NumberFormat::bf16);
    q.stated_at = map.find("quant_algo");
    return q;
  }
  read_algorithm(q, fields.need("quant_algo"));
  say_nothing_excluded(q, "exclude_modules", remarks);
  return q;
}

Quantisation read_in_config(const ConfigNode& in_config, std::vector<std::string>& remarks) {
  Quantisation q;
  Fields fields(in_config, "a map", "quantisation");
  read_modules(q, fields, remarks);
  read_kv(q, fields, in_config, {"kv_cache_scheme", "kv_cache_quant_algo"});
  for (const char* key : {"ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules"}) {
    read_excluded(q, fields.find(key));
  }
  const ConfigNode* algorithm = fields.find("quant_algo");
  const ConfigNode* groups = fields.find("config_groups");
  const ConfigNode* blocks = fields.find("weight_block_size");
  const ConfigNode* method = fields.find("quant_method");
  if (algorithm != nullptr) {
    read_algorithm(q, *algorithm);
    fields.know({"config_groups", "quant_method"});
  } else if (groups != nullptr) {
    if (!groups->is_map() || groups->entries().size() != 1) {
      throw InputError(groups->origin(),
                       fmt::format("config_groups: {} groups of weights, expected one", groups->entries().size()));
    }
    Fields group(groups->entries().front().value, "a map", "group of weights");
    if (const ConfigNode* targets = group.find("targets");
        targets && !(targets->items().size() == 1 && targets->items().front().text() == "Linear")) {
      throw InputError(targets->origin(), "targets: expected [Linear], all linear layers");
    }
    read_weights(q, group.need("weights"), remarks);
  } else {
    const ConfigNode& stated = method ? *method : fields.need("quant_method");
    q.stated_at = &stated;
    if (stated.text() == "mxfp4") {
      set_mxfp4(q, remarks);
    } else if (stated.text() == "fp8") {
      q.width = width_in(blocks ? NumberFormat::fp8_block : NumberFormat::fp8);
    } else {
      throw InputError(stated.origin(),
                       fmt::format("quant_method: {}: expected fp8, mxfp4, or config_groups", stated.describe()));
    }
  }
  if (algorithm != nullptr || groups != nullptr) say_nothing_excluded(q, "ignore", remarks);
  fields.know({"activation_scheme", "fmt", "format", "global_compression_ratio", "producer", "quantization_status",
               "scale_fmt", "version"});
  if (const auto unknown = fields.unknown(); !unknown.empty()) {
    remarks.push_back(fmt::format("Fields of the quantisation that kvsim does not know and did not read: {}.",
                                  fmt::join(unknown, ", ")));
  }
  return q;
}

std::string words_of(const WeightWidth& width) {
  return width.format ? std::string(word(*width.format)) : fmt::format("{:g} bits", 8 * width.bytes);
}

std::string words_of(const Quantisation& q) {
  return q.modules_at != nullptr ? "formats that differ from module to module" : words_of(q.width);
}

bool same(const WeightWidth& a, const WeightWidth& b) {
  return a.format == b.format && a.bytes == b.bytes;
}

/// What config.json says beside the file, which counts.
void reconcile(Quantisation& file, const Quantisation& in_config, std::vector<std::string>& remarks) {
  const auto contradicted = [](const ConfigNode& at, const std::string& what, const std::string& here,
                               const ConfigNode& there_at, const std::string& there) {
    throw InputError(at.origin(), fmt::format("quantization_config has {} in {}, the quantisation's file in {} ({}): "
                                              "expected both to say the same",
                                              what, here, there, there_at.origin().str()));
  };
  if ((file.modules_at == nullptr) != (in_config.modules_at == nullptr) || !same(file.width, in_config.width)) {
    contradicted(*in_config.stated_at, "weights", words_of(in_config), *file.stated_at, words_of(file));
  }
  for (const auto& [module, width] : file.modules) {
    const auto also = in_config.modules.find(module);
    if (also == in_config.modules.end() || same(also->second, width)) continue;
    contradicted(*in_config.modules_at, module, words_of(also->second), *file.modules_at, words_of(width));
  }
  if (file.fp8_kv != in_config.fp8_kv) {
    const auto kv = [](const Quantisation& q) { return std::string(q.fp8_kv ? "FP8" : "16 bit"); };
    if (file.kv_at != nullptr && in_config.kv_at != nullptr) {
      contradicted(*in_config.kv_at, "the KV cache", kv(in_config), *file.kv_at, kv(file));
    }
    remarks.push_back(fmt::format("The KV cache is in FP8 by {} alone: taken so.",
                                  file.fp8_kv ? "the quantisation's file" : "quantization_config"));
    file.fp8_kv = true;
  }
  const std::set<std::string> left(file.excluded.begin(), file.excluded.end());
  if (left != std::set<std::string>(in_config.excluded.begin(), in_config.excluded.end())) {
    remarks.push_back(fmt::format(
        "The quantisation's file leaves other modules in 16 bit than quantization_config ({} names and {}): "
        "the file's are taken.",
        file.excluded.size(), in_config.excluded.size()));
  }
}

}  // namespace

Quantisation read_quantisation(const ConfigNode* file, const ConfigNode* in_config, std::vector<std::string>& remarks) {
  if (file == nullptr) return in_config == nullptr ? Quantisation{} : read_in_config(*in_config, remarks);
  Quantisation q = read_file(*file, remarks);
  if (in_config == nullptr) return q;
  std::vector<std::string> said_before;
  std::optional<Quantisation> also;
  try {
    also = read_in_config(*in_config, said_before);
  } catch (const InputError& e) {
    remarks.push_back(fmt::format("quantization_config is left aside beside the quantisation's file: {}", e.what()));
  }
  if (also) reconcile(q, *also, remarks);
  return q;
}

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
  switch (family.experts) {
    case ExpertKeys::mixtral:
    case ExpertKeys::kimi:
      names.expert = "block_sparse_moe.experts.0.";
      names.of_expert = {"w1", "w2", "w3"};
      break;
    case ExpertKeys::gemma:
      names.expert = "experts.0.";
      names.shared = "mlp.";
      break;
    case ExpertKeys::qwen:
      names.shared = "mlp.shared_expert.";
      break;
    case ExpertKeys::llama4:
      names.block = "feed_forward.";
      names.expert = "feed_forward.experts.0.";
      names.shared = "feed_forward.shared_expert.";
      break;
    case ExpertKeys::nemotron:
      names.attention = names.block = "mixer.";
      names.expert = "mixer.experts.0.";
      names.shared = "mixer.shared_experts.";
      break;
    default:
      break;
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
  const auto narrow = static_cast<double>(m.moe.expert_hidden);
  add(names.expert,
      static_cast<double>(m.expert_width()) * static_cast<double>(m.moe.expert_intermediate) *
          static_cast<double>(m.moe.experts),
      names.of_expert);
  const auto shared = static_cast<double>(m.moe.shared_width());
  if (shared > 0) add(names.shared, hidden * shared, names.of_block);
  if (narrow > 0) {
    for (const char* name : {"fc1_latent_proj", "fc2_latent_proj"}) {
      all.push_back({names.block + name, hidden * narrow});
    }
  }
  return all;
}

constexpr double kWide = bytes_per_element(NumberFormat::bf16);

/// What a matrix of a layer is in.
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
      if (known.bytes != width.bytes || known.format != width.format) continue;
      of_it += count;
      return;
    }
    by_width.emplace_back(width, count);
  }
  /// What most of them are in; 16 bit where there is none.
  [[nodiscard]] WeightWidth most() const {
    const auto largest = std::max_element(by_width.begin(), by_width.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    return largest == by_width.end() ? width_in(NumberFormat::bf16) : largest->first;
  }
  void say(const char* what, std::vector<std::string>& remarks) const {
    for (const auto& [width, count] : by_width) {
      if (count == parameters) continue;
      const WeightWidth usual = most();
      if (width.bytes == usual.bytes && width.format == usual.format) continue;
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
