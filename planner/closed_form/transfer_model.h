// The three readings of how reloads use the link and HBM (docs/planner.md; the simulator is their referee).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kvsim::planner {

// One candidate (x, c) of the long-context plan: what its cycle of x drafting iterations and one verifying iteration
// costs, before the batch is chosen. Symbols as in docs/planner.md: x draft length, c keep ratio, B_c offloaded and B_g
// resident requests, l iterations that a reload spans, T_iter seconds of an iteration.

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

/// Limits on batches beside memory.
struct BatchLimits {
  static constexpr std::int64_t kNone = std::int64_t{1} << 40;
  std::int64_t requests = kNone;   ///< B_g + B_c
  std::int64_t offloaded = kNone;  ///< B_c
};

enum class TransferModel {
  published,   ///< T_xfer = B_c (1 - c) KV / ((x + 1) BW_link l), l free with B_c l / (x + 1) <= 1; memory KV_avg
  conserving,  ///< T_xfer without l: the link carries every byte once; memory KV_avg
  rings        ///< as conserving, and the streaming KV occupies HBM for the l_r iterations that it streams
};

struct TransferModelName {
  TransferModel model;
  std::string_view name;
  std::string_view description;
};

inline constexpr std::array<TransferModelName, 3> kTransferModels{{
    {TransferModel::published, "published", "the formula as printed, which counts the reload spread l twice"},
    {TransferModel::conserving, "conserving", "the link carries every reload's bytes once"},
    {TransferModel::rings, "rings", "as conserving, and a reload occupies HBM while it streams"},
}};

std::optional<TransferModel> find_transfer_model(std::string_view name);
std::string_view name_of(TransferModel model);

/// A batch on a cycle. `l` is free under `published` and follows from the rest under the others.
struct Batch {
  std::int64_t B_c = 0;
  std::int64_t B_g = 0;
  std::int64_t l = 1;

  [[nodiscard]] std::int64_t requests() const { return B_c + B_g; }
};

/// Times of an iteration of a batch.
struct IterationTimes {
  double gpu_s = 0;       ///< T_gpu
  double transfer_s = 0;  ///< T_xfer: the busier direction of the link

  [[nodiscard]] double iteration_s() const { return gpu_s > transfer_s ? gpu_s : transfer_s; }
};

/// T_gpu and T_xfer. Preconditions: 1 <= B <= cycle.gpu.most(), l >= 1.
[[nodiscard]] IterationTimes iteration_times(TransferModel model, const Cycle& cycle, const Batch& batch);

/// Reloads that are in HBM at a time under `rings`: B_c l_r / (x + 1) on average, l_r = max(1, reload_s / T_iter). With
/// cycle.whole_iterations, as ADMIT places them (docs/planner.md): each for ceil(l_r) iterations and the slack, of one
/// iteration at least where it fits into one; and their number rounded up.
[[nodiscard]] double streams_in_memory(const Cycle& cycle, std::int64_t B_c, double iteration_s);

/// Whether the link has room for the reloads: always, but with cycle.whole_iterations under `rings`, where a reload
/// takes equal shares of ceil(l_r) iterations, of which whole ones must fit into an iteration.
[[nodiscard]] bool link_has_room(TransferModel model, const Cycle& cycle, const Batch& batch, double iteration_s);

/// HBM for the KV of the batch, in bytes: B_g KV + B_c (memory per offloaded request). `iteration_s` is T_iter, used by
/// `rings` alone.
[[nodiscard]] double kv_memory_bytes(TransferModel model, const Cycle& cycle, const Batch& batch, double iteration_s);

/// HBM that one request needs, offloaded or resident, whichever is less.
[[nodiscard]] double least_kv_bytes(TransferModel model, const Cycle& cycle);

/// Whether `bytes` fit into `room`, but for rounding.
[[nodiscard]] bool fits(double bytes, double room);

/// l as reported: the batch's own under `published`, else max(1, ceil(reload_s / T_iter)).
[[nodiscard]] std::int64_t reload_span(TransferModel model, const Cycle& cycle, const Batch& batch, double iteration_s);

/// Output tokens per second: B tokens / T_iter.
[[nodiscard]] double throughput(const Cycle& cycle, const Batch& batch, const IterationTimes& times);

}  // namespace kvsim::planner
