// In what formats a checkpoint holds its weights, matrix by matrix.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/llm/import_layers.h"
#include "models/llm/number_format.h"

namespace kvsim::models::imports {

/// How weights are held, and which are left in 16 bit.
struct Quantisation {
  std::optional<NumberFormat> format;  ///< none: kernels are chosen by width
  double bytes = 2;                    ///< of a weight, scales included
  bool fp8_kv = false;
  std::vector<std::string> excluded;  ///< patterns, `*` for anything
  const ConfigNode* stated_at = nullptr;
};

/// Of hf_quant_config.json (`file`; null: none), else of config.json's own `quantization_config` (null: 16 bit). Throws
/// schema::InputError at the field.
[[nodiscard]] Quantisation read_quantisation(const ConfigNode* file, const ConfigNode* in_config,
                                             std::vector<std::string>& remarks);

/// The mean width of weights: of matrices of layers by what is excluded, of all else 16 bit. Where most of attention's
/// are left in 16 bit, its kernels are; of the rest, likewise.
void add_widths(ConfigNode& entry, const Quantisation& q, const Family& family, const Layers& layers,
                std::vector<std::string>& remarks);

}  // namespace kvsim::models::imports
