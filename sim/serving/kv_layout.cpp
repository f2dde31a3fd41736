#include "sim/serving/kv_layout.h"

#include <algorithm>
#include <cmath>

namespace kvsim::serving {

namespace {

constexpr std::int64_t kStateBlockStep = 16;  // vLLM rounds the blocks that hold a state up to multiples of this

/// Pieces of `size` that hold n.
std::int64_t pieces(std::int64_t n, std::int64_t size) {
  return (n + size - 1) / size;
}

double layer_bytes(const models::LlmSpec& part, std::int64_t tensor_parallel, std::int64_t layers) {
  return static_cast<double>(part.kv_bytes_per_token()) * part.kv_copies(tensor_parallel) / static_cast<double>(layers);
}

}  // namespace

KvLayout::KvLayout(const models::LlmSpec& model, std::int64_t tensor_parallel, std::int64_t block_tokens,
                   double drafter_token_bytes)
    : window_(model.window), block_tokens_(block_tokens) {
  const bool drops = window_.drops();
  const std::int64_t windowed = drops ? window_.layers - window_.shared_kv_layers : 0;
  const std::int64_t full = model.kv_layers() - windowed;
  if (full > 0) {
    // Indexers and a drafter's layers are counted with the layers that keep all tokens.
    const double own =
        drops ? layer_bytes(model.full_part(), tensor_parallel, full) : layer_bytes(model, tensor_parallel, full);
    kinds_.push_back({Kind::full, full, own + drafter_token_bytes / static_cast<double>(full), block_tokens, 0});
  }
  if (windowed > 0) {
    kinds_.push_back(
        {Kind::window, windowed, layer_bytes(model.window_part(), tensor_parallel, windowed), block_tokens, 0});
  }
  double widest = 0;
  for (const Layers& k : kinds_) widest = std::max(widest, k.bytes);
  if (model.state.layers > 0) {
    const double state = model.state.bytes() / static_cast<double>(model.state.layers);
    if (widest > 0) {
      const auto tokens = static_cast<std::int64_t>(std::ceil(state / widest));
      block_tokens_ = std::max(block_tokens, pieces(tokens, kStateBlockStep) * kStateBlockStep);
    }
    kinds_.push_back({Kind::state, model.state.layers, state, block_tokens_, 0});
  }
  const double page = widest > 0
                          ? widest * static_cast<double>(block_tokens_)
                          : model.state.bytes() / static_cast<double>(std::max<std::int64_t>(1, model.state.layers));
  std::int64_t fewest = 0, most = 0;
  for (Layers& k : kinds_) {
    if (k.kind != Kind::state) k.block_tokens = static_cast<std::int64_t>(page / k.bytes);
    fewest = fewest == 0 ? k.layers : std::min(fewest, k.layers);
    most = std::max(most, k.layers);
  }
  // Groups have the layers of the rarest kind, or of the commonest where that pads less than half as many.
  const std::int64_t of_group = 2 * most < 3 * fewest ? most : fewest;
  for (Layers& k : kinds_) k.groups = pieces(k.layers, of_group);
  block_bytes_ = page * static_cast<double>(of_group);
}

bool KvLayout::has(Kind kind) const {
  return std::any_of(kinds_.begin(), kinds_.end(), [kind](const Layers& k) { return k.kind == kind; });
}

std::int64_t KvLayout::groups() const {
  std::int64_t all = 0;
  for (const Layers& k : kinds_) all += k.groups;
  return all;
}

std::int64_t KvLayout::blocks(double bytes) const {
  // A sum of whole blocks may come back a rounding below itself.
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(bytes / block_bytes_ * (1 + 1e-12)));
}

std::int64_t KvLayout::blocks_of_request(std::int64_t length, std::int64_t max_batched_tokens) const {
  std::int64_t all = 0;
  for (const Layers& k : kinds_) {
    if (k.kind == Kind::state) {
      all += k.groups;
    } else if (k.kind == Kind::full) {
      all += k.groups * pieces(length, k.block_tokens);
    } else if (window_.kind == models::WindowKind::chunked) {
      all += k.groups * pieces(std::min(window_.tokens + max_batched_tokens, length), k.block_tokens);
    } else {
      // A window begins anywhere in a block.
      all += k.groups * (pieces(std::min(window_.tokens - 1 + max_batched_tokens, length), k.block_tokens) + 1);
    }
  }
  return all;
}

double KvLayout::concurrency(double bytes, std::int64_t length, std::int64_t max_batched_tokens) const {
  return static_cast<double>(blocks(bytes)) / static_cast<double>(blocks_of_request(length, max_batched_tokens));
}

std::int64_t KvLayout::tokens(double bytes, std::int64_t length, std::int64_t max_batched_tokens) const {
  if (!has(Kind::window) || has(Kind::state)) return blocks(bytes) / groups() * block_tokens_;
  return static_cast<std::int64_t>(concurrency(bytes, length, max_batched_tokens) * static_cast<double>(length));
}

double KvLayout::bytes_of_blocks(std::int64_t blocks) const {
  return static_cast<double>(blocks) * block_bytes_;
}

double KvLayout::bytes_of_tokens(std::int64_t tokens, std::int64_t length, std::int64_t max_batched_tokens) const {
  if (!has(Kind::window) || has(Kind::state)) return bytes_of_blocks(pieces(tokens, block_tokens_) * groups());
  const double requests = static_cast<double>(tokens) / static_cast<double>(length);
  return bytes_of_blocks(static_cast<std::int64_t>(
      std::ceil(requests * static_cast<double>(blocks_of_request(length, max_batched_tokens)))));
}

}  // namespace kvsim::serving
