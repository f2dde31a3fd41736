// Shares, also of nothing.
#pragma once

namespace kvsim::planner {

/// part / of; 0 where there is nothing to have a share of.
inline double share(double part, double of) {
  return of > 0 ? part / of : 0.0;
}

}  // namespace kvsim::planner
