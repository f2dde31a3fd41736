// A figure for each of the two pools.
#pragma once

namespace kvsim::planner {

struct PerPool {
  double local = 0;
  double remote = 0;
};

}  // namespace kvsim::planner
