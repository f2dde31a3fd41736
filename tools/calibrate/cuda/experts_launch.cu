#include "tools/calibrate/cuda/handles.h"
#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/kernels/experts.h"

namespace kvsim::calibrate {

void launch_grouped_product(const ExpertArgs& args, int tiles, int row_tiles, bool gated, cudaStream_t stream) {
  const int blocks = (args.columns + kExpertBlockColumns - 1) / kExpertBlockColumns;
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(blocks));
  const auto launch = [&](auto kernel) { kernel<<<grid, kExpertThreads, 0, stream>>>(args); };
  if (row_tiles == 1) {
    launch(gated ? grouped_product<1, true> : grouped_product<1, false>);
  } else {
    launch(gated ? grouped_product<4, true> : grouped_product<4, false>);
  }
  check_launch();
}

}  // namespace kvsim::calibrate
