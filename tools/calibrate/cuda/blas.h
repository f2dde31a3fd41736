// Matrix products by cuBLASLt, which is loaded when it is first needed: the program starts where it is not installed.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tools/calibrate/cuda/handles.h"

namespace kvsim::calibrate {

/// The functions of the library that are used.
struct BlasFunctions;

enum class Operand { bf16, fp8_e4m3 };

/// output[m][n] (bf16) = tokens[m][k] times weights[n][k] transposed, for one shape, with the algorithm that the
/// library's heuristic puts first.
class Product {
 public:
  /// Runs on a stream; all addresses are aligned to 256 bytes.
  void run(const void* tokens, const void* weights, std::uint16_t* output, const Stream& stream) const;

 private:
  friend class Blas;
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

class Blas {
 public:
  /// Loads the library. Throws std::runtime_error where it cannot.
  Blas();
  /// Nothing where the library has no algorithm for the shape. Products share one workspace: one runs at a time.
  [[nodiscard]] std::optional<Product> product(Operand operand, std::int64_t m, std::int64_t n, std::int64_t k) const;

 private:
  std::shared_ptr<const BlasFunctions> functions_;
};

}  // namespace kvsim::calibrate
