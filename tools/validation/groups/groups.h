// One function a group; the table is in ../group.cpp.
#pragma once

#include <vector>

#include "tools/validation/figure.h"
#include "tools/validation/group.h"

namespace kvsim::validation {

std::vector<Figure> draft_verify_figures(const Inputs& inputs);
std::vector<Figure> baselines_figures(const Inputs& inputs);
std::vector<Figure> remote_prefix_figures(const Inputs& inputs);
std::vector<Figure> speculative_prefetch_figures(const Inputs& inputs);
std::vector<Figure> tiered_eviction_figures(const Inputs& inputs);
std::vector<Figure> selective_reuse_figures(const Inputs& inputs);
std::vector<Figure> link_figures(const Inputs& inputs);
std::vector<Figure> collective_figures(const Inputs& inputs);
std::vector<Figure> kernel_figures(const Inputs& inputs);
std::vector<Figure> measured_kernel_figures(const Inputs& inputs);
std::vector<Figure> transfer_figures(const Inputs& inputs);
std::vector<Figure> serving_figures(const Inputs& inputs);

}  // namespace kvsim::validation
