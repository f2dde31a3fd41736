// The three readings of how reloads use the link and HBM (docs/planner.md; the simulator is their referee).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "planner/closed_form/cycle.h"

namespace kvsim::planner {

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

/// What an iteration of a batch takes.
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
