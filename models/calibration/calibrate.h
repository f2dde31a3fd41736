// From measured rows to a profile: which rows count, what is fitted to them, and how far it can be trusted.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/calibration/fit_problem.h"
#include "models/calibration/samples.h"
#include "models/calibration/tables.h"
#include "models/hardware/gpu.h"
#include "models/hardware/link_spec.h"
#include "models/kernels/profile.h"

namespace kvsim::models {

/// Of an iteration, beside its kernels, where nobody says: an order of magnitude, not measured.
inline constexpr double kAssumedOverhead = 0.5e-3;

struct CalibrationOptions {
  std::string profile = "calibrated";  ///< its name
  /// Rows of other frameworks are left out, rows that name none are taken. Empty: vllm where there are rows of it, else
  /// the only one that there is.
  std::string framework;
  std::string data = "kernel tables";   ///< what the rows are, for references
  bool tables = false;                  ///< of single shapes, beside the forms
  std::vector<NumberFormat> drop_slow;  ///< formats of linear layers whose slow rows are left out (refuse_slow)
  bool leave_out_shapes = true;
  bool leave_out_models = true;
  bool other_machines = true;
  /// Known forms by GPU, which rows of whole attention blocks are read by: of linear layers where no rows of those come
  /// along, and of another GPU of latent attention too.
  std::map<std::string, FittedForms> known;
  std::optional<double> iteration_overhead_s;  ///< none: kAssumedOverhead, with a warning
  /// Called before every step of every search; what it throws ends the calibration.
  std::function<void()> before_step;
};

struct FittedValue {
  std::string name;
  double value = 0;
  bool at_bound = false;  ///< the search would have gone on
};

/// One operator in one number format.
struct OperatorReport {
  std::string name;    ///< decode attention
  std::string format;  ///< bf16
  std::vector<FittedValue> values;
  ErrorSummary in_sample;
  ErrorSummary shapes;  ///< cross-validated; count 0: not done
  ErrorSummary models;
  struct Region {
    std::string name;
    ErrorSummary in_sample;
    ErrorSummary shapes;
  };
  std::vector<Region> regions;
  /// The same form fitted to another GPU's rows, its fixed times scaled by the ratio of the memory bandwidths, against
  /// this GPU's rows.
  struct Transfer {
    std::string from;
    ErrorSummary errors;
  };
  std::vector<Transfer> machines;
};

struct Calibration {
  KernelProfile profile;
  std::vector<CollectiveTable> collectives;  ///< of the link between the GPUs
  std::optional<LinkSpec> host_link;    ///< to host memory, where copies or gathers were measured; what was not is 0
  std::optional<LinkSpec> storage;      ///< of the drive, where its reads and writes were measured
  std::optional<LinkSpec> host_memory;  ///< that all of a node's GPUs read and write, where it was measured
  std::vector<OperatorReport> operators;
  std::vector<TableReport> tables;
  std::vector<RefusedRow> refused;   ///< of this GPU
  std::vector<std::string> ignored;  ///< files that are no table the fit knows
  std::size_t rows = 0;              ///< used
  std::vector<std::string> warnings;
};

/// Whether a name in a file ("h100_sxm", "NVIDIA H100 80GB HBM3") means a GPU of the catalogue.
[[nodiscard]] bool names_gpu(const std::string& text, const std::string& gpu);

/// Fits a profile for `gpu`. Rows that name no GPU are taken as its own. `others` are the catalogue's GPUs, `models`
/// its models, for cross-validation. Throws schema::InputError where no row is of this GPU and framework, or where so
/// few are that no operator could be fitted.
[[nodiscard]] Calibration calibrate(const Readings& readings, const GpuSpec& gpu, const std::vector<GpuSpec>& others,
                                    const std::vector<LlmSpec>& models, const CalibrationOptions& options);

// A fitted profile as a catalogue file that `include` reads (profile_writer.cpp).

/// Whether something of a profile was measured, beside its roofline.
[[nodiscard]] bool has_profile(const KernelProfile& profile);

/// "profiles:" and the entry below its name, where something of it was measured; "links:" with an entry "NAME-peers" on
/// top of the GPU's own peer link, where collectives were, "NAME-host" on top of its host link, where host copies
/// or gathers were, "NAME-storage", where a drive was, and "NAME-memory", where host memory was. Numbers have 4
/// significant digits, times their units.
[[nodiscard]] std::string catalogue_yaml(const Calibration& calibration, const GpuSpec& gpu);

}  // namespace kvsim::models
