// Two pools of nodes around a storage node, and every request's way through them: queued, assigned, loaded, drafting
// and verified (or decoding), finished. Each stage with a state of its own is a class beside this one; what follows
// from its end is decided here.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "sim/pools/dispatcher.h"
#include "sim/pools/loads.h"
#include "sim/pools/outlook.h"
#include "sim/pools/path_log.h"
#include "sim/pools/path_queues.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/reloads.h"
#include "sim/pools/rounds.h"
#include "sim/pools/site.h"
#include "sim/pools/storage_network.h"
#include "sim/pools/stored_prompts.h"
#include "sim/serving/prompt_store.h"
#include "sim/serving/simulation.h"

namespace kvsim::pools {

class TwoPools final : public serving::ServingSystem,
                       private serving::Route,
                       private PathQueuesOwner,
                       private LoadsOwner,
                       private StoredPromptsOwner,
                       private RoundsOwner {
 public:
  /// `prompts`: those of a placement; else null.
  explicit TwoPools(const serving::RunEnvironment& environment,
                    std::unique_ptr<serving::PromptStore> prompts = nullptr);

  [[nodiscard]] std::string submit(serving::Request& request, const models::RequestSpec& spec) override;
  [[nodiscard]] std::string_view path_of(const serving::Request& request) const override;
  void start_measuring() override;
  void finish_measuring() override;
  void update_requests() override;
  void check_conservation() const override;
  [[nodiscard]] serving::LoadSample load() override;
  [[nodiscard]] std::int64_t kv_capacity() const override;
  [[nodiscard]] std::vector<std::string> fallbacks() const override;

 private:
  /// Puts it into its queue; else says why it could never run here.
  [[nodiscard]] std::string take(PoolRequest& r, const models::RequestSpec& spec);
  [[nodiscard]] serving::GroupParts& parts_of(Pool pool) {
    return pool == Pool::local ? parts_.front() : parts_.back();
  }
  [[nodiscard]] serving::InstanceEnvironment environment_of(Pool pool);
  void settle_soon();
  void settle();

  // From assignment to the first draft or decoded token.
  void before_assigning(PoolRequest& r) override {
    stored_->look(r);
    outlook_.look_anew();
  }
  void on_assigned(PoolRequest& r, const Assignment& assignment) override;
  void hold_on(Site& site, PoolRequest& r);
  void find_on(Site& site, PoolRequest& r);
  [[nodiscard]] std::int64_t tokens_to_load(const PoolRequest& r, const serving::Residence& kv) const;
  void load(Site& site, PoolRequest& r);
  void on_loaded(PoolRequest& r, Claim claim, bool wanted) override;
  void on_released(PoolRequest& r, Claim claim, Site& node) override;
  void on_stored(PoolRequest& r) override;
  void on_nearer(PoolRequest& r) override { rounds_.verify_if_ready(r); }
  void on_whole(PoolRequest& r) override;
  void on_local_complete(PoolRequest& r);
  void on_remote_complete(PoolRequest& r);
  [[nodiscard]] std::int64_t compressed(const serving::Request& q) const override;
  void prefill_or_decode(PoolRequest& r, Site& site);

  // From there to its last token.
  void on_entered(serving::Instance& instance, serving::Request& q) override;
  void on_prefilled(serving::Instance& instance, serving::Request& q) override;
  void on_offloaded(serving::Instance& instance, serving::Request& q) override;
  void on_drafted(serving::Instance&, serving::Request& q) override { rounds_.drafted(*requests_.find(q.id)); }
  void on_done(serving::Instance& instance, serving::Request& q, serving::Work work) override;
  void on_preempted(serving::Instance& instance, serving::Request& q) override;
  void on_finished(serving::Instance& instance, serving::Request& q) override;
  [[nodiscard]] static Site& site_of(PoolRequest& r, const serving::Instance& instance);
  void on_all_offloaded(Site& site, PoolRequest& r);
  void start_decoding(Site& site, PoolRequest& r);
  void decode_on(Site& site, PoolRequest& r);
  void start_drafting(PoolRequest& r);
  void on_verdict(PoolRequest& r) override;
  void go_alone(PoolRequest& r);
  void on_caught_up(PoolRequest& r);
  void on_finished(PoolRequest& r) override;
  void leave_local(PoolRequest& r);
  void leave(PoolRequest& r);
  void forget_if_free(PoolRequest& r);
  void forget(std::uint64_t id);

  serving::RunEnvironment env_;
  const serving::ServingConfig& config_;
  const serving::DecodePolicy& decode_;
  const serving::PoolsConfig& pools_;
  std::deque<serving::GroupParts> parts_;  // of the local pool, and of the remote one where that is of another kind
  models::AcceptanceModel acceptance_;
  std::vector<models::Path> paths_;  // that requests can take
  PathLog log_;
  StorageNetwork network_;
  RequestMemory memory_;
  std::vector<Site*> changed_sites_;
  serving::PromptStore nothing_stored_;                       // with sites: prompts come as their routes say
  std::array<serving::InstanceEnvironment, 2> environments_;  // by pool
  RequestTable requests_;
  std::unique_ptr<Dispatcher> dispatcher_;
  PathQueues queues_;  // its row of a timeline comes before those of sites
  Sites sites_;
  Loads loads_;
  std::unique_ptr<serving::PromptStore> prompts_;  // with placement
  std::unique_ptr<StoredPrompts> stored_;
  Reloads reloads_;
  RoundLengths lengths_;
  Outlook outlook_;
  Rounds rounds_;
  bool settle_pending_ = false;
};

}  // namespace kvsim::pools
