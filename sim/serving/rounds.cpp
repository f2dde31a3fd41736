#include "sim/serving/rounds.h"

#include <algorithm>

#include "sim/serving/kv_geometry.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::serving {

Rounds::Rounds(const ReplicaEnvironment& environment, const KvDemand& demand, const Roster& roster,
               const machine::GpuGroup& gpus, const transport::Link& from_host, RequestLog& log)
    : env_(environment),
      demand_(demand),
      roster_(roster),
      gpus_(gpus),
      from_host_(from_host),
      log_(log),
      drafting_(environment.config, environment.decode),
      draft_lengths_({environment.config, environment.decode, environment.geometry, environment.timer,
                      environment.decode.proposes() ? drafting_.acceptance() : environment.acceptance, drafting_},
                     environment.measured),
      draft_limit_(draft_limit(environment.config.decode)) {}

void Rounds::begin(Request& r) {
  r.round.drafted = 0;
  r.round.reload = Reload::none;
  r.round.arriving = false;
  r.round.late = false;
  draft_lengths_.begin_round(r, roster_.decoding(), demand_.offloads(r));
}

void Rounds::begin_with_draft(Request& r) {
  begin(r);
  r.round.drafted = 1;
  if (r.round.first_draft != engine::SimTime{}) return;
  r.round.first_draft = env_.simulator.now();
  env_.measured.reuse.first_draft_s += (r.round.first_draft - r.arrival).seconds();
  env_.measured.reuse.first_drafts += 1;
}

/// The drafter has read all before the tokens that its step gained, if it proposed any.
std::int64_t Rounds::accept(Request& r, std::int64_t proposed) {
  if (proposed == 0) {
    r.round.unseen += 1;
    return 0;
  }
  const std::int64_t accepted = drafting_.accepted(r, proposed);
  DrafterMeasurement& m = env_.measured.drafter;
  m.steps += 1;
  m.proposed_tokens += proposed;
  m.accepted_tokens += accepted;
  r.round.unseen = accepted + 1;
  return accepted;
}

void Rounds::drafted(Request& r, std::int64_t proposed) {
  DraftLengths::drafted(r, 1 + accept(r, proposed), env_.simulator.now());
}

std::int64_t Rounds::decoded(Request& r, std::int64_t proposed) {
  const std::int64_t accepted = accept(r, proposed);
  draft_lengths_.proposed(r, proposed, accepted);
  if (proposed > 0) return log_.verified(r, proposed, accepted);
  log_.emitted_directly(r);
  return 1;
}

std::int64_t Rounds::verified(Request& r) {
  const std::int64_t drafted = r.round.drafted;
  const std::int64_t accepted = env_.acceptance.accepted(drafted, r.luck.stream.uniform(), r.luck.acceptance);
  draft_lengths_.verified(r, drafted, accepted, end_of(r));
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

void Rounds::begin_step() {
  drafting_.clear();
  draft_lengths_.begin_step(roster_.decoding());
  proposed_ = 0;
}

std::int64_t Rounds::proposals(const Request& r, std::int64_t budget) const {
  if (drafting_.most() == 0) return 0;
  std::int64_t room = r.remaining();
  const std::int64_t possible = drafting_.most(r.context() + r.round.drafted);
  const std::int64_t most = env_.decode.proposes() ? std::min(r.round.length.chosen, possible) : possible;
  if (!demand_.decodes_directly(r)) {
    const std::int64_t round = draft_complete(r) ? draft_limit_ : r.round.target;
    room = std::min(round, r.remaining()) - r.round.drafted;
  } else if (env_.decode.fetch == Fetch::speculative && !r.round.pairs_asked) {
    return 0;  // its first pairs are chosen, and nothing is decoded
  }
  return std::clamp<std::int64_t>(std::min(room, budget) - 1, 0, most);
}

void Rounds::add(const Request& r, std::int64_t proposed) {
  drafting_.add_request(static_cast<double>(r.attended() + r.round.drafted), static_cast<double>(r.round.unseen),
                        proposed);
  proposed_ += proposed;
}

void Rounds::add_chunk(const Request& r, std::int64_t tokens) {
  drafting_.add_chunk(static_cast<double>(r.prefill_done - r.prefix.dropped), static_cast<double>(tokens));
}

double Rounds::drafting_s() {
  drafting_s_ = drafting_.seconds();
  env_.measured.drafter.gpu_s += drafting_s_;
  return drafting_s_;
}

void Rounds::timed(const models::StepWork& work, const models::StepTime& time, std::int64_t verifications) {
  draft_lengths_.timed(work, time, verifications);
}

void Rounds::step_ended(const models::StepWork& work, const models::StepTime& time, double link_s) {
  draft_lengths_.stepped({work, time, drafting_s_, gpus_.waited().seconds(), link_s, proposed_}, roster_.decoding());
}

}  // namespace kvsim::serving
