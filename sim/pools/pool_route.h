// The route of requests through two pools: from one stage to the next, as their paths have it.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/instance/route.h"
#include "sim/pools/pool_parts.h"

namespace kvsim::pools {

class PoolRoute final : private serving::Route,
                        private PathQueuesListener,
                        private LoadsListener,
                        private StoredPromptsListener,
                        private RoundsListener {
 public:
  /// PoolParts'.
  PoolRoute(const serving::RunEnvironment& environment, std::unique_ptr<serving::PromptStore> placed);

  [[nodiscard]] PoolParts& parts() { return parts_; }
  /// Reloads start and requests are assigned once for all that happens at this instant.
  void settle_soon();

 private:
  void settle();

  // From assignment to the first draft or decoded token.
  void before_assigning(PoolRequest& r) override {
    parts_.stored->look(r);
    parts_.estimator.look_anew();
  }
  void on_assigned(PoolRequest& r, const Assignment& assignment) override;
  void on_entered(serving::Instance& instance, serving::Request& q) override;
  void on_loaded(PoolRequest& r, Claim claim, bool wanted) override;
  void on_released(PoolRequest& r, Claim claim, Site& node) override;
  void on_stored(PoolRequest& r) override;
  void on_nearer(PoolRequest& r) override { parts_.rounds.verify_if_ready(r); }
  void on_whole(PoolRequest& r) override;
  void on_local_complete(PoolRequest& r);
  void on_remote_complete(PoolRequest& r);
  [[nodiscard]] std::int64_t compressed(const serving::Request& q) const override;
  void prefill_or_decode(PoolRequest& r, Site& site);

  // From there to its last token.
  void on_prefilled(serving::Instance& instance, serving::Request& q) override;
  void on_offloaded(serving::Instance& instance, serving::Request& q) override;
  void on_drafted(serving::Instance&, serving::Request& q) override {
    parts_.rounds.drafted(*parts_.requests.find(q.id));
  }
  void on_done(serving::Instance& instance, serving::Request& q, serving::Work work) override;
  void on_preempted(serving::Instance& instance, serving::Request& q) override;
  void on_finished(serving::Instance& instance, serving::Request& q) override;
  void on_all_offloaded(Site& site, PoolRequest& r);
  void start_decoding(Site& site, PoolRequest& r);
  void decode_on(Site& site, PoolRequest& r);
  void start_drafting(PoolRequest& r);
  void on_verdict(PoolRequest& r) override;
  void go_alone(PoolRequest& r);
  void on_caught_up(PoolRequest& r);
  void on_finished(PoolRequest& r) override;

  PoolParts parts_;
  bool settle_pending_ = false;
};

}  // namespace kvsim::pools
