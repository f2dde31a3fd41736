#include "tools/calibrate/host/plan.h"

#include <algorithm>
#include <numeric>

#include "tools/calibrate/kernels/latent_attention.h"

namespace kvsim::calibrate {
namespace {

/// With --quick the shape nearest to a model of 8 B parameters on one GPU stands for all.
template <class Shape>
std::vector<Shape> some(std::vector<Shape> shapes, bool quick, const Shape& typical) {
  if (!quick || shapes.empty()) return shapes;
  const bool there = std::find(shapes.begin(), shapes.end(), typical) != shapes.end();
  return {there ? typical : shapes[shapes.size() / 2]};
}

std::vector<HeadShape> heads(std::span<const models::LlmSpec> models, bool quick) {
  return some(head_shapes(models), quick, HeadShape{32, 8});
}

/// Heads that kernels of KV in few bits are built for.
std::vector<HeadShape> heads_in_few_bits(std::span<const models::LlmSpec> models, bool quick) {
  std::vector<HeadShape> shapes = head_shapes(models);
  std::erase_if(shapes, [](const HeadShape& shape) { return shape.head_dim != kHeadDim; });
  return some(std::move(shapes), quick, HeadShape{32, 8});
}

/// Every combination of a head shape, a batch and a length.
std::vector<AttentionCase> grid(std::span<const HeadShape> shapes, const std::vector<std::int64_t>& batches,
                                const std::vector<std::int64_t>& lengths, const AttentionCase& pattern) {
  std::vector<AttentionCase> cases;
  for (const HeadShape& shape : shapes) {
    for (const std::int64_t batch : batches) {
      for (const std::int64_t length : lengths) {
        AttentionCase c = pattern;
        c.shape = shape;
        c.batch = static_cast<int>(batch);
        c.kv_len = static_cast<int>(length);
        cases.push_back(c);
      }
    }
  }
  return cases;
}

void append(std::vector<AttentionCase>& to, std::vector<AttentionCase> more) {
  to.insert(to.end(), more.begin(), more.end());
}

constexpr std::int64_t kKilo = 1024;
/// Whether groups of elements have scales; the one of an fp8 pool is no memory to speak of.
bool has_scales(const AttentionCase& c) {
  return c.kv_bits < 8;
}

constexpr std::int64_t kScaleWord = 4;  // bytes: a scale and an offset

/// Prompts over themselves.
std::vector<AttentionCase> prompts(const std::vector<HeadShape>& shapes, const std::vector<int>& bits, bool quick) {
  std::vector<AttentionCase> cases;
  for (const std::int64_t length : sizes_between(256, quick ? 4 * kKilo : 32 * kKilo, quick)) {
    AttentionCase pattern;
    pattern.query_tokens = static_cast<int>(length);
    for (const int width : bits) {
      pattern.kv_bits = width;
      const auto batches = length <= 2 * kKilo ? sizes_between(1, 4, true) : std::vector<std::int64_t>{1};
      append(cases, grid(shapes, batches, {length}, pattern));
    }
  }
  return cases;
}

}  // namespace

std::string_view name_of(Lengths lengths) {
  switch (lengths) {
    case Lengths::equal:
      return "equal";
    case Lengths::spread:
      return "spread";
    case Lengths::one_long:
      return "one_long";
  }
  return "";
}

std::vector<std::int64_t> sizes_between(std::int64_t low, std::int64_t high, bool coarse) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = low; size < high; size *= coarse ? 4 : 2) sizes.push_back(size);
  sizes.push_back(high);
  return sizes;
}

std::vector<LinearCase> linear_cases(std::span<const models::LlmSpec> models, bool fp8, bool quick) {
  const auto shapes = some(linear_shapes(models), quick, LinearShape{28672, 4096});
  std::vector<LinearCase> cases;
  for (const LinearShape& shape : shapes) {
    for (const std::int64_t tokens : sizes_between(1, 4096, quick)) {
      cases.push_back({shape, tokens, false});
      // cuBLASLt multiplies fp8 matrices whose rows are multiples of 16 bytes.
      if (fp8 && shape.n % 16 == 0 && shape.k % 16 == 0) cases.push_back({shape, tokens, true});
    }
  }
  return cases;
}

std::vector<AttentionCase> decode_cases(std::span<const models::LlmSpec> models, bool quick) {
  std::vector<AttentionCase> cases =
      grid(heads(models, quick), sizes_between(1, 256, quick), sizes_between(kKilo, 128 * kKilo, quick), {});
  AttentionCase fp8;
  fp8.kv_bits = 8;
  append(cases, grid(heads(models, quick), sizes_between(1, 256, true), sizes_between(kKilo, 128 * kKilo, true), fp8));
  return cases;
}

std::vector<AttentionCase> uneven_cases(std::span<const models::LlmSpec> models, bool quick) {
  std::vector<AttentionCase> cases;
  for (const Lengths lengths : {Lengths::equal, Lengths::spread, Lengths::one_long}) {
    AttentionCase pattern;
    pattern.lengths = lengths;
    append(cases,
           grid(heads(models, quick), sizes_between(4, 64, true), sizes_between(2 * kKilo, 32 * kKilo, true), pattern));
  }
  return cases;
}

std::vector<AttentionCase> verify_cases(std::span<const models::LlmSpec> models, bool quick) {
  std::vector<AttentionCase> cases;
  for (const std::int64_t queries : sizes_between(2, 64, quick)) {
    AttentionCase pattern;
    pattern.query_tokens = static_cast<int>(queries);
    for (const int bits : {16, 8}) {
      pattern.kv_bits = bits;
      append(cases, grid(heads(models, quick), sizes_between(1, 16, true), sizes_between(2 * kKilo, 128 * kKilo, true),
                         pattern));
    }
  }
  return cases;
}

std::vector<AttentionCase> quantised_cases(std::span<const models::LlmSpec> models, bool quick) {
  std::vector<AttentionCase> cases;
  for (const int bits : {16, 4, 2, 1}) {  // 16 in the same run, to compare with
    for (const bool by_channel : {false, true}) {
      AttentionCase pattern;
      pattern.kv_bits = bits;
      pattern.keys_by_channel = by_channel;
      if (bits == 16 && by_channel) continue;
      append(cases, grid(heads_in_few_bits(models, quick), sizes_between(1, 256, true),
                         sizes_between(2 * kKilo, 128 * kKilo, true), pattern));
    }
  }
  return cases;
}

std::vector<AttentionCase> prefill_cases(std::span<const models::LlmSpec> models, bool quick) {
  return prompts(heads(models, quick), {16, 8}, quick);
}

std::vector<AttentionCase> latent_cases(std::span<const models::LlmSpec> models, bool quick) {
  LatentShapes shapes = latent_shapes(models);
  std::vector<AttentionCase> cases = grid(some(std::move(shapes.absorbed), quick, {}), sizes_between(1, 256, quick),
                                          sizes_between(kKilo, 128 * kKilo, quick), {});
  append(cases, prompts(some(std::move(shapes.expanded), quick, {}), {16}, quick));
  return cases;
}

std::vector<ExpertCase> expert_cases(std::span<const models::LlmSpec> models, bool quick) {
  std::vector<ExpertCase> cases;
  for (const ExpertShape& shape : some(expert_shapes(models), quick, ExpertShape{2048, 768, 8, 128})) {
    for (const std::int64_t tokens : sizes_between(1, 4096, quick)) cases.push_back({shape, tokens});
  }
  return cases;
}

Routing route_evenly(const ExpertCase& c) {
  std::vector<std::vector<int>> by_expert(static_cast<std::size_t>(c.shape.experts_here()));
  const std::int64_t pairs = c.tokens * c.shape.top_k;
  for (std::int64_t pair = 0; pair < pairs; pair += c.shape.expert_parallel) {
    const auto expert = static_cast<std::size_t>(pair % c.shape.experts / c.shape.expert_parallel);
    by_expert[expert].push_back(static_cast<int>(pair / c.shape.top_k));
  }
  Routing routing;
  constexpr int kMostTiles = 4;
  routing.row_tiles = by_expert.front().size() > kWarpRows ? kMostTiles : 1;
  const int most = routing.row_tiles * kWarpRows;
  for (std::size_t expert = 0; expert < by_expert.size(); ++expert) {
    const int first = static_cast<int>(routing.sources.size());
    routing.sources.insert(routing.sources.end(), by_expert[expert].begin(), by_expert[expert].end());
    const int end = static_cast<int>(routing.sources.size());
    for (int row = first; row < end; row += most) {
      routing.tiles.push_back({static_cast<int>(expert), row, std::min(most, end - row)});
    }
  }
  return routing;
}

std::vector<CollectiveCase> collective_cases(int gpus, bool quick) {
  constexpr std::int64_t kLeast = 512, kMost = std::int64_t{1} << 28;  // elements of two bytes
  std::vector<CollectiveCase> cases;
  for (int group = 2; group <= gpus; group *= 2) {
    for (const auto operation : {models::Collective::all_reduce, models::Collective::all_gather,
                                 models::Collective::reduce_scatter, models::Collective::all_to_all}) {
      for (const std::int64_t elements : sizes_between(kLeast, quick ? kMost / 16 : kMost, quick)) {
        cases.push_back({operation, group, elements});
      }
    }
  }
  return cases;
}

double collective_element(const CollectiveCase& c, int rank, std::int64_t index, std::uint64_t seed) {
  const std::int64_t part = c.elements / c.gpus;
  const auto of = [&](std::int64_t from, std::int64_t at) {
    return static_cast<double>(random_value(seed + static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(at)));
  };
  if (c.operation == models::Collective::all_gather) return of(index / part, index % part);
  if (c.operation == models::Collective::all_to_all) return of(index / part, rank * part + index % part);
  double sum = 0;
  const std::int64_t at = c.operation == models::Collective::reduce_scatter ? rank * part + index : index;
  for (int from = 0; from < c.gpus; ++from) sum += of(from, at);
  return sum;
}

std::vector<int> lengths_of(const AttentionCase& c) {
  std::vector<int> lengths(static_cast<std::size_t>(c.batch), c.kv_len);
  if (c.batch > 1 && c.lengths == Lengths::spread) {
    for (int i = 0; i < c.batch; ++i) {
      lengths[static_cast<std::size_t>(i)] =
          static_cast<int>(static_cast<std::int64_t>(c.kv_len) * (2 * i + 1) / c.batch);  // odd numbers: mean kv_len
    }
  }
  if (c.batch > 1 && c.lengths == Lengths::one_long) {
    const std::int64_t all = static_cast<std::int64_t>(c.kv_len) * c.batch;
    for (int& length : lengths) length = static_cast<int>((all - all / 2) / (c.batch - 1));
    lengths.front() = static_cast<int>(all / 2);
  }
  for (int& length : lengths) length = std::max(length, c.query_tokens);
  return lengths;
}

std::int64_t pages_of(const AttentionCase& c) {
  std::int64_t pages = 0;
  for (const int length : lengths_of(c)) pages += (length + kPageTokens - 1) / kPageTokens;
  return pages;
}

bool shares_pool(const AttentionCase& c) {
  return c.shape.head_dim == kLatentKeyDim;
}

std::int64_t key_pool_bytes(const AttentionCase& c) {
  return pages_of(c) * kPageTokens * c.shape.kv_heads * c.shape.head_dim * c.kv_bits / 8;
}

std::int64_t value_pool_bytes(const AttentionCase& c) {
  return shares_pool(c) ? 0 : pages_of(c) * kPageTokens * c.shape.kv_heads * c.shape.value_dim * c.kv_bits / 8;
}

std::int64_t key_scale_bytes(const AttentionCase& c) {
  if (!c.keys_by_channel) return value_scale_bytes(c);
  return pages_of(c) * c.shape.kv_heads * kChannelWords * kScaleWord;
}

std::int64_t value_scale_bytes(const AttentionCase& c) {
  return !has_scales(c) ? 0 : pages_of(c) * kPageTokens * c.shape.kv_heads * kGroups * kScaleWord;
}

std::int64_t kv_bytes_read(const AttentionCase& c) {
  const auto lengths = lengths_of(c);
  const std::int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  const int elements = c.shape.head_dim + (shares_pool(c) ? 0 : c.shape.value_dim);
  const std::int64_t vectors = tokens * (elements * c.kv_bits / 8);
  const std::int64_t by_token = !has_scales(c) ? 0 : tokens * kGroups * kScaleWord;  // of keys, or of values
  std::int64_t of_keys = by_token;
  if (c.keys_by_channel) {
    of_keys = 0;
    for (const int length : lengths) {
      of_keys += (length + kChannelTokens - 1) / kChannelTokens * (kChannelWords * kScaleWord);
    }
  }
  return c.shape.kv_heads * (vectors + of_keys + by_token);
}

std::string kv_dtype_of(const AttentionCase& c) {
  if (c.kv_bits == 16) return "bfloat16";
  return c.kv_bits == 8 ? "fp8_e4m3" : "int" + std::to_string(c.kv_bits);
}

std::string_view key_scales_of(const AttentionCase& c) {
  return !has_scales(c) ? "none" : c.keys_by_channel ? "channel" : "token";
}

std::vector<int> random_page_table(std::int64_t pages, std::uint64_t seed) {
  std::vector<int> table(static_cast<std::size_t>(pages));
  std::iota(table.begin(), table.end(), 0);
  shuffle(table, seed);
  return table;
}

}  // namespace kvsim::calibrate
