// In what formats a checkpoint holds its weights, matrix by matrix.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/llm/import_layers.h"
#include "models/llm/number_format.h"

namespace kvsim::models::imports {

/// Numbers that weights are held in.
struct WeightWidth {
  std::optional<NumberFormat> format;  ///< none: kernels are chosen by width
  double bytes = 2;                    ///< of a weight, scales included

  friend bool operator==(const WeightWidth&, const WeightWidth&) = default;
};

[[nodiscard]] inline WeightWidth width_in(NumberFormat format) {
  return {format, bytes_per_element(format)};
}

/// How weights are held, and which are left in 16 bit.
struct Quantisation {
  WeightWidth width;                           ///< of all that are not excluded; of mixed formats of none
  std::map<std::string, WeightWidth> modules;  ///< of mixed formats: each that is named
  const ConfigNode* modules_at = nullptr;      ///< null: one format
  bool fp8_kv = false;
  const ConfigNode* kv_at = nullptr;  ///< what says so, or that it is not, be it null; null: nothing does
  std::vector<std::string> excluded;  ///< patterns, `*` for anything
  const ConfigNode* stated_at = nullptr;
};

/// Quantisation by hf_quant_config.json (`file`; null: none), else by config.json's own `quantization_config` (null: 16
/// bit). Where there are both they say the same of weights and KV; what only one says is taken, and remarked. Throws
/// schema::InputError at the field.
[[nodiscard]] Quantisation read_quantisation(const ConfigNode* file, const ConfigNode* in_config,
                                             std::vector<std::string>& remarks);

/// The mean width of weights but the embedding table and LM head: of matrices of layers by what is excluded or named,
/// of all else 16 bit. Attention's have a width of their own where most of them are in another format than most of the
/// others; so has the LM head where it is named. Throws schema::InputError where formats are mixed and nothing says
/// what a matrix is in.
void add_widths(ConfigNode& entry, const Quantisation& q, const Family& family, const Layers& layers,
                std::vector<std::string>& remarks);

}  // namespace kvsim::models::imports
