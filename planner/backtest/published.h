// What published serving points call models and GPUs, and how they were served: data in published.yaml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "models/llm/number_format.h"

namespace kvsim::planner::backtest {

struct PublishedModel {
  std::string name;   ///< of a checkpoint: "nvidia/Qwen3-32B-NVFP4"
  std::string model;  ///< in the catalogue
  models::NumberFormat weights = models::NumberFormat::bf16;
};

struct PublishedGpu {
  std::string name, gpu;
};

/// How a source of points drew its requests.
struct PointSource {
  std::string name;
  double shortest = 1;  ///< lengths are uniform from this share of isl and osl up to them
  std::int64_t requests_per_client = 10;
  bool multiplied_parts = false;  ///< numbers of GPUs are products of what one launch cut its GPUs into (as_launched())
  bool prefix_cache = true;       ///< engines find KV again that fell free, where they do by default
  std::string reference;
};

/// Points that were served with KV in fp8.
struct Fp8Kv {
  std::string source, model;  ///< the model by its name in the catalogue
  std::vector<std::string> weights;
  std::string reference;
};

/// Points whose engine had other iterations than its entry in the catalogue.
struct PointBudget {
  std::string source, engine;
  std::int64_t max_batched_tokens = 0;
  std::string reference;
};

struct Published {
  std::vector<PublishedModel> models;
  std::vector<PublishedGpu> gpus;
  std::vector<PointSource> sources;  ///< the last is every other one
  std::vector<Fp8Kv> fp8_kv;
  std::vector<PointBudget> budgets;

  /// What the binary carries.
  static const Published& built_in();

  /// What a published name stands for in a catalogue: the table's entry; else the entry of that name, or of its last
  /// part in lower case (Qwen/Qwen3-32B: qwen3-32b), in the format that the catalogue gives it. None: it is not known.
  [[nodiscard]] std::optional<PublishedModel> model(std::string_view name, const models::Catalogue& catalogue) const;
  /// The name in the catalogue; empty: it is not known.
  [[nodiscard]] std::string gpu(std::string_view name, const models::Catalogue& catalogue) const;
  [[nodiscard]] const PointSource& source(std::string_view name) const;
  [[nodiscard]] bool kv_in_fp8(std::string_view source, std::string_view model, models::NumberFormat weights) const;
  /// Null: as the engine's entry says.
  [[nodiscard]] const PointBudget* budget(std::string_view source, std::string_view engine) const;
};

}  // namespace kvsim::planner::backtest
