// The way from where chunks are stored to a replica's GPUs, on which nothing else moves.
#pragma once

#include <string>

#include "models/catalogue/catalogue.h"
#include "sim/serving/config.h"

namespace kvsim::planner {

struct LoadPath {
  std::string tier;         ///< "host", or a tier of cluster.storage
  std::string link;         ///< between host memory and a GPU
  double bytes_per_s = 0;   ///< into the whole replica, by the narrowest part of the way
  double fixed_s = 0;       ///< setup and latency of a transfer
  bool by_storage = false;  ///< the narrowest part is the tier's own reading

  /// 0 where there is nothing to load.
  [[nodiscard]] double load_s(double bytes) const { return bytes > 0 ? fixed_s + bytes / bytes_per_s : 0; }
};

/// The way from a tier, as TieredStore reads it: "host", or a name of cluster.storage. Throws schema::InputError for an
/// unknown one.
[[nodiscard]] LoadPath load_path(const serving::ServingConfig& config, const std::string& tier = "host");

/// The host link of one GPU that `--link` asks for: a name of the catalogue, or a bandwidth ("5 GB/s"), which replaces
/// that of `own`. Throws schema::InputError for what is neither, and for bandwidths that are not above 0.
[[nodiscard]] models::LinkSpec link_asked_for(const std::string& text, const models::LinkSpec& own,
                                              const models::Catalogue& catalogue);

}  // namespace kvsim::planner
