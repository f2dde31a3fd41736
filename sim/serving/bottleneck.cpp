#include "sim/serving/bottleneck.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "sim/machine/gpu_group.h"

namespace kvsim::serving {
namespace {

/// Share of the time that the busiest link was in use beside what iterations fetched.
double busiest_link(const Measurements& m) {
  double most = 0;
  for (const auto& [name, link] : m.links) most = std::max(most, engine::share(link.busy_s, link.capacity_s));
  return std::max(most - engine::share(m.fetch.fetch_s, m.capacity_s), 0.0);
}

/// In the order of models::Resource.
constexpr std::array<TimePart Bottleneck::*, models::kResources> kResourceParts{
    &Bottleneck::hbm_bandwidth, &Bottleneck::compute, &Bottleneck::collectives, &Bottleneck::launches,
    &Bottleneck::host};

}  // namespace

Bottleneck bottleneck(const models::StepAccount& account) {
  Bottleneck b;
  for (std::size_t i = 0; i < models::kResources; ++i) {
    b.*kResourceParts[i] = {account.bound[i], 1 / (1 - account.saved[i]) - 1};
  }
  b.fixed.share = std::max(1 - std::accumulate(account.bound.begin(), account.bound.end(), 0.0), 0.0);
  return b;
}

Bottleneck bottleneck(const Measurements& m) {
  using machine::Overlap;
  const auto share = [&m](double seconds) { return engine::share(seconds, m.capacity_s); };
  Bottleneck b;
  for (std::size_t i = 0; i < models::kResources; ++i) (b.*kResourceParts[i]).share = share(m.bound_s[i]);
  b.fixed.share = share(std::max(m.busy_s - std::accumulate(m.bound_s.begin(), m.bound_s.end(), 0.0), 0.0));
  b.link.share = share(m.link_bound_s);
  b.front_end.share = share(m.front_end_s);
  b.idle.share = share(m.idle_s);
  // Iterations and what they wait for within them; beside these, waiting for a link between them; beside both, the
  // front end; and then idle time, which stays as it is.
  const double in_steps_s = std::min(m.fetch.wait_s, m.link_bound_s);
  const double steps = share(m.busy_s + in_steps_s);
  b.link_in_use = busiest_link(m);
  const Overlap loads(steps, b.link_in_use, share(m.link_bound_s - in_steps_s));
  const Overlap tokenised(loads.length(), tokeniser_busy(m), b.front_end.share);
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const bool prompts_loaded = m.placement.loads > 0 || m.reuse.loaded_tokens > 0;
  const bool unknown = b.link_in_use > (prompts_loaded ? kLinkInUse : kNeverRests);
  const auto gain = [&](double saved_s, double link_speed, double front_end_speed) {
    if (unknown) return kUnknown;
    const double loaded = loads.length(std::max(steps - share(saved_s), 0.0), loads.busy() / link_speed);
    const double after = tokenised.length(loaded, tokenised.busy() / front_end_speed) + b.idle.share;
    const double now = tokenised.length() + b.idle.share;
    return after > 0 && after < now ? now / after - 1 : 0.0;
  };
  for (std::size_t i = 0; i < models::kResources; ++i) (b.*kResourceParts[i]).gain = gain(m.saved_s[i], 1, 1);
  b.link.gain = b.link_in_use > kLinkInUse ? kUnknown : gain(m.link_saved_s, 2, 1);
  b.front_end.gain = gain(0, 1, 2);
  return b;
}

}  // namespace kvsim::serving
