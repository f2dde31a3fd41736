// Short ways to write acceptance descriptions.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "models/acceptance/acceptance.h"

namespace kvsim::models::testing {

inline AcceptanceSpec constant(double agreement) {
  AcceptanceSpec s;
  s.kind = AcceptanceKind::constant;
  s.agreement = agreement;
  return s;
}

inline AcceptanceSpec step_kl(double nats) {
  AcceptanceSpec s;
  s.kind = AcceptanceKind::step_kl;
  s.step_kl_nats = nats;
  return s;
}

inline AcceptanceSpec curve(std::vector<AcceptancePoint> points) {
  AcceptanceSpec s;
  s.kind = AcceptanceKind::curve;
  s.points = std::move(points);
  return s;
}

inline AcceptanceSpec positions(std::vector<double> survival) {
  AcceptanceSpec s;
  s.kind = AcceptanceKind::positions;
  s.positions = std::move(survival);
  return s;
}

inline AcceptanceSpec heterogeneous(double mean, double concentration) {
  AcceptanceSpec s;
  s.kind = AcceptanceKind::heterogeneous;
  s.agreement = mean;
  s.concentration = concentration;
  return s;
}

inline AcceptanceSpec recorded(std::vector<std::int64_t> lengths) {
  AcceptanceSpec s;
  s.kind = AcceptanceKind::recorded;
  s.lengths = std::move(lengths);
  return s;
}

struct NamedAcceptance {
  std::string name;
  AcceptanceSpec spec;

  friend std::ostream& operator<<(std::ostream& out, const NamedAcceptance& a) { return out << a.name; }
};

/// One of each kind, for claims that hold for all of them.
inline std::vector<NamedAcceptance> every_kind() {
  return {{"compressor", AcceptanceSpec{}},
          {"constant", constant(0.9825)},
          {"step_kl", step_kl(0.05)},
          {"curve", curve({{5, 4.5}, {15, 10}, {30, 14}})},
          {"positions", positions({0.74, 0.54, 0.41, 0.3, 0.3, 0.16})},
          {"heterogeneous", heterogeneous(0.93, 8)},
          {"recorded", recorded({0, 1, 3, 3, 7, 12, 18, 30, 45, 2})}};
}

}  // namespace kvsim::models::testing
