// An account says which resource decides how much of a step's time, and what twice of each would save.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/kernels/step_time.h"
#include "models/kernels/step_work.h"

namespace kvsim::models {

/// A resource that a step's time depends on and that there can be more of.
enum class Resource : std::uint8_t {
  hbm_bandwidth,  ///< peak bandwidth of GPU memory
  compute,        ///< peak arithmetic rates
  collectives,    ///< messages between the GPUs of a replica
  launches,       ///< launching kernels and graphs
  host            ///< scheduling and sampling on the CPU: the iteration overhead
};
inline constexpr std::size_t kResources = 5;
using PerResource = std::array<double, kResources>;

/// Shares of a time that N resources decide.
template <std::size_t N>
struct Shares {
  std::array<double, N> bound{}, saved{};  ///< as in StepAccount
};

/// The time that doubling a resource saves, at most, of what is in inverse proportion to it.
inline constexpr double kSavedByTwice = 0.5;

/// Shares out a time; `saved` says which part of it doubling some of the resources saves, at most kSavedByTwice.
template <std::size_t N, class Saved>
[[nodiscard]] Shares<N> shared_out(const Saved& saved) {
  Shares<N> shares;
  std::array<bool, N> all{};
  all.fill(true);
  const double saved_by_all = saved(all);
  double sum = 0;
  for (std::size_t i = 0; i < N; ++i) {
    std::array<bool, N> one{}, others = all;
    one[i] = true;
    others[i] = false;
    shares.saved[i] = saved(one);
    shares.bound[i] = (shares.saved[i] + std::max(saved_by_all - saved(others), 0.0)) / 2;
    sum += shares.bound[i];
  }
  for (double& share : shares.bound) share *= sum > 0 ? saved_by_all / kSavedByTwice / sum : 0;
  return shares;
}

/// A StepAccount shares out a step's time.
struct StepAccount {
  /// A resource's share is twice the time that doubling the resource saves: the mean of doubling it first and of
  /// doubling it when all others are doubled already (L. S. Shapley's value, exact for two resources). The shares are
  /// scaled to the part of the step that shrinks with all resources; the rest are fixed times of kernels.
  PerResource bound{};
  PerResource saved{};             ///< what twice the resource saves: 1 - time with twice of it / time
  bool captured = true;            ///< StepTimer::captured(): its kernels are launched together
  bool launched_for_size = false;  ///< StepTimer::launched_for_size()
  std::uint64_t cell = 0;          ///< accounts with the same cell are the same
};

struct SizeCell;

/// StepAccounts works out the accounts of a timer's steps. Steps of nearly the same sizes share one, which is that of
/// the sizes they are rounded to: it does not depend on which of them came first. After the first thousand accounts,
/// steps of several kinds of work are rounded to coarser sizes, for the errors of many sizes average out.
class StepAccounts {
 public:
  explicit StepAccounts(const StepTimer& timer);

  /// Valid until the next call.
  [[nodiscard]] const StepAccount& of(const StepWork& work);

 private:
  [[nodiscard]] StepAccount account_of(const StepWork& work, bool captured) const;
  [[nodiscard]] const StepAccount& look_up(const StepWork& work);
  [[nodiscard]] const StepAccount& look_up(const StepWork& work, const SizeCell& decodes, const SizeCell& cell);
  /// A step of decoding alone, whose work is known to have the latest account from few of its sizes.
  struct Latest {
    double query_tokens = 0, requests = 0, logit_tokens = 0, sampled = 0;
    std::uint64_t pairs = 0, kv_bytes = 0;  // cells of these
    bool reads_all = false;
    bool operator==(const Latest&) const = default;
  };

  struct Machines {
    StepTimer as_described, twice_memory, twice_arithmetic, twice_both;
  };
  static constexpr std::size_t kKept = 16384, kFinelyMade = 1024;

  Machines machines_;
  double token_bytes_;  // of KV as it is stored, all layers
  Latest latest_;
  const StepAccount* account_ = nullptr;  // of latest_; null: it is of another kind of step
  std::size_t made_ = 0;
  std::vector<StepAccount> accounts_ = std::vector<StepAccount>(kKept);  // by cell
};

}  // namespace kvsim::models
