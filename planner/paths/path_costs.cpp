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

}  // namespace kvsim::planner
