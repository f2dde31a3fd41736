// Readers of measured kernel times: CSV files with a header, columns found by name, others ignored. A table is known by
// its columns; docs/kernel_timing.md lists them.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/samples.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

/// A row that no fit may use, and why.
struct RefusedRow {
  schema::Origin origin;
  std::string reason;
};

/// What the files of one command line hold.
struct Readings {
  Samples samples;
  std::vector<RefusedRow> refused;
  std::vector<std::string> ignored;  ///< files of folders that are no such tables: no row of them is used
};

/// Whether a CSV file is a layer profile of one model (dense.csv, attention.csv and so on), which needs to be told the
/// model's shapes.
[[nodiscard]] bool needs_model(const std::string& path);

/// Adds the rows of one file. Throws schema::InputError (file:line:column) where it cannot be read or, with `required`,
/// where it is none of the known tables. `model` may be null for files that need none.
void read_samples(const std::string& path, const LlmSpec* model, bool required, Readings& into);

/// The CSV files that a path stands for: itself, or those in the folder, by name. Throws schema::InputError.
[[nodiscard]] std::vector<std::string> csv_files(const std::string& path);

}  // namespace kvsim::models
