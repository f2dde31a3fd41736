#include "tools/calibrate/cuda/attention_runner.h"

#include <algorithm>
#include <cmath>

#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/host/reference.h"
#include "tools/calibrate/kernels/latent_attention.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
float attention_scale(int head_dim) {
  return static_cast<float>(std::log2(std::exp(1.0)) / std::sqrt(static_cast<double>(head_dim)));
}

AttentionCut cut_for(const cudaDeviceProp& device, int rows, int kv_heads, int sequences, int longest,
                     int most_row_warps) {
  constexpr int kBlocksEach = 4;
  return cut_attention(rows, kv_heads, sequences, longest, kBlocksEach * device.multiProcessorCount, most_row_warps);
}

namespace {

/// The cut of a case.
AttentionCut cut_of(const cudaDeviceProp& device, const AttentionCase& c) {
  const std::vector<int> lengths = lengths_of(c);
  return cut_for(device, c.query_tokens * (c.shape.heads / c.shape.kv_heads), c.shape.kv_heads, c.batch,
                 *std::max_element(lengths.begin(), lengths.end()), shares_pool(c) ? kLatentRowWarps : kAttentionWarps);
}

}  // namespace

bool RandomPools::prepare(const AttentionCase& c) {
  const auto key_bytes = static_cast<std::size_t>(key_pool_bytes(c));
  const auto value_bytes = static_cast<std::size_t>(value_pool_bytes(c));
  const auto key_scales = static_cast<std::size_t>(key_scale_bytes(c)) / sizeof(std::uint32_t);
  const auto value_scales = static_cast<std::size_t>(value_scale_bytes(c)) / sizeof(std::uint32_t);
  const bool fits = keys_.size() >= key_bytes && values_.size() >= value_bytes && key_scales_.size() >= key_scales &&
                    value_scales_.size() >= value_scales;
  if (fits && bits_ == c.kv_bits && by_channel_ == c.keys_by_channel) return true;
  if (!fits) {
    keys_ = {};  // what is there may have to go first
    values_ = {};
    key_scales_ = {};
    value_scales_ = {};
    bits_ = 0;
    if (key_bytes + value_bytes + (key_scales + value_scales) * sizeof(std::uint32_t) > session_.usable_bytes())
      return false;
    keys_ = DeviceBuffer<std::byte>(key_bytes);
    values_ = DeviceBuffer<std::byte>(value_bytes);
    key_scales_ = DeviceBuffer<std::uint32_t>(key_scales);
    value_scales_ = DeviceBuffer<std::uint32_t>(value_scales);
  }
  const Stream& stream = session_.timer.stream();
  const int bits = c.kv_bits;
  const auto fill = [&](const DeviceBuffer<std::byte>& data, const DeviceBuffer<std::uint32_t>& scale, bool by_channel,
                        std::uint64_t seed) {
    if (bits == 16) {
      fill_values(reinterpret_cast<std::uint16_t*>(data.get()), data.size() / 2, seed, stream);
      return;
    }
    if (bits == 8) {
      fill_e4m3(reinterpret_cast<std::uint8_t*>(data.get()), data.size(), seed, stream);
      return;
    }
    fill_words(reinterpret_cast<std::uint32_t*>(data.get()), data.size() / 4, seed, stream);
    if (scale.size() > 0) fill_scales(scale.get(), scale.size(), seed + 1, bits, by_channel, stream);
  };
  fill(keys_, key_scales_, c.keys_by_channel, key_seed());
  fill(values_, value_scales_, false, value_seed());
  bits_ = bits;
  by_channel_ = c.keys_by_channel;
  return true;
}

KvPools RandomPools::pools() const {
  return {keys_.get(), values_.get(), key_scales_.get(), value_scales_.get()};
}

AttentionRunner::AttentionRunner(const Session& session)
    : session_(session), pools_(session, session.arguments.seed + 100) {}

void AttentionRunner::verify(const AttentionCase& c, const AttentionArgs& args, std::span<const int> table,
                             std::span<const int> lengths, const DeviceBuffer<Bf16>& output) const {
  const int group = c.shape.heads / c.shape.kv_heads;
  const int rows = c.query_tokens * group;
  const int longest = *std::max_element(lengths.begin(), lengths.end());
  constexpr int kLongReference = 16384;
  const int count = longest <= kLongReference ? 3 : 1;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t random = random_bits(session_.arguments.seed, static_cast<std::uint64_t>(i));
    const int sequence = i == 0 ? c.batch - 1 : static_cast<int>(random % static_cast<std::uint64_t>(c.batch));
    const int kv_head =
        i == 0 ? c.shape.kv_heads - 1 : static_cast<int>((random >> 16) % static_cast<std::uint64_t>(c.shape.kv_heads));
    const int row = i == 0   ? rows - 1
                    : i == 1 ? 0
                             : static_cast<int>((random >> 32) % static_cast<std::uint64_t>(rows));
    const int dim = c.shape.head_dim;
    const auto value_dim = static_cast<std::size_t>(c.shape.value_dim);
    const std::int64_t at = row_index(args, sequence, kv_head, row);
    std::vector<float> query, got;
    for (std::int64_t e = 0; e < dim; ++e)
      query.push_back(random_value(session_.arguments.seed, static_cast<std::uint64_t>(at * dim + e)));
    for (const Bf16 value : output.download(static_cast<std::size_t>(at) * value_dim, value_dim))
      got.push_back(from_bf16(value));
    const auto place = [&](std::int64_t page) {  // of a page and KV head
      const auto at_page =
          static_cast<std::size_t>(static_cast<std::int64_t>(sequence) * args.pages_per_sequence + page);
      return static_cast<std::int64_t>(table[at_page]) * c.shape.kv_heads + kv_head;
    };
    const auto read = [&](std::uint64_t seed, bool by_channel, int stride) {
      return [&, seed, by_channel, stride](std::int64_t token, std::span<float> vector) {
        const std::int64_t v = place(token / kPageTokens) * kPageTokens + token % kPageTokens;
        const std::int64_t scales = place(token / kChannelTokens * (kChannelTokens / kPageTokens));
        for (std::size_t e = 0; e < vector.size(); ++e) {
          const int element = static_cast<int>(e);
          vector[e] = by_channel ? channel_element(seed, v, scales, element, c.kv_bits)
                                 : pool_element(seed, v, element, c.kv_bits, stride);
        }
      };
    };
    const int visible = visible_tokens(args, lengths[static_cast<std::size_t>(sequence)], row);
    constexpr double tolerance = 0.03;
    const std::string wrong =
        compare_row(got,
                    reference_attention(query, visible, read(pools_.key_seed(), c.keys_by_channel, dim),
                                        shares_pool(c) ? read(pools_.key_seed(), false, dim)
                                                       : read(pools_.value_seed(), false, c.shape.value_dim),
                                        value_dim),
                    tolerance);
    if (!wrong.empty()) {
      throw WrongResult(fmt::format(
          "{} heads of {}, {} KV heads, batch {}, KV {}, {} query tokens, {} bits, lengths {}; sequence {}, "
          "KV head {}, row {}: {}",
          c.shape.heads, dim, c.shape.kv_heads, c.batch, c.kv_len, c.query_tokens, c.kv_bits, name_of(c.lengths),
          sequence, kv_head, row, wrong));
    }
  }
}

bool AttentionRunner::measure(const AttentionCase& c, Spread& spread) {
  const std::vector<int> lengths = lengths_of(c);
  const int longest = *std::max_element(lengths.begin(), lengths.end());
  const int rows = c.query_tokens * (c.shape.heads / c.shape.kv_heads);
  const AttentionCut cut = cut_of(session_.device, c);
  const auto value_dim = static_cast<std::size_t>(c.shape.value_dim);
  const std::size_t all_rows = static_cast<std::size_t>(c.batch) * static_cast<std::size_t>(c.query_tokens) *
                               static_cast<std::size_t>(c.shape.heads);
  const std::size_t inputs = all_rows * static_cast<std::size_t>(c.shape.head_dim);
  const std::size_t outputs = all_rows * value_dim;
  const std::size_t partials = cut.chunks == 1
                                   ? 0
                                   : static_cast<std::size_t>(c.batch) * static_cast<std::size_t>(c.shape.kv_heads) *
                                         static_cast<std::size_t>(rows) * static_cast<std::size_t>(cut.chunks);
  if ((inputs + outputs) * sizeof(Bf16) + partials * (value_dim + 2) * sizeof(float) > session_.usable_bytes())
    return false;
  const DeviceBuffer<Bf16> queries(inputs), output(outputs);
  const DeviceBuffer<float> partial_output(partials * value_dim), partial_maximum(partials), partial_sum(partials);
  if (!pools_.prepare(c)) return false;

  // Rows of the table are as long as the longest sequence; what lies behind a sequence's end is not read.
  const int columns = pages_of(longest);
  const std::vector<int> order = random_page_table(pages_of(c), session_.arguments.seed);
  std::vector<int> table(static_cast<std::size_t>(c.batch) * static_cast<std::size_t>(columns), 0);
  std::size_t next = 0;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    for (int page = 0; page < pages_of(lengths[s]); ++page)
      table[s * static_cast<std::size_t>(columns) + static_cast<std::size_t>(page)] = order[next++];
  }
  const DeviceBuffer<int> device_table{std::span<const int>(table)};
  const DeviceBuffer<int> device_lengths{std::span<const int>(lengths)};
  const Stream& stream = session_.timer.stream();
  fill_values(queries.get(), inputs, session_.arguments.seed, stream);
  check(cudaMemsetAsync(output.get(), 0xff, outputs * sizeof(Bf16), stream.get()));

  AttentionArgs args;
  args.queries = queries.get();
  args.output = output.get();
  args.pools = pools_.pools();
  if (shares_pool(c)) args.pools.values = args.pools.keys;
  args.page_table = device_table.get();
  args.lengths = device_lengths.get();
  args.partial_output = partial_output.get();
  args.partial_maximum = partial_maximum.get();
  args.partial_sum = partial_sum.get();
  args.heads = c.shape.heads;
  args.kv_heads = c.shape.kv_heads;
  args.query_tokens = c.query_tokens;
  args.pages_per_sequence = columns;
  args.chunk_pages = cut.chunk_pages;
  args.chunks = cut.chunks;
  args.tiles = cut.tiles;
  args.scale_log2 = attention_scale(c.shape.head_dim);
  const auto work = [&](const Stream& s) {
    launch_attention(args, cut, c.batch, {c.kv_bits, c.keys_by_channel, c.shape.head_dim, c.shape.value_dim}, s.get());
  };
  work(stream);
  verify(c, args, table, lengths, output);
  spread = session_.timer.time(work, Caches::cold);
  return true;
}

std::string kernel_name(const cudaDeviceProp& device, const AttentionCase& c) {
  if (shares_pool(c)) return "kvsim_latent_mma";  // fits take one kernel's rows
  return fmt::format("kvsim_{}_mma{}",
                     c.kv_bits == 16     ? "paged"
                     : c.keys_by_channel ? "paged_dequantising_by_channel"
                                         : "paged_dequantising",
                     cut_of(device, c).chunks > 1 ? "_split_kv" : "");
}

}  // namespace kvsim::calibrate
