// What keeping an object in one configuration is worth, as in EvicPress ("Joint KV-cache compression and eviction"):
//
//   U = (alpha * quality - TTFT) * frequency
//
// Prefilling the query itself takes the same time in every configuration of the object, so it cancels in every
// comparison and is left out. Pure functions, called for every option of an object at every eviction: inline.
#pragma once

#include <cstdint>

namespace kvsim::models {

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
