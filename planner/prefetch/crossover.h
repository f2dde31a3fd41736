// From which link on the fetch of k pairs is hidden behind the GPU's work, and up to which k on a given link.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "planner/prefetch/step_estimate.h"
#include "sim/serving/config.h"

namespace kvsim::planner {

/// Pairs per layer and KV head, and what the link needs for them.
struct CrossoverPoint {
  std::int64_t k = 0;
  double computing_s = 0;                  ///< GPU time of the step
  double bytes_per_gpu = 0;                ///< of a step
  std::optional<double> rows_bytes_per_s;  ///< least rate at which one GPU's rows must arrive; none: setup and latency
                                           ///< alone are too long, whatever the rate
  std::optional<double> link_factor;       ///< the same as a multiple of this link: its contiguous rate, the rates of
                                           ///< its gathers and the inverse of their time per row, all together
  bool hidden = false;                     ///< on this link as it is
};

/// A host link of the catalogue, for rows of the scenario's size.
struct HostLink {
  std::string name;
  std::string method;  ///< way of copying rows: the scenario's where the link has it, else its best
  double contiguous_bytes_per_s = 0;
  double rows_bytes_per_s = 0;                   ///< row / max(per row, row / rate)
  std::optional<std::int64_t> largest_hidden_k;  ///< none: not even one pair
  bool own = false;                              ///< the scenario's
};

struct Crossover {
  LikeRequests requests;
  std::int64_t k = 0;  ///< the scenario's
  double row_bytes = 0;
  HostLink own;
  std::vector<CrossoverPoint> points;  ///< by ascending k
  std::vector<HostLink> links;         ///< by ascending rate of rows; without those that have no figures for rows
};

/// Values of k from 8 to `context`, two to an octave, and `context` itself.
[[nodiscard]] std::vector<std::int64_t> crossover_grid(std::int64_t context);

/// The point of one k. Precondition: config's policy is speculative_prefetch.
[[nodiscard]] CrossoverPoint crossover_point(serving::ServingConfig config, const LikeRequests& requests,
                                             std::int64_t k);

/// The largest k up to the context whose fetch is hidden, by bisection: it takes for granted that a smaller fetch is
/// hidden where a larger one is.
[[nodiscard]] std::optional<std::int64_t> largest_hidden_k(serving::ServingConfig config, const LikeRequests& requests);

/// The curve and the catalogue's host links, for this batch at every k. Precondition as above.
[[nodiscard]] Crossover crossover(const serving::ServingConfig& config, const LikeRequests& requests,
                                  const models::Catalogue& catalogue);

}  // namespace kvsim::planner
