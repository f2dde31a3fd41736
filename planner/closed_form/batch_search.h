// The batches of one cycle: bounds on what they can reach, and the best of them.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/closed_form/search.h"

namespace kvsim::planner::detail {

class BatchSearch {
 public:
  /// `evaluated` counts the batches worked out. All arguments outlive the search.
  BatchSearch(TransferModel model, const Cycle& cycle, const BatchLimits& limits, std::uint64_t& evaluated);

  /// No batch of this cycle has a higher throughput. 0 where none fits.
  [[nodiscard]] double upper_bound() const;

  /// The best throughput above `best`, or `best` itself.
  [[nodiscard]] double improve(double best) const;

  /// The first batch, in the order of B_c, B_g, l, that reaches `threshold`.
  [[nodiscard]] std::optional<OperatingPoint> first_reaching(double threshold) const;

 private:
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = -1;
  };
  /// B_g + B_c at most, not rounded down to a whole number.
  [[nodiscard]] double largest_batch(std::int64_t B_c) const;
  [[nodiscard]] std::int64_t largest_resident(std::int64_t B_c) const;
  /// Bounds on the throughput of B_c: by the GPU, never falling in B_c where shaped_; by the link, never rising.
  [[nodiscard]] double gpu_bound(std::int64_t B_c) const;
  [[nodiscard]] double link_bound(std::int64_t B_c) const;
  [[nodiscard]] double bound(std::int64_t B_c) const;
  /// The first B_c at which the link bounds more than the GPU; most_offloaded_ + 1 if there is none.
  [[nodiscard]] std::int64_t crossing() const;
  /// All B_c that may reach `threshold`.
  [[nodiscard]] Range candidates(double threshold) const;
  [[nodiscard]] std::int64_t largest_span(std::int64_t B_c) const;
  [[nodiscard]] std::optional<OperatingPoint> evaluated(const Batch& batch) const;
  [[nodiscard]] double best_of(std::int64_t B_c, double best) const;

  TransferModel model_;
  const Cycle& cycle_;
  const BatchLimits& limits_;
  std::uint64_t& evaluated_;
  double least_offloaded_bytes_ = 0;  // HBM of an offloaded request, at least
  std::int64_t most_offloaded_ = 0;
  std::int64_t most_requests_ = 0;
  bool resident_first_ = true;  // for fixed B_c, throughput never falls with B_g
  bool shaped_ = true;          // gpu_bound and link_bound are monotone
};

}  // namespace kvsim::planner::detail
