#include "sim/pools/two_pools.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/engine/invariant.h"

namespace kvsim::pools {

using models::Path;

std::vector<std::string> TwoPools::fallbacks() const {
  std::vector<std::string> said;
  for (const serving::InstanceEnvironment& environment : parts_.groups.environments) {
    if (environment.group.count == 0) continue;
    for (const std::string& more : environment.timer.fallbacks()) {
      if (std::find(said.begin(), said.end(), more) == said.end()) said.push_back(more);
    }
  }
  if (!parts_.placed) return said;
  for (std::string& more : parts_.placed->fallbacks()) said.push_back(std::move(more));
  return said;
}

void TwoPools::start_measuring() {
  update_requests();
  parts_.log.start_measuring();
  parts_.requests.for_each([](PoolRequest& r) { PathLog::forget(r); });
  parts_.sites.each([](Site& node) { node.start_measuring(); });
  parts_.stored->start_measuring();
}

void TwoPools::update_requests() {
  parts_.requests.for_each([](const PoolRequest& r) {
    for (Site* site : {r.local, r.remote}) {
      if (site) site->instance().update(*r.request);
    }
  });
}

void TwoPools::finish_measuring() {
  parts_.requests.for_each([this](PoolRequest& r) { parts_.log.count_tokens(r); });
  for (const std::span<Site> pool : {parts_.sites.local, parts_.sites.remote}) {
    for (Site& site : pool)
      site.finish_measuring(parts_.groups.env.measured.pools[name_of(site.pool())], std::ssize(pool));
  }
  parts_.stored->finish_measuring(parts_.groups.env.measured);
}

void TwoPools::check_conservation() const {
  parts_.stored->check_conservation();
  std::int64_t assigned = 0;
  std::array<std::vector<std::int64_t>, 2> held{std::vector<std::int64_t>(parts_.sites.local.size()),
                                                std::vector<std::int64_t>(parts_.sites.remote.size())};
  const auto held_on = [&](const Site& node) -> std::int64_t& {
    return held.at(static_cast<std::size_t>(node.pool())).at(node.index());
  };
  parts_.requests.for_each([&](const PoolRequest& r) {
    assigned += !r.left && (r.local || r.remote) ? 1 : 0;
    if (r.local) held_on(*r.local) += r.local_kv().held() + r.held->reload.kv.held();
    if (r.remote) held_on(*r.remote) += r.request->kv.held();
  });
  parts_.sites.each([&](const Site& node) {
    node.memory().check_conservation(held_on(node), 0);
    KVSIM_ALWAYS(assigned > 0 || node.requests() == 0, "a node counts requests that are gone");
  });
}

serving::LoadSample TwoPools::load() {
  serving::LoadSample sample;
  sample.waiting = parts_.queues.waiting();
  parts_.sites.each([&](const Site& node) {
    sample.kv_bytes += node.memory().gpu().reserved();
    sample.waiting += node.requests_waiting();
    sample.gpu += node.gpus().spent().all();
  });
  const serving::Measurements& m = parts_.groups.env.measured;
  sample.running = static_cast<std::int64_t>(m.arrived - m.completed - m.refused) - sample.waiting;
  for (const Site& node : parts_.sites.local) sample.kv_streaming_bytes += parts_.reloads.bytes(node);
  if (parts_.placed) parts_.placed->add_to(sample);
  return sample;
}

std::int64_t TwoPools::kv_capacity() const {
  std::int64_t bytes = 0;
  parts_.sites.each([&](const Site& node) { bytes += node.memory().gpu().capacity(); });
  return bytes;
}

std::string TwoPools::submit(serving::Request& q, const models::RequestSpec& spec) {
  PoolRequest& r = parts_.requests.add(q.id);
  r.request = &q;
  std::string refused = take(r, spec);
  if (refused.empty()) return refused;
  parts_.stored->refused(r);
  parts_.requests.erase(q.id);
  return refused;
}

std::string TwoPools::take(PoolRequest& r, const models::RequestSpec& spec) {
  serving::Request& q = *r.request;
  const std::int64_t tokens = q.prompt + q.output;
  if (tokens > parts_.groups.config.model.max_context) {
    return fmt::format(
        "needs a context of {} tokens, {} allows {}: where YaRN or the like makes more of it, give "
        "model.max_context",
        tokens, parts_.groups.config.model.name, parts_.groups.config.model.max_context);
  }
  q.prefill.target = q.prompt;
  parts_.stored->arrived(r, spec);
  parts_.stored->look(r);
  std::optional<Path> path = parts_.dispatcher->on_arrival(r, parts_.estimator);
  const auto runs_on = [&](Path p) { return parts_.estimator.could_ever_run(r, p); };
  if (path && !runs_on(*path)) {  // another one that it may have been given
    const auto& weights = parts_.groups.pools.dispatch.weights;
    const auto other = std::find_if(parts_.paths.begin(), parts_.paths.end(),
                                    [&](Path p) { return runs_on(p) && weights.at(models::index_of(p)) > 0; });
    if (other != parts_.paths.end()) path = *other;
  }
  if (path ? !runs_on(*path) : std::none_of(parts_.paths.begin(), parts_.paths.end(), runs_on)) {
    const Path tried = path.value_or(parts_.paths.front());
    const Site& site = models::traits(tried).on_local ? parts_.sites.local.front() : parts_.sites.remote.front();
    const std::int64_t need = parts_.memory.most_private(r, tried, site.pool());
    return fmt::format("needs {} bytes of KV memory on path {}, a node has {}", need, path_name(tried),
                       site.memory().gpu().capacity());
  }
  if (path) r.path = *path;
  r.path_given = path.has_value();
  q.phase = serving::Phase::queued;
  r.number = spec.id;
  parts_.queues.enqueue(r);
  route_.settle_soon();
  return {};
}

std::string_view TwoPools::path_of(const serving::Request& request) const {
  return models::path_name(parts_.requests.find(request.id)->path);
}

}  // namespace kvsim::pools
