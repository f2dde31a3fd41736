#include "tools/calibrate/cuda/blas.h"

#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "tools/calibrate/host/library.h"

namespace kvsim::calibrate {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

void blas_check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw CudaError(fmt::format("{} failed with cuBLAS status {}", call, static_cast<int>(status)));
  }
}

Library open_library() {
  const std::string current = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  Library library;
  std::string reason;
  if (!library.open(current, reason, true)) {
    throw std::runtime_error(fmt::format(
        "cannot load {} (part of the CUDA toolkit; LD_LIBRARY_PATH says where it is): {}", current, reason));
  }
  return library;
}

}  // namespace

struct BlasFunctions {
  Library library = open_library();

  template <class Function>
  Function find(const char* name) const {
    Function function = nullptr;
    if (!library.find(name, function)) throw std::runtime_error(fmt::format("libcublasLt has no {}", name));
    return function;
  }
#define KVSIM_BLAS(name) decltype(&::name) name = find<decltype(&::name)>(#name)
  KVSIM_BLAS(cublasLtCreate);
  KVSIM_BLAS(cublasLtDestroy);
  KVSIM_BLAS(cublasLtMatmul);
  KVSIM_BLAS(cublasLtMatmulDescCreate);
  KVSIM_BLAS(cublasLtMatmulDescDestroy);
  KVSIM_BLAS(cublasLtMatmulDescSetAttribute);
  KVSIM_BLAS(cublasLtMatrixLayoutCreate);
  KVSIM_BLAS(cublasLtMatrixLayoutDestroy);
  KVSIM_BLAS(cublasLtMatmulPreferenceCreate);
  KVSIM_BLAS(cublasLtMatmulPreferenceDestroy);
  KVSIM_BLAS(cublasLtMatmulPreferenceSetAttribute);
  KVSIM_BLAS(cublasLtMatmulAlgoGetHeuristic);
#undef KVSIM_BLAS
  cublasLtHandle_t handle = nullptr;
  DeviceBuffer<std::byte> workspace{kWorkspaceBytes};

  BlasFunctions() {
    blas_check(cublasLtCreate(&handle), "cublasLtCreate");
  }
  BlasFunctions(const BlasFunctions&) = delete;
  BlasFunctions& operator=(const BlasFunctions&) = delete;
  ~BlasFunctions() {
    static_cast<void>(cublasLtDestroy(handle));
  }
};

/// Descriptors of one product. The library sees column-major matrices, so a row-major [m][k] is its k x m one:
/// output (n x m) = weights (k x n) transposed times tokens (k x m).
struct Product::Parts {
  std::shared_ptr<const BlasFunctions> blas;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t weights = nullptr;
  cublasLtMatrixLayout_t tokens = nullptr;
  cublasLtMatrixLayout_t output = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;

  explicit Parts(std::shared_ptr<const BlasFunctions> functions) : blas(std::move(functions)) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    for (const cublasLtMatrixLayout_t layout : {weights, tokens, output}) {
      if (layout != nullptr) static_cast<void>(blas->cublasLtMatrixLayoutDestroy(layout));
    }
    if (operation != nullptr) static_cast<void>(blas->cublasLtMatmulDescDestroy(operation));
  }
  void describe(Operand operand, std::int64_t m, std::int64_t n, std::int64_t k) {
    blas_check(blas->cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    const cublasOperation_t transpose = CUBLAS_OP_T;
    blas_check(
        blas->cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transpose, sizeof transpose),
        "cublasLtMatmulDescSetAttribute");
    const cudaDataType_t in = operand == Operand::bf16 ? CUDA_R_16BF : CUDA_R_8F_E4M3;
    const auto layout = [&](cublasLtMatrixLayout_t* to, cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
      blas_check(blas->cublasLtMatrixLayoutCreate(to, type, static_cast<std::uint64_t>(rows),
                                                  static_cast<std::uint64_t>(columns), rows),
                 "cublasLtMatrixLayoutCreate");
    };
    layout(&weights, in, k, n);
    layout(&tokens, in, k, m);
    layout(&output, CUDA_R_16BF, n, m);
  }
  bool choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    blas_check(blas->cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const std::size_t most = kWorkspaceBytes;
    cublasStatus_t status = blas->cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most);
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = blas->cublasLtMatmulAlgoGetHeuristic(blas->handle, operation, weights, tokens, output, output,
                                                    preference, 1, &best, &found);
    }
    static_cast<void>(blas->cublasLtMatmulPreferenceDestroy(preference));
    if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE) {
      blas_check(status, "cublasLtMatmulAlgoGetHeuristic");
    }
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) return false;
    algorithm = best.algo;
    workspace_bytes = best.workspaceSize;
    return true;
  }
};

void Product::run(const void* tokens, const void* weights, std::uint16_t* output, const Stream& stream) const {
  const float one = 1;
  const float zero = 0;
  const Parts& p = *parts_;
  blas_check(p.blas->cublasLtMatmul(p.blas->handle, p.operation, &one, weights, p.weights, tokens, p.tokens, &zero,
                                    output, p.output, output, p.output, &p.algorithm, p.blas->workspace.get(),
                                    p.workspace_bytes, stream.get()),
             "cublasLtMatmul");
}

Blas::Blas() : functions_(std::make_shared<BlasFunctions>()) {}

std::optional<Product> Blas::product(Operand operand, std::int64_t m, std::int64_t n, std::int64_t k) const {
  auto parts = std::make_shared<Product::Parts>(functions_);
  parts->describe(operand, m, n, k);
  if (!parts->choose()) return std::nullopt;
  Product product;
  product.parts_ = std::move(parts);
  return product;
}

}  // namespace kvsim::calibrate
