// From measured rows to a profile: which rows count, what is fitted to them, and how far it can be trusted.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/calibration.h"
#include "models/hardware/gpu.h"

namespace kvsim::models {

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
