// Full KV on its way to verifications: when it may come, how far it is, and what GPU memory must stay free for it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "models/kernels/step_time.h"
#include "sim/engine/time.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/full_kv_source.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/kv_transfers.h"
#include "sim/serving/replica_environment.h"
#include "sim/serving/roster.h"
#include "sim/serving/schedule_policy.h"
#include "sim/serving/step_parts.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

class Reloads {
 public:
  /// All of it outlives this.
  Reloads(const ReplicaEnvironment& environment, KvHoldings& memory, const Roster& roster, machine::GpuGroup& gpus,
          transport::Link& from_host, MemoryUse& use);

  /// Before a step is planned: marks who can be verified while the last layers arrive, and starts what nobody has to
  /// plan.
  void begin_step();
  /// As planned and as far as memory allows.
  void start(const IterationPlan& plan);
  /// Some of these found no memory.
  [[nodiscard]] bool lacks_memory() const { return lacks_memory_; }
  /// Of a step that takes so long: until its last layer can have run, for what is still arriving.
  [[nodiscard]] engine::Duration tail(std::span<const StepEntry> step, const models::StepTime& time) const;
  [[nodiscard]] bool under_way() const;
  /// The request is pushed out.
  void abandon(Request& r);

  /// GPU memory of the largest reload of all requests here: it must always find room, whoever's it is, else nobody
  /// could ever verify.
  [[nodiscard]] std::int64_t largest() const;
  /// Beside what they hold there is room for it.
  [[nodiscard]] bool have_room() const { return memory_.capacity() - memory_.held() >= largest(); }

  /// Where full KV comes from.
  [[nodiscard]] FullKvSource& full_kv() { return *full_kv_; }
  [[nodiscard]] const FullKvSource& full_kv() const { return *full_kv_; }

 private:
  bool start(Request& r, bool replaces_compressed);
  void mark_arriving();
  void on_arrived(std::uint64_t id);

  const ReplicaEnvironment& env_;
  KvHoldings& memory_;
  const Roster& roster_;
  machine::GpuGroup& gpus_;
  transport::Link& from_host_;
  MemoryUse& use_;
  std::unique_ptr<FullKvSource> full_kv_;
  bool lacks_memory_ = false;
};

}  // namespace kvsim::serving
