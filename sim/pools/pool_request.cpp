#include "sim/pools/pool_request.h"

#include <algorithm>
#include <cmath>

#include "sim/serving/draft_lengths/draft_length_policy.h"

namespace kvsim::pools {

using models::Path;

RequestMemory::RequestMemory(const serving::ServingConfig& config, const serving::DecodePolicy& decode,
                             const serving::KvGeometry& local, const serving::KvGeometry& remote,
                             std::int64_t block_tokens)
    : config_(config),
      decode_(decode),
      local_(local),
      remote_(remote),
      block_tokens_(block_tokens),
      draft_room_(serving::longest_draft(config.decode) + 1),
      decoding_room_(decode.fetches() ? serving::draft_room(config.decode, decode) : 1) {}

std::int64_t RequestMemory::block_bytes(Pool pool, memory::KvForm form) const {
  if (block_tokens_ == 0) return 0;
  const serving::KvGeometry& kv = geometry(pool);
  const std::int64_t full = kv.full_reservation(block_tokens_);
  if (form == memory::KvForm::full || decompresses()) return full;
  // A framework copies full KV only.
  const std::int64_t once = (block_tokens_ + kv.block_tokens() - 1) / kv.block_tokens() * kv.block_bytes();
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(once) * kv.compressed().ratio()));
}

std::int64_t RequestMemory::most_private(const PoolRequest& r, Path path, Pool pool) const {
  const std::int64_t output = r.request->output;
  return pool == Pool::local ? decoded_private(r, pool, path, 0, output) : remote_private(r, path, 0, output);
}

std::int64_t RequestMemory::decoded_private(const PoolRequest& r, Pool pool, Path path, std::int64_t blocks,
                                            std::int64_t output) const {
  const std::int64_t decoding = decoding_private(r, pool, path, blocks, output);
  if (local_form() == memory::KvForm::full || config_.prefill == serving::PrefillKind::stored) return decoding;
  // Prefilled KV is full here until all of it is there.
  return std::max(decoding, geometry(pool).full_reservation(r.request->prefill.target - blocks * block_tokens_ + 1));
}

std::int64_t RequestMemory::decoding_private(const PoolRequest& r, Pool pool, Path path, std::int64_t blocks,
                                             std::int64_t output) const {
  if (local_form() == memory::KvForm::compressed) return compressed_private(r, pool, blocks, output, decoding_room_);
  const serving::Request& q = *r.request;
  const std::int64_t own = q.prompt - blocks * block_tokens_ - q.prefix->dropped;
  return geometry(pool).full_reservation(own + output + (models::traits(path).drafts ? draft_room_ : 1));
}

std::int64_t RequestMemory::compressed_private(const PoolRequest& r, Pool pool, std::int64_t blocks,
                                               std::int64_t output, std::int64_t room) const {
  const std::int64_t all = geometry(pool).compressed_reservation(r.request->prompt, output, room);
  return std::max<std::int64_t>(0, all - blocks * block_bytes(pool, memory::KvForm::compressed));
}

std::int64_t RequestMemory::remote_private(const PoolRequest& r, Path path, std::int64_t blocks,
                                           std::int64_t output) const {
  const models::PathTraits& t = models::traits(path);
  // P2 ends with the full KV.
  if (!t.drafts || decompresses() || t.streams_rest) return decoded_private(r, Pool::remote, path, blocks, output);
  return compressed_private(r, Pool::remote, blocks, output, draft_room_);
}

std::int64_t RequestMemory::reload_private(const PoolRequest& r) const {
  const serving::Request& q = *r.request;
  return local_.full_reservation(q.prompt - r.held->chain_tokens + q.generated + q.round.target + 1);
}

std::int64_t RequestMemory::largest_reload(const PoolRequest& r) const {
  return local_.full_reservation(r.request->prompt + r.request->output + draft_room_);
}

std::int64_t RequestMemory::transfer(const PoolRequest& r, memory::KvForm form, std::int64_t tokens) const {
  if (form == memory::KvForm::full) return stored_transfer(tokens);
  const std::int64_t prompt = r.request->prompt;
  const std::int64_t all = local_.compressed_transfer(prompt, 0);
  if (tokens == prompt) return all;
  return std::llround(static_cast<double>(all) * static_cast<double>(tokens) / static_cast<double>(prompt));
}

std::int64_t RequestMemory::rest_transfer(const PoolRequest& r) const {
  const std::int64_t prompt = r.request->prompt;
  return std::max<std::int64_t>(0, stored_transfer(prompt) - local_.compressed_transfer(prompt, 0));
}

}  // namespace kvsim::pools
