// From the tables of a device to what a profile and its link to host memory have of them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "models/calibration/calibrate.h"
#include "models/calibration/samples.h"

namespace kvsim::models {

/// The middle one, or the mean of both middle ones; none of none.
[[nodiscard]] std::optional<double> median_of(std::vector<double> values);

/// What launch.csv says of the rows that kvsim-calibrate timed. Without it all are 0.
struct LaunchTimes {
  double event_pair_s = 0;    ///< in every time
  double beyond_graph_s = 0;  ///< what a kernel alone takes more than one of many in a graph; in every kernel's time
  double in_graph_s = 0;      ///< the least that a kernel takes there
};
[[nodiscard]] LaunchTimes launch_times(const std::vector<LaunchSample>& rows);

/// Takes out of kvsim-calibrate's times what a kernel in a captured step does not have, and of copies the pair of
/// events.
void subtract_launches(Samples& samples);

/// What stands beside a figure that was fitted with these errors.
using ReferenceOf = std::function<std::string(const std::string& operation, const OperatorReport& report)>;

/// Fits the forms of top-k, quantising and dequantising, the costs of launches and the shares of interference into
/// `result.profile`, what the link to host memory reaches into `result.host_link`, and reports on each.
void fit_device(const DeviceSamples& samples, const Machine& machine, const std::function<void()>& before_step,
                const ReferenceOf& reference, Calibration& result);

/// What an iteration takes beside its kernels and their launch: as the options say, else assumed, with a warning.
void note_overhead(const CalibrationOptions& options, Calibration& result);

/// Norms and activations where no layer profile has them: passes over memory.
[[nodiscard]] FitProblem memory_problem(std::vector<MemorySample> rows, const Machine& machine);

// What attention of other kinds says beside a form that was fitted to plain decode attention.

/// Rows of uneven lengths as the form's times at the mean and at the longest length, in proportion to a row of equal
/// lengths where there is one.
[[nodiscard]] std::vector<SkewSample> skews_of(const std::vector<AttentionVariant>& rows, const DecodeForm& form,
                                               const Machine& machine);
/// KernelProfile::further_query_share by rows of 2 to 8 query tokens over KV beyond L2: the median; none without such.
[[nodiscard]] std::optional<double> further_query_share(const std::vector<AttentionVariant>& rows,
                                                        const DecodeForm& form, const Machine& machine);
/// KernelProfile::low_bit: how many times its bytes a row of few bits takes as long as, by the form, taken for reading
/// at `attention_bytes_per_s` and dequantising. The overlap is the power whose median rate leaves least of the rows.
/// None without rows beyond L2, or where dequantising hides behind reading.
[[nodiscard]] std::optional<LowBitAttention> low_bit_attention(const std::vector<AttentionVariant>& rows,
                                                               const DecodeForm& form, const Machine& machine,
                                                               double attention_bytes_per_s);

/// All of these, where there are rows of them: into `form`, and into `profile` by the form of bf16 KV.
void fit_variants(const Samples& samples, const Machine& machine,
                  const std::function<std::string(const std::string& operation)>& reference, DecodeForm& form,
                  KernelProfile& profile);

}  // namespace kvsim::models
