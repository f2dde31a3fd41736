// The representations in which an object (a context's KV, or a block of it) may be stored: whole, or compressed by a
// method at a keep ratio, or quantised, or both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

}  // namespace kvsim::models
