#include "sim/instance/proposals.h"

#include <algorithm>

namespace kvsim::serving {

Proposals::Proposals(const GroupEnvironment& environment)
    : measured_(environment.measured),
      speculates_(environment.decode.fetch == Fetch::speculative),
      drafting_(environment.drafting) {
  const auto& drafter = environment.config.decode.drafter;
  if (environment.decode.drafter && drafter->tree) least_ = drafter->tree->tokens;
  if (!environment.decode.proposes()) return;
  lengths_.emplace(DraftLengthParts{environment.config, environment.group, environment.decode, environment.geometry,
                                    environment.timer, drafting_.acceptance(), drafting_},
                   environment.measured);
}

void Proposals::begin_step(std::span<Request* const> decoding) {
  drafting_.clear();
  if (lengths_) lengths_->begin_step(decoding);
  proposed_ = 0;
}

std::int64_t Proposals::of(const Request& r, std::int64_t room, std::int64_t budget) const {
  if (!any() || (speculates_ && !r.round.pairs_asked)) return 0;  // first its pairs are chosen, and nothing is decoded
  const std::int64_t possible = drafting_.most(r.context() + r.round.drafted);
  if (budget < least_) return 0;
  const std::int64_t most = lengths_ ? std::min(r.round.length->chosen, possible) : possible;
  return std::clamp<std::int64_t>(std::min(room, budget) - 1, 0, most);
}

void Proposals::add(const Request& r, std::int64_t proposed) {
  drafting_.add_request(static_cast<double>(r.attended() + r.round.drafted), static_cast<double>(r.round.unseen),
                        proposed);
  proposed_ += proposed;
}

void Proposals::add_chunk(const Request& r, std::int64_t tokens) {
  drafting_.add_chunk(static_cast<double>(r.prefill.done - r.prefix->dropped), static_cast<double>(tokens));
}

double Proposals::seconds() {
  seconds_ = drafting_.seconds();
  measured_.drafter.gpu_s += seconds_;
  return seconds_;
}

void Proposals::step_ended(const models::StepWork& work, const models::StepTime& time, engine::Duration waited,
                           double link_s, std::span<Request* const> decoding) {
  if (lengths_) lengths_->stepped({work, time, seconds_, waited.seconds(), link_s, proposed_}, decoding);
}

std::int64_t Proposals::accept(Request& r, std::int64_t proposed) {
  std::int64_t accepted = 0;
  if (proposed > 0) {
    accepted = drafting_.accepted(r, proposed);
    measured_.drafter.steps += 1;
    measured_.drafter.proposed_tokens += proposed;
    measured_.drafter.accepted_tokens += accepted;
    r.round.unseen = accepted + 1;
  } else {
    r.round.unseen += 1;
  }
  if (lengths_) lengths_->proposed(r, proposed, accepted);
  return accepted;
}

}  // namespace kvsim::serving
