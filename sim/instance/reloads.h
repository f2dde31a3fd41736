// Full KV on its way to verifications: when it may come, how far it is, and what GPU memory must stay free for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "sim/instance/full_kv_source.h"
#include "sim/instance/kv_transfers.h"
#include "sim/instance/request_queues.h"
#include "sim/instance/scheduling.h"
#include "sim/instance/step_loop.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/schedule_policy.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

class Reloads {
 public:
  /// All of it outlives this.
  Reloads(const InstanceEnvironment& environment, KvHoldings& memory, const RequestQueues& queues,
          Scheduling& scheduling, StepLoop& loop, transport::Link& from_host, MemoryUse& use);

  /// Before a step is planned in which the schedule is asked about these requests: marks who of them can be verified
  /// while the last layers arrive, and starts what nobody has to plan.
  void begin_step(std::span<Request* const> asked);
  /// As planned and as far as memory allows; the schedule is asked anew about the others.
  void start(const IterationPlan& plan);
  /// Some of these found no memory.
  [[nodiscard]] bool lacks_memory() const { return lacks_memory_ || scheduling_.memory_awaited(); }
  [[nodiscard]] bool under_way() const;
  /// The request was verified and has its tokens; see FullKvSource.
  void verified(Request& r);
  /// The request is preempted.
  void abandon(Request& r);

  /// GPU memory of the largest reload of all requests here: it must always find room, whoever's it is, else nobody
  /// could ever verify.
  [[nodiscard]] std::int64_t largest() const;
  /// Beside what they hold there is room for it.
  [[nodiscard]] bool have_room() const { return memory_.gpu().capacity() - memory_.held() >= largest(); }

  /// Where full KV comes from.
  [[nodiscard]] FullKvSource& full_kv() { return *full_kv_; }
  [[nodiscard]] const FullKvSource& full_kv() const { return *full_kv_; }

 private:
  bool start(Request& r, bool replaces_compressed);
  void mark_arriving(Request& r) const;
  void on_arrived(std::uint64_t id);

  const InstanceEnvironment& env_;
  KvHoldings& memory_;
  const RequestQueues& queues_;
  Scheduling& scheduling_;
  StepLoop& loop_;
  transport::Link& from_host_;
  MemoryUse& use_;
  std::unique_ptr<FullKvSource> full_kv_;
  bool lacks_memory_ = false, by_layers_;
  // Result of largest(), and the state of the queues that it was found for.
  mutable std::int64_t largest_ = 0;
  mutable std::optional<std::uint64_t> largest_of_;
};

}  // namespace kvsim::serving
