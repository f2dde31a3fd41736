// Rounds of drafting and verifying: lengths of drafts, and their outcomes.
#pragma once

#include <cstdint>
#include <optional>

#include "models/kernels/step_time.h"
#include "models/kernels/step_work.h"
#include "sim/instance/proposals.h"
#include "sim/instance/request_queues.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/draft_lengths/draft_lengths.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/kv_demand.h"
#include "sim/serving/request_log.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

class Rounds {
 public:
  /// All of it outlives this. `verified_here`: drafts are made and verified on these GPUs.
  Rounds(const InstanceEnvironment& environment, const KvDemand& demand, const RequestQueues& queues,
         const machine::GpuGroup& gpus, const transport::Link& from_host, RequestLog& log, Proposals& proposals,
         bool verified_here);

  // A request.
  /// Its next round begins, or its first one.
  void begin(Request& r);
  /// Begins a round with a first token that the prompt gave as it was loaded compressed, or put together. That token is
  /// no more than a draft.
  void begin_with_draft(Request& r);
  /// Its step has drafted a token and what of `proposed` ones was accepted.
  void drafted(Request& r, std::int64_t proposed);
  /// Its step has decoded a token, and verified `proposed` ones. Returns the tokens that became final.
  std::int64_t decoded(Request& r, std::int64_t proposed);
  /// Tokens until it has drafted what its round asks for, or all that it may.
  [[nodiscard]] std::int64_t drafts_left(const Request& r) const;
  /// Its drafts were verified: the round is over. Returns the tokens that became final.
  std::int64_t verified(Request& r);

  // A step.
  /// Proposals of the auxiliary drafter for a request's coming step. They fit into the step, which has room for
  /// `budget` tokens, the round and the request, beside the step's own token.
  [[nodiscard]] std::int64_t proposals(const Request& r, std::int64_t budget) const;
  /// The step, with so many verifications, will take so long.
  void timed(const models::StepWork& work, const models::StepTime& time, std::int64_t verifications);

 private:
  [[nodiscard]] RoundEnd end_of(const Request& r) const;

  const InstanceEnvironment& env_;
  const KvDemand& demand_;
  const RequestQueues& queues_;
  const machine::GpuGroup& gpus_;
  const transport::Link& from_host_;
  RequestLog& log_;
  Proposals& proposals_;
  std::optional<DraftLengths> draft_lengths_;  // of rounds: where the policy verifies
  std::int64_t draft_limit_;
};

}  // namespace kvsim::serving
