// Every CUDA call's status is looked at.
#pragma once

#include <cuda_runtime.h>

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

/// Throws CudaError with the file and line of the caller (by compilers' built-ins: clang 14 has no
/// std::source_location).
inline void check(cudaError_t status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (status == cudaSuccess) return;
  const std::string path = file;
  throw CudaError(std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ", " +
                  path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(line) + ")");
}

/// After a launch: its configuration was accepted. What goes wrong while it runs shows at the next synchronisation.
inline void check_launch(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  check(cudaGetLastError(), file, line);
}

}  // namespace kvsim::calibrate
