#include "planner/paths/path_costs.h"

#include <algorithm>
#include <cmath>

namespace kvsim::planner {

std::string_view resource_name(Resource resource) {
  static constexpr std::array<std::string_view, kResources> names{
      "local_net", "local_gpu", "local_mem", "remote_net", "remote_gpu", "remote_mem", "storage", "local_held"};
  return names.at(static_cast<std::size_t>(resource));
}

PathTimes path_times(const PathProblem& problem, const PerPool& B) {
  if (problem.steps) return step_times(problem, B);
  const auto& [M, KV, HBM, BW_hbm, BW_h, BW_l] = problem.symbols;
  const double c = problem.request.c;
  const auto K = static_cast<double>(problem.request.K);
  const auto x = static_cast<double>(problem.request.x);
  PathTimes t;
  // T_tok(B) = (M/B + KV)/BW_hbm
  t.T_tok = {(M / B.local + KV) / BW_hbm, (M / B.remote + KV) / BW_hbm};
  const bool steps = problem.residence == Residence::steps;
  t.T_slot = steps ? PerPool{B.local * t.T_tok.local, B.remote * t.T_tok.remote} : t.T_tok;
  t.T_h = KV / BW_h;
  t.T_l = KV / BW_l;
  t.T_lc = c * KV / BW_l;
  t.T_rem = (1 - c) * KV / BW_l;
  t.g = accepted_share(problem);
  // N1 = ceil(K/(g x)); Nd = min(T_rem/T_tok, K/g); N2 = ceil(Nd/x); K2 = max(0, K - g Nd)
  t.N1 = std::ceil(K / (t.g * x));
  t.Nd = std::min(t.T_rem / t.T_slot.remote, K / t.g);
  t.N2 = std::ceil(t.Nd / x);
  t.K2 = std::max(0.0, K - t.g * t.Nd);
  return t;
}

PathCosts path_costs(const PathProblem& problem, const PerPool& batch) {
  if (problem.steps) return step_table(problem, batch);
  const auto [T_tok, T_slot, T_h, T_l, T_lc, T_rem, g, N1, Nd, N2, K2] = path_times(problem, batch);
  const auto K = static_cast<double>(problem.request.K);
  const double p1_gpu = K / g * T_tok.remote;
  const double p1_mem = T_lc + K / g * T_slot.remote;
  const double p2_net = T_lc + T_rem;
  const double p2_gpu = (Nd + K2) * T_tok.remote;
  const double p2_mem = T_lc + std::max(Nd * T_slot.remote, T_rem) + K2 * T_slot.remote;
  // The rows are kAllPaths, the columns kAllResources; drafts take the remote pool's time in the local slot, too.
  return {{
      {T_h, K * T_tok.local, T_h + K * T_slot.local, 0, 0, 0, 0},
      {0, 0, 0, T_l, K * T_tok.remote, T_l + K * T_slot.remote, 0},
      {T_h, N1 * T_tok.local, T_h + K / g * T_slot.remote, T_lc, p1_gpu, p1_mem, 0},
      {N1 * T_h, N1 * T_tok.local, N1 * (T_h + T_slot.local), T_lc, p1_gpu, p1_mem, 0},
      {T_h, N2 * T_tok.local, T_h + Nd * T_slot.remote, p2_net, p2_gpu, p2_mem, 0},
      {N2 * T_h, N2 * T_tok.local, N2 * (T_h + T_slot.local), p2_net, p2_gpu, p2_mem, 0},
  }};
}

ResourceFigures path_limits(const PathProblem& problem) {
  const auto G_L = static_cast<double>(problem.pools.local);
  const auto G_R = static_cast<double>(problem.pools.remote);
  const PerPool B_max = slots_per_gpu(problem);
  ResourceFigures limits{G_L, G_L, G_L * B_max.local, G_R, G_R, G_R * B_max.remote, 0};
  if (problem.steps) {
    limits[static_cast<std::size_t>(Resource::local_net)] = problem.steps->links.local;
    limits[static_cast<std::size_t>(Resource::remote_net)] = problem.steps->links.remote;
    limits[static_cast<std::size_t>(Resource::storage)] = problem.steps->storage_bytes_per_s;
    limits[static_cast<std::size_t>(Resource::local_held)] = G_L * problem.steps->held_slots;
  }
  return limits;
}

ResourceFigures resource_use(const PathCosts& costs, const PathRates& n) {
  ResourceFigures use{};
  for (std::size_t i = 0; i < kPaths; ++i) {
    for (std::size_t r = 0; r < kResources; ++r) use[r] += costs[i][r] * n[i];
  }
  return use;
}

namespace {

/// A step with this work and no other.
double alone(const StepLine& line, double work) {
  return line.at(work);
}

RequestTime decoded(const LoadCost& load, const StepLine& line, double K) {
  return {load.seconds(), 0, alone(line, 1), load.seconds() + K * alone(line, 1)};
}

/// P2 where the rest of the KV is there before the local node could verify: the remote node does it itself.
RequestTime never_verified(const PathProblem& problem, double load_s, double draft_s) {
  const StepCosts& c = *problem.steps;
  const std::int64_t x = std::min(problem.request.x, problem.request.K);
  const double rest_s = c.remote_rest.seconds();
  const auto drafted = std::min(x, static_cast<std::int64_t>(rest_s / draft_s));
  const double accepted = models::AcceptanceModel(problem.acceptance, 1, problem.request.x).expected_accepted(drafted);
  const double left = std::max(0.0, static_cast<double>(problem.request.K) - accepted - 1);
  // Its pass over the drafts, in the time of a full verification, and what has been drafted less than a token.
  const double verified_s = alone(c.remote, c.verify_work);
  return {load_s, 0, 0, load_s + rest_s + verified_s + left * alone(c.remote, 1)};
}

}  // namespace

RequestTime request_time_as_printed(const PathProblem& problem) {
  const StepCosts& c = *problem.steps;
  const auto K = static_cast<double>(problem.request.K);
  const auto x = static_cast<double>(problem.request.x);
  RequestTime t;
  t.load_s = c.remote_compressed.link_s;
  t.rounds = K / (x * accepted_share(problem));
  t.cycle_s = std::max(x * alone(c.remote, c.draft_work), c.local_full.link_s) + alone(c.local, c.verify_work);
  t.total_s = t.load_s + t.rounds * t.cycle_s;
  return t;
}

RequestTime request_time(const PathProblem& problem, Path path) {
  const StepCosts& c = *problem.steps;
  const models::PathTraits& traits = models::traits(path);
  const auto K = static_cast<double>(problem.request.K);
  if (!traits.drafts) {
    return traits.on_local ? decoded(c.local_full, c.local, K) : decoded(c.remote_full, c.remote, K);
  }
  const double draft_s = alone(c.remote, c.draft_work);
  const double drafting = c.drafts / c.rounds * draft_s;
  const double first = static_cast<double>(std::min(problem.request.x, problem.request.K)) * draft_s;
  const double hidden = traits.cached ? drafting : std::max(drafting, c.local_reread.seconds());
  RequestTime t;
  t.load_s = c.remote_compressed.seconds() + c.decompress_s;
  t.cycle_s = hidden + c.joining * draft_s + c.round_trip_s + (1 + c.joining) * alone(c.local, c.verify_work);
  // The first round of cached verification waits for its KV, which was sent for when the request came.
  const double late = traits.cached ? std::max(0.0, c.local_full.seconds() - t.load_s - first) : 0.0;
  if (traits.streams_rest) {
    const double verifiable_s = traits.cached ? first + late : std::max(first, c.local_reread.seconds());
    if (c.remote_rest.seconds() < verifiable_s) return never_verified(problem, t.load_s, draft_s);
  }
  const double share = traits.streams_rest ? std::min(1.0, c.remote_rest.seconds() / (c.rounds * t.cycle_s)) : 1.0;
  t.rounds = share * c.rounds;
  t.total_s = t.load_s + late + t.rounds * t.cycle_s + (1 - share) * K * alone(c.remote, 1);
  return t;
}

}  // namespace kvsim::planner
