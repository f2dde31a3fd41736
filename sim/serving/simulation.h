// The run of a simulation: arrivals, warm-up, judgement and the end, and the machines that serve requests as it sees
// them. Configurations are run through sim/systems.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/kernels/step_time.h"
#include "models/workload/request_source.h"
#include "sim/engine/id_table.h"
#include "sim/engine/simulator.h"
#include "sim/engine/time.h"
#include "sim/engine/trace.h"
#include "sim/serving/config.h"
#include "sim/serving/configuration_error.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request.h"
#include "sim/serving/request_log.h"

namespace kvsim::transport {
class Fabric;
}

namespace kvsim::serving {

/// Listener that is told of each request's arrival, entry, refusal and end, as they happen.
class RequestWatcher {
 public:
  virtual ~RequestWatcher() = default;
  /// One arrives now, no earlier than those before it.
  virtual void arrived(engine::SimTime now) = 0;
  /// One gets its Request::id. Called before finished().
  virtual void entered(std::uint64_t /*id*/, const models::RequestSpec& /*spec*/) {}
  /// A request that arrived then can never run: nothing more is said of it.
  virtual void refused(engine::SimTime arrival) = 0;
  /// `path`: ServingSystem::path_of.
  virtual void finished(const Request& request, std::string_view path) = 0;
};

struct SimulationOptions {
  engine::TraceSink* trace = nullptr;
  /// Called every so often with the simulated time; returning false ends the run there (interrupted).
  std::function<bool(engine::SimTime)> progress;
  /// Whether to keep a timeline, of period RunConfig::sample_every_s or of one that it chooses itself.
  bool timeline = false;
  RequestWatcher* requests = nullptr;
};

struct SimulationOutcome {
  Measurements measured;
  Timeline timeline;
  std::vector<std::string> fallbacks;  ///< figures that had to be replaced, in words
  std::vector<std::string> refusals;   ///< the first few reasons why requests were refused
  bool interrupted = false;
  bool given_up = false;  ///< ended early: more misses than RunConfig::most_misses allows
};

// Machines that serve requests, as the run loop sees them: replicas (sim/systems/fleet), or two pools of
// nodes around a storage node (sim/pools). The loop knows arrivals, warm-up, judgement and the end of a run; a system
// knows what happens to a request in between.

/// Environment that the run loop lends to a system; all of it outlives the system.
struct RunEnvironment {
  engine::Simulator& simulator;
  const ServingConfig& config;
  Measurements& measured;
  transport::Fabric& fabric;                      ///< its links are measured, checked and sampled by the loop
  engine::TraceSink* trace;                       ///< null: no timeline
  engine::Callback on_finished;                   ///< word: the request's id; its last token is out
  engine::Callback on_released;                   ///< word: the request's id; nothing refers to it any more
  const engine::IdTable<Request>& requests;       ///< until they are released
  std::int64_t prefix_block_tokens = 0;           ///< of RequestSpec::prefix_blocks; 0: they are empty
  const engine::ServerPool* front_end = nullptr;  ///< threads that turn prompts into tokens; null: that takes no time

  /// Environment of all groups of GPUs of a system that `timer` times.
  [[nodiscard]] machine::GpuGroup::Environment gpus(const models::StepTimer& timer) const {
    return {simulator,
            timer.one_token_s(),
            trace,
            measured.iteration_s,
            measured.extrapolated_iterations,
            measured.launched_iterations,
            front_end};
  }
};

class ServingSystem {
 public:
  virtual ~ServingSystem() = default;

  /// Takes over a request that arrives now; `spec` is what the workload says about it. Returns why it could never run
  /// here, in which case nothing was taken over, or an empty string.
  [[nodiscard]] virtual std::string submit(Request& request, const models::RequestSpec& spec) = 0;

  /// The way that a finished request went: between pools the path's name; of one that is verified, resident where its
  /// full KV stayed in GPU memory, else offloaded; else nothing.
  [[nodiscard]] virtual std::string_view path_of(const Request& request) const = 0;

  /// Ends the warm-up: everything measured so far is forgotten.
  virtual void start_measuring() = 0;
  /// Adds what was measured to the environment's measurements; the run ends now.
  virtual void finish_measuring() = 0;

  /// Writes into unfinished requests what they have come to: between two calls a system may keep that to itself.
  virtual void update_requests() {}

  /// Throws engine::InvariantViolation where a conservation law of memory or requests broke.
  virtual void check_conservation() const = 0;

  /// The load now. Notes that it takes for the next call matter to nothing else.
  [[nodiscard]] virtual LoadSample load() = 0;
  /// Bytes of GPU memory for KV, over all machines.
  [[nodiscard]] virtual std::int64_t kv_capacity() const = 0;
  /// Figures that had to be replaced, in words.
  [[nodiscard]] virtual std::vector<std::string> fallbacks() const = 0;
};

using SystemFactory = std::function<std::unique_ptr<ServingSystem>(const RunEnvironment&)>;

/// Runs a system to the configured duration, or until every request has finished; see systems::simulate. Precondition:
/// the configuration was checked. Throws ConfigurationError where planned weights are missing, or
/// engine::InvariantViolation where a conservation law broke.
SimulationOutcome run_system(const ServingConfig& config, RequestFeed& feed, const SimulationOptions& options,
                             const SystemFactory& make_system);

}  // namespace kvsim::serving
