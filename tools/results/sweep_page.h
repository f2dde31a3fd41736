// A sweep for people: its points in a table, the best marked, and a heat map where two axes make a grid.
#pragma once

#include "tools/results/sweep_figures.h"
#include "tools/results/table.h"

namespace kvsim::results {

Page sweep_page(const Sweep& sweep);

}  // namespace kvsim::results
