#include "sim/reuse/scorers.h"

namespace kvsim::reuse {

using engine::Callback;

Scorers::Scorers(engine::Simulator& simulator, std::size_t replicas, std::size_t gpus) : simulator_(simulator) {
  for (std::size_t i = 0; i < replicas; ++i) pools_.push_back(std::make_unique<engine::ServerPool>(simulator, gpus));
}

void Scorers::submit(std::size_t replica, engine::Duration score, engine::Duration align, Callback done) {
  const auto slot = jobs_.acquire();
  slot.value = {align, done};
  pools_[replica]->submit(score, Callback::to<&Scorers::on_scored>(this, slot.id));
}

void Scorers::on_scored(std::uint64_t id) {
  const Job job = jobs_[id];
  jobs_.release(id);
  simulator_.schedule_in(job.align, job.done);
}

double Scorers::work_s() const {
  double sum = 0;
  for (const auto& pool : pools_) sum += pool->work_s();
  return sum;
}

}  // namespace kvsim::reuse
