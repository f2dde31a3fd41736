#include "sim/instance/interference.h"

namespace kvsim::serving {

Interference::Interference(const models::Interference& shares, transport::Fabric& fabric, machine::GpuWork& work,
                           const transport::GroupLanes& lanes)
    : shares_(shares), fabric_(fabric), work_(work), on_(shares.any()) {
  if (!on_) return;
  to_gpu_ = lanes.to_gpu->config().route.front();
  from_gpu_ = lanes.from_gpu->config().route.front();
  for (const transport::LinkId link : {to_gpu_, from_gpu_}) {
    fabric_.watch(link, engine::Callback::to<&Interference::on_copies_change>(this));
  }
}

void Interference::steps_run(bool run) {
  if (!on_ || run == run_) return;
  run_ = run;
  fabric_.slow(to_gpu_, run ? 1 + shares_.copies_to_gpu.value : 1);
  fabric_.slow(from_gpu_, run ? 1 + shares_.copies_from_gpu.value : 1);
}

void Interference::on_copies_change() {
  const transport::Network& links = fabric_.network();
  work_.slow((links.in_flight(to_gpu_) > 0 ? shares_.kernels_to_gpu.value : 0) +
             (links.in_flight(from_gpu_) > 0 ? shares_.kernels_from_gpu.value : 0));
}

}  // namespace kvsim::serving
