// Reference of the kernels' results, computed as plainly as possible. Data comes from random_data.h by index: nothing
// is copied from the GPU but the outputs under test.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tools/calibrate/kernels/quantised.h"

namespace kvsim::calibrate {

/// One row of attention: softmax(q k / sqrt(d)) v over `tokens` tokens. key(t) fills a vector of q.size() elements,
/// value(t) one of `value_size`, at most as many.
using VectorAt = std::function<void(std::int64_t token, std::span<float> vector)>;
std::vector<double> reference_attention(std::span<const float> query, std::int64_t tokens, const VectorAt& key,
                                        const VectorAt& value, std::size_t value_size);

/// Element `index` of vector `vector` of a pool of bf16, of e4m3 (`bits` 8), or of one quantised to `bits` (4, 2, 1),
/// as random data with this seed (scales: seed + 1).
float pool_element(std::uint64_t seed, std::int64_t vector, int element, int bits, int head_dim = kHeadDim);

/// pool_element() of a pool of keys by channel, whose scales are those of page and KV head `scales` (both as one
/// number).
float channel_element(std::uint64_t seed, std::int64_t vector, std::int64_t scales, int element, int bits);

/// Empty where every output is within `relative` of the reference's root mean square plus 1/128 of its own value (one
/// rounding to bf16 and then some); else which one is off and by how much.
std::string compare_row(std::span<const float> output, std::span<const double> reference, double relative);

/// Empty where `indices` names the k largest of `scores`, each once; else what is wrong.
std::string check_topk(std::span<const float> scores, std::span<const int> indices);

}  // namespace kvsim::calibrate
