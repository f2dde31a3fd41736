// A replica's steps and the copies between its GPUs and host memory at once: each slows the other, as the profile says.
#pragma once

#include "models/kernels/profile.h"
#include "sim/machine/gpu_work.h"
#include "sim/transport/fabric.h"

namespace kvsim::serving {

class Interference {
 public:
  /// All of it outlives this. Where the profile's shares are 0 nothing is slowed, and nothing of it is asked.
  Interference(const models::Interference& shares, transport::Fabric& fabric, machine::GpuWork& work,
               const transport::GroupLanes& lanes);

  /// Steps run from now on, or none does. To be told before the first of them is timed.
  void steps_run(bool run);

 private:
  void on_copies_change();

  models::Interference shares_;
  transport::Fabric& fabric_;
  machine::GpuWork& work_;
  transport::LinkId to_gpu_{}, from_gpu_{};
  bool on_ = false, run_ = false;
};

}  // namespace kvsim::serving
