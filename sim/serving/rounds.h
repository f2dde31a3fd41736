// Rounds of drafting and verifying: how long drafts are, what an auxiliary drafter proposes before a step and what that
// takes, and what becomes of both.
#pragma once

#include <cstdint>

#include "models/kernels/step_time.h"
#include "models/kernels/step_work.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/draft_lengths/draft_lengths.h"
#include "sim/serving/drafting.h"
#include "sim/serving/kv_demand.h"
#include "sim/serving/replica_environment.h"
#include "sim/serving/request_log.h"
#include "sim/serving/roster.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

class Rounds {
 public:
  /// All of it outlives this.
  Rounds(const ReplicaEnvironment& environment, const KvDemand& demand, const Roster& roster,
         const machine::GpuGroup& gpus, const transport::Link& from_host, RequestLog& log);

  // A request.
  /// Its next round begins, or its first one.
  void begin(Request& r);
  /// The same with a first token that the prompt gave as it was loaded compressed, or put together: no more than a
  /// draft.
  void begin_with_draft(Request& r);
  /// Its step has drafted a token and what of `proposed` ones was accepted.
  void drafted(Request& r, std::int64_t proposed);
  /// Its step has decoded a token, and verified `proposed` ones. Returns the tokens that became final.
  std::int64_t decoded(Request& r, std::int64_t proposed);
  /// Its drafts were verified: the round is over. Returns the tokens that became final.
  std::int64_t verified(Request& r);

  // A step.
  void begin_step();
  /// What the auxiliary drafter proposes for a request's coming step: no more than the step, which has room for
  /// `budget` tokens, the round and the request have room for beside the step's own token.
  [[nodiscard]] std::int64_t proposals(const Request& r, std::int64_t budget) const;
  /// The request takes part with so many proposals.
  void add(const Request& r, std::int64_t proposed);
  /// A chunk of its prompt is computed.
  void add_chunk(const Request& r, std::int64_t tokens);
  /// GPU time of the auxiliary drafter before the step; everybody is in.
  [[nodiscard]] double drafting_s();
  /// The step, with so many verifications, will take so long.
  void timed(const models::StepWork& work, const models::StepTime& time, std::int64_t verifications);
  /// It is over, one that verified proposals. `link_s`: ProposalStep's.
  void step_ended(const models::StepWork& work, const models::StepTime& time, double link_s);

  /// Mean that one drafting step of a request adds.
  [[nodiscard]] double tokens_per_step() const { return drafting_.tokens_per_step(); }

 private:
  std::int64_t accept(Request& r, std::int64_t proposed);
  [[nodiscard]] RoundEnd end_of(const Request& r) const;

  const ReplicaEnvironment& env_;
  const KvDemand& demand_;
  const Roster& roster_;
  const machine::GpuGroup& gpus_;
  const transport::Link& from_host_;
  RequestLog& log_;
  Drafting drafting_;
  DraftLengths draft_lengths_;
  std::int64_t draft_limit_;
  double drafting_s_ = 0;      // of the step under way
  std::int64_t proposed_ = 0;  // for it, for all requests
};

}  // namespace kvsim::serving
