// Linear layers with cold weights.
#include <algorithm>
#include <cmath>

#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/blas.h"
#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/host/reference.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

constexpr std::int64_t kPaddedTokens = 16;  ///< fp8 products may want the tokens, too, in multiples of 16
constexpr int kChecked = 24;

float element(bool fp8, std::uint64_t seed, std::int64_t index) {
  const auto i = static_cast<std::uint64_t>(index);
  return fp8 ? random_coarse(seed, i) : random_value(seed, i);
}

/// Elements at random places, first and last included, computed once more.
void verify(const LinearCase& c, const DeviceBuffer<std::uint16_t>& output, std::uint64_t seed) {
  const auto [n, k] = c.shape;
  std::vector<float> got;
  std::vector<double> expected;
  for (int i = 0; i < kChecked; ++i) {
    const std::int64_t last = c.tokens * n - 1;
    const std::int64_t at = i == 0   ? 0
                            : i == 1 ? last
                                     : static_cast<std::int64_t>(random_bits(seed + 7, static_cast<std::uint64_t>(i)) %
                                                                 static_cast<std::uint64_t>(last + 1));
    const std::int64_t token = at / n;
    const std::int64_t feature = at % n;
    double sum = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      sum += static_cast<double>(element(c.fp8, seed, token * k + j)) *
             static_cast<double>(element(c.fp8, seed + 1, feature * k + j));
    }
    expected.push_back(sum);
    got.push_back(from_bf16(output.download(static_cast<std::size_t>(at), 1).front()));
  }
  constexpr double tolerance = 0.02;
  const std::string wrong = compare_row(got, expected, tolerance);
  if (!wrong.empty()) {
    throw WrongResult(fmt::format("{} tokens, n {}, k {}, {}: {}", c.tokens, n, k, c.fp8 ? "fp8" : "bfloat16", wrong));
  }
}

/// Operands of the largest case; smaller ones use the beginning.
struct Operands {
  DeviceBuffer<std::byte> tokens, weights;
  DeviceBuffer<std::uint16_t> output;
  bool fp8 = false;
  bool filled = false;

  void fill(bool as_fp8, std::uint64_t seed, const Stream& stream) {
    if (filled && fp8 == as_fp8) return;
    for (const auto& [buffer, from] : {std::pair{&tokens, seed}, std::pair{&weights, seed + 1}}) {
      if (as_fp8) {
        fill_e4m3(reinterpret_cast<std::uint8_t*>(buffer->get()), buffer->size(), from, stream);
      } else {
        fill_values(reinterpret_cast<std::uint16_t*>(buffer->get()), buffer->size() / 2, from, stream);
      }
    }
    fp8 = as_fp8;
    filled = true;
  }
};

}  // namespace

CsvFile bench_linear(Session& session) {
  CsvFile file(with_spread({"gpu", "framework", "version", "kernel", "dtype", "m_tokens", "n", "k"}));
  const Blas blas;
  const auto all = linear_cases(session.models, session.has_fp8(), session.arguments.quick);
  const std::size_t limit = session.usable_bytes();
  const auto bytes_of = [](const LinearCase& c) {
    const std::int64_t tokens = std::max(c.tokens, kPaddedTokens);
    return static_cast<std::size_t>(2 * (tokens * c.shape.k + c.shape.n * c.shape.k + tokens * c.shape.n));
  };
  std::vector<LinearCase> cases;
  std::copy_if(all.begin(), all.end(), std::back_inserter(cases),
               [&](const LinearCase& c) { return bytes_of(c) <= limit; });
  if (cases.size() < all.size())
    session.note("linear", fmt::format("{} of {} cases do not fit into memory", all.size() - cases.size(), all.size()));

  std::int64_t tokens = 0, weights = 0, output = 0;
  for (const LinearCase& c : cases) {
    const std::int64_t m = std::max(c.tokens, kPaddedTokens);
    tokens = std::max(tokens, m * c.shape.k);
    weights = std::max(weights, c.shape.n * c.shape.k);
    output = std::max(output, m * c.shape.n);
  }
  Operands on{DeviceBuffer<std::byte>(static_cast<std::size_t>(2 * tokens)),
              DeviceBuffer<std::byte>(static_cast<std::size_t>(2 * weights)),
              DeviceBuffer<std::uint16_t>(static_cast<std::size_t>(output))};
  std::size_t unsupported = 0;
  session.run_cases("linear", cases, [&](const LinearCase& c) {
    const Operand operand = c.fp8 ? Operand::fp8_e4m3 : Operand::bf16;
    const char* kernel = "cublasLt_heuristic";
    std::optional<Product> product = blas.product(operand, c.tokens, c.shape.n, c.shape.k);
    if (!product && c.tokens < kPaddedTokens) {
      product = blas.product(operand, kPaddedTokens, c.shape.n, c.shape.k);
      kernel = "cublasLt_heuristic_16_rows";
    }
    if (!product) {
      ++unsupported;
      return true;
    }
    on.fill(c.fp8, session.arguments.seed, session.timer.stream());
    check(
        cudaMemsetAsync(on.output.get(), 0xff, on.output.size() * sizeof(std::uint16_t), session.timer.stream().get()));
    const auto work = [&](const Stream& stream) {
      product->run(on.tokens.get(), on.weights.get(), on.output.get(), stream);
    };
    work(session.timer.stream());
    verify(c, on.output, session.arguments.seed);
    file.add(CsvRow(session.gpu, "kvsim", session.version, kernel, c.fp8 ? "fp8" : "bfloat16", c.tokens, c.shape.n,
                    c.shape.k, session.timer.time(work, Caches::cold)));
    return true;
  });
  if (unsupported > 0) session.note("linear", fmt::format("cuBLASLt has no algorithm for {} cases", unsupported));
  return file;
}

}  // namespace kvsim::calibrate
