#include "sim/systems/fleet.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/kernels/step_time.h"
#include "sim/instance/instance.h"
#include "sim/routing/router.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::systems {
namespace {

class ReplicaFleet final : public serving::ServingSystem {
 public:
  ReplicaFleet(const serving::RunEnvironment& environment, std::unique_ptr<serving::PromptStore> prompts)
      : config_(environment.config),
        measured_(environment.measured),
        group_(config_.cluster.uniform()),
        prompts_(prompts ? std::move(prompts) : std::make_unique<serving::PromptStore>()),
        decode_(serving::configured_policy(config_)),
        parts_(config_, group_, decode_),
        acceptance_(serving::acceptance_of(
            config_, std::max(serving::draft_limit(config_.decode), config_.decode.draft_lengths.maximum))),
        router_(routing::find_router(config_.cluster.router)->make(config_.cluster.router_keys)) {
    const serving::InstanceEnvironment shared{
        {environment.simulator, config_, group_, decode_, parts_.geometry, parts_.timer, parts_.step_times,
         parts_.drafting, environment.measured, environment.trace, environment.gpus(parts_.timer)},
        acceptance_,
        environment.fabric,
        {environment.requests, environment.on_finished, environment.on_released},
        *prompts_,
        config_.schedule.prefix_caching ? environment.prefix_block_tokens : 0};
    const serving::SchedulePolicyEntry& schedule = *serving::find_schedule_policy(config_.schedule.policy);
    for (std::int64_t i = 0; i < group_.count; ++i) {
      const serving::InstanceSpec spec{.name = fmt::format("replica {}", i),
                                       .host_bytes = group_.host_memory_bytes,
                                       .grows = !config_.schedule.reserves_output()};
      replicas_.push_back(std::make_unique<serving::Instance>(shared, spec, schedule));
    }
    std::vector<transport::GroupLanes> lanes;
    for (const auto& replica : replicas_) lanes.push_back(replica->lanes());
    prompts_->connect(std::move(lanes));
  }

  std::string submit(serving::Request& r, const models::RequestSpec& spec) override {
    if (decode_.drafter) serving::draw_drafter_acceptance(r, parts_.drafting.acceptance(), config_.run.seed, spec.id);
    if (decode_.verifies) serving::draw_acceptance(r, acceptance_, config_.run.seed, spec.id);
    const std::size_t chosen = router_->choose(snapshots(), spec);
    serving::Instance& replica = *replicas_[chosen];
    std::string reason = replica.refusal(r);
    if (reason.empty()) reason = prompts_->refusal(r, spec, replica.memory().gpu().capacity());
    if (!reason.empty()) return reason;
    prompts_->arrived(r, spec, chosen);
    r.replica = static_cast<std::int32_t>(chosen);
    if (config_.schedule.prefix_caching) r.kv.name_blocks(spec.prefix_blocks);
    replica.submit(r);
    return {};
  }

  [[nodiscard]] std::string_view path_of(const serving::Request& r) const override {
    if (!decode_.verifies) return "";
    return r.full_kv.resident || r.full_kv.direct ? "resident" : "offloaded";
  }

  void start_measuring() override {
    for (const auto& replica : replicas_) replica->start_measuring();
    prompts_->start_measuring();
  }

  void finish_measuring() override {
    for (const auto& replica : replicas_) replica->finish_measuring();
    prompts_->finish_measuring(measured_);
  }

  void update_requests() override {
    for (const auto& replica : replicas_) replica->update_requests();
  }

  void check_conservation() const override {
    for (const auto& replica : replicas_) replica->check_conservation();
    prompts_->check_conservation();
  }

  [[nodiscard]] serving::LoadSample load() override {
    serving::LoadSample sample;
    for (const auto& replica : replicas_) {
      sample.running += replica->requests().running();
      sample.waiting += replica->requests().waiting();
      sample.kv_bytes += replica->memory().gpu().reserved();
      sample.kv_streaming_bytes += replica->memory().staged();
      sample.gpu += replica->gpus().spent().all();
    }
    prompts_->add_to(sample);
    return sample;
  }

  [[nodiscard]] std::int64_t kv_capacity() const override {
    std::int64_t bytes = 0;
    for (const auto& replica : replicas_) bytes += replica->memory().gpu().capacity();
    return bytes;
  }

  [[nodiscard]] std::vector<std::string> fallbacks() const override {
    std::vector<std::string> said = parts_.timer.fallbacks();
    for (std::string& more : prompts_->fallbacks()) said.push_back(std::move(more));
    return said;
  }

 private:
  /// The load of every replica as the router sees it.
  std::span<const routing::InstanceSnapshot> snapshots() {
    snapshots_.clear();
    for (const auto& replica : replicas_) {
      const serving::RequestQueues& requests = replica->requests();
      snapshots_.push_back({replica->outstanding_tokens(), requests.running(), requests.waiting()});
    }
    return snapshots_;
  }

  const serving::ServingConfig& config_;
  serving::Measurements& measured_;
  const serving::GroupConfig& group_;
  std::unique_ptr<serving::PromptStore> prompts_;
  serving::DecodePolicy decode_;
  serving::GroupParts parts_;
  models::AcceptanceModel acceptance_;
  std::unique_ptr<routing::Router> router_;
  std::vector<std::unique_ptr<serving::Instance>> replicas_;
  std::vector<routing::InstanceSnapshot> snapshots_;  // of replicas_; kept for its memory
};

}  // namespace

std::unique_ptr<serving::ServingSystem> make_fleet(const serving::RunEnvironment& environment,
                                                   std::unique_ptr<serving::PromptStore> prompts) {
  return std::make_unique<ReplicaFleet>(environment, std::move(prompts));
}

}  // namespace kvsim::systems
