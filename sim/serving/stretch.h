// Steps of a steady batch that follow each other while nothing happens to its group of GPUs: nobody comes, is admitted
// or finishes, and memory suffices. Of such a step only its length, and what is measured of it, has to be worked out;
// and as far as nothing happens anywhere, many of them are one event.
#pragma once

#include <cstdint>

#include "sim/machine/gpu_group.h"
#include "sim/serving/admission.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/kv_transfers.h"
#include "sim/serving/replica_environment.h"
#include "sim/serving/request_log.h"
#include "sim/serving/steady_batch.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

class Stretch {
 public:
  /// All of it outlives this.
  Stretch(const ReplicaEnvironment& environment, machine::GpuGroup& gpus, const KvHoldings& memory, MemoryUse& use,
          RequestLog& log, Admission& admission, SteadyBatch& steady)
      : env_(environment), gpus_(gpus), memory_(memory), use_(use), log_(log), admission_(admission), steady_(steady) {}

  /// The step that begins, as it was put together. `alone`: beside the steady batch there is no other work.
  void begin(const ForwardPass& pass, bool alone);
  /// The step that begins, or is under way, is one of a stretch.
  [[nodiscard]] bool under_way() const { return under_way_; }

  /// As many steps as end before anything else happens; `pass` is then the next one, which begins, and its time.
  /// Returns the tokens that they emitted. Precondition: under_way().
  std::int64_t run(ForwardPass& pass);
  /// The step has ended. If it was one of a stretch, and so is the next one, it is done with, `pass` is the next one,
  /// and the tokens that it emitted are returned; else 0, and nothing was done.
  std::int64_t end_step(ForwardPass& pass);

 private:
  [[nodiscard]] bool ends_with_step() const { return steady_.anybody_due() || steady_.growth(1) > memory_.available(); }
  std::int64_t next(ForwardPass& pass);

  const ReplicaEnvironment& env_;
  machine::GpuGroup& gpus_;
  const KvHoldings& memory_;
  MemoryUse& use_;
  RequestLog& log_;
  Admission& admission_;
  SteadyBatch& steady_;
  bool under_way_ = false;
  models::TokenTime by_tokens_;  // of its steps
};

}  // namespace kvsim::serving
