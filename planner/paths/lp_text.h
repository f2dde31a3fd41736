// The path LP for other solvers and for reading.
#pragma once

#include <string>

#include "planner/paths/path_lp.h"

namespace kvsim::planner {

/// CPLEX LP format: maximise tokens/s. Numbers read back to the same bits; every line of `remarks` becomes a comment.
std::string lp_text(const PathLp& lp, double tokens_per_request, const std::string& remarks);

}  // namespace kvsim::planner
