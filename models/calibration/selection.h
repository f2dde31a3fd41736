// Which rows are of one GPU and one kernel stack.
#pragma once

#include <string>

#include "models/calibration/samples.h"

namespace kvsim::models {

/// Rows of a GPU and a framework; rows that name none belong to every one if `unnamed`.
[[nodiscard]] Samples select(const Samples& all, const std::string& gpu, const std::string& framework, bool unnamed);

/// The frameworks that rows of this GPU name, in order.
[[nodiscard]] std::vector<std::string> frameworks_of(const Samples& all, const std::string& gpu);

/// Only bf16 or only fp8.
[[nodiscard]] std::vector<LinearSample> of_format(const std::vector<LinearSample>& rows, NumberFormat format);
[[nodiscard]] std::vector<DecodeSample> of_format(const std::vector<DecodeSample>& rows, NumberFormat format);
[[nodiscard]] std::vector<TiledSample> of_format(const std::vector<TiledSample>& rows, NumberFormat format);

}  // namespace kvsim::models
