// How a checkpoint says that its weights and its KV are held.
#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/llm/import_widths.h"
#include "models/schema/error.h"

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

/// FP8 or NVFP4; nothing: another word.
std::optional<WeightWidth> width_named(std::string_view algorithm) {
  if (algorithm == "FP8") return width_in(NumberFormat::fp8);
  if (algorithm == "NVFP4") return width_in(NumberFormat::nvfp4);
  return std::nullopt;
}

/// Reads the algorithm of modelopt's file, or of config.json where that repeats it.
void read_algorithm(Quantisation& q, const ConfigNode& algorithm) {
  q.stated_at = &algorithm;
  if (const auto width = width_named(algorithm.text())) {
    q.width = *width;
  } else if (algorithm.text() != "MIXED_PRECISION" || q.modules_at == nullptr) {
    throw InputError(algorithm.origin(), fmt::format("quant_algo: {}: expected FP8 or NVFP4", algorithm.describe()));
  }
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
  const bool real = type == "float";
  if (bits == 8 && real) {
    q.width = width_in(strategy && strategy->text() == "block" ? NumberFormat::fp8_block : NumberFormat::fp8);
  } else if (bits == 4 && real && group == 16) {
    q.width = width_in(NumberFormat::nvfp4);
  } else if (bits == 4 && real && group == 32) {
    set_mxfp4(q, remarks);
  } else if (bits == 4 && type == "int" && group > 0) {
    constexpr double kScale = 2;  // bf16
    q.width = {std::nullopt, 0.5 + kScale / static_cast<double>(group)};
    remarks.emplace_back(
        "Weights are whole numbers of 4 bits, whose kernels nobody measured: steps say how they are timed.");
  } else {
    throw InputError(weights.origin(),
                     fmt::format("weights of {} bits, type {}, groups of {}: expected fp8, nvfp4 or 4-bit whole "
                                 "numbers",
                                 bits, type, group));
  }
}

/// Reads mixed formats, module by module: {"model.layers.0.mlp.up_proj": {"quant_algo": "FP8"}, ...}.
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
    if (const auto named = width_named(algorithm.text())) {
      width = *named;
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
        "they are timed.");
  }
}

/// The first of these keys that is there.
void read_kv(Quantisation& q, Fields& fields, const ConfigNode& map, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    q.fp8_kv = is_fp8(fields.find(key)) || q.fp8_kv;
    if (const ConfigNode* at = map.find(key); at != nullptr && (q.kv_at == nullptr || !at->is_null())) q.kv_at = at;
  }
}

/// Remarks that nothing is excluded, of a kind whose published checkpoints leave out some modules.
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

/// Refuses where config.json contradicts the file, which counts.
void reconcile(Quantisation& file, const Quantisation& in_config, std::vector<std::string>& remarks) {
  const auto contradicted = [](const ConfigNode& at, const std::string& what, const std::string& here,
                               const ConfigNode& there_at, const std::string& there) {
    throw InputError(at.origin(), fmt::format("quantization_config has {} in {}, the quantisation's file in {} ({}): "
                                              "expected both to say the same",
                                              what, here, there, there_at.origin().str()));
  };
  if ((file.modules_at == nullptr) != (in_config.modules_at == nullptr) || file.width != in_config.width) {
    contradicted(*in_config.stated_at, "weights", words_of(in_config), *file.stated_at, words_of(file));
  }
  for (const auto& [module, width] : file.modules) {
    const auto also = in_config.modules.find(module);
    if (also == in_config.modules.end() || also->second == width) continue;
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

}  // namespace kvsim::models::imports
