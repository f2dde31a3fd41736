// Error of every planner when nothing meets the constraints.
#pragma once

#include <stdexcept>

namespace kvsim::planner {

/// No plan meets the constraints. what() says which, and names the nearest miss: what would have to change, and by how
/// much. Exit status 4.
class Infeasible : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace kvsim::planner
