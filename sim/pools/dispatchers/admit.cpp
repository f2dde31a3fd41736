// ADMIT over two pools (VeriCache): a request drafts where the link ring of a remote node has room for its compressed
// KV and the link and memory rings of a local node for the reload of its first verification; else it is served with its
// full KV where there is room, else it waits. After every verification the local rings are asked again. Rings are
// belief, in windows of one local iteration; the links and the memory are the facts.
#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "sim/pools/dispatcher.h"
#include "sim/serving/admit.h"

namespace kvsim::pools {
namespace {

using models::Path;

// In the order in which they are tried.
constexpr std::array kOrder{Path::P1_stateless, Path::P2_stateless, Path::P1_cached,
                            Path::P2_cached,    Path::B1,           Path::B2};
constexpr std::span kDrafting = std::span(kOrder).first(4);
constexpr std::span kFullKv = std::span(kOrder).last(2);

class Admit final : public Dispatcher {
 public:
  Admit(const serving::ServingConfig& config, std::span<const Path> paths)
      : windows_(config.schedule.window),
        slack_(config.schedule.arrival == serving::ReloadArrival::layerwise ? 0 : 1),
        paths_(paths.begin(), paths.end()) {}

  std::optional<Path> on_arrival(const PoolRequest&, const PoolsView&) override { return std::nullopt; }

  std::optional<Assignment> assign(const PoolRequest& request, const PoolsView& view) override {
    for (const Path path : kDrafting) {
      if (auto assignment = speculate(request, path, view)) return assignment;
    }
    // Cycles that speculation leaves over serve with the full KV.
    std::optional<Assignment> best;
    for (const Path path : kFullKv) {
      const auto candidate = room(request, path, view);
      if (candidate && (!best || view.expected_s(request, *candidate) < view.expected_s(request, *best))) {
        best = candidate;
      }
    }
    if (best && admit_load(request, *best, view)) return best;
    return in_spite_of_rings(request, view);
  }

  std::optional<engine::SimTime> reload_start(const PoolRequest& request, engine::SimTime drafts_due,
                                              const PoolsView& view) override {
    const Site& local = *request.local;
    Rings& rings = rings_of(local, view);
    withdraw(request);
    const auto ahead = windows_until(rings, drafts_due, view);
    const auto found = rings.rings.admit({view.reload_s(request, local), view.reload_bytes(request), ahead, 0},
                                         rings.window_s, view.reload_room(local));
    if (!found) return drafts_due;  // on demand, once it has drafted
    reserved_[&request] = {*found, rings.passed};
    return rings.begin + engine::from_seconds(static_cast<double>(found->first) * rings.window_s);
  }

  void leaves(const PoolRequest& request) override { withdraw(request); }

  [[nodiscard]] std::optional<engine::Duration> retry_after() const override {
    double shortest = 0;
    for (const auto& [node, rings] : nodes_)
      shortest = shortest > 0 ? std::min(shortest, rings.window_s) : rings.window_s;
    return engine::from_seconds(shortest > 0 ? shortest : 1e-3);
  }

 private:
  struct Rings {
    Rings(std::int64_t windows, std::int64_t slack) : rings(windows, slack) {}
    serving::AdmissionRings rings;
    double window_s = 0;
    engine::SimTime begin;    // of the current window
    std::int64_t passed = 0;  // windows since the beginning
  };
  struct Reserved {
    serving::AdmittedReload reload;
    std::int64_t made = 0;  // Rings::passed then
  };

  [[nodiscard]] std::optional<Assignment> room(const PoolRequest& request, Path path, const PoolsView& view) const {
    if (std::find(paths_.begin(), paths_.end(), path) == paths_.end()) return std::nullopt;
    return view.room(request, path);
  }

  /// A reload that is longer than all windows until its drafts are due never finds room in the rings: where nobody is
  /// served, whoever fits is, as on replicas. Nothing is reserved, its reloads come on demand.
  [[nodiscard]] std::optional<Assignment> in_spite_of_rings(const PoolRequest& request, const PoolsView& view) const {
    const auto serves_nobody = [](const Site* node) {
      return node == nullptr || (node->requests() == 0 && node->stateless() == 0);
    };
    for (const Path path : kOrder) {
      const auto assignment = room(request, path, view);
      if (assignment && serves_nobody(assignment->local) && serves_nobody(assignment->remote)) return assignment;
    }
    return std::nullopt;
  }

  std::optional<Assignment> speculate(const PoolRequest& request, Path path, const PoolsView& view) {
    const auto assignment = room(request, path, view);
    if (!assignment || overloads_local_link(request, *assignment, view)) return std::nullopt;
    const auto load = admit_load(request, *assignment, view);
    if (!load) return std::nullopt;
    const double load_s = view.first_load_s(request, *assignment);
    if (models::traits(path).cached) return assignment;
    // Would a first verification find room, once it is loaded and has drafted?
    Rings& local = rings_of(*assignment->local, view);
    const double ready_s = load_s + view.drafting_s(*assignment->remote);
    const auto due = view.now() + engine::from_seconds(ready_s);
    const auto reload = local.rings.admit(
        {view.reload_s(request, *assignment->local), view.reload_bytes(request), windows_until(local, due, view), 0},
        local.window_s, view.reload_room(*assignment->local));
    if (!reload) {
      rings_of(*assignment->remote, view).rings.withdraw(*load, 0);
      return std::nullopt;
    }
    reserved_[&request] = {*reload, local.passed};
    return assignment;
  }

  /// Link time for the first transfer. A transfer longer than the whole ring has the link when no other needs it.
  std::optional<serving::AdmittedReload> admit_load(const PoolRequest& request, const Assignment& assignment,
                                                    const PoolsView& view) {
    const Site& node = assignment.remote != nullptr ? *assignment.remote : *assignment.local;
    Rings& rings = rings_of(node, view);
    const double load_s = view.first_load_s(request, assignment);
    if (load_s > rings.window_s * static_cast<double>(windows_)) {
      if (view.backlog_s(node) > 0) return std::nullopt;
      return serving::AdmittedReload{0, -1, -1, 0, 0};
    }
    return rings.rings.admit_load(load_s, rings.window_s);
  }

  /// The rings of a node, moved on to now.
  Rings& rings_of(const Site& node, const PoolsView& view) {
    auto [at, fresh] = nodes_.try_emplace(&node, windows_, slack_);
    Rings& rings = at->second;
    if (fresh) rings.begin = view.now();
    if (rings.window_s > 0) {
      const double since = (view.now() - rings.begin).seconds();
      const auto windows = static_cast<std::int64_t>(since / rings.window_s);
      rings.rings.advance(windows);
      rings.passed += windows;
      rings.begin = rings.begin + engine::from_seconds(static_cast<double>(windows) * rings.window_s);
    }
    rings.window_s = std::max(node.gpus().iteration_s(), 1e-6);
    return rings;
  }

  [[nodiscard]] std::int64_t windows_until(const Rings& rings, engine::SimTime at, const PoolsView& view) const {
    const double s = std::max(0.0, (at - view.now()).seconds());
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(s / rings.window_s)), 1, windows_ - 1);
  }

  void withdraw(const PoolRequest& request) {
    const auto at = reserved_.find(&request);
    if (at == reserved_.end()) return;
    Rings& rings = nodes_.at(request.local);
    rings.rings.withdraw(at->second.reload, rings.passed - at->second.made);
    reserved_.erase(at);
  }

  std::int64_t windows_, slack_;
  std::vector<Path> paths_;
  std::unordered_map<const Site*, Rings> nodes_;
  std::unordered_map<const PoolRequest*, Reserved> reserved_;
};

}  // namespace

DispatcherEntry dispatcher_admit() {
  return {.name = "admit",
          .description = "drafts where ADMIT finds room in the rings of both pools' links and memories, else full KV",
          .place = 4,
          .places_reloads = true,
          .make = [](const serving::ServingConfig& config, std::span<const Path> paths) -> std::unique_ptr<Dispatcher> {
            return std::make_unique<Admit>(config, paths);
          }};
}

}  // namespace kvsim::pools
