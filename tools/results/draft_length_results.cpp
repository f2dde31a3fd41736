#include "tools/results/draft_length_results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using serving::DraftLengthMeasurement;

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kDraftLengthDefinitions{{
    {"draft_length",
     "tokens that a round was to draft, or an auxiliary drafter to propose for a request's step: mean, p10 and p90 "
     "over rounds. While a reload is late more are drafted, and at "
     "a request's end no more than it has left"},
    {"draft_length.regret",
     "1 - tokens expected at the lengths chosen / tokens that the best lengths would give in the same time, each "
     "request's agreement being known: the best x maximises (1 + A(x + h)) / (x + h + v) within decode.draft_lengths "
     "minimum to maximum. h: drafts made while the request's own reload is on its way; v: all else that does not grow "
     "with x, in drafting iterations: 1, what verifications add to iterations, and what rounds lately waited for "
     "others' reloads. Of an auxiliary drafter's proposals, the best lengths of all requests of a step together: those "
     "with the most tokens for the step, the drafter's passes and each token's share of both"},
}};

std::uint64_t rounds(const DraftLengthMeasurement& m) {
  return std::accumulate(m.rounds.begin(), m.rounds.end(), std::uint64_t{0});
}

double mean(const DraftLengthMeasurement& m) {
  double sum = 0;
  for (std::size_t x = 0; x < m.rounds.size(); ++x) sum += static_cast<double>(x) * static_cast<double>(m.rounds[x]);
  return sum / static_cast<double>(rounds(m));
}

/// The k-th smallest, from 0.
double ranked(const DraftLengthMeasurement& m, std::uint64_t k) {
  std::uint64_t before = 0;
  for (std::size_t x = 0; x < m.rounds.size(); ++x) {
    before += m.rounds[x];
    if (k < before) return static_cast<double>(x);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double quantile(const DraftLengthMeasurement& m, double q) {
  const std::uint64_t count = rounds(m);
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  const double at = q * static_cast<double>(count - 1);
  const auto below = static_cast<std::uint64_t>(at);
  const double low = ranked(m, below), high = ranked(m, std::min(below + 1, count - 1));
  return low + (at - std::floor(at)) * (high - low);
}

double regret(const DraftLengthMeasurement& m) {
  return m.best_tokens > 0 ? std::max(1 - m.expected_tokens / m.best_tokens, 0.0)
                           : std::numeric_limits<double>::quiet_NaN();
}

bool on_replicas(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  return serving::find_decode_policy(c.decode.policy)->drafts() && !c.cluster.pools;
}

}  // namespace

void add_draft_lengths(Section& speculation, const scenario::Scenario& scenario, const serving::Measurements& m) {
  if (!on_replicas(scenario)) return;
  constexpr std::string_view none = "nothing was verified";
  const DraftLengthMeasurement& lengths = m.draft_lengths;
  Section s = speculation.child("draft_length");
  s.set("policy", scenario.serving.decode.draft_lengths.policy);
  s.number("mean", mean(lengths), none);
  s.number("p10", quantile(lengths, 0.1), none).number("p90", quantile(lengths, 0.9), none);
  s.number("regret", regret(lengths),
           rounds(lengths) > 0 ? "drafts on prompts as they were found end when the whole one is there" : none);
  speculation.set("draft_length", s);
}

void add_draft_length_rows(Table& table, const scenario::Scenario& scenario, const serving::Measurements& m) {
  const DraftLengthMeasurement& lengths = m.draft_lengths;
  if (!on_replicas(scenario) || rounds(lengths) == 0) return;
  table.rows.push_back({"draft length", figure(mean(lengths)), "",
                        fmt::format("{}: p10 {}, p90 {}", scenario.serving.decode.draft_lengths.policy,
                                    figure(quantile(lengths, 0.1)), figure(quantile(lengths, 0.9)))});
  if (!(lengths.best_tokens > 0)) return;
  table.rows.push_back({"regret", percent(regret(lengths)), "", "short of what the best lengths would have given"});
}

std::string draft_length_text(const serving::DecodeConfig& decode) {
  const serving::DraftLengthConfig& c = decode.draft_lengths;
  if (c.policy == "fixed") return fmt::format("{}", serving::fixed_draft_length(decode));
  if (c.policy == "table") return c.policy;
  return fmt::format("{} ({} to {})", c.policy, c.minimum, c.maximum);
}

std::span<const std::pair<std::string_view, std::string_view>> draft_length_definitions() {
  return kDraftLengthDefinitions;
}

}  // namespace kvsim::results
