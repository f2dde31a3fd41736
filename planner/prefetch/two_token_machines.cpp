#include "planner/prefetch/two_token_machines.h"

#include "models/kernels/two_tokens.h"
#include "planner/prefetch/batch_by_memory.h"

namespace kvsim::planner {

std::vector<TwoTokenMachine> two_token_machines(const scenario::Scenario& scenario, const Traffic& traffic,
                                                const models::Catalogue& catalogue) {
  std::vector<TwoTokenMachine> machines;
  for (const models::Catalogue::Line& line : catalogue.list(models::EntryKind::gpu)) {
    const serving::ServingConfig config =
        scenario::on_machine(scenario, line.name, scenario.serving.cluster.tensor_parallel).serving;
    TwoTokenMachine machine;
    machine.gpu = line.name;
    machine.fits = batch_by_memory(config, traffic).batch;
    if (machine.fits < 1) continue;
    const LikeRequests one = average_requests(traffic, 1);
    const models::TwoTokenWork work{outlook(config, one).attention_bytes_per_request,
                                    static_cast<double>(one.context())};
    const models::StepTimer timer = step_timer(config);
    machine.not_free = models::two_token_batches(timer, work, kLargestBatch, kFreeShare);
    machine.cost_at_fits = models::two_token_cost(timer, work, static_cast<double>(machine.fits));
    machines.push_back(std::move(machine));
  }
  return machines;
}

}  // namespace kvsim::planner
