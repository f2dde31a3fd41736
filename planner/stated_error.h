// How wrong an answer may be: what backtests of measured serving points missed by, and which of them is nearest to a
// question. The errors that kvsim ships are stated_errors.yaml, written by `kvsim backtest --out` (docs/backtest.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/llm/llm_spec.h"
#include "models/schema/object_schema.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// Kinds of models: those of one kind have in common how long their steps take.
enum class ModelKind : std::uint8_t { dense, experts, latent };
[[nodiscard]] ModelKind model_kind(const models::LlmSpec& model);

/// Shares at which a group's errors are kept.
inline constexpr std::array<double, 7> kErrorShares{0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
/// Shares at which differences between errors are kept.
inline constexpr std::array<double, 4> kPairShares{0.5, 0.8, 0.9, 0.95};

/// Numbers of each figure: measured / predicted, at kErrorShares.
struct FigureErrors {
  std::vector<double> tpot, ttft;
  std::vector<double> e2e;  ///< TTFT + (output tokens - 1) x TPOT, on both sides
};
/// One of the three, and all of them.
using ErrorFigure = std::vector<double> FigureErrors::*;
inline constexpr std::array<ErrorFigure, 3> kErrorFigures{&FigureErrors::tpot, &FigureErrors::ttft, &FigureErrors::e2e};

/// Points of one model, GPU and engine.
struct ErrorGroup {
  std::string model, gpu, engine;
  ModelKind kind = ModelKind::dense;
  bool memory_full = false;  ///< requests waited for GPU memory in more than kMemoryFull of the time
  std::int64_t points = 0;
  FigureErrors ratios;
  bool drafted = false;  ///< a drafter proposes tokens: StatedErrors::drafted has such groups, of TPOT alone

  [[nodiscard]] bool same_machine(const ErrorGroup& other) const {
    return model == other.model && gpu == other.gpu && engine == other.engine;
  }
};
inline constexpr double kMemoryFull = 0.05;

struct StatedErrors {
  std::string source;  ///< whose points
  std::vector<ErrorGroup> groups;
  /// Groups of points with a drafter, TPOT alone. Costs of drafting are fitted to such points: each group's errors
  /// are those of figures that were fitted without it.
  std::vector<ErrorGroup> drafted{};
  /// Widening of intervals about their middle, one number each, so that those of groups left out hold what they say.
  FigureErrors widening;
  /// max(a, b) / min(a, b) of what two points of one machine and launch missed by, at kPairShares.
  FigureErrors pairs;

  /// The errors that the binary carries.
  static const StatedErrors& built_in();
  /// Without the groups of a model, GPU and engine.
  [[nodiscard]] StatedErrors without(const ErrorGroup& machine) const;
};
[[nodiscard]] const schema::ObjectSchema<StatedErrors>& stated_errors_schema();

/// The smallest widening, in hundredths, with which coverage() of each figure is `confidence`; at most 3.
[[nodiscard]] FigureErrors widening_for(StatedErrors errors, double confidence);

/// Measured / predicted.
struct ErrorInterval {
  double low = 1, middle = 1, high = 1;
};

/// Known facts of the error of an answer.
struct StatedError {
  std::string group;  ///< the nearest one that has enough, in words
  std::int64_t groups = 0, points = 0;
  double confidence = 0;
  ErrorInterval tpot, ttft, e2e;
};

/// An answer's machine, as a group without points. An engine of no group is any, as an empty one is; vllm-0.19 is
/// vllm.
[[nodiscard]] ErrorGroup error_question(const scenario::Scenario& scenario, double memory_short_share);

/// The nearest groups: ten points of the very model, GPU and engine; else three groups of the engine and kind of model,
/// of the engine, of any; all of them with memory as full as the question's, as long as there are three such. The
/// interval is that of the groups' mixture, each weighing the root of its points, widened. Of a drafted question TPOT
/// and the time of a request are those of ten drafted points of the very machine; else of the engine's, of two groups;
/// else of all drafted ones. Precondition: errors has groups, 0 < confidence < 1.
[[nodiscard]] StatedError stated_error(const StatedErrors& errors, const ErrorGroup& question, double confidence);

/// Two predictions of one figure on one machine whose ratio is less than this may stand the other way round.
[[nodiscard]] double even_below(const StatedErrors& errors, ErrorFigure figure, double confidence);

/// Share of the points of every group that lie in the interval that the others state of it.
[[nodiscard]] double coverage(const StatedErrors& errors, ErrorFigure figure, double confidence);

}  // namespace kvsim::planner
