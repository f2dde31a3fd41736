#include "sim/serving/replica_fleet.h"

#include "models/kernels/step_time.h"
#include "sim/serving/acceptance_draws.h"
#include "sim/serving/capacity.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/replica.h"
#include "sim/serving/router.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::serving {
namespace {

class ReplicaFleet final : public ServingSystem {
 public:
  explicit ReplicaFleet(const RunEnvironment& environment)
      : config_(environment.config),
        decode_(*find_decode_policy(config_.decode.policy)),
        geometry_(replica_geometry(config_)),
        timer_(config_.cluster.gpu, config_.cluster.peer_link, config_.cluster.profile, config_.model,
               config_.cluster.tensor_parallel),
        acceptance_(acceptance_of(config_, draft_limit(config_.decode))),
        router_(find_router(config_.cluster.router)->make()) {
    const ReplicaEnvironment shared{environment.simulator,
                                    config_,
                                    decode_,
                                    geometry_,
                                    timer_,
                                    acceptance_,
                                    environment.measured,
                                    environment.trace,
                                    environment.on_finished,
                                    environment.on_released,
                                    environment.requests};
    const SchedulePolicyEntry& schedule = *find_schedule_policy(config_.schedule.policy);
    for (std::int64_t i = 0; i < config_.cluster.replicas; ++i) {
      replicas_.push_back(std::make_unique<Replica>(shared, static_cast<int>(i), schedule));
    }
  }

  std::string submit(Request& r, const models::RequestSpec& spec) override {
    if (decode_.verifies) draw_acceptance(r, acceptance_, config_.run.seed, spec.id);
    Replica& replica = *replicas_[router_->choose(replicas_)];
    std::string reason = replica.refusal(r);
    if (reason.empty()) replica.submit(r);
    return reason;
  }

  void start_measuring() override {
    for (const auto& replica : replicas_) replica->start_measuring();
  }

  void finish_measuring() override {
    for (const auto& replica : replicas_) replica->finish_measuring();
  }

  void check_conservation() const override {
    for (const auto& replica : replicas_) replica->check_conservation();
  }

  [[nodiscard]] LoadSample load() const override {
    LoadSample sample;
    for (const auto& replica : replicas_) {
      sample.running += replica->running();
      sample.waiting += replica->waiting();
      sample.kv_bytes += replica->kv_reserved();
    }
    return sample;
  }

  [[nodiscard]] std::int64_t kv_capacity() const override {
    std::int64_t bytes = 0;
    for (const auto& replica : replicas_) bytes += replica->kv_capacity();
    return bytes;
  }

  [[nodiscard]] std::vector<std::string> fallbacks() const override { return timer_.fallbacks(); }

 private:
  const ServingConfig& config_;
  const DecodePolicy& decode_;
  KvGeometry geometry_;
  models::StepTimer timer_;
  models::AcceptanceModel acceptance_;
  std::unique_ptr<Router> router_;
  std::vector<std::unique_ptr<Replica>> replicas_;
};

}  // namespace

std::unique_ptr<ServingSystem> make_replica_fleet(const RunEnvironment& environment) {
  return std::make_unique<ReplicaFleet>(environment);
}

}  // namespace kvsim::serving
