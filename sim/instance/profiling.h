// Contexts whose quality fell short, decoded again beside the batch to profile them.
#pragma once

#include <cstdint>
#include <vector>

#include "models/kernels/step_work.h"
#include "sim/serving/config.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/measurements.h"
#include "sim/serving/prompt_store.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

class Profiling {
 public:
  /// All of it outlives this.
  Profiling(const ScheduleConfig& schedule, const KvGeometry& geometry, KvHoldings& memory, PromptStore& prompts,
            Measurements& measured)
      : schedule_(schedule), geometry_(geometry), memory_(memory), prompts_(prompts), measured_(measured) {}

  /// The request is over: its context is profiled if its quality calls for it and the batch has room beside `running`
  /// requests, of which none `waits`: neither a request nor its KV gives way.
  void finished(const Request& r, std::int64_t running, bool waits);
  /// With what decoding leaves of the step's tokens contexts are computed; then they are decoded.
  void batch(models::StepWork& work);
  /// The step is over.
  void apply();

 private:
  struct Context {
    ProfilingWork work;
    std::int64_t held = 0;  // GPU memory
    std::uint64_t number = 0;
    std::int64_t prefilled = 0;
    std::int64_t chunk = 0;  // of the step under way; 0: it decodes
    std::int64_t steps_done = 0;
  };

  const ScheduleConfig& schedule_;
  const KvGeometry& geometry_;
  KvHoldings& memory_;
  PromptStore& prompts_;
  Measurements& measured_;
  std::vector<Context> contexts_;
};

}  // namespace kvsim::serving
