#include "models/prefetch/fetch.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kvsim::models {
namespace {

/// The whole number at or above x; what rounding added to a whole x does not count.
double whole_up(double x) {
  constexpr double kRounding = 1e-9;
  return std::ceil(x * (1 - kRounding));
}

double fetched_rows(const PrefetchSpec& spec, std::int64_t context) {
  return whole_up(static_cast<double>(fetched_tokens(spec, context)) / static_cast<double>(spec.row_tokens));
}

}  // namespace

double union_of_top_k(double k, double queries, double overlap, double context) {
  return std::min(context, k * (1 + (queries - 1) * (1 - overlap)));
}

std::int64_t fetched_tokens(const PrefetchSpec& spec, std::int64_t context) {
  const auto row = static_cast<double>(spec.row_tokens);
  const auto most = static_cast<double>(context);
  const double tokens =
      union_of_top_k(static_cast<double>(spec.top_k), static_cast<double>(spec.query_tokens), spec.overlap, most);
  return static_cast<std::int64_t>(std::min(most, whole_up(tokens / row) * row));
}

LayerFetch layer_fetch(const PrefetchSpec& spec, const LlmSpec& model, std::int64_t tensor_parallel,
                       std::int64_t context) {
  if (model.attention != AttentionKind::gqa) {
    throw std::invalid_argument("layer_fetch: a latent has no KV heads to choose pairs for");
  }
  const double heads =
      static_cast<double>(model.kv_heads) * model.kv_copies(tensor_parallel) / static_cast<double>(tensor_parallel);
  const double vectors = static_cast<double>(spec.row_tokens) * static_cast<double>(model.head_dim);
  const bool together = spec.layout == RowLayout::interleaved;
  LayerFetch fetch;
  fetch.rows = whole_up((1 - spec.overlap) * fetched_rows(spec, context)) * heads * (together ? 1 : 2);
  fetch.row_bytes = vectors * model.kv_bytes_per_element * (together ? 2 : 1);
  return fetch;
}

double resident_fraction(const CompressorSpec& quantiser, std::int64_t kept_tokens, std::int64_t context) {
  const std::int64_t kept = std::min(kept_tokens, context);
  return quantiser.quantised_ratio() + static_cast<double>(kept) / static_cast<double>(context);
}

}  // namespace kvsim::models
