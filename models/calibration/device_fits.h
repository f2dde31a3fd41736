// From the tables of a device to what a profile and its link to host memory have of them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/calibration/calibration.h"
#include "models/calibration/fit_problem.h"
#include "models/calibration/samples.h"

namespace kvsim::models {

/// The middle one, or the mean of both middle ones; none of none.
[[nodiscard]] std::optional<double> median_of(std::vector<double> values);

/// Times in launch.csv of the rows that kvsim-calibrate timed. All are 0 without that file.
struct LaunchTimes {
  double event_pair_s = 0;    ///< in every time
  double beyond_graph_s = 0;  ///< what a kernel alone takes more than one of many in a graph; in every kernel's time
  double in_graph_s = 0;      ///< the least that a kernel takes there
};
[[nodiscard]] LaunchTimes launch_times(const std::vector<LaunchSample>& rows);

/// The benchmarks during which the GPU was held back, with a warning of each; and of those during which it was shared.
[[nodiscard]] std::vector<std::string> throttled_in(const DeviceSamples& samples, std::vector<std::string>& warnings);

/// Takes out of kvsim-calibrate's times what a kernel in a captured step does not have, and of copies the pair of
/// events.
void subtract_launches(Samples& samples);

/// ReferenceOf makes the reference beside a figure that was fitted with these errors.
using ReferenceOf = std::function<std::string(const std::string& operation, const OperatorReport& report)>;

/// Fits the forms of top-k, quantising and dequantising, the costs of launches and the shares of interference into
/// `result.profile`, what the link to host memory reaches into `result.host_link`, and reports on each.
void fit_device(const DeviceSamples& samples, const Machine& machine, const std::function<void()>& before_step,
                const ReferenceOf& reference, Calibration& result);

/// Sets the time of an iteration beside its kernels and their launch: as the options say, else assumed, with a warning.
void note_overhead(const CalibrationOptions& options, Calibration& result);

/// Norms and activations where no layer profile has them: passes over memory.
[[nodiscard]] FitProblem memory_problem(std::vector<MemorySample> rows, const Machine& machine);

// Fits to attention of other kinds beside a form that was fitted to plain decode attention.

/// Rows of uneven lengths as the form's times at the mean and at the longest length, in proportion to a row of equal
/// lengths where there is one.
[[nodiscard]] std::vector<SkewSample> skews_of(const std::vector<AttentionVariant>& rows, const DecodeForm& form,
                                               const Machine& machine);
/// KernelProfile::further_query_share by rows of 2 to 8 query tokens over KV beyond L2: the median; none without such.
[[nodiscard]] std::optional<double> further_query_share(const std::vector<AttentionVariant>& rows,
                                                        const DecodeForm& form, const Machine& machine);
/// Which kernel verifies: how many rows share a block's reading, which its rows tell.
struct VerifyKind {
  NumberFormat kv = NumberFormat::bf16;
  double block_rows = 64;
};
/// Rows of several query tokens, over KV of that format.
[[nodiscard]] std::vector<AttentionVariant> verify_rows(std::vector<AttentionVariant> rows, NumberFormat kv);
/// VerifyForm by rows of 2 and more query tokens, on top of a decode form that was fitted before.
[[nodiscard]] FitProblem verify_problem(const std::vector<AttentionVariant>& rows, const VerifyKind& kind,
                                        const DecodeForm& decode, const Machine& machine);
[[nodiscard]] VerifyForm verify_form(const VerifyKind& kind, std::span<const double> values);
/// The rows of a block that fit best (kernel_choice.cpp). `before_step` as in FitProblem.
[[nodiscard]] VerifyKind best_block(const std::vector<AttentionVariant>& rows, VerifyKind kind,
                                    const DecodeForm& decode, const Machine& machine,
                                    const std::function<void()>& before_step);

[[nodiscard]] std::vector<AttentionVariant> low_bit_rows(std::vector<AttentionVariant> rows,
                                                         bool keys_by_channel = false);
/// KernelProfile::low_bit by all rows of few bits together: seconds of dequantising an element, and how that overlaps
/// with reading its bytes at `attention_bytes_per_s`. So bits at which reading hides it say that it is hidden, and no
/// more.
[[nodiscard]] FitProblem low_bit_problem(const std::vector<AttentionVariant>& rows, const DecodeForm& form,
                                         const Machine& machine, double attention_bytes_per_s);
/// Rate 0: dequantising takes no time.
[[nodiscard]] LowBitAttention low_bit_attention(std::span<const double> values);
/// The largest quotient of a row's time and that of its bytes; 1: dequantising hides behind reading in all.
[[nodiscard]] double most_time_factor(const std::vector<AttentionVariant>& rows, const LowBitAttention& found,
                                      double attention_bytes_per_s, const Machine& machine);

/// Uneven lengths into `form`, and further query tokens into `profile` by the form of bf16 KV, where there are rows.
void fit_variants(const Samples& samples, const Machine& machine,
                  const std::function<std::string(const std::string& operation)>& reference, DecodeForm& form,
                  KernelProfile& profile);

}  // namespace kvsim::models
