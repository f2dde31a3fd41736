// How requests come to a run: at their own times, as others end (closed loop), or as turns of sessions; each after the
// time that its text takes to become tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/workload/request_source.h"
#include "sim/engine/server_pool.h"
#include "sim/engine/simulator.h"
#include "sim/engine/slot_table.h"
#include "sim/engine/time.h"
#include "sim/serving/config.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request.h"
#include "sim/serving/session_log.h"

namespace kvsim::serving {

/// Takes requests as they come.
class ArrivalsListener {
 public:
  virtual ~ArrivalsListener() = default;
  /// One has come, and is not counted yet. Returns whether the warm-up is under way.
  virtual bool comes() = 0;
  /// The system sees one that came at `at`. False: it was refused.
  virtual bool enter(const models::RequestSpec& spec, engine::SimTime at, bool warming_up) = 0;
  /// Throws ConfigurationError: so many requests in a row were refused that the workload cannot be meant.
  virtual void too_many_refused(std::uint64_t in_a_row) = 0;
  /// The run was interrupted: nothing more has to come.
  [[nodiscard]] virtual bool interrupted() const = 0;
  /// The feed of an open workload has nothing more.
  virtual void last_arrived() = 0;
  /// Nothing more comes now; the run may be over.
  virtual void nothing_comes() = 0;
};

class Arrivals {
 public:
  /// All of it outlives this.
  Arrivals(engine::Simulator& simulator, const ServingConfig& config, RequestFeed& feed, Measurements& measured,
           ArrivalsListener& listener);

  void start();
  /// The request entered, or was refused when it entered.
  void entered(std::uint64_t id, const models::RequestSpec& spec, engine::SimTime at);
  void refused(std::uint64_t id, const models::RequestSpec& spec);
  /// It has its last token. Later events are deferred, so that an instance is done with its step before.
  void finished(const Request& r);

  /// Open workloads: more is to come.
  [[nodiscard]] bool any_left() const { return next_.has_value(); }
  /// Log of sessions; null unless the workload has sessions.
  [[nodiscard]] const SessionLog* sessions() const { return sessions_ ? &*sessions_ : nullptr; }

  // Requests whose text waits to become tokens.
  /// Threads that do it; null: it takes no time.
  [[nodiscard]] const engine::ServerPool* front_end() const { return tokenise_s_ > 0 ? &tokenisers_ : nullptr; }
  [[nodiscard]] std::int64_t tokenising() const { return static_cast<std::int64_t>(tokenisers_.jobs()); }
  /// One of them, when it came, and whether that was within the warm-up.
  struct Come {
    models::RequestSpec spec;
    engine::SimTime at;
    bool warming_up = false;
  };
  /// In order of their coming.
  [[nodiscard]] std::vector<const Come*> come() const;

 private:
  void schedule_next();
  void on_arrival();
  void on_turn(std::uint64_t session);
  void on_sub_agent(std::uint64_t slot);
  void session_ended(std::int64_t parent);
  void replace_in_closed_loop();
  bool accept(const models::RequestSpec& spec);
  bool enter(const Come& come);
  void tokenised(std::uint64_t text);
  void count_refusal();
  void go_on(std::int64_t session, std::optional<std::int64_t> think_ns);

  engine::Simulator& simulator_;
  RequestFeed& feed_;
  ArrivalsListener& listener_;
  double tokenise_s_;  // of a token
  engine::ServerPool tokenisers_;
  std::optional<SessionLog> sessions_;
  std::optional<models::RequestSpec> next_;
  engine::SlotTable<Come> texts_;                      // that are being tokenised, or wait for it
  engine::SlotTable<models::RequestSpec> sub_agents_;  // that begin after a while
  std::uint64_t refused_in_a_row_ = 0;
};

}  // namespace kvsim::serving
