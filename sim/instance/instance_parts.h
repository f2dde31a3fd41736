// The parts of an instance: its requests, its memory, its step loop, and stages of a request's life with state of their
// own. Composition of a step, its results, and the route of requests that are served here whole all work on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/instance/admission.h"
#include "sim/instance/kv_transfers.h"
#include "sim/instance/reloads.h"
#include "sim/instance/request_queues.h"
#include "sim/instance/rounds.h"
#include "sim/instance/route.h"
#include "sim/instance/scheduling.h"
#include "sim/instance/step_loop.h"
#include "sim/instance/uniform_rounds.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/kv_demand.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/request.h"
#include "sim/serving/request_log.h"

namespace kvsim::serving {

/// An instance among others of a system.
struct InstanceSpec {
  std::string name;
  std::int64_t host_bytes = 0;  ///< memory beside the GPUs, of its own
  bool grows = true;            ///< requests take memory token by token; else all that they will need when they enter
  /// The link to KV beyond its GPUs; none: host links of its own.
  std::optional<KvLink> link{};
  /// The route of its requests, which gives them their memory; null: they are served here from their prompt to their
  /// last token.
  Route* route = nullptr;
};

/// Work that an instance has computed since measuring began.
struct ComputedWork {
  std::uint64_t iterations = 0;
  std::int64_t decode_tokens = 0;  ///< of ordinary decoding
  std::int64_t draft_tokens = 0;
  std::uint64_t verifications = 0;
  std::int64_t verified_tokens = 0;  ///< query positions of verifications
  std::int64_t prefill_tokens = 0;
};

class InstanceParts final : private OffloadListener {
 public:
  /// All of it outlives this. Where `spec` has no route, `route` is to be set before a request comes.
  InstanceParts(const InstanceEnvironment& environment, const InstanceSpec& spec, const SchedulePolicyEntry& schedule,
                Instance& of, StepLoopListener& listener);

  /// The schedule policy decides who drafts and verifies when.
  [[nodiscard]] bool schedules() const { return own && env.decode.verifies; }
  [[nodiscard]] bool decodes_uniformly() const { return !schedules() && loop.uniform_batch().possible(Work::decode); }
  /// With the step that has ended, or now, it may have fallen in step with the others.
  void join_uniform(Request& r);
  /// It takes part in no further step.
  void stop(Request& r);
  /// A token of it is out, by an ordinary step or a prompt's last chunk.
  void emit_directly(Request& r);
  /// It has its last token, or all that it set out to draft.
  void end(Request& r);

  // GPU memory.
  /// The request's memory grows with its tokens.
  [[nodiscard]] bool grows_with(const Request& r) const {
    return own || (grows && (!env.decode.verifies || r.full_kv.resident));
  }
  /// Memory for its next token. False where the request itself was preempted for it.
  bool grow(Request& r);
  /// Preempts the newest requests until it has so much. False where it was preempted itself.
  bool resize(Request& r, std::int64_t bytes);
  /// Preempts the newest requests until the largest reload finds room.
  void secure_reload_room();
  void preempt(Request& r);

  Instance& instance;
  InstanceEnvironment env;
  Route* route;
  bool own;    ///< requests are served here from their prompt to their last token
  bool grows;  ///< InstanceSpec's
  KvDemand demand;
  RequestQueues queues;
  StepLoop loop;
  KvHoldings memory;
  KvLink link;
  MemoryUse use;
  RequestLog log;
  Offloading offloading;
  Scheduling scheduling;
  Reloads reloads;
  Rounds rounds;
  UniformRounds uniform_rounds;
  Admission admission;
  ComputedWork computed;
  std::int64_t outstanding_tokens = 0;  ///< still to be prefilled or generated

 private:
  [[nodiscard]] Request& newest() const;
  void on_settled(Request& r) override;
  void on_left(std::uint64_t id);
};

}  // namespace kvsim::serving
