#include <algorithm>
#include <array>
#include <numeric>

#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/cuda/replay_engine.h"
#include "tools/calibrate/host/reference.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

constexpr std::int64_t kMostTokens = 4096;  ///< that a forward pass may have
constexpr std::uint64_t kKeys = 300;        ///< added to the seed; values: two more; compressed: another ten
constexpr std::uint64_t kCompressed = 10;

std::size_t count(std::int64_t number) {
  return static_cast<std::size_t>(number);
}

}  // namespace

ReplayEngine::ReplayEngine(const Session& session, const ReplaySize& size, int requests, int slots)
    : session_(session),
      size_(size),
      page_order_(random_page_table(size.pages(), session.arguments.seed)),
      weights_(count(size.layers * size.layer_weights() + size.lm_head.n * size.lm_head.k)),
      full_keys_(count(slots * size.layers * size.vectors() * kHeadDim)),
      full_values_(full_keys_.size()),
      small_keys_(count(requests * size.layers * size.vectors() * kHeadDim * size.kv_bits / 32)),
      small_values_(small_keys_.size()),
      key_scales_(count(requests * size.layers * size.vectors() * kGroups)),
      value_scales_(key_scales_.size()),
      host_keys_(count(size.full_kv_bytes() / 2)),
      host_values_(count(size.full_kv_bytes() / 2)),
      lengths_(std::span<const int>(std::vector<int>(count(requests), static_cast<int>(size.context)))) {
  const Stream& stream = session.timer.stream();
  const std::uint64_t seed = session.arguments.seed + kKeys;
  fill_values(weights_.get(), weights_.size(), session.arguments.seed, stream);
  for (const auto& [words, scales, from] : {std::tuple{&small_keys_, &key_scales_, seed + kCompressed},
                                            std::tuple{&small_values_, &value_scales_, seed + kCompressed + 2}}) {
    fill_words(words->get(), words->size(), from, stream);
    fill_scales(scales->get(), scales->size(), from + 1, size.kv_bits, false, stream);
  }
  // Host memory of a request is made on the device, in the first slot.
  for (const auto& [pool, host, from] :
       {std::tuple{&full_keys_, &host_keys_, seed}, std::tuple{&full_values_, &host_values_, seed + 2}}) {
    fill_values(pool->get(), host->size() / sizeof(Bf16), from, stream);
    check(cudaMemcpyAsync(host->get(), pool->get(), host->size(), cudaMemcpyDeviceToHost, stream.get()));
  }
  stream.synchronise();
}

KvPools ReplayEngine::layer_pools(int bits, std::int64_t layer) const {
  const std::int64_t vectors = layer * size_.vectors();
  if (bits == 16)
    return {full_keys_.get() + vectors * kHeadDim, full_values_.get() + vectors * kHeadDim, nullptr, nullptr};
  const std::int64_t words = vectors * kHeadDim * bits / 32;
  return {small_keys_.get() + words, small_values_.get() + words, key_scales_.get() + vectors * kGroups,
          value_scales_.get() + vectors * kGroups};
}

ReplayEngine::Attention ReplayEngine::plan(const std::vector<int>& owners, int query_tokens,
                                           const DeviceBuffer<Bf16>& output, std::vector<int>& tables) const {
  Attention result;
  result.sequences = static_cast<int>(owners.size());
  if (owners.empty()) return result;
  const HeadShape heads = size_.heads;
  const int rows = query_tokens * (heads.heads / heads.kv_heads);
  result.cut = cut_for(session_.device, rows, heads.kv_heads, result.sequences, static_cast<int>(size_.context));
  AttentionArgs& args = result.args;
  args.queries = queries_.get();
  args.output = output.get();
  args.page_table = tables_.get() + tables.size();
  args.lengths = lengths_.get();
  args.partial_output = partial_output_.get();
  args.partial_maximum = partial_maximum_.get();
  args.partial_sum = partial_sum_.get();
  args.heads = heads.heads;
  args.kv_heads = heads.kv_heads;
  args.query_tokens = query_tokens;
  args.pages_per_sequence = static_cast<int>(size_.pages());
  args.chunk_pages = result.cut.chunk_pages;
  args.chunks = result.cut.chunks;
  args.tiles = result.cut.tiles;
  args.scale_log2 = attention_scale();
  // A slot or request holds its layers one after the other; layer_pools() moves on to the layer.
  for (const int owner : owners) {
    for (const int page : page_order_) {
      tables.push_back(static_cast<int>(owner * size_.layers * size_.pages()) + page);
    }
  }
  return result;
}

void ReplayEngine::prepare(const ReplaySchedule& schedule) {
  schedule_ = schedule;
  iterations_.clear();
  const int queries = schedule.parameters.draft_length + 1;
  const int requests = schedule.parameters.requests;
  const std::int64_t rows = static_cast<std::int64_t>(requests) * queries * size_.heads.heads;
  if (static_cast<std::int64_t>(requests) * queries > kMostTokens)
    throw std::invalid_argument("replay: too many tokens");
  queries_ = DeviceBuffer<Bf16>(count(rows * kHeadDim));
  draft_output_ = DeviceBuffer<Bf16>(queries_.size());
  verify_output_ = DeviceBuffer<Bf16>(queries_.size());
  constexpr std::int64_t kMostChunks = 256;
  // No more rows are split than there are blocks to gain by it, so this is plenty for every iteration.
  std::int64_t partials = 0;
  for (int sequences = 1; sequences <= requests; ++sequences) {
    for (const int q : {1, queries}) {
      const int tile_rows = q * (size_.heads.heads / size_.heads.kv_heads);
      const AttentionCut cut =
          cut_for(session_.device, tile_rows, size_.heads.kv_heads, sequences, static_cast<int>(size_.context));
      partials = std::max(partials, static_cast<std::int64_t>(sequences) * q * size_.heads.heads *
                                        std::min<std::int64_t>(cut.chunks, kMostChunks));
    }
  }
  partial_output_ = DeviceBuffer<float>(count(partials * kHeadDim));
  partial_maximum_ = DeviceBuffer<float>(count(partials));
  partial_sum_ = DeviceBuffer<float>(count(partials));
  const auto all = schedule.iterations.size() * count(requests) * count(size_.pages());
  tables_ = DeviceBuffer<int>(all);
  std::vector<int> tables;
  const auto shapes = {size_.shapes.qkv, size_.shapes.output, size_.shapes.gate_up, size_.shapes.down, size_.lm_head};
  std::int64_t widest_in = 0, widest_out = 0, most_tokens = 0;
  for (const ReplayIteration& now : schedule.iterations) {
    Iteration iteration;
    iteration.tokens = now.tokens(schedule.parameters.draft_length);
    most_tokens = std::max(most_tokens, iteration.tokens);
    iteration.draft = plan(now.drafting, 1, draft_output_, tables);
    iteration.verify = plan(now.verifying_slots, queries, verify_output_, tables);
    iterations_.push_back(iteration);
    for (const LinearShape& shape : shapes) {
      widest_in = std::max(widest_in, shape.k);
      widest_out = std::max(widest_out, shape.n);
      if (products_.contains({shape, iteration.tokens})) continue;
      const auto product = blas_.product(Operand::bf16, iteration.tokens, shape.n, shape.k);
      if (!product)
        throw CudaError(
            fmt::format("cuBLASLt has no algorithm for {} tokens, n {}, k {}", iteration.tokens, shape.n, shape.k));
      products_.emplace(std::pair{shape, iteration.tokens}, *product);
    }
  }
  tables_.upload(tables);
  activations_ = DeviceBuffer<Bf16>(count(most_tokens * widest_in));
  results_ = DeviceBuffer<Bf16>(count(most_tokens * widest_out));
  const Stream& stream = session_.timer.stream();
  fill_values(activations_.get(), activations_.size(), session_.arguments.seed + 1, stream);
  fill_values(queries_.get(), queries_.size(), session_.arguments.seed, stream);
  stream.synchronise();
}

void ReplayEngine::attend(const Attention& attention, int bits, std::int64_t layer, const Stream& stream) const {
  if (attention.sequences == 0) return;
  AttentionArgs args = attention.args;
  args.pools = layer_pools(bits, layer);
  launch_attention(args, attention.cut, attention.sequences, {bits, false}, stream.get());
}

void ReplayEngine::multiply(const LinearShape& shape, std::int64_t tokens, std::int64_t weights_at,
                            const Stream& stream) const {
  products_.at({shape, tokens}).run(activations_.get(), weights_.get() + weights_at, results_.get(), stream);
}

void ReplayEngine::forward(int t, const Stream& stream) const {
  const Iteration& now = iterations_[count(t)];
  std::int64_t at = 0;
  const auto linear = [&](const LinearShape& shape) {
    multiply(shape, now.tokens, at, stream);
    at += shape.n * shape.k;
  };
  for (std::int64_t layer = 0; layer < size_.layers; ++layer) {
    linear(size_.shapes.qkv);
    attend(now.draft, size_.kv_bits, layer, stream);
    attend(now.verify, 16, layer, stream);
    linear(size_.shapes.output);
    linear(size_.shapes.gate_up);
    linear(size_.shapes.down);
  }
  linear(size_.lm_head);
}

void ReplayEngine::reload(int slot, const Stream& stream) const {
  const std::size_t elements = host_keys_.size() / sizeof(Bf16);
  check(cudaMemcpyAsync(full_keys_.get() + count(slot) * elements, host_keys_.get(), host_keys_.size(),
                        cudaMemcpyHostToDevice, stream.get()));
  check(cudaMemcpyAsync(full_values_.get() + count(slot) * elements, host_values_.get(), host_values_.size(),
                        cudaMemcpyHostToDevice, stream.get()));
}

void ReplayEngine::spoil(const Stream& stream) const {
  check(cudaMemsetAsync(full_keys_.get(), 0xff, full_keys_.size() * sizeof(Bf16), stream.get()));
  check(cudaMemsetAsync(full_values_.get(), 0xff, full_values_.size() * sizeof(Bf16), stream.get()));
}

void ReplayEngine::verify_row(const Attention& attention, const std::vector<int>& owners, int bits,
                              const DeviceBuffer<Bf16>& output) const {
  const AttentionArgs& args = attention.args;
  const int sequence = attention.sequences - 1;
  const int kv_head = args.kv_heads - 1;
  const int row = args.query_tokens * (args.heads / args.kv_heads) - 1;
  const std::int64_t at = row_index(args, sequence, kv_head, row) * kHeadDim;
  std::vector<float> query, got;
  for (std::int64_t e = 0; e < kHeadDim; ++e)
    query.push_back(random_value(session_.arguments.seed, static_cast<std::uint64_t>(at + e)));
  for (const Bf16 value : output.download(count(at), kHeadDim)) got.push_back(from_bf16(value));
  // Slots all hold the same request; compressed requests differ.
  const std::int64_t owner = bits == 16 ? 0 : owners.back();
  const std::uint64_t seed = session_.arguments.seed + kKeys + (bits == 16 ? 0 : kCompressed);
  const auto read = [&](std::uint64_t from) {
    return [&, from](std::int64_t token, std::span<float> vector) {
      const std::int64_t page =
          ((owner + 1) * size_.layers - 1) * size_.pages() + page_order_[count(token / kPageTokens)];
      const std::int64_t v = (page * args.kv_heads + kv_head) * kPageTokens + token % kPageTokens;
      for (int e = 0; e < kHeadDim; ++e) vector[count(e)] = pool_element(from, v, e, bits);
    };
  };
  const int visible = visible_tokens(args, static_cast<int>(size_.context), row);
  constexpr double tolerance = 0.03;
  const std::string wrong =
      compare_row(got, reference_attention(query, visible, read(seed), read(seed + 2), kHeadDim), tolerance);
  if (!wrong.empty())
    throw WrongResult(fmt::format("{} attention over {} bits: {}", name_of(schedule_.parameters.kind), bits, wrong));
}

void ReplayEngine::verify() const {
  for (const bool full : {false, true}) {
    for (std::size_t i = iterations_.size(); i-- > 0;) {
      const Attention& attention = full ? iterations_[i].verify : iterations_[i].draft;
      if (attention.sequences == 0) continue;
      const ReplayIteration& now = schedule_.iterations[i];
      verify_row(attention, full ? now.verifying_slots : now.drafting, full ? 16 : size_.kv_bits,
                 full ? verify_output_ : draft_output_);
      break;
    }
  }
}

}  // namespace kvsim::calibrate
