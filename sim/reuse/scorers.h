// GPUs of a small model's own: prompts are scored one after the other on each, then tokens are chosen on a CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/callback.h"
#include "sim/engine/server_pool.h"
#include "sim/engine/simulator.h"
#include "sim/engine/slot_table.h"

namespace kvsim::reuse {

class Scorers {
 public:
  /// `gpus` >= 1 for each replica. `simulator` outlives this.
  Scorers(engine::Simulator& simulator, std::size_t replicas, std::size_t gpus);

  /// `done` runs `align` after a GPU of the replica has worked `score` on it; never within the call.
  void submit(std::size_t replica, engine::Duration score, engine::Duration align, engine::Callback done);

  /// GPU seconds of what was begun, over all replicas.
  [[nodiscard]] double work_s() const;

 private:
  struct Job {
    engine::Duration align;
    engine::Callback done;
  };
  void on_scored(std::uint64_t job);

  engine::Simulator& simulator_;
  std::vector<std::unique_ptr<engine::ServerPool>> pools_;
  engine::SlotTable<Job> jobs_;
};

}  // namespace kvsim::reuse
