// Names of models and GPUs in published serving points, and how they were served: data in published.yaml.
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
  std::string reference;
};

/// Conditions that decide how a source launched the engine of a point; names are those of the catalogue.
struct LaunchOf {
  std::string source, engine, version, model, gpu, weights;
  std::int64_t tensor = 1;
  bool ranks = false;  ///< attention is data-parallel
  std::int64_t clients = 0, prompt_tokens = 0, output_tokens = 0;
};

/// A launch of an engine that says otherwise than its entry in the catalogue. An empty list holds of all.
struct PointLaunch {
  std::string source;
  std::vector<std::string> engines, versions, models, gpus, weights;
  std::vector<std::int64_t> tensor;
  std::vector<std::string> lengths;  ///< of the point: "1024/8192"
  std::optional<bool> ranks;
  std::int64_t least_clients = 1;
  std::optional<std::int64_t> most_clients;
  std::vector<std::string> set;  ///< changes of the scenario, as of --set
  /// Tokens of an iteration, where the launch worked them out: the sum of these, each a number, isl or clients.
  std::vector<std::string> iteration;
  std::string out_of_scope;  ///< or why the point cannot be described
  std::string reference;

  [[nodiscard]] bool holds_of(const LaunchOf& point) const;
  /// Changes that it makes to the scenario of a point: `set`, and the tokens of an iteration.
  [[nodiscard]] std::vector<std::string> changes(std::int64_t prompt_tokens, std::int64_t clients) const;
};

struct Published {
  std::vector<PublishedModel> models;
  std::vector<PublishedGpu> gpus;
  std::vector<PointSource> sources;   ///< the last is every other one
  std::vector<PointLaunch> launches;  ///< all that hold of a point apply, one after the other

  /// The data that the binary carries.
  static const Published& built_in();
  /// A document as published.yaml is one; `name` stands for the file's. Throws schema::InputError.
  static Published from_text(std::string_view text, const std::string& name);

  /// Model of a published name in a catalogue: the table's entry; else the entry of that name, or of its last
  /// part in lower case (Qwen/Qwen3-32B: qwen3-32b), in the format that the catalogue gives it. None: it is not known.
  [[nodiscard]] std::optional<PublishedModel> model(std::string_view name, const models::Catalogue& catalogue) const;
  /// The name in the catalogue; empty: it is not known.
  [[nodiscard]] std::string gpu(std::string_view name, const models::Catalogue& catalogue) const;
  [[nodiscard]] const PointSource& source(std::string_view name) const;
};

}  // namespace kvsim::planner::backtest
