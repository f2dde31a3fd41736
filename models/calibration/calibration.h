// A calibration: what is fitted of measured rows, and how far it can be trusted.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/calibration/samples.h"
#include "models/calibration/tables.h"
#include "models/hardware/link_spec.h"
#include "models/kernels/profile.h"

namespace kvsim::models {

/// Seconds of an iteration beside its kernels, where nobody says: an order of magnitude, not measured.
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
  /// A fit of the form to another GPU's rows, its fixed times scaled by the ratio of the memory bandwidths, against
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

}  // namespace kvsim::models
