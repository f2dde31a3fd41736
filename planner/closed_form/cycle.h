// One candidate (x, c) of the long-context plan: what its cycle of x drafting iterations and one verifying iteration
// costs, before the batch is chosen. Symbols as in docs/planner.md: x draft length, c keep ratio, B_c offloaded and B_g
// resident requests, l iterations that a reload spans, T_iter seconds of an iteration.
#pragma once

#include <cstdint>
#include <vector>

namespace kvsim::planner {

/// T_gpu(B): seconds of GPU work of an average iteration with B = B_g + B_c requests.
class GpuTime {
 public:
  GpuTime() = default;
  /// fixed + per_request B. Both in seconds, fixed > 0, per_request >= 0.
  static GpuTime linear(double fixed_s, double per_request_s);
  /// seconds[B] for B = 0, 1, ...; larger batches are not possible. Positive from B = 1 on.
  static GpuTime table(std::vector<double> seconds);

  [[nodiscard]] double at(std::int64_t requests) const {
    return table_.empty() ? fixed_s_ + per_request_s_ * static_cast<double>(requests)
                          : table_[static_cast<std::size_t>(requests)];
  }
  [[nodiscard]] bool is_linear() const { return table_.empty(); }
  [[nodiscard]] double fixed_s() const { return fixed_s_; }
  [[nodiscard]] double per_request_s() const { return per_request_s_; }
  /// Whether B / T_gpu(B) never falls as B grows. True of every linear one.
  [[nodiscard]] bool rate_grows() const { return rate_grows_; }
  /// The largest b / T_gpu(b) over 1 <= b <= B, in requests per second; 0 for B = 0.
  [[nodiscard]] double best_rate(std::int64_t requests) const;
  /// Largest batch of a table; no limit (the largest integer) for a linear one.
  [[nodiscard]] std::int64_t most() const;

 private:
  double fixed_s_ = 1;
  double per_request_s_ = 0;
  bool rate_grows_ = true;
  std::vector<double> table_;
  std::vector<double> best_rate_;
};

/// Memory in bytes of the whole tensor-parallel group, times in seconds.
struct Cycle {
  std::int64_t x = 0;    ///< draft length; 0: plain decoding with the full KV
  double c = 1;          ///< keep ratio
  std::int64_t d_e = 1;  ///< tokens per draft position, 1 of them from the compressed KV: > 1 with an auxiliary drafter
  double tokens = 1;     ///< output tokens per request and iteration: (gamma(x, c) x + 1) / (x + 1)
  GpuTime gpu;

  // Link, host to GPU. A reload is what one verification brings in.
  double reload_s = 0;               ///< (1 - c) KV / BW_link, or KV / BW_link where all of it is reloaded
  double other_per_offloaded_s = 0;  ///< per iteration and offloaded request: first loads
  double other_per_resident_s = 0;   ///< per iteration and resident request: first loads
  double back_per_offloaded_s = 0;   ///< GPU to host, per iteration and offloaded request: the other direction

  // HBM.
  double room_bytes = 0;        ///< HBM - M: for KV
  double resident_bytes = 0;    ///< of a resident request: KV
  double average_bytes = 0;     ///< of an offloaded request over a cycle: KV_avg = KV (x c + 1) / (x + 1)
  double compressed_bytes = 0;  ///< of an offloaded request while it drafts: c KV
  double streaming_bytes = 0;   ///< that a reload occupies from its first byte to its verification

  // `rings` with whole iterations, as schedulers count: a reload is there for whole iterations, reloads are whole, and
  // an iteration has room for whole reloads only.
  bool whole_iterations = false;
  std::int64_t slack = 0;  ///< iterations between a reload's last one and its verification
  /// Bytes of the largest reload of a batch, by its B_c: it must find room whoever's it is. Empty: all are alike.
  std::vector<double> largest_stream_bytes{};
};

/// What batches are allowed beside memory.
struct BatchLimits {
  static constexpr std::int64_t kNone = std::int64_t{1} << 40;
  std::int64_t requests = kNone;   ///< B_g + B_c
  std::int64_t offloaded = kNone;  ///< B_c
};

}  // namespace kvsim::planner
