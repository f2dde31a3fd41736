// The representations in which an object (a context's KV, or a block of it) may be stored: whole, or compressed by a
// method at a keep ratio, or quantised, or both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/placement/placement_spec.h"

namespace kvsim::models {

/// Place of an option in its pool; 0 is always the whole object.
using OptionIndex = std::uint16_t;

struct StorageOption {
  std::string name;                       ///< "full", "kvzip 0.25", "kivi-4bit", "kvzip 0.25 x kivi-4bit"
  std::string method;                     ///< compressor that drops tokens; empty: none
  std::string quantiser;                  ///< empty: 16 bit
  double keep = 1;                        ///< share of the tokens that are kept, in (0, 1]
  double element_ratio = 1;               ///< bytes of a kept token / its 16-bit bytes, metadata included
  double quantised_quality = 1;           ///< relative score of the quantiser alone
  double compress_s_per_full_byte = 0;    ///< of one CPU worker
  double decompress_s_per_full_byte = 0;  ///< of the GPU, on arrival; 0 for dropped tokens, which stay away
  double step_kl = 0;                     ///< nats per decoding step against the whole KV; NaN where unknown
  std::optional<double> attended{};       ///< share of all tokens that is attended to; none: what is kept

  /// Stored bytes / full bytes: the keep ratio c as everywhere else.
  [[nodiscard]] double bytes_ratio() const { return keep * element_ratio; }
  /// The share of the tokens on which quality depends: below `keep` where whole chunks are stored for a few of theirs.
  [[nodiscard]] double attended_share() const { return attended.value_or(keep); }
};

class OptionPool {
 public:
  /// The whole object alone.
  OptionPool();

  /// Adds an option; its bytes_ratio() must be below 1. Returns its place.
  OptionIndex add(StorageOption option);

  [[nodiscard]] std::size_t size() const { return options_.size(); }
  [[nodiscard]] const StorageOption& operator[](OptionIndex i) const { return options_[i]; }
  [[nodiscard]] std::span<const StorageOption> all() const { return options_; }

  /// Stored bytes of an object of `full_bytes`, at least 1 where full_bytes is.
  [[nodiscard]] std::int64_t bytes(OptionIndex i, std::int64_t full_bytes) const;

  /// Whether `to` can be made out of what `from` left: fewer bytes, no token or bit that `from` gave up. Another
  /// method may drop more of the tokens that are left; the quality is then the lower of the two (an assumption).
  [[nodiscard]] bool follows(OptionIndex from, OptionIndex to) const;

 private:
  std::vector<StorageOption> options_;
};

// The pool of a scenario: from the compressors and keep ratios that it names to options with bytes and times.

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

/// Policy importance_chunks: whole, and "important chunks". To choose them, a CPU worker reads `probed` of the KV at
/// `worker_bytes_per_s`.
[[nodiscard]] OptionPool option_pool(const ImportanceSpec& importance, double worker_bytes_per_s);

/// The pool of whatever policy the scenario has; compressor and keep ratio must be what placement_schema accepts.
[[nodiscard]] OptionPool option_pool(const PlacementSpec& placement);

/// Share of the bytes in chunks that hold an important token. Important tokens, a share s of all, stand in runs of r;
/// a chunk of n >= r tokens has n/r places for a run, each taken with probability s whatever the others are:
///   1 - (1 - s)^(n/r),
/// and a chunk within one run's place (n <= r) is stored with probability s. Between s and 1.
[[nodiscard]] double stored_share(const ImportanceSpec& importance);

/// Assumptions about the options of this placement, in sentences for results.
[[nodiscard]] std::vector<std::string> option_assumptions(const PlacementSpec& placement);

// Worth of keeping an object in one configuration, as in EvicPress ("Joint KV-cache compression and eviction"):
//
//   U = (alpha * quality - TTFT) * frequency
//
// Prefilling the query itself takes the same time in every configuration of the object, so it cancels in every
// comparison and is left out. Pure functions, called for every option of an object at every eviction: inline.

/// TTFT in seconds of a request that loads the object: latency + stored bytes / bandwidth + decompression. Sizes in
/// bytes, rates in bytes per second (> 0) and seconds per byte of the whole object.
[[nodiscard]] inline double load_ttft_s(double latency_s, double read_bytes_per_s, std::int64_t stored_bytes,
                                        std::int64_t full_bytes, double decompress_s_per_full_byte) {
  return latency_s + static_cast<double>(stored_bytes) / read_bytes_per_s +
         static_cast<double>(full_bytes) * decompress_s_per_full_byte;
}

/// Time of computing an object of so many bytes: linear layers grow with it, attention with its square.
struct PrefillCost {
  double s_per_byte = 0;
  double s_per_byte2 = 0;

  PrefillCost(double per_byte, double per_byte2 = 0)
      : s_per_byte(per_byte), s_per_byte2(per_byte2) {}  // NOLINT: a rate
};

/// TTFT in seconds of a request that must compute the object: a full prefill of what is `full_bytes` of KV.
[[nodiscard]] inline double prefill_ttft_s(std::int64_t full_bytes, PrefillCost cost) {
  const auto bytes = static_cast<double>(full_bytes);
  return bytes * (cost.s_per_byte + bytes * cost.s_per_byte2);
}

/// U in seconds: alpha_s seconds of TTFT are worth a quality of 1; `frequency` counts accesses.
[[nodiscard]] inline double utility_s(double alpha_s, double quality, double ttft_s, double frequency = 1) {
  return (alpha_s * quality - ttft_s) * frequency;
}

/// U in seconds of being dropped: the quality is 1, since every request prefills the whole prompt in `prefill_s`.
[[nodiscard]] inline double dropped_utility_s(double alpha_s, double prefill_s, double frequency = 1) {
  return utility_s(alpha_s, 1, prefill_s, frequency);
}

}  // namespace kvsim::models
