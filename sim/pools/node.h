// One node: a tensor-parallel group of GPUs with its memory, which computes whatever its requests need next, iteration
// by iteration. It knows nothing of paths; what follows from a finished step is its owner's business.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "models/kernels/step_time.h"
#include "sim/engine/simulator.h"
#include "sim/engine/trace.h"
#include "sim/machine/gpu_group.h"
#include "sim/memory/kv_memory.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/storage_network.h"
#include "sim/serving/config.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/measurements.h"
#include "sim/serving/step_parts.h"

namespace kvsim::pools {

using serving::Work;

/// A request's part in a step: decoding and drafting in every one until it is stopped, a prompt in chunks until it is
/// done, everything else once.
struct StepEntry : serving::StepPart {
  PoolRequest* request = nullptr;
};

/// What all nodes share; all of it outlives them.
struct NodeEnvironment {
  engine::Simulator& simulator;
  const serving::ServingConfig& config;
  const serving::DecodePolicy& decode;
  const serving::KvGeometry& geometry;
  const models::StepTimer& timer;
  serving::Measurements& measured;
  engine::TraceSink* trace;
  machine::GpuGroup::Environment gpus;
};

/// Hears what nodes have computed.
class StepListener {
 public:
  virtual ~StepListener() = default;
  virtual void on_step(Node& node, const StepEntry& entry) = 0;
};

class Node final : private machine::StepOwner {
 public:
  Node(const NodeEnvironment& environment, StepListener& listener, Pool pool, std::size_t index,
       std::int64_t kv_capacity_bytes);

  /// Decoding or drafting from the next iteration on.
  void start(PoolRequest& request, Work steady);
  void stop(const PoolRequest& request);
  /// One of the other kinds of work, after what was queued before; prompts after everything else.
  void enqueue(PoolRequest& request, Work task);

  [[nodiscard]] Pool pool() const { return pool_; }
  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] memory::KvMemory& memory() { return memory_; }
  [[nodiscard]] const memory::KvMemory& memory() const { return memory_; }
  [[nodiscard]] const machine::GpuGroup& gpus() const { return gpus_; }

  void start_measuring();
  void finish_measuring();
  void check_conservation() const { memory_.check_conservation(); }

  /// Adds to `requests`.
  void count_requests(std::int64_t change);
  // A request is verified here from now on, or not any more, with its full KV read anew each round.
  void add_stateless(PoolRequest& request);
  void remove_stateless(PoolRequest& request);

  // Who is here.
  std::int64_t requests = 0;            ///< placed here for good and not finished
  std::vector<PoolRequest*> stateless;  ///< verified here (add_stateless())

 private:
  void begin_step() override;
  void end_step() override;
  void batch(std::size_t prompts);
  [[nodiscard]] static std::int64_t tokens_of(const StepEntry& task);
  [[nodiscard]] bool compresses(const StepEntry& chunk) const;
  void count(const StepEntry& entry);
  void note_waiting();
  void trace_step();

  const NodeEnvironment& env_;
  StepListener& listener_;
  Pool pool_;
  std::size_t index_;
  memory::KvMemory memory_;
  machine::GpuGroup gpus_;
  serving::StepParts parts_;
  std::vector<StepEntry> steady_;
  std::deque<StepEntry> tasks_;
  std::deque<StepEntry> prompts_;
  std::size_t known_prompts_ = 0;  // of these, there when the last iteration began
  bool decided_ahead_ = false;     // the coming iteration was decided when the last one began
  std::vector<StepEntry> step_;
  models::StepWork work_;
  serving::PoolMeasurement sums_;
};

}  // namespace kvsim::pools
