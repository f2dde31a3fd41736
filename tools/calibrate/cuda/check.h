// Every CUDA call's status is looked at.
#pragma once

#include <cuda_runtime.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace kvsim::calibrate {

class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A kernel's output is not what the reference says.
class WrongResult : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws CudaError with the file and line of the caller.
inline void check(cudaError_t status, std::source_location where = std::source_location::current()) {
  if (status == cudaSuccess) return;
  const std::string file = where.file_name();
  throw CudaError(std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ", " +
                  file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line()) + ")");
}

/// After a launch: its configuration was accepted. What goes wrong while it runs shows at the next synchronisation.
inline void check_launch(std::source_location where = std::source_location::current()) {
  check(cudaGetLastError(), where);
}

}  // namespace kvsim::calibrate
