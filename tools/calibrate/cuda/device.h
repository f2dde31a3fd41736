// The GPU at hand.
#pragma once

#include <cuda_runtime.h>

#include "tools/calibrate/host/arguments.h"
#include "tools/calibrate/host/machine_record.h"

namespace kvsim::calibrate {

/// Makes the asked-for device the current one. Throws schema::InputError where there is no device, not that one, or one
/// that lacks what the kernels need (compute capability 8.0).
cudaDeviceProp open_device(const Arguments& arguments);

/// What machine.yaml says of it.
MachineRecord describe_device(const cudaDeviceProp& device, const Arguments& arguments);

}  // namespace kvsim::calibrate
