#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/transport/network.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;
using namespace kvsim::transport;

namespace {

using Routes = std::vector<std::vector<std::size_t>>;

// Progressive filling as its definition says: raise all rates together; freeze those that cross a link that is full.
std::vector<double> brute_force_max_min(const std::vector<double>& capacity, const Routes& routes) {
  std::vector<double> rate(routes.size(), 0);
  std::vector<bool> frozen(routes.size(), false);
  while (std::count(frozen.begin(), frozen.end(), false) > 0) {
    double step = HUGE_VAL;
    std::vector<double> room = capacity;
    std::vector<int> growing(capacity.size(), 0);
    for (std::size_t f = 0; f < routes.size(); ++f) {
      for (const std::size_t l : routes[f]) {
        room[l] -= rate[f];
        if (!frozen[f]) ++growing[l];
      }
    }
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      if (growing[l] > 0) step = std::min(step, std::max(0.0, room[l]) / growing[l]);
    }
    for (std::size_t f = 0; f < routes.size(); ++f) {
      if (!frozen[f]) rate[f] += step;
    }
    for (std::size_t f = 0; f < routes.size(); ++f) {
      for (const std::size_t l : routes[f]) {
        if (growing[l] > 0 && room[l] / growing[l] <= step * (1 + 1e-12) + 1e-9) frozen[f] = true;
      }
    }
  }
  return rate;
}

// Any non-empty subset of the links, from the bits of a number.
rc::Gen<std::vector<std::size_t>> routes_over(std::size_t links) {
  return rc::gen::map(rc::gen::inRange<std::size_t>(1, std::size_t{1} << links), [links](std::size_t bits) {
    std::vector<std::size_t> route;
    for (std::size_t l = 0; l < links; ++l) {
      if ((bits >> l & 1) != 0) route.push_back(l);
    }
    return route;
  });
}

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

RC_GTEST_PROP(NetworkProperty, ratesAreMaxMinFairAfterAnyStartsCancellationsAndChanges, ()) {
  Simulator simulator;
  Network network(simulator);
  const std::size_t links = *rc::gen::inRange<std::size_t>(1, 7);
  std::vector<double> capacity;
  for (std::size_t l = 0; l < links; ++l) {
    capacity.push_back(*rc::gen::inRange(1, 20) * 1e9);
    network.add_link("link", capacity.back());
  }
  Routes routes;
  std::vector<FlowId> ids;
  const auto operations = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 10));
  for (const int operation : operations) {
    if (operation < 6) {
      const auto route = *routes_over(links);
      std::vector<LinkId> hops;
      for (const std::size_t l : route) hops.push_back({static_cast<std::uint32_t>(l)});
      ids.push_back(network.submit(hops, {.bytes = 1'000'000'000'000}));  // longer than the test
      routes.push_back(route);
    } else if (operation < 8 && !ids.empty()) {
      const auto victim = *rc::gen::inRange<std::size_t>(0, ids.size());
      RC_ASSERT(network.cancel(ids[victim]));
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(victim));
      routes.erase(routes.begin() + static_cast<std::ptrdiff_t>(victim));
    } else {
      const auto changed = *rc::gen::inRange<std::size_t>(0, links);
      capacity[changed] = *rc::gen::inRange(0, 20) * 1e9;
      network.set_bandwidth({static_cast<std::uint32_t>(changed)}, capacity[changed]);
    }
    if (operation % 2 == 0) simulator.run_until(simulator.now() + Duration{100});
    const auto expected = brute_force_max_min(capacity, routes);
    for (std::size_t f = 0; f < ids.size(); ++f) RC_ASSERT(close(network.rate(ids[f]), expected[f]));
    network.check_conservation();
  }
}

}  // namespace
}  // namespace KVSIM_FILE
