// Two pools of GPUs around a storage node, and requests that may take six ways through them (remote prefix caching):
// the question that the path LP answers, in plain symbols, and how it is written in YAML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "models/paths/path.h"
#include "models/schema/object_schema.h"
#include "planner/paths/step_costs.h"

namespace kvsim::planner {

using models::kAllPaths;
using models::kPaths;
using models::Path;

/// Bytes and bytes per second.
struct PathSymbols {
  double M = 0;       ///< weights
  double KV = 0;      ///< full KV of one request
  double HBM = 0;     ///< memory of one GPU
  double BW_hbm = 0;  ///< its bandwidth
  double BW_h = 0;    ///< storage node to a local GPU
  double BW_l = 0;    ///< storage node to a remote GPU
};

/// GPUs, or nodes where the symbols are a node's.
struct PoolSizes {
  std::int64_t local = 0;   ///< G_L
  std::int64_t remote = 0;  ///< G_R
};

struct PathRequest {
  std::int64_t K = 1;  ///< output tokens
  double c = 1;        ///< compressed KV / full KV, in (0, 1]
  std::int64_t x = 1;  ///< draft length
};

/// How long a request that decodes a token holds its slot.
enum class Residence {
  published,  ///< T_tok, as the cost table is printed: the time per token amortised over the batch
  steps       ///< B T_tok, the step that makes the token (docs/findings.md)
};
std::string_view residence_name(Residence residence);

struct PathProblem {
  PathSymbols symbols;
  PoolSizes pools;
  PathRequest request;
  models::AcceptanceSpec acceptance;
  std::vector<Path> paths;  ///< allowed; empty: all
  Residence residence = Residence::published;
  /// Instead of the printed formulas; `symbols` then only describe. Not in the file: scenarios have it.
  std::optional<StepCosts> steps;

  [[nodiscard]] bool allows(Path path) const;
};

/// Slots per GPU: B_max = floor((HBM - M)/KV), 0 where the weights leave no room.
double slots_per_gpu(const PathSymbols& symbols);
/// The same of the GPUs of each pool, or what `steps` says.
PerPool slots_per_gpu(const PathProblem& problem);

/// g = gamma(x, c) = A(x)/x, the share of drafted tokens that a verification accepts.
double accepted_share(const PathProblem& problem);

/// The file's field table. Refuses acceptance laws that need a compressor, and drafts that are never accepted.
const schema::ObjectSchema<PathProblem>& path_problem_schema();

}  // namespace kvsim::planner
