// Layer profiles of one model, as LLMServingSim publishes them: times in microseconds, bf16, tensor parallel 1.
#include <array>

#include <fmt/format.h>

#include "models/calibration/shapes.h"
#include "models/calibration/table_reader.h"
#include "models/kernels/elementwise_kernels.h"
#include "models/schema/si.h"

namespace kvsim::models {
namespace {

void add_weights(const TableRow& row, const LlmSpec& model, std::string_view layer, double tokens, double seconds,
                 Readings& into) {
  for (const LayerShape& shape : linear_shapes(model, 1)) {
    if (shape.layer != layer) continue;
    into.samples.linear.push_back({{{}, {}, {}, row.origin()}, NumberFormat::bf16, tokens, shape.n, shape.k, seconds});
    return;
  }
}

void add_dense(const TableRow& row, const LlmSpec* model, Readings& into) {
  enum Column { kLayer, kTokens, kTime };
  const std::string_view layer = row.text(kLayer);
  const double tokens = row.number(kTokens);
  const double seconds = row.number(kTime) * kMicrosecond;
  for (const ElementwiseKernel& kernel : elementwise_kernels(*model, 1)) {
    if (kernel.name != layer) continue;
    into.samples.elementwise.push_back(
        {{{}, {}, {}, row.origin()}, std::string(layer), tokens, kernel.bytes_per_token * tokens, seconds});
    return;
  }
  add_weights(row, *model, layer, tokens, seconds, into);
}

HeadShape heads_of(const LlmSpec& model) {
  return {static_cast<double>(model.heads), static_cast<double>(model.kv_heads), static_cast<double>(model.head_dim)};
}

void add_attention(const TableRow& row, const LlmSpec* model, Readings& into) {
  enum Column { kChunk, kBefore, kDecodes, kKv, kTime };
  const double chunk = row.number(kChunk);
  const double decodes = row.number(kDecodes);
  const double seconds = row.number(kTime) * kMicrosecond;
  const SampleSource from{{}, {}, {}, row.origin()};
  if (chunk <= 0) {
    into.samples.decode.push_back(
        {from, NumberFormat::bf16, heads_of(*model), decodes, row.number(kKv), false, seconds});
    return;
  }
  const TiledSample sample{from,    NumberFormat::bf16, heads_of(*model), 1, chunk, row.number(kBefore),
                           decodes, row.number(kKv),    seconds};
  if (decodes <= 0) into.samples.prefill.push_back(sample);
  into.samples.mixed.push_back(sample);
}

void add_per_sequence(const TableRow& row, const LlmSpec* model, Readings& into) {
  enum Column { kLayer, kSequences, kTime };
  const double sequences = row.number(kSequences);
  const double seconds = row.number(kTime) * kMicrosecond;
  if (row.text(kLayer) == "sampler") {
    into.samples.sampler.push_back({{{}, {}, {}, row.origin()}, sequences, seconds});
  } else {
    add_weights(row, *model, row.text(kLayer), sequences, seconds, into);
  }
}

void add_skew(const TableRow& row, const LlmSpec* /*model*/, Readings& into) {
  enum Column { kRegime, kMean, kLongestSequence, kUneven };
  if (row.text(kRegime) != "pure") return;  // the others are mixed batches, which cost what their tiles cost
  into.samples.skew.push_back({{{}, {}, {}, row.origin()},
                               row.number(kMean) * kMicrosecond,
                               row.number(kLongestSequence) * kMicrosecond,
                               row.number(kUneven) * kMicrosecond});
}

constexpr std::array<std::string_view, 3> kDenseColumns{"layer", "tokens", "time_us"};
constexpr std::array<std::string_view, 5> kAttentionColumns{"prefill_chunk", "kv_prefill", "n_decode", "kv_decode",
                                                            "time_us"};
constexpr std::array<std::string_view, 3> kSequenceColumns{"layer", "sequences", "time_us"};
constexpr std::array<std::string_view, 4> kSkewColumns{"regime", "t_mean_us", "t_max_us", "t_skew_us"};

}  // namespace

std::span<const TableKind> layer_tables() {
  static constexpr std::array kTables{
      TableKind{"layers by tokens", kDenseColumns, {}, true, add_dense},
      TableKind{"attention of batches", kAttentionColumns, {}, true, add_attention},
      TableKind{"layers by sequences", kSequenceColumns, {}, true, add_per_sequence},
      TableKind{"decode attention of uneven lengths", kSkewColumns, {}, false, add_skew}};
  return kTables;
}

}  // namespace kvsim::models
