// The schedule of draft and verify that kvsim-calibrate ran on a GPU, simulated with a profile and a link, and compared
// with what was measured iteration by iteration.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/fit_problem.h"
#include "models/calibration/replay_files.h"
#include "models/hardware/gpu.h"
#include "models/hardware/link_spec.h"
#include "models/kernels/profile.h"
#include "models/llm/llm_spec.h"

namespace kvsim::planner {

struct ReplayMachine {
  models::GpuSpec gpu;
  models::KernelProfile profile;
  models::LinkSpec host_link;
  models::LlmSpec model;  ///< whole; the run says how many of its layers
};

/// Times are from the end of the iteration before to the end of this one; waits, for a reload, are a part of them.
struct ReplayIteration {
  std::string schedule;
  std::int64_t iteration = 0;
  std::int64_t drafting = 0, verifying = 0, reloads = 0;
  double measured_s = 0, measured_wait_s = 0;  ///< medians over the runs
  double simulated_s = 0, simulated_wait_s = 0;

  [[nodiscard]] double error() const { return simulated_s / measured_s - 1; }
  /// lock_step draft
  [[nodiscard]] std::string kind() const;
};

struct ReplayKindErrors {
  std::string kind;
  models::ErrorSummary errors;
};

struct ReplayTotal {
  std::string schedule;
  double measured_s = 0;  ///< median over the runs
  double simulated_s = 0;

  [[nodiscard]] double error() const { return simulated_s / measured_s - 1; }
};

struct ReplayComparison {
  std::string gpu, profile, host_link, model;
  models::ReplayRun run;
  std::vector<ReplayIteration> iterations;
  models::ErrorSummary errors;
  std::vector<ReplayKindErrors> kinds;
  std::vector<ReplayTotal> totals;     ///< by schedule
  std::vector<std::string> fallbacks;  ///< figures that had to be replaced, in words
};

/// Precondition: rows as read_replay_rows() gives them. Throws schema::InputError where runs of a schedule differ in
/// what they did.
[[nodiscard]] ReplayComparison compare_replay(const ReplayMachine& machine, const models::ReplayRun& run,
                                              const std::vector<models::ReplayRow>& rows);

}  // namespace kvsim::planner
