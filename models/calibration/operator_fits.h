// The fitted forms as fit problems, and back from values to forms. Times are fitted in microseconds (nanoseconds where
// they are that small), so that values are of order one.
#pragma once

#include <functional>

#include "models/calibration/fit_problem.h"
#include "models/calibration/samples.h"
#include "models/kernels/profile.h"

namespace kvsim::models {

/// `blocks` are rows too: of those, what they take beside the linear layers and the sum of these are predicted
/// together. Rows that wait for their launch say little of short kernels without them.
[[nodiscard]] FitProblem linear_problem(std::vector<LinearSample> rows, NumberFormat weights, const Machine& machine,
                                        std::vector<LinearBlock> blocks = {});
[[nodiscard]] LinearForm linear_form(NumberFormat weights, std::span<const double> values);

/// The heads of a shape as one number, which folds and models are told apart by: attention's shapes are query heads and
/// head size, and KV heads.
inline constexpr double kHeadDimLabel = 4096;

/// Whether a kernel splits the KV of one query head over multiprocessors.
struct DecodeKind {
  NumberFormat kv = NumberFormat::bf16;
  bool splits_single_heads = true;
  bool latent = false;  ///< rows of latents, in their blocks or alone
};
/// Rows as they were measured: of benchmarks that reuse one buffer (`warm`), or with other kernels in between.
[[nodiscard]] FitProblem decode_problem(std::vector<DecodeSample> rows, const DecodeKind& kind, const Machine& machine);
[[nodiscard]] DecodeForm decode_form(const DecodeKind& kind, std::span<const double> values);
[[nodiscard]] DecodeCall call_of(const DecodeSample& row);
/// Cost of uneven lengths beyond their mean, as a share of what all at the longest would cost: the median of
/// (uneven_s - mean_s) / (longest_s - mean_s), rows as heavy as longest_s / mean_s - 1; 0 without rows.
[[nodiscard]] double uneven_share(const std::vector<SkewSample>& rows);

/// Which tile a launch cuts its queries into, and whether decoding requests share the launch.
struct TiledKind {
  NumberFormat kv = NumberFormat::bf16;
  double tile_rows = 128;
  bool mixed = false;
  bool packs_groups = false;
  bool latent = false;  ///< rows of latents, in their blocks or alone
};
[[nodiscard]] FitProblem tiled_problem(std::vector<TiledSample> rows, const TiledKind& kind, const Machine& machine);
[[nodiscard]] double tiled_s(const TiledForm& form, const TiledSample& row, const Machine& machine);
[[nodiscard]] TiledForm tiled_form(const TiledKind& kind, std::span<const double> values);

/// Whether the kernel behind some rows splits single heads, and how it cuts queries into tiles: whichever fits them
/// better, else as `kind` (kernel_choice.cpp). `before_step` as in FitProblem.
[[nodiscard]] DecodeKind best_split(const std::vector<DecodeSample>& rows, DecodeKind kind, const Machine& machine,
                                    const std::function<void()>& before_step);
[[nodiscard]] TiledKind best_tile(const std::vector<TiledSample>& rows, TiledKind kind, const Machine& machine,
                                  const std::function<void()>& before_step);

[[nodiscard]] FitProblem elementwise_problem(std::vector<ElementwiseSample> rows, const Machine& machine);
[[nodiscard]] ElementwiseForm elementwise_form(std::span<const double> values);

// The roofline that every profile has, for operators and sizes that no form or table covers.

/// The datasheet of `gpu` as a profile keeps it.
[[nodiscard]] MeasuredMachine measured_machine(const GpuSpec& gpu);

/// Fills linear_* and attention_* of a profile: t0 and bandwidth from rows that stream, by robust least squares;
/// efficiencies of arithmetic as medians by size. Where there are no such rows, a figure is an assumption and says so.
/// `before_step` as in FitProblem.
void fit_roofline(const Samples& samples, const Machine& machine, const std::string& reference,
                  const std::function<void()>& before_step, KernelProfile& profile);

// Routed experts (moe_fit.cpp).

/// Rows of one number format and one kernel, of benchmarks that repeat one layer.
[[nodiscard]] FitProblem moe_problem(std::vector<MoeSample> rows, NumberFormat weights, const Machine& machine);
[[nodiscard]] MoeForm moe_form(NumberFormat weights, std::span<const double> values);

}  // namespace kvsim::models
