#include "sim/serving/scheduling.h"

#include <vector>

#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {

Scheduling::Scheduling(const ReplicaEnvironment& environment, const SchedulePolicyEntry& policy, const Roster& roster,
                       const machine::GpuGroup& gpus, const KvHoldings& memory, const transport::Link& from_host,
                       double tokens_per_draft)
    : env_(environment),
      roster_(roster),
      gpus_(gpus),
      memory_(memory),
      from_host_(from_host),
      tokens_per_draft_(tokens_per_draft),
      draft_limit_(draft_limit(environment.config.decode)),
      policy_(policy.make(environment.config.schedule)) {}

const IterationPlan& Scheduling::plan() {
  const std::vector<Request*>& decoding = roster_.decoding();
  plan_.actions.assign(decoding.size(), Action::stall);
  plan_.reloads.clear();
  plan_.late.clear();
  const std::int64_t windows =
      gpus_.idle() ? static_cast<std::int64_t>(gpus_.idle_for().seconds() / gpus_.iteration_s()) : 1;
  policy_->plan(view(), windows, plan_);
  for (std::size_t i = 0; i < decoding.size(); ++i) {
    if (decoding[i]->direct) plan_.actions[i] = Action::draft;
  }
  for (const std::size_t i : plan_.late) decoding[i]->round.late = true;
  return plan_;
}

Action Scheduling::action(std::size_t decoding) const {
  if (!env_.decode.verifies) return Action::draft;  // everybody decodes
  return decoding < plan_.actions.size() ? plan_.actions[decoding] : Action::stall;
}

ReplicaView Scheduling::view() const {
  ReplicaView v;
  v.decoding = roster_.decoding();
  v.iteration_s = gpus_.iteration_s();
  v.link_bytes_per_s = from_host_.bandwidth();
  v.kv_capacity = memory_.capacity();
  v.held_bytes = memory_.held();
  v.draft_limit = draft_limit_;
  v.tokens_per_draft = tokens_per_draft_;
  v.geometry = &env_.geometry;
  return v;
}

}  // namespace kvsim::serving
