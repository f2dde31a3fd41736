// Rounds of drafting on the remote node and verifying on the local one, with the messages between them.
#pragma once

#include <cstdint>
#include <span>

#include "models/acceptance/acceptance.h"
#include "sim/engine/row.h"
#include "sim/engine/simulator.h"
#include "sim/pools/dispatcher.h"
#include "sim/pools/guests.h"
#include "sim/pools/path_log.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/reloads.h"
#include "sim/pools/round_lengths.h"
#include "sim/pools/stored_prompts.h"

namespace kvsim::pools {

/// Listener to a round's end.
class RoundsListener {
 public:
  virtual ~RoundsListener() = default;
  /// All its tokens are out; the remote node has not heard of it yet.
  virtual void on_finished(PoolRequest& r) = 0;
  /// The remote node has heard the verdict: whether there is another round is the listener's decision.
  virtual void on_verdict(PoolRequest& r) = 0;
};

/// Parts of the rounds; all of it outlives them.
struct RoundParts {
  engine::Simulator& simulator;
  const serving::ServingConfig& config;
  double message_s;  ///< between pools, one way
  const models::AcceptanceModel& acceptance;
  const RequestTable& requests;
  const StoredPrompts& stored;
  Dispatcher& dispatcher;
  const PoolsView& view;
  Reloads& reloads;
  const RequestMemory& memory;
  RoundLengths& lengths;
  PathLog& log;
  RoundsListener& listener;
};

class Rounds final : private GuestsListener {
 public:
  Rounds(const RoundParts& parts, const serving::InstanceEnvironment& environment, std::span<Site> local);

  /// It drafts from now on.
  void start(PoolRequest& r);
  void begin(PoolRequest& r);
  /// It goes on without rounds, or has finished: what is under way of one is nobody's.
  void end(PoolRequest& r);

  // Called when a site has done something.
  /// The round's drafts, all of them.
  void drafted(PoolRequest& r);
  void verified(PoolRequest& r);
  /// Full KV that its verification may have waited for is on the local node, or nearer.
  void verify_if_ready(PoolRequest& r);
  /// Its reload has arrived.
  void reloaded(PoolRequest& r);
  /// Memory of a node fell free.
  void room_changed(const Site& site);

  /// A verification's outcome, in the request and the measurements; returns the tokens that became final.
  std::int64_t settle(PoolRequest& r);

 private:
  void on_drafts_here(std::uint64_t id);
  void on_look(std::uint64_t id);
  void on_verdict(std::uint64_t id);
  /// Guests that decide when it is verified; null: it is verified as soon as it can be.
  [[nodiscard]] Guests* guests_of(const PoolRequest& r) const {
    return guests_.made().empty() ? nullptr : &guests_.made()[r.local->index()];
  }
  void expect_drafts(PoolRequest& r, double after_s);
  void join_guests(PoolRequest& r);
  void verify(PoolRequest& r);
  // Functions that guests call.
  [[nodiscard]] bool arrives_in_time(const serving::Request& q) const override;
  [[nodiscard]] bool start_reload(const serving::Request& q) override;
  [[nodiscard]] std::int64_t reservation(const serving::Request& q) const override;
  [[nodiscard]] double load(const serving::Request& q) const override;
  [[nodiscard]] double first_load(const serving::Request& q, std::int64_t) const override { return load(q); }
  void verify(const serving::Request& q) override;
  [[nodiscard]] bool in_time(PoolRequest& r);
  [[nodiscard]] static bool full_kv_there(const PoolRequest& r) {
    return r.traits().cached ? r.local_ready : r.request->round.reload == serving::Reload::arrived;
  }

  RoundParts parts_;
  engine::Row<Guests> guests_;  // of local nodes, where a schedule policy decides when requests are verified
};

}  // namespace kvsim::pools
