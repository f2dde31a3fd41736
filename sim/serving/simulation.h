// One simulation of a cluster serving a workload: the entry point of sim/serving.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/engine/time.h"
#include "sim/engine/trace.h"
#include "sim/serving/config.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request_feed.h"
#include "sim/serving/timeline.h"

namespace kvsim::serving {

/// The configuration cannot be simulated; what() says why in the user's terms.
class ConfigurationError : public std::runtime_error {
 public:
  /// `key`: the scenario key to blame, dotted.
  ConfigurationError(std::string key, const std::string& message) : std::runtime_error(message), key_(std::move(key)) {}
  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  std::string key_;
};

/// The weights leave no room for KV.
class ModelDoesNotFit : public ConfigurationError {
 public:
  using ConfigurationError::ConfigurationError;
};

/// KV memory of one replica, as computed and enforced.
struct KvCapacity {
  std::int64_t bytes = 0;
  std::int64_t tokens = 0;  ///< in full
  std::int64_t blocks = 0;
  std::int64_t block_tokens = 0;
  std::int64_t weights_bytes = 0;
};

/// Checks what no single field shows: the model fits, the policies go together, the compressor can be used. Throws
/// ConfigurationError.
void check_configuration(const ServingConfig& config);

/// KV capacity of a replica. Throws ModelDoesNotFit.
KvCapacity kv_capacity(const ServingConfig& config);

struct SimulationOptions {
  engine::TraceSink* trace = nullptr;
  /// Called every so often with the simulated time; returning false ends the run there (interrupted).
  std::function<bool(engine::SimTime)> progress;
  /// Whether to keep a timeline, of period RunConfig::sample_every_s or of one that it chooses itself.
  bool timeline = false;
};

struct SimulationOutcome {
  Measurements measured;
  Timeline timeline;
  std::vector<std::string> fallbacks;  ///< figures that had to be replaced, in words
  std::vector<std::string> refusals;   ///< the first few reasons why requests were refused
  bool interrupted = false;
  bool given_up = false;  ///< ended early: more misses than RunConfig::most_misses
};

/// Runs to the configured duration, or until every request has finished. Same configuration, feed and seed: same
/// outcome, bit for bit. Throws ConfigurationError, or InvariantViolation where a conservation law broke.
SimulationOutcome simulate(const ServingConfig& config, RequestFeed& feed, const SimulationOptions& options = {});

}  // namespace kvsim::serving
