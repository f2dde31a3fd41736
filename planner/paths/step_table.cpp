#include "planner/paths/path_costs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace kvsim::planner {
namespace {

constexpr std::int64_t kExact = 65536;
constexpr std::size_t kBeta = 64;  // agreements that stand for a Beta distribution,
constexpr double kSpreads = 8;     // within so many standard deviations

/// Requests of `tokens` output tokens, and their share of all.
struct OutputShare {
  std::int64_t tokens = 1;
  double share = 1;
};
using Outputs = std::vector<OutputShare>;  // ascending, none twice

/// `survives[i]`: the first i drafts are all accepted, 0 <= i <= x.
ExpectedRounds by_recursion(const std::vector<double>& survives, const Outputs& outputs) {
  const auto x = static_cast<std::int64_t>(survives.size()) - 1;
  const std::int64_t exact = std::min(outputs.back().tokens, kExact);
  std::vector<ExpectedRounds> by_left(static_cast<std::size_t>(exact) + 1);
  for (std::int64_t left = 1; left <= exact; ++left) {
    const std::int64_t drafts = std::min(x, left);
    ExpectedRounds& sum = by_left[static_cast<std::size_t>(left)];
    sum = {1, static_cast<double>(drafts)};
    for (std::int64_t accepted = 0; accepted <= drafts && left - accepted - 1 > 0; ++accepted) {
      const auto i = static_cast<std::size_t>(accepted);
      const double probability = accepted < drafts ? survives[i] - survives[i + 1] : survives[i];
      const ExpectedRounds& rest = by_left[static_cast<std::size_t>(left - accepted - 1)];
      sum.rounds += probability * rest.rounds;
      sum.drafts += probability * rest.drafts;
    }
  }
  double yield = 0;
  for (const double s : survives) yield += s;  // A(x) + 1
  ExpectedRounds mean;
  for (const auto& [tokens, share] : outputs) {
    const ExpectedRounds& known = by_left[static_cast<std::size_t>(std::min(tokens, exact))];
    const double more = static_cast<double>(tokens - std::min(tokens, exact)) / yield;
    mean.rounds += share * (known.rounds + more);
    mean.drafts += share * (known.drafts + more * static_cast<double>(x));
  }
  return mean;
}

std::vector<double> geometric(double agreement, std::int64_t x) {
  std::vector<double> survives{1};
  for (std::int64_t i = 0; i < x; ++i) survives.push_back(survives.back() * agreement);
  return survives;
}

/// A request keeps its agreement from round to round, so that its rounds are independent only for a given one.
ExpectedRounds over_beta(double p, double q, std::int64_t x, const Outputs& outputs) {
  const double mean = p / (p + q), spread = kSpreads * std::sqrt(mean * (1 - mean) / (p + q + 1));
  const double from = std::asin(std::sqrt(std::max(0.0, mean - spread)));
  const double to = std::asin(std::sqrt(std::min(1.0, mean + spread)));
  // Evenly in the angle, a = sin^2: dense towards 0 and 1, where the density may have its poles.
  const auto log_density = [p, q](double angle) {
    return (2 * p - 1) * std::log(std::sin(angle)) + (2 * q - 1) * std::log(std::cos(angle));
  };
  const double at_mean = log_density(std::asin(std::sqrt(mean)));  // so that it stays in range
  ExpectedRounds sum;
  double weights = 0;
  for (std::size_t i = 0; i < kBeta; ++i) {
    const double angle = from + (to - from) * (static_cast<double>(i) + 0.5) / kBeta;
    const double weight = std::exp(log_density(angle) - at_mean);
    const ExpectedRounds one = by_recursion(geometric(std::pow(std::sin(angle), 2), x), outputs);
    sum.rounds += weight * one.rounds;
    sum.drafts += weight * one.drafts;
    weights += weight;
  }
  return {sum.rounds / weights, sum.drafts / weights};
}

ExpectedRounds over(const models::AcceptanceModel& acceptance, std::int64_t x, const Outputs& outputs) {
  if (acceptance.heterogeneous()) return over_beta(acceptance.beta_a(), acceptance.beta_b(), x, outputs);
  std::vector<double> survives;
  for (std::int64_t i = 0; i <= x; ++i) survives.push_back(acceptance.survival(i));
  return by_recursion(survives, outputs);
}

}  // namespace

ExpectedRounds expected_rounds(const models::AcceptanceModel& acceptance, std::int64_t x, std::int64_t K) {
  return over(acceptance, x, {{K, 1}});
}

ExpectedRounds expected_rounds(const models::AcceptanceModel& acceptance, std::int64_t x,
                               const std::vector<double>& outputs) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const double tokens : outputs) counts[std::max<std::int64_t>(1, std::llround(tokens))] += 1;
  Outputs shares;
  for (const auto& [tokens, count] : counts) {
    shares.push_back({tokens, static_cast<double>(count) / static_cast<double>(outputs.size())});
  }
  return over(acceptance, x, shares);
}

namespace {

/// Costs of one token, draft or verification at a batch.
struct OneStep {
  double gpu_s = 0;
  double slot_s = 0;
};

OneStep one_step(const StepLine& line, double batch, double work) {
  const double step = line.at(std::max(batch, work));
  return {work / std::max(batch, work) * step, step};
}

double& at(ResourceFigures& row, Resource resource) {
  return row[static_cast<std::size_t>(resource)];
}

/// How a request goes through rounds, verification cached or stateless.
struct Rounds {
  double drafting_s = 0;  ///< per round, in the remote node's steps
  double round_s = 0;     ///< per round, all of it
};

struct Table {
  const StepCosts& c;
  double K;
  OneStep local, remote, draft, verify;

  Table(const PathProblem& problem, const PerPool& batch)
      : c(*problem.steps),
        K(static_cast<double>(problem.request.K)),
        local(one_step(c.local, batch.local, 1)),
        remote(one_step(c.remote, batch.remote, 1)),
        draft(one_step(c.remote, batch.remote, c.draft_work)),
        verify(one_step(c.local, batch.local, c.verify_work)) {}

  /// From drafts at the local node to their verdict.
  [[nodiscard]] double verified_s() const { return (1 + c.joining) * verify.slot_s; }

  /// That a reload's memory is held before its drafts are there.
  [[nodiscard]] double reread_s() const {
    const double reload = c.local_reread.seconds();
    return std::clamp(rounds(true).drafting_s, reload, c.reread_held * reload);
  }

  /// Until drafting begins.
  [[nodiscard]] double begun_s() const { return c.remote_compressed.seconds() + c.decompress_s; }

  [[nodiscard]] Rounds rounds(bool cached) const {
    const double drafting = c.drafts / c.rounds * draft.slot_s;
    const double hidden = cached ? drafting : std::max(drafting, c.local_reread.seconds());
    return {drafting, hidden + c.joining * draft.slot_s + c.round_trip_s + verified_s()};
  }

  /// Share of all rounds that begin while the rest of the KV is under way.
  [[nodiscard]] double share_streaming(bool cached) const {
    return std::min(1.0, c.remote_rest.seconds() / (c.rounds * rounds(cached).round_s));
  }

  /// Local net, gpu and mem of `share` of the rounds.
  void add_local(ResourceFigures& row, bool cached, double share) const {
    const double n = share * c.rounds;
    const Rounds r = rounds(cached);
    at(row, Resource::local_net) = cached ? c.local_full.link_s : n * c.local_reread.link_s;
    at(row, Resource::local_gpu) = n * verify.gpu_s;
    at(row, Resource::local_mem) =
        cached ? c.verifying_slots * (std::max(c.local_full.seconds(), begun_s()) + n * r.round_s)
               : c.rereading_slots * n * (reread_s() + verified_s());
    at(row, Resource::storage) += cached ? c.local_full.bytes : n * c.local_reread.bytes;
  }

  [[nodiscard]] ResourceFigures drafted(bool cached) const {
    ResourceFigures row{};
    add_local(row, cached, 1);
    at(row, Resource::remote_net) = c.remote_compressed.link_s;
    at(row, Resource::remote_gpu) = c.drafts * draft.gpu_s + c.decompress_s;
    at(row, Resource::remote_mem) = c.drafting_slots * (begun_s() + c.rounds * rounds(cached).round_s);
    at(row, Resource::storage) += c.remote_compressed.bytes;
    return row;
  }

  [[nodiscard]] ResourceFigures drafted_while_streaming(bool cached) const {
    ResourceFigures row{};
    const double share = share_streaming(cached);
    const double decoded = (1 - share) * K;
    add_local(row, cached, share);
    at(row, Resource::remote_net) = c.remote_compressed.link_s + c.remote_rest.link_s;
    at(row, Resource::remote_gpu) = share * c.drafts * draft.gpu_s + decoded * remote.gpu_s + c.decompress_s;
    at(row, Resource::remote_mem) =
        c.streaming_slots *
        (c.remote_compressed.seconds() + c.decompress_s +
         std::max(share * c.rounds * rounds(cached).round_s, c.remote_rest.seconds()) + decoded * remote.slot_s);
    at(row, Resource::storage) += c.remote_compressed.bytes + c.remote_rest.bytes;
    return row;
  }
};

}  // namespace

PathCosts step_table(const PathProblem& problem, const PerPool& batch) {
  const Table t(problem, batch);
  const StepCosts& c = t.c;
  PathCosts costs{{
      {c.local_full.link_s, t.K * t.local.gpu_s, c.local_full.seconds() + t.K * t.local.slot_s, 0, 0, 0,
       c.local_full.bytes},
      {0, 0, 0, c.remote_full.link_s, t.K * t.remote.gpu_s, c.remote_full.seconds() + t.K * t.remote.slot_s,
       c.remote_full.bytes},
      t.drafted(true),
      t.drafted(false),
      t.drafted_while_streaming(true),
      t.drafted_while_streaming(false),
  }};
  if (c.held_slots > 0) {
    for (const Path path : kAllPaths) {
      const models::PathTraits& way = traits(path);
      ResourceFigures& row = costs[models::index_of(path)];
      if (way.on_local && (!way.drafts || way.cached)) at(row, Resource::local_held) = at(row, Resource::local_mem);
    }
  }
  if (!(c.storage_bytes_per_s > 0)) {
    for (ResourceFigures& row : costs) at(row, Resource::storage) = 0;  // what nothing limits costs nothing
  }
  return costs;
}

PathTimes step_times(const PathProblem& problem, const PerPool& batch) {
  const Table table(problem, batch);
  const StepCosts& c = table.c;
  const double streaming = table.share_streaming(true);
  PathTimes t;
  t.T_tok = {table.local.gpu_s, table.remote.gpu_s};
  t.T_slot = {table.local.slot_s, table.remote.slot_s};
  t.T_h = c.local_full.seconds();
  t.T_l = c.remote_full.seconds();
  t.T_lc = c.remote_compressed.seconds();
  t.T_rem = c.remote_rest.seconds();
  t.g = accepted_share(problem);
  t.N1 = c.rounds;
  t.Nd = streaming * c.drafts;
  t.N2 = streaming * c.rounds;
  t.K2 = (1 - streaming) * table.K;
  return t;
}

}  // namespace kvsim::planner
