// Rounds that are drafted elsewhere and verified at one site, under a schedule policy: it decides when their full KV is
// read, and in which step they are verified. An iteration is one of the site's, or as much of its idle time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/instance/scheduling.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/site.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::pools {

/// Does what the policy has decided.
class GuestsListener : public serving::FullKvLoads {
 public:
  /// Whether a verification may begin during a reload under way, as its last layers will come in time.
  [[nodiscard]] virtual bool arrives_in_time(const serving::Request& r) const = 0;
  /// False: there is no memory for it.
  [[nodiscard]] virtual bool start_reload(const serving::Request& r) = 0;
  /// In the step that is being decided, unless it is being verified.
  virtual void verify(const serving::Request& r) = 0;
};

class Guests {
 public:
  /// All of it outlives this. `tokens_per_draft`: serving::ReplicaView's.
  Guests(const serving::InstanceEnvironment& environment, const serving::SchedulePolicyEntry& policy, Site& site,
         double tokens_per_draft, GuestsListener& listener);

  /// The request's first round begins, or its full KV is there to stay where its drafts are verified.
  void join(serving::Request& r);
  /// It goes on without rounds, or has finished.
  void leave(serving::Request& r);
  [[nodiscard]] bool has(const serving::Request& r) const;

  /// Its drafts are here.
  void drafted(serving::Request& r);
  /// Its reload has arrived.
  void kv_arrived(serving::Request& r);
  /// Something has come nearer, or memory fell free: whoever waits for that is looked at again.
  void look();
  /// It was verified, and DraftRound::due is set for the round that will follow.
  void verified(serving::Request& r);

 private:
  void decide();
  void look_again(std::optional<engine::SimTime> at);
  void on_time();
  void start_reload(const serving::IterationPlan::ReloadStart& wish);

  engine::Simulator& simulator_;
  const serving::Requests& requests_;
  Site& site_;
  GuestsListener& listener_;
  std::vector<serving::Request*> all_;  // in order of their coming
  serving::Scheduling scheduling_;
  engine::EventHandle timer_;
  std::optional<engine::SimTime> looks_;  // when it fires
};

}  // namespace kvsim::pools
