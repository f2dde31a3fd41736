#include "sim/serving/kv_geometry.h"

#include <algorithm>
#include <cmath>

#include "models/prefetch/prefetch_spec.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"

namespace kvsim::serving {

using models::CompressionKind;
using models::CompressionScope;
using models::ReloadContent;

double effective_ratio(const models::CompressorSpec& compressor, double keep_ratio) {
  switch (compressor.kind) {
    case CompressionKind::token_dropping:
      return keep_ratio;
    case CompressionKind::quantisation:
      return compressor.quantised_ratio();
    case CompressionKind::both:
      return keep_ratio * compressor.quantised_ratio();
  }
  return keep_ratio;
}

namespace {

/// The ratio over all layers, of which the compressor leaves some whole.
double ratio_of_layers(const models::LlmSpec& model, const models::CompressorSpec& compressor, double keep_ratio) {
  const double ratio = effective_ratio(compressor, keep_ratio);
  const auto layers = static_cast<double>(std::max<std::int64_t>(model.attention_layers(), 1));
  const double whole = std::min(static_cast<double>(compressor.whole_layers) / layers, 1.0);
  return whole > 0 ? whole + (1 - whole) * ratio : ratio;
}

}  // namespace

KvGeometry::KvGeometry(const models::LlmSpec& model, std::int64_t tensor_parallel,
                       const models::CompressorSpec& compressor, double keep_ratio, std::int64_t block_tokens)
    : scope_(compressor.scope),
      reload_(compressor.reload),
      sink_tokens_(compressor.sink_tokens),
      residual_tokens_(compressor.residual_tokens),
      ratio_(ratio_of_layers(model, compressor, keep_ratio)),
      quantises_(compressor.kind != CompressionKind::token_dropping),
      kept_(compressor.kind == CompressionKind::quantisation ? 1.0 : keep_ratio),
      token_bytes_(static_cast<double>(model.kv_bytes_per_token()) * model.kv_copies(tensor_parallel)),
      model_token_bytes_(static_cast<double>(model.kv_bytes_per_token())),
      block_tokens_(block_tokens),
      block_bytes_(std::llround(std::ceil(token_bytes_ * static_cast<double>(block_tokens)))),
      window_(model.window),
      grows_evenly_(model.grows_evenly()),
      state_bytes_(std::llround(model.state.bytes())) {
  if (!window_.drops()) return;
  const models::LlmSpec part = model.window_part();
  const bool aligned = window_.kind == models::WindowKind::chunked && window_.tokens % block_tokens == 0;
  window_blocks_ = aligned ? window_.tokens / block_tokens : (window_.tokens - 1 + block_tokens - 1) / block_tokens + 1;
  window_token_bytes_ = static_cast<double>(part.kv_bytes_per_token()) * part.kv_copies(tensor_parallel);
  window_block_bytes_ = std::llround(std::floor(window_token_bytes_ * static_cast<double>(block_tokens)));
  cuts_ = window_.tokens < model.max_context;
}

KvGeometry KvGeometry::with_low_bit_copy(std::int64_t fetched_tokens) const {
  KvGeometry g = *this;
  g.low_bit_copy_ = true;
  g.fetched_tokens_ = fetched_tokens;
  return g;
}

KvGeometry KvGeometry::with_streaming(double share) const {
  KvGeometry g = *this;
  g.scope_ = CompressionScope::all;
  g.sink_tokens_ = 0;
  g.residual_tokens_ = 0;
  g.ratio_ = share;
  g.kept_ = 1;
  return g;
}

KvGeometry KvGeometry::with_full_kv_factor(double factor) const {
  KvGeometry g = *this;
  g.full_kv_factor_ = factor;
  return g;
}

KvGeometry KvGeometry::with_budget(std::int64_t tokens) const {
  KvGeometry g = *this;
  g.budget_tokens_ = tokens;
  return g;
}

KvGeometry KvGeometry::with_drafter(double token_bytes) const {
  KvGeometry g = *this;
  g.drafter_token_bytes_ = token_bytes;
  g.drafter_block_bytes_ = std::llround(std::ceil(token_bytes * static_cast<double>(block_tokens_)));
  return g;
}

std::int64_t KvGeometry::compressible(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t recent =
      scope_ == CompressionScope::prompt ? std::max(generated, residual_tokens_) : residual_tokens_;
  return std::max<std::int64_t>(0, prompt + generated - sink_tokens_ - recent);
}

double KvGeometry::bytes_left(std::int64_t prompt, std::int64_t generated) const {
  return has_budget() ? tokens_left(prompt, generated) : static_cast<double>(compressible(prompt, generated)) * ratio_;
}

double KvGeometry::tokens_left(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t acted_on = compressible(prompt, generated);
  if (!has_budget()) return static_cast<double>(acted_on) * kept_;
  // The latest tokens that count: of the prompt those that what is generated has not pushed out of the residual window.
  const std::int64_t recent =
      scope_ == CompressionScope::prompt ? std::max<std::int64_t>(residual_tokens_ - generated, 0) : residual_tokens_;
  const std::int64_t left = std::max<std::int64_t>(budget_tokens_ - sink_tokens_ - recent, 0);
  return static_cast<double>(std::min(acted_on, left));
}

double KvGeometry::ratio_of(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t acted_on = compressible(prompt, generated);
  if (!has_budget()) return ratio_;
  return acted_on > 0 ? tokens_left(prompt, generated) / static_cast<double>(acted_on) : 1.0;
}

double KvGeometry::low_bit_tokens(std::int64_t context, std::int64_t whole, double factor) const {
  return static_cast<double>(context) * ratio_ * factor + static_cast<double>(std::min(whole, context));
}

double KvGeometry::compressed_tokens(std::int64_t prompt, std::int64_t generated) const {
  if (low_bit_copy_) return low_bit_tokens(prompt + generated, residual_tokens_ + fetched_tokens_);
  const std::int64_t acted_on = compressible(prompt, generated);
  return bytes_left(prompt, generated) + static_cast<double>(prompt + generated - acted_on);
}

std::int64_t KvGeometry::blocks_for(double tokens) const {
  return static_cast<std::int64_t>(std::ceil(tokens / static_cast<double>(block_tokens_)));
}

std::int64_t KvGeometry::drafter_reservation(std::int64_t tokens) const {
  return (tokens + block_tokens_ - 1) / block_tokens_ * drafter_block_bytes_;
}

std::int64_t KvGeometry::full_reservation(std::int64_t tokens) const {
  if (full_kv_factor_ != 1) {
    return blocks_for(static_cast<double>(tokens) * full_kv_factor_) * block_bytes_ + drafter_reservation(tokens);
  }
  return bytes_of_blocks((tokens + block_tokens_ - 1) / block_tokens_);
}

std::int64_t KvGeometry::bytes_of_blocks(std::int64_t blocks) const {
  const std::int64_t left = window_.drops() ? std::max<std::int64_t>(blocks - window_blocks_, 0) : 0;
  return blocks * block_bytes() - left * window_block_bytes_ + (blocks > 0 ? state_bytes_ : 0);
}

std::int64_t KvGeometry::tokens_of_full_blocks(std::int64_t bytes) const {
  // A window that no context outgrows leaves nothing behind.
  const std::int64_t beyond = cuts_ ? bytes - bytes_of_blocks(window_blocks_) : 0;
  if (beyond <= 0) return std::max<std::int64_t>(bytes - state_bytes_, 0) / block_bytes() * block_tokens_;
  return (window_blocks_ + beyond / (block_bytes() - window_block_bytes_)) * block_tokens_;
}

std::int64_t KvGeometry::step_reservation(std::int64_t tokens) const {
  return cuts_ ? (tokens + block_tokens_ - 1) / block_tokens_ * window_block_bytes_ : 0;
}

double KvGeometry::outside_window(std::int64_t tokens) const {
  if (!window_.drops() || tokens <= 0) return 0;
  const std::int64_t outside = window_.kind == models::WindowKind::chunked
                                   ? (tokens - 1) / window_.tokens * window_.tokens
                                   : std::max<std::int64_t>(tokens - window_.tokens, 0);
  return static_cast<double>(outside) * window_token_bytes_;
}

std::int64_t KvGeometry::state_transfer(std::int64_t tokens) const {
  return tokens > 0 ? state_bytes_ : 0;
}

std::int64_t KvGeometry::compressed_reservation(std::int64_t prompt, std::int64_t generated, std::int64_t whole) const {
  return blocks_for(compressed_tokens(prompt, generated) + static_cast<double>(whole)) * block_bytes_ +
         drafter_reservation(prompt + generated + whole);
}

double KvGeometry::reloaded_tokens(std::int64_t prompt, std::int64_t generated) const {
  const std::int64_t acted_on = compressible(prompt, generated);
  const auto all = static_cast<double>(acted_on);
  if (reload_ != ReloadContent::missing) return all;
  return has_budget() ? all - tokens_left(prompt, generated) : all * (1.0 - ratio_);
}

std::int64_t KvGeometry::reload_reservation(std::int64_t prompt, std::int64_t generated) const {
  return blocks_for(reloaded_tokens(prompt, generated)) * block_bytes_;
}

std::int64_t KvGeometry::redundant_reservation(std::int64_t prompt, std::int64_t generated) const {
  if (reload_ == ReloadContent::missing) return 0;
  const double tokens = bytes_left(prompt, generated);
  return static_cast<std::int64_t>(tokens / static_cast<double>(block_tokens_)) * block_bytes_;
}

std::int64_t KvGeometry::full_transfer(std::int64_t tokens) const {
  return std::llround(static_cast<double>(tokens) * token_bytes_ - outside_window(tokens)) + state_transfer(tokens);
}

std::int64_t KvGeometry::stored_transfer(std::int64_t tokens) const {
  return std::llround(static_cast<double>(tokens) * (token_bytes_ + drafter_token_bytes_) - outside_window(tokens)) +
         state_transfer(tokens);
}

std::int64_t KvGeometry::compressed_transfer(std::int64_t prompt, std::int64_t generated) const {
  // What is fetched comes later, step by step.
  const double tokens =
      low_bit_copy_ ? low_bit_tokens(prompt + generated, residual_tokens_) : compressed_tokens(prompt, generated);
  return std::llround(tokens * token_bytes_ + static_cast<double>(prompt + generated) * drafter_token_bytes_);
}

std::int64_t KvGeometry::reload_transfer(std::int64_t prompt, std::int64_t generated) const {
  return std::llround(reloaded_tokens(prompt, generated) * token_bytes_);
}

double KvGeometry::full_read(std::int64_t tokens) const {
  return static_cast<double>(tokens) * model_token_bytes_;
}

double KvGeometry::compressed_read(std::int64_t prompt, std::int64_t generated, double attention_time_factor) const {
  if (low_bit_copy_) {
    const std::int64_t whole_tokens = residual_tokens_ + fetched_tokens_;
    return std::round(low_bit_tokens(prompt + generated, whole_tokens, attention_time_factor) * model_token_bytes_);
  }
  const std::int64_t acted_on = compressible(prompt, generated);
  return std::round(bytes_left(prompt, generated) * model_token_bytes_ * attention_time_factor) +
         full_read(prompt + generated - acted_on);
}

double KvGeometry::attended_compressed(std::int64_t prompt, std::int64_t generated) const {
  if (low_bit_copy_) return static_cast<double>(prompt + generated);
  constexpr double kParts = 1024;
  const std::int64_t acted_on = compressible(prompt, generated);
  return std::round(tokens_left(prompt, generated) * kParts) / kParts +
         static_cast<double>(prompt + generated - acted_on);
}

double KvGeometry::quantised(std::int64_t prompt, std::int64_t generated) const {
  if (!quantises_) return 0;
  if (low_bit_copy_) return static_cast<double>(prompt + generated);
  constexpr double kParts = 1024;
  return std::round(static_cast<double>(compressible(prompt, generated)) * kept_ * kParts) / kParts;
}

namespace {

bool whole(double x) {
  return x == std::floor(x);
}

/// The least power of two of which `ratio` is a multiple, inverted; nothing where that is not a small one.
std::optional<std::int64_t> denominator(double ratio) {
  constexpr std::int64_t kMost = 256;
  for (std::int64_t d = 1; d <= kMost; d *= 2) {
    if (whole(ratio * static_cast<double>(d))) return d;
  }
  return std::nullopt;
}

}  // namespace

std::optional<KvGeometry::TokenUnits> KvGeometry::full_units() const {
  return full_kv_factor_ == 1 && grows_evenly() ? std::optional(TokenUnits{}) : std::nullopt;
}

std::optional<KvGeometry::TokenUnits> KvGeometry::compressed_units() const {
  if (low_bit_copy_ || drafter_block_bytes_ > 0) return std::nullopt;
  if (scope_ == CompressionScope::prompt) return TokenUnits{};  // new tokens are whole
  const std::optional<std::int64_t> units = denominator(ratio_);
  if (!units || has_budget()) return std::nullopt;
  return TokenUnits{*units, std::llround(ratio_ * static_cast<double>(*units))};
}

bool KvGeometry::grows_regularly(std::int64_t prompt, std::int64_t generated) const {
  if (scope_ == CompressionScope::prompt) return generated >= residual_tokens_;
  return prompt + generated >= sink_tokens_ + residual_tokens_;
}

std::optional<std::int64_t> KvGeometry::compressed_held(std::int64_t prompt, std::int64_t generated) const {
  if (!grows_regularly(prompt, generated)) return std::nullopt;
  const double tokens = compressed_tokens(prompt, generated);
  if (scope_ != CompressionScope::prompt) {
    return std::llround(tokens * static_cast<double>(compressed_units()->of_token));
  }
  // A part of a token takes a whole one; further whole ones must not carry its rounding over the edge.
  constexpr double kClose = 1e-4;
  const double part = tokens - std::floor(tokens);
  if (part != 0 && (part < kClose || part > 1 - kClose)) return std::nullopt;
  return std::llround(std::ceil(tokens));
}

std::optional<double> KvGeometry::compressed_read_growth(std::int64_t prompt, std::int64_t generated,
                                                         double attention_time_factor) const {
  if (low_bit_copy_ || !grows_regularly(prompt, generated)) return std::nullopt;
  if (scope_ == CompressionScope::prompt) return model_token_bytes_;
  const double token = model_token_bytes_ * attention_time_factor;
  // One more is compressed: its bytes are whole, and it is attended to whole.
  if (kept_ != 1 || has_budget() || !denominator(ratio_) || !whole(ratio_ * token)) return std::nullopt;
  return ratio_ * token;
}

DecodeConfig own_drafts(const DecodeConfig& decode) {
  const DecodePolicy* policy = find_decode_policy(decode.policy);
  DecodeConfig own = decode;
  if (!policy || !policy->keeps_full) return own;
  const SparseConfig sparse = decode.sparse.value_or(SparseConfig{});
  own.compressor = sparse.selection.value_or(own.compressor);
  own.compressor.reload = models::ReloadContent::missing;  // what is read is a part of the full KV, no copy beside it
  own.keep_ratio = sparse.keep_ratio.value_or(own.keep_ratio);
  if (sparse.keep_ratio) own.budget.reset();
  own.draft_length = sparse.draft_length.value_or(own.draft_length);
  own.acceptance = sparse.acceptance.value_or(own.acceptance);
  return own;
}

models::PrefetchSpec step_prefetch(const ServingConfig& config, std::int64_t proposals) {
  models::PrefetchSpec prefetch = config.decode.prefetch;
  prefetch.query_tokens += proposals;
  return prefetch;
}

models::PrefetchSpec replica_prefetch(const ServingConfig& config, const DecodePolicy& decode) {
  return step_prefetch(config, decode.fetch == Fetch::speculative ? most_proposed(config.decode, decode) : 0);
}

KvGeometry kv_at(const ServingConfig& config, double keep_ratio) {
  const KvGeometry geometry(config.model, config.cluster.parallel.tensor, config.decode.compressor, keep_ratio,
                            config.schedule.block_tokens);
  const auto& framework = config.cluster.profile.framework;
  return framework ? geometry.with_full_kv_factor(framework->full_kv_factor.value) : geometry;
}

KvGeometry configured_geometry(const ServingConfig& config) {
  const DecodePolicy& decode = *find_decode_policy(config.decode.policy);
  const models::PrefetchSpec prefetch = replica_prefetch(config, decode);
  KvGeometry geometry = kv_at(config, decode.reads_compressed ? config.decode.keep_ratio : 1.0);
  if (decode.reads_compressed && config.decode.budget) geometry = geometry.with_budget(*config.decode.budget);
  if (decode.low_bit_copy) {
    geometry = geometry.with_low_bit_copy(
        decode.fetches_pairs() ? models::fetched_tokens(prefetch, config.model.max_context) : 0);
  }
  if (decode.fetch == Fetch::everything) {
    const auto layers = static_cast<double>(config.model.layers);
    geometry = geometry.with_streaming(static_cast<double>(prefetch.buffered_layers) / layers);
  }
  if (decode.drafter) {
    const models::LlmSpec& network = config.decode.drafter->spec.network;
    geometry = geometry.with_drafter(static_cast<double>(network.kv_bytes_per_token()) *
                                     network.kv_copies(config.cluster.parallel.tensor));
  }
  return geometry;
}

namespace {

/// Room for KV where ranks hold weights and requests of their own and stages a part of the layers: what the stage with
/// least room for a token leaves, the last one with the LM head or the first with the embedding. Layers are shared out
/// as evenly as they can be, the last stage has fewest.
std::int64_t shared_kv_bytes(const ServingConfig& config, double usable_of_gpu) {
  const models::LlmSpec& m = config.model;
  const models::Parallelism& p = config.cluster.parallel;
  const auto weights = static_cast<double>(m.weight_bytes());
  const auto experts = static_cast<double>(m.expert_weight_bytes());
  const double head = m.head_weight_bytes(), embedding = m.embedding_weight_bytes();
  const double layers_of_rank =
      weights - experts - (head + embedding) + experts / static_cast<double>(p.attention_data);
  const double tables = p.pipeline == 1 ? head + embedding : std::max(head, embedding);
  const auto room_by = [&](std::int64_t layers) {
    const double share = static_cast<double>(layers) / static_cast<double>(m.layers);
    return (static_cast<double>(p.tensor) * usable_of_gpu - layers_of_rank * share - tables) / share;
  };
  const double room = std::min(room_by((m.layers + p.pipeline - 1) / p.pipeline), room_by(m.layers / p.pipeline));
  return std::llround(std::floor(static_cast<double>(p.attention_data) * room));
}

}  // namespace

std::int64_t held_weights(const models::LlmSpec& model, const models::Parallelism& parallel) {
  const std::int64_t experts = model.expert_weight_bytes();
  return parallel.attention_data * (model.weight_bytes() - experts) + experts;
}

std::int64_t replica_weights(const ServingConfig& config) {
  std::int64_t own = held_weights(config.model, config.cluster.parallel);
  if (find_decode_policy(config.decode.policy)->drafter) own += config.decode.drafter->spec.own_weight_bytes();
  if (config.prefill != PrefillKind::selective || !config.reuse || config.reuse->speculative.gpus > 0) return own;
  return own + config.reuse->speculative.model.weight_bytes();
}

bool has_fast_peers(const ClusterConfig& cluster) {
  return cluster.peer_link.read_bytes_per_s.value >= models::kFastPeerBytesPerS;
}

std::int64_t memory_beside_kv(const ServingConfig& config, const models::LlmSpec& model,
                              const models::Parallelism& parallel) {
  const ClusterConfig& c = config.cluster;
  if (c.activation_bytes) return *c.activation_bytes;
  if (c.profile.framework) return 0;
  models::EngineLoad load;
  load.parallel = parallel;
  load.fast_peers = has_fast_peers(c);
  load.max_requests = config.schedule.max_requests;
  load.max_batched_tokens = config.schedule.max_batched_tokens;
  load.memory_fraction = c.memory_fraction;
  load.weights_of_gpu = static_cast<double>(held_weights(model, parallel)) / static_cast<double>(parallel.gpus());
  return models::memory_beside_kv(c.engine_memory, model, load);
}

std::int64_t memory_beside_kv(const ServingConfig& config) {
  return memory_beside_kv(config, config.model, config.cluster.parallel);
}

namespace {

double stated_kv_bytes(const ServingConfig& config, const StatedKv& stated) {
  const KvLayout layout = kv_layout(config);
  switch (stated.unit) {
    case StatedKv::Unit::tokens:
      return layout.bytes_of_tokens(stated.amount, config.model.max_context, config.schedule.max_batched_tokens);
    case StatedKv::Unit::blocks:
      return layout.bytes_of_blocks(stated.amount);
    case StatedKv::Unit::bytes:
      return static_cast<double>(config.cluster.parallel.gpus()) * static_cast<double>(stated.amount);
  }
  return 0;
}

/// Bytes of one GPU within the fraction that is used.
std::int64_t used_of_gpu(const ClusterConfig& cluster) {
  return std::llround(std::floor(static_cast<double>(cluster.gpu.memory_bytes.value) * cluster.memory_fraction));
}

}  // namespace

KvLayout kv_layout(const ServingConfig& config) {
  const std::int64_t tensor = config.cluster.parallel.tensor;
  double drafter = 0;
  if (find_decode_policy(config.decode.policy)->drafter) {
    const models::LlmSpec& network = config.decode.drafter->spec.network;
    drafter = static_cast<double>(network.kv_bytes_per_token()) * network.kv_copies(tensor);
  }
  return {config.model, tensor, config.schedule.block_tokens, drafter};
}

std::int64_t kv_pool_bytes(const ServingConfig& config) {
  const ClusterConfig& c = config.cluster;
  const std::int64_t stored = config.placement ? config.placement->gpu_memory_bytes : 0;
  if (c.stated_kv) {
    const std::int64_t bytes = std::llround(std::ceil(stated_kv_bytes(config, *c.stated_kv)));
    const std::int64_t room = c.parallel.gpus() * c.gpu.memory_bytes.value - replica_weights(config);
    return bytes <= room ? bytes - stored : room - bytes;
  }
  const std::int64_t workspace = c.profile.framework ? c.profile.framework->workspace_bytes.value : 0;
  const std::int64_t usable_of_gpu = used_of_gpu(c) - memory_beside_kv(config) - workspace;
  return c.parallel.tensor_only() ? c.parallel.tensor * usable_of_gpu - replica_weights(config) - stored
                                  : shared_kv_bytes(config, static_cast<double>(usable_of_gpu));
}

std::int64_t kv_capacity_bytes(const ServingConfig& config, const KvGeometry& geometry) {
  const std::int64_t of_requests =
      kv_pool_bytes(config) - geometry.step_reservation(config.schedule.max_batched_tokens);
  return of_requests < 0 ? of_requests : of_requests / geometry.block_bytes() * geometry.block_bytes();
}

MemorySplit memory_split(const ServingConfig& config, const KvGeometry& geometry) {
  const ClusterConfig& c = config.cluster;
  MemorySplit m;
  m.gpu = c.parallel.gpus() * c.gpu.memory_bytes.value;
  m.weights = held_weights(config.model, c.parallel);
  m.kv = kv_capacity_bytes(config, geometry);
  if (c.stated_kv) {
    m.other = kv_pool_bytes(config) - m.kv + replica_weights(config) - m.weights +
              (config.placement ? config.placement->gpu_memory_bytes : 0);
    m.kept_free = m.gpu - m.weights - m.kv - m.other;
    return m;
  }
  m.kept_free = m.gpu - c.parallel.gpus() * used_of_gpu(c);
  m.activations = c.parallel.gpus() * memory_beside_kv(config);
  m.other = m.gpu - m.kept_free - m.weights - m.activations - m.kv;
  return m;
}

std::int64_t draft_limit(const DecodeConfig& decode) {
  const std::int64_t longest = longest_draft(decode);
  if (decode.draft_limit == 0) return 2 * longest;
  return std::max(decode.draft_limit, longest);  // strict is below any length
}

std::int64_t most_proposed(const DecodeConfig& config, const DecodePolicy& decode) {
  if (decode.proposes()) return longest_draft(config);
  return decode.drafter ? config.drafter->tokens() : 0;
}

std::int64_t draft_room(const DecodeConfig& config, const DecodePolicy& decode) {
  if (decode.verifies) return draft_limit(config) + 1;
  const std::int64_t proposed = most_proposed(config, decode);
  if (decode.fetch == Fetch::speculative) return config.prefetch.query_tokens + 1 + 2 * proposed;
  return 1 + (decode.drafter ? config.drafter->verified(proposed) : proposed);
}

std::int64_t decoding_reservation(const DecodePolicy& decode, const KvGeometry& geometry, std::int64_t prompt,
                                  std::int64_t generated, std::int64_t room) {
  return decode.holds_part() ? geometry.compressed_reservation(prompt, generated, room)
                             : geometry.full_reservation(prompt + generated + room);
}

std::int64_t host_reservation(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                              std::int64_t prompt, std::int64_t output) {
  const bool separate_copy = decode.holds_part() && decode.reads_compressed && config.prefill == PrefillKind::stored &&
                             config.decode.compressor.kind != models::CompressionKind::token_dropping;
  return geometry.stored_transfer(prompt + output) + (separate_copy ? geometry.compressed_transfer(prompt, 0) : 0);
}

}  // namespace kvsim::serving
