#include "sim/pools/round_lengths.h"

#include <algorithm>
#include <cmath>

#include "sim/pools/site.h"

namespace kvsim::pools {
namespace {

/// Weight of the past in a moving average, per round.
constexpr double kPastRounds = 0.95;

}  // namespace

RoundLengths::RoundLengths(const RoundLengthParts& parts, serving::Measurements& measured)
    : acceptance_(parts.acceptance),
      messages_s_(2 * parts.message_s),
      drafting_(parts.config, parts.group, parts.decode),
      tokens_per_step_(drafting_.tokens_per_step()),
      nodes_(static_cast<std::size_t>(parts.group.count)),
      usual_(std::min(parts.config.decode.draft_length, serving::longest_draft(parts.config.decode))) {
  mean_ = static_cast<double>(usual_);
  const serving::DraftLengthParts of_node{parts.config, parts.group,      parts.decode, parts.geometry,
                                          parts.timer,  parts.acceptance, drafting_};
  if (!parts.decode.verifies) return;
  for (NodeLengths& node : nodes_) node.lengths = std::make_unique<serving::DraftLengths>(of_node, measured);
}

RoundLengths::NodeLengths& RoundLengths::of(const PoolRequest& r) {
  return nodes_[r.remote->index()];
}

void RoundLengths::join(PoolRequest& r) {
  of(r).drafting.push_back(r.request);
}

void RoundLengths::leave(PoolRequest& r) {
  std::erase(of(r).drafting, r.request);
}

void RoundLengths::begin(PoolRequest& r) {
  NodeLengths& node = of(r);
  double overhead = node.overhead.at(r.stateless() ? 0 : 1);
  if (overhead <= 0) overhead = 1 + messages_s_ / r.remote->gpus().iteration_s();
  node.lengths->begin_round(*r.request,
                            {.decoding = node.drafting, .overhead = tokens_per_step_ * overhead, .elsewhere = true});
  mean_ = kPastRounds * mean_ + (1 - kPastRounds) * static_cast<double>(r.request->round.length->chosen);
  usual_ = std::llround(mean_);
}

void RoundLengths::verified(PoolRequest& r, std::int64_t accepted) {
  of(r).lengths->verified(*r.request, r.request->round.drafted, accepted);
}

void RoundLengths::ended(const PoolRequest& r, double round_s) {
  double& overhead = of(r).overhead.at(r.stateless() ? 0 : 1);
  const double drafting = static_cast<double>(r.request->round.target) / tokens_per_step_;
  const double seen = round_s / r.remote->gpus().iteration_s() - drafting;
  const double now = std::max(seen, 1.0);
  overhead = overhead > 0 ? kPastRounds * overhead + (1 - kPastRounds) * now : now;
}

}  // namespace kvsim::pools
