// Results of rounds of drafting and verification, the draft lengths chosen, and an auxiliary drafter's proposals.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/serving/decode_policy.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

using serving::DrafterMeasurement;
using serving::DraftLengthMeasurement;
using serving::Measurements;

constexpr std::string_view kNothingVerified = "nothing was verified";
constexpr std::string_view kNothingProposed = "the drafter proposed nothing";

const Condition kSomethingDrafts{"where something drafts", something_drafts};
const Condition kDrafts{"with an auxiliary drafter", has_drafter};

template <class T>
auto counted(T Measurements::*member) {
  return [member](const View& v) { return count(v.measured().*member); };
}

template <class T>
auto drafter(T DrafterMeasurement::*member) {
  return [member](const View& v) { return count(v.measured().drafter.*member); };
}

std::uint64_t rounds(const DraftLengthMeasurement& m) {
  return std::accumulate(m.rounds.begin(), m.rounds.end(), std::uint64_t{0});
}

double mean_length(const DraftLengthMeasurement& m) {
  double sum = 0;
  for (std::size_t x = 0; x < m.rounds.size(); ++x) sum += static_cast<double>(x) * static_cast<double>(m.rounds[x]);
  return sum / static_cast<double>(rounds(m));
}

/// The k-th smallest, from 0.
double ranked_length(const DraftLengthMeasurement& m, std::uint64_t k) {
  std::uint64_t before = 0;
  for (std::size_t x = 0; x < m.rounds.size(); ++x) {
    before += m.rounds[x];
    if (k < before) return static_cast<double>(x);
  }
  return kNone;
}

double length_quantile(const DraftLengthMeasurement& m, double q) {
  const std::uint64_t all = rounds(m);
  if (all == 0) return kNone;
  const double at = q * static_cast<double>(all - 1);
  const auto below = static_cast<std::uint64_t>(at);
  const double low = ranked_length(m, below), high = ranked_length(m, std::min(below + 1, all - 1));
  return low + (at - std::floor(at)) * (high - low);
}

Figure regret(const View& v) {
  const DraftLengthMeasurement& m = v.measured().draft_lengths;
  if (m.best_tokens > 0) return number(std::max(1 - m.expected_tokens / m.best_tokens, 0.0), kNothingVerified);
  return missing(rounds(m) > 0 ? "drafts on prompts as they were found end when the whole one is there"
                               : kNothingVerified);
}

}  // namespace

Metrics speculation_metrics() {
  Metrics rows{
      {"speculation.rounds", kCount, kNeither, "rounds of drafting that were verified", counted(&Measurements::rounds)},
      {"speculation.drafted_tokens", kTokens, kNeither, "tokens drafted in those rounds",
       counted(&Measurements::drafted_tokens)},
      {"speculation.accepted_tokens", kTokens, kHigher, "drafted tokens that the verifier accepted",
       counted(&Measurements::accepted_tokens)},
      {"speculation.acceptance_rate", kShare, kHigher, "share of drafted tokens that were accepted",
       [](const View& v) {
         return ratio(static_cast<double>(v.measured().accepted_tokens),
                      static_cast<double>(v.measured().drafted_tokens), "nothing was drafted");
       }},
      {"speculation.mean_accepted_length", kPlain, kHigher,
       "drafted tokens accepted per round, without the token that the verifier adds; some tools count that one too and "
       "report 1 more",
       [](const View& v) {
         return ratio(static_cast<double>(v.measured().accepted_tokens), static_cast<double>(v.measured().rounds),
                      kNothingVerified);
       }},
      {"speculation.late_reloads", kCount, kLower, "verifications that had to wait because the full KV had not arrived",
       counted(&Measurements::late_reloads)}};
  append(
      rows,
      when(kSomethingDrafts,
           {{"speculation.draft_length.policy", kText, kNeither, "what chooses the draft lengths",
             [](const View& v) { return Figure{v.config().decode.draft_lengths.policy}; }},
            {"speculation.draft_length.mean", kPlain, kNeither, "tokens that a round was to draft, mean over rounds",
             [](const View& v) { return number(mean_length(v.measured().draft_lengths), kNothingVerified); }},
            {"speculation.draft_length.p10", kPlain, kNeither, "draft length of a round, 10th percentile",
             [](const View& v) { return number(length_quantile(v.measured().draft_lengths, 0.1), kNothingVerified); }},
            {"speculation.draft_length.p90", kPlain, kNeither, "draft length of a round, 90th percentile",
             [](const View& v) { return number(length_quantile(v.measured().draft_lengths, 0.9), kNothingVerified); }},
            {"speculation.draft_length.regret", kShare, kLower,
             "1 - tokens expected at the lengths chosen / tokens that the best lengths would give in the same time",
             regret}}));
  return rows;
}

Metrics drafter_metrics() {
  return when(
      kDrafts,
      {{"drafter.name", kText, kNeither, "name of the drafter",
        [](const View& v) { return Figure{v.config().decode.drafter->spec.name}; }},
       {"drafter.draft_length", kTokens, kNeither, "tokens that the drafter proposes a step, at most",
        [](const View& v) { return count(v.config().decode.drafter->tokens()); }},
       {"drafter.steps", kCount, kNeither, "steps of requests with tokens that the drafter had proposed",
        drafter(&DrafterMeasurement::steps)},
       {"drafter.proposed_tokens", kTokens, kNeither, "tokens that the drafter proposed",
        drafter(&DrafterMeasurement::proposed_tokens)},
       {"drafter.accepted_tokens", kTokens, kHigher, "proposed tokens that were accepted",
        drafter(&DrafterMeasurement::accepted_tokens)},
       {"drafter.acceptance_rate", kShare, kHigher, "share of proposed tokens that were accepted",
        [](const View& v) {
          const DrafterMeasurement& d = v.measured().drafter;
          return ratio(static_cast<double>(d.accepted_tokens), static_cast<double>(d.proposed_tokens),
                       kNothingProposed);
        }},
       {"drafter.mean_accepted_length", kPlain, kHigher,
        "proposed tokens accepted per step, without the token that the step itself gives; some tools count that one "
        "too and report 1 more",
        [](const View& v) {
          const DrafterMeasurement& d = v.measured().drafter;
          return ratio(static_cast<double>(d.accepted_tokens), static_cast<double>(d.steps), kNothingProposed);
        }},
       {"drafter.gpu_s", kSeconds, kLower,
        "in which GPUs ran the drafter, added over replicas; part of the time that they were busy",
        [](const View& v) { return number(v.measured().drafter.gpu_s, kNoTime); }},
       {"drafter.gpu_time_share", kShare, kLower, "drafter.gpu_s / the replicas' time",
        [](const View& v) { return ratio(v.measured().drafter.gpu_s, v.measured().capacity_s, kNoTime); }}});
}

}  // namespace kvsim::results
