// The pool of a scenario: from the compressors and keep ratios that it names to options with bytes and times.
#pragma once

#include <string>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"

namespace kvsim::models {

/// Policy utility: each method at each keep ratio, each quantiser, and (combine) each quantiser on what each method
/// keeps. `options.methods` must be complete (complete_methods). Options that save nothing are left out, and so is the
/// second of two with the same method and quantiser and as many bytes.
///
/// Times are of one full byte of the object. A CPU worker compresses at the compressor's compress_bytes_per_s, or at
/// `worker_bytes_per_s` where that is 0; a quantiser after a method sees only what was kept. The GPU widens what was
/// quantised at decompress_bytes_per_s (0: free).
[[nodiscard]] OptionPool option_pool(const OptionsSpec& options, double worker_bytes_per_s);

/// Policies that only order objects: whole, and the one representation in which all are stored. Whole alone without a
/// compressor and where it saves nothing.
[[nodiscard]] OptionPool option_pool(const CompressorSpec& compressor, double keep_ratio, double worker_bytes_per_s);

/// Policy importance_chunks: whole, and "important chunks". Choosing them takes no time of its own (an assumption: the
/// heads that are looked at are few, and prefill has their scores).
[[nodiscard]] OptionPool option_pool(const ImportanceSpec& importance);

/// The pool of whatever policy the scenario has; compressor and keep ratio must be what placement_schema accepts.
[[nodiscard]] OptionPool option_pool(const PlacementSpec& placement);

/// Share of the bytes in chunks that hold an important token. Important tokens, a share s of all, stand in runs of r;
/// a chunk of n >= r tokens has n/r places for a run, each taken with probability s whatever the others are:
///   1 - (1 - s)^(n/r),
/// and a chunk within one run's place (n <= r) is stored with probability s. Between s and 1.
[[nodiscard]] double stored_share(const ImportanceSpec& importance);

/// What was taken for granted about the options of this placement, in sentences for results.
[[nodiscard]] std::vector<std::string> option_assumptions(const PlacementSpec& placement);

}  // namespace kvsim::models
