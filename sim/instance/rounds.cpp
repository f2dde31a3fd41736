#include "sim/instance/rounds.h"

#include <algorithm>
#include <limits>

#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::serving {

Rounds::Rounds(const InstanceEnvironment& environment, const KvDemand& demand, const RequestQueues& queues,
               const machine::GpuGroup& gpus, const transport::Link& from_host, RequestLog& log, Proposals& proposals,
               bool verified_here)
    : env_(environment),
      demand_(demand),
      queues_(queues),
      gpus_(gpus),
      from_host_(from_host),
      log_(log),
      proposals_(proposals),
      draft_limit_(draft_limit(environment.config.decode)) {
  if (!verified_here) return;
  draft_lengths_.emplace(DraftLengthParts{env_.config, env_.group, env_.decode, env_.geometry, env_.timer,
                                          env_.acceptance, proposals.drafting()},
                         env_.measured);
}

void Rounds::begin(Request& r) {
  r.round.drafted = 0;
  r.round.reload = Reload::none;
  r.round.arriving = false;
  r.round.late = false;
  if (draft_lengths_) draft_lengths_->begin_round(r, queues_.decoding(), demand_.offloads(r));
}

void Rounds::begin_with_draft(Request& r) {
  begin(r);
  r.round.drafted = 1;
  if (r.round.first_draft != engine::SimTime{}) return;
  r.round.first_draft = env_.simulator.now();
  env_.measured.reuse.first_draft_s += (r.round.first_draft - r.arrival).seconds();
  env_.measured.reuse.first_drafts += 1;
}

void Rounds::drafted(Request& r, std::int64_t proposed) {
  DraftLengths::drafted(r, 1 + proposals_.accept(r, proposed), env_.simulator.now());
}

std::int64_t Rounds::decoded(Request& r, std::int64_t proposed) {
  const std::int64_t accepted = proposals_.accept(r, proposed);
  if (proposed > 0) return log_.verified(r, proposed, accepted);
  log_.emitted_directly(r);
  return 1;
}

std::int64_t Rounds::drafts_left(const Request& r) const {
  std::int64_t next = std::numeric_limits<std::int32_t>::max();  // it goes on for ever
  for (const std::int64_t at : {r.round.target, most_drafts(r, draft_limit_)}) {
    if (r.round.drafted < at) next = std::min(next, at);
  }
  return next - r.round.drafted;
}

std::int64_t Rounds::verified(Request& r) {
  const std::int64_t drafted = r.round.drafted;
  const std::int64_t accepted =
      env_.acceptance.accepted(drafted, r.samplers.drafts->stream.uniform(), r.samplers.drafts->acceptance);
  draft_lengths_->verified(r, drafted, accepted, end_of(r));
  r.round.tail = 0;
  r.round.unseen = 1;  // what follows the last token that the drafter saw accepted
  return log_.verified(r, drafted, accepted);
}

RoundEnd Rounds::end_of(const Request& r) const {
  double reload_s = 0;
  if (demand_.offloads(r)) {
    reload_s = static_cast<double>(env_.geometry.reload_transfer(r.prompt, r.generated)) / from_host_.bandwidth();
  }
  return {gpus_.step_begin() + gpus_.waited(), reload_s, gpus_.iteration_s()};
}

std::int64_t Rounds::proposals(const Request& r, std::int64_t budget) const {
  if (!proposals_.any()) return 0;
  std::int64_t room = r.remaining();
  if (!demand_.decodes_directly(r)) {
    const std::int64_t round = draft_complete(r) ? draft_limit_ : r.round.target;
    room = std::min(round, r.remaining()) - r.round.drafted;
  }
  return proposals_.of(r, room, budget);
}

void Rounds::timed(const models::StepWork& work, const models::StepTime& time, std::int64_t verifications) {
  if (draft_lengths_) draft_lengths_->timed(work, time, verifications);
}

}  // namespace kvsim::serving
