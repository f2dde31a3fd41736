// Runs a kernel's own code on the CPU: a block's threads are fibers of one thread, blocks run one after another.
// Collective operations (shuffles, matrix products, barriers) wait for their warp or block as the hardware does; a
// fiber that waits for one that has ended is a defect of the kernel and throws.
#pragma once

#include <functional>

namespace kvsim::test {

struct Grid {
  int x = 1;
  int y = 1;
  int z = 1;
  int threads = 32;
};

void run_kernel(const Grid& grid, const std::function<void()>& kernel);

}  // namespace kvsim::test
