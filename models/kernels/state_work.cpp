#include "models/kernels/state_work.h"

namespace kvsim::models {
namespace {

double chunks_of(const StepWork& work) {
  if (work.chunks.empty()) return work.prefill.query_tokens > 0 ? 1 : 0;
  double all = 0;
  for (const PrefillChunk& c : work.chunks) all += c.alike;
  return all;
}

}  // namespace

LayerLoad state_load(const LlmSpec& model, double gpus, const StepWork& work) {
  const StateLayers& s = model.state;
  const double requests = work.decode.number_of_requests() + work.verify.number_of_requests() + chunks_of(work);
  if (s.layers == 0 || requests <= 0) return {};
  constexpr double kBytesOfAValue = 2;  // inputs and outputs in 16 bit
  const auto layers = static_cast<double>(s.layers);
  const double token = static_cast<double>(s.in_width + 2 * s.conv_channels + s.out_width()) * kBytesOfAValue;
  LayerLoad load;
  load.bytes = (requests * 2 * s.bytes() + work.tokens() * layers * token) / gpus;
  load.flops = work.tokens() * layers * kStateFlops * static_cast<double>(s.elements()) / gpus;
  return load;
}

LayerLoad indexer_load(const LlmSpec& model, const StepWork& work) {
  if (model.indexer.layers == 0) return {};
  const auto token_bytes = static_cast<double>(model.kv_bytes_per_token());
  const auto width = static_cast<double>(model.indexer.layers * model.indexer.heads * model.indexer.head_dim);
  LayerLoad load;
  for (const AttentionWork* w : {&work.decode, &work.verify, &work.prefill}) {
    load.bytes += w->kv_bytes / token_bytes * model.indexer_bytes_per_token();
    load.flops += w->pairs * 2 * width;
  }
  return load;
}

}  // namespace kvsim::models
