// The environment of instances: what all instances of a system share, and what their step loops need of it.
#pragma once

#include <cstdint>

#include "models/acceptance/acceptance.h"
#include "models/kernels/step_times.h"
#include "sim/engine/id_table.h"
#include "sim/engine/simulator.h"
#include "sim/engine/trace.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/measurements.h"
#include "sim/serving/prompt_store.h"
#include "sim/serving/request.h"
#include "sim/serving/step_parts.h"
#include "sim/transport/fabric.h"

namespace kvsim::serving {

/// The requests of a run by id, and who hears of their end.
class Requests {
 public:
  /// `by_id` outlives this. Callbacks' word: the request's id.
  Requests(const engine::IdTable<Request>& by_id, engine::Callback on_finished, engine::Callback on_released)
      : by_id_(by_id), on_finished_(on_finished), on_released_(on_released) {}

  [[nodiscard]] Request& operator[](std::uint64_t id) const { return by_id_[id]; }
  /// Ids of all that have arrived are smaller.
  [[nodiscard]] std::uint64_t arrived() const { return by_id_.end(); }

  /// Its last token is out.
  void finished(const Request& r) const { notify(on_finished_, r); }
  /// Something that referred to it does so no more.
  void release_if_over(const Request& r) const {
    if (r.phase == Phase::finished && !r.referred_to()) notify(on_released_, r);
  }

 private:
  static void notify(engine::Callback callback, const Request& r) {
    callback.word = r.id;
    callback();
  }

  const engine::IdTable<Request>& by_id_;
  engine::Callback on_finished_, on_released_;
};

/// KV geometry, times of steps and drafter of a group's instances, from the group's GPUs.
struct GroupParts {
  /// All of it outlives this.
  GroupParts(const ServingConfig& config, const GroupConfig& of, const DecodePolicy& decode)
      : group(of),
        geometry(configured_geometry(config, group)),
        timer(step_timer(config, group, group.parallel)),
        step_times(timer),
        drafting(config, group, decode) {}

  const GroupConfig& group;
  KvGeometry geometry;
  models::StepTimer timer;
  models::StepTimes step_times;
  Drafting drafting;
};

/// The things that step loops of a group share; all of it outlives them.
struct GroupEnvironment {
  engine::Simulator& simulator;
  const ServingConfig& config;
  const GroupConfig& group;
  const DecodePolicy& decode;  ///< the configured policy
  const KvGeometry& geometry;
  const models::StepTimer& timer;
  models::StepTimes& step_times;  ///< of that timer, for all instances
  const Drafting& drafting;       ///< what each instance's is a copy of
  Measurements& measured;
  engine::TraceSink* trace;
  machine::GpuGroup::Environment gpus;
};

/// All of it outlives the instances.
struct InstanceEnvironment : GroupEnvironment {
  const models::AcceptanceModel& acceptance;
  transport::Fabric& fabric;
  Requests requests;
  PromptStore& prompts;
  std::int64_t prefix_tokens = 0;  ///< of a block that requests share in GPU memory; 0: they share none
};

}  // namespace kvsim::serving
