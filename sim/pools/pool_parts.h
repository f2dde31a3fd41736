// The parts of two pools: both pools' instances, the storage node and its links, and requests between them. The route
// of requests, and the system that it belongs to, work on them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "models/paths/path.h"
#include "sim/instance/route.h"
#include "sim/pools/cost_estimator.h"
#include "sim/pools/dispatcher.h"
#include "sim/pools/loads.h"
#include "sim/pools/path_log.h"
#include "sim/pools/path_queues.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/reloads.h"
#include "sim/pools/round_lengths.h"
#include "sim/pools/rounds.h"
#include "sim/pools/site.h"
#include "sim/pools/storage_network.h"
#include "sim/pools/stored_prompts.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/prompt_store.h"
#include "sim/serving/simulation.h"

namespace kvsim::pools {

/// The configuration of both pools, and the environments that their instances share.
struct PoolGroups {
  /// All of it outlives this.
  explicit PoolGroups(const serving::RunEnvironment& environment);

  [[nodiscard]] const serving::GroupParts& of(Pool pool) const {
    return pool == Pool::local ? parts.front() : parts.back();
  }

  serving::RunEnvironment env;
  const serving::ServingConfig& config;
  const serving::DecodePolicy& decode;
  const serving::PoolsConfig& pools;
  std::deque<serving::GroupParts> parts;  ///< of the local pool, and of the remote one where that is of another kind
  models::AcceptanceModel acceptance;
  serving::PromptStore nothing_stored;                       ///< with sites: prompts come as their routes say
  std::array<serving::InstanceEnvironment, 2> environments;  ///< by pool
};

/// For each part of two pools, the object that decides what follows from it.
struct PoolListeners {
  serving::Route& sites;
  PathQueuesListener& queues;
  LoadsListener& loads;
  StoredPromptsListener& stored;
  RoundsListener& rounds;
};

class PoolParts {
 public:
  /// `environment` and `owners` outlive this. `placed`: the prompts of a placement; else null.
  PoolParts(const serving::RunEnvironment& environment, std::unique_ptr<serving::PromptStore> placed,
            const PoolListeners& owners);

  // KV of a request on a site.
  /// Takes memory for it, which must be available.
  void hold_on(Site& site, PoolRequest& r);
  /// Looks in the site's own memory for KV of a prompt that is decoded there, beyond what is stored.
  void find_on(Site& site, PoolRequest& r);
  /// Loads what is stored of its prompt and is not there.
  void load(Site& site, PoolRequest& r);

  // Its end.
  /// The local node has done its part.
  void leave_local(PoolRequest& r);
  void leave(PoolRequest& r);
  /// Forgets it if nothing refers to it any more.
  void forget_if_free(PoolRequest& r);

  PoolGroups groups;
  std::vector<models::Path> paths;  ///< that requests can take
  PathLog log;
  StorageNetwork network;
  RequestMemory memory;
  std::vector<Site*> changed_sites;  ///< Site::touch()
  RequestTable requests;
  std::unique_ptr<Dispatcher> dispatcher;
  PathQueues queues;  ///< its row of a timeline comes before those of sites
  Sites sites;
  Loads loads;
  std::unique_ptr<serving::PromptStore> placed;
  std::unique_ptr<StoredPrompts> stored;
  Reloads reloads;
  RoundLengths lengths;
  CostEstimator estimator;
  Rounds rounds;

 private:
  [[nodiscard]] std::int64_t tokens_to_load(const PoolRequest& r, const serving::Residence& kv) const;
  void forget(std::uint64_t id);
};

}  // namespace kvsim::pools
