#include "tests/planner/paths/problems.h"

#include <cmath>

namespace kvsim::planner::testing {
namespace {

/// Draws that are the same with every standard library: its engines are fixed, its distributions are not.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}
  double share() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }
  double between(double a, double b) { return a + (b - a) * share(); }
  double log_between(double a, double b) { return a * std::pow(b / a, share()); }
  std::int64_t whole(std::int64_t a, std::int64_t b) {
    return a + static_cast<std::int64_t>(share() * static_cast<double>(b - a + 1));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace

PathProblem published_set_up() {
  PathProblem p;
  p.symbols = {141e9, 10e9, 188e9, 7.8e12, 40e9, 1.2e9};
  p.pools = {1, 4};
  p.request = {512, 0.27, 40};
  p.acceptance.kind = models::AcceptanceKind::constant;
  p.acceptance.agreement = 0.98;
  return p;
}

PathProblem by_hand() {
  PathProblem p;
  p.symbols = {8e9, 2e9, 16e9, 1e12, 20e9, 4e9};
  p.pools = {1, 2};
  p.request = {100, 0.25, 2};
  p.acceptance.kind = models::AcceptanceKind::curve;
  p.acceptance.points = {{2, 1.6}};
  return p;
}

PathProblem steps_by_hand() {
  PathProblem p = by_hand();
  p.residence = Residence::steps;
  p.request = {60, 0.25, 8};
  p.acceptance.points = {{8, 6}};
  StepCosts c;
  c.local = c.remote = {0.02, 0.001};
  c.draft_work = 0.5;
  c.verify_work = 3;
  c.slots = {10, 10};
  c.drafting_slots = 0.5;
  c.verifying_slots = 1.1;
  c.rereading_slots = 0.9;
  c.local_full = {2e9, 0.1, 0.01};
  c.local_reread = {2.4e9, 0.12, 0.01};
  c.remote_full = {2e9, 1, 0.02};
  c.remote_compressed = {0.5e9, 0.25, 0.02};
  c.remote_rest = {1.5e9, 0.75, 0.02};
  c.decompress_s = 0.05;
  c.round_trip_s = 0.004;
  c.rounds = 10;
  c.drafts = 80;
  c.links = {1, 2};
  p.steps = c;
  return p;
}

std::vector<PathProblem> many_problems(std::size_t count, std::uint64_t seed) {
  if (KVSIM_SANITIZED) count = (count + 9) / 10;
  Draws draws(seed);
  std::vector<PathProblem> problems;
  while (problems.size() < count) {
    PathProblem p;
    p.symbols.M = draws.log_between(1e9, 300e9);
    p.symbols.KV = draws.log_between(1e8, 20e9);
    p.symbols.HBM = p.symbols.M + p.symbols.KV * draws.log_between(1.001, 60);
    p.symbols.BW_hbm = draws.log_between(5e11, 2e13);
    p.symbols.BW_h = draws.log_between(5e9, 4e11);
    p.symbols.BW_l = draws.log_between(2e8, 2e10);
    p.pools = {draws.whole(0, 4), draws.whole(0, 16)};
    if (p.pools.local + p.pools.remote == 0) continue;
    p.request = {static_cast<std::int64_t>(draws.log_between(8, 20000)), draws.between(0.05, 1), draws.whole(1, 60)};
    p.acceptance.kind = models::AcceptanceKind::constant;
    p.acceptance.agreement = draws.between(0.5, 1);
    p.residence = draws.share() < 0.5 ? Residence::published : Residence::steps;
    problems.push_back(p);
  }
  return problems;
}

}  // namespace kvsim::planner::testing
