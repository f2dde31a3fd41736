// Pools and streams of the placement tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "models/placement/option_pool.h"
#include "models/workload/distributions.h"
#include "sim/engine/random.h"

namespace kvsim::models {

inline const Catalogue& shipped() {
  static const Catalogue catalogue = Catalogue::built_in();
  return catalogue;
}

inline std::unique_ptr<RandomSource> stream(std::string_view name, std::uint64_t seed = 1) {
  return std::make_unique<RandomSourceOf<engine::RandomStream>>(engine::RandomStream(seed, name));
}

inline OptionsSpec options_of(const std::vector<std::string>& methods, std::vector<double> keep_ratios,
                              const std::vector<std::string>& quantisers = {}) {
  OptionsSpec options;
  for (const std::string& name : methods) options.methods.push_back(shipped().compressor(name));
  options.keep_ratios = std::move(keep_ratios);
  for (const std::string& name : quantisers) options.quantisers.push_back(shipped().compressor(name));
  return options;
}

/// The pool of these options, with workers of 2 GB/s.
inline OptionPool pool_of(const std::vector<std::string>& methods, std::vector<double> keep_ratios,
                          const std::vector<std::string>& quantisers = {}) {
  return option_pool(options_of(methods, std::move(keep_ratios), quantisers), 2e9);
}

/// The place of an option by its name; the pool's size if it is not there.
inline OptionIndex named(const OptionPool& pool, std::string_view name) {
  OptionIndex i = 0;
  while (i < pool.size() && pool[i].name != name) ++i;
  return i;
}

}  // namespace kvsim::models
