// Rows that cannot be true: published tables hold some, and every benchmark writes one sooner or later.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "models/calibration/samples.h"

namespace kvsim::models {

/// Takes rows out of `samples` (all of one machine) that are no times, beat the machine's peaks, are of sizes that do
/// not exist (parts of tokens or heads), or contradict another row of the same work by more than a factor of two, and
/// says which and why.
[[nodiscard]] std::vector<RefusedRow> refuse_impossible(Samples& samples, const Machine& machine);

/// How much longer a row may take than the same layer with more tokens.
inline constexpr double kSlowRow = 1.2;

/// Takes linear layers of a format out of `samples` (all of one machine and framework) that take over kSlowRow times as
/// long as the same layer with more tokens, and says which: a library chose a kernel that nobody needs to wait for, as
/// an engine that pads its batch does not.
[[nodiscard]] std::vector<RefusedRow> refuse_slow(Samples& samples, NumberFormat format);

/// Whether all of `bytes` fits into the L2 cache, so that a benchmark that repeats its run may have read it from there:
/// such a row says nothing about the speed of the memory.
[[nodiscard]] bool may_hit_l2(double bytes, const Machine& machine);

// Which rows are of one GPU and one kernel stack (row_selection.cpp).

/// Whether a name in a file ("h100_sxm", "NVIDIA H100 80GB HBM3") means a GPU of the catalogue.
[[nodiscard]] bool names_gpu(const std::string& text, const std::string& gpu);

/// Rows of a GPU and a framework; rows that name none belong to every one if `unnamed`.
[[nodiscard]] Samples select(const Samples& all, const std::string& gpu, const std::string& framework, bool unnamed);

/// The frameworks that rows of this GPU name, in order.
[[nodiscard]] std::vector<std::string> frameworks_of(const Samples& all, const std::string& gpu);

/// The framework whose rows to fit. Throws schema::InputError for one that no row of the GPU names.
[[nodiscard]] std::string framework_for(const Samples& all, const std::string& gpu, const std::string& asked);

/// The rows of weights, of attention those of KV, in one format.
template <class Sample>
[[nodiscard]] std::vector<Sample> of_format(const std::vector<Sample>& rows, NumberFormat format) {
  std::vector<Sample> result;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(result), [&](const Sample& row) {
    if constexpr (requires { row.weights; }) {
      return row.weights == format;
    } else {
      return row.kv == format;
    }
  });
  return result;
}

/// The kernel with the most rows (of as many, the first by name), and its rows.
[[nodiscard]] std::string main_kernel(const std::vector<DecodeSample>& rows);
[[nodiscard]] std::string main_kernel(const std::vector<TiledSample>& rows);
[[nodiscard]] std::vector<MoeSample> of_main_kernel(const std::vector<MoeSample>& rows);

}  // namespace kvsim::models
