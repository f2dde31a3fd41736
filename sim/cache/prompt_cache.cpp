#include "sim/cache/prompt_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/schemas.h"
#include "sim/cache/eviction/chain_rules.h"
#include "sim/cache/placement/placements.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"

namespace kvsim::cache {

void FutureUses::add(std::uint64_t request, const std::vector<std::uint64_t>& keys) {
  for (const std::uint64_t key : keys) uses_[key].push_back(request);
}

std::uint64_t FutureUses::next(std::uint64_t key, std::uint64_t request) const {
  const auto uses = uses_.find(key);
  if (uses == uses_.end()) return UINT64_MAX;
  const auto at = std::upper_bound(uses->second.begin(), uses->second.end(), request);
  return at == uses->second.end() ? UINT64_MAX : *at;
}

std::vector<PromptPart> prompt_parts(const models::RequestSpec& spec, models::Granularity granularity,
                                     std::int64_t block_tokens) {
  std::vector<PromptPart> parts;
  if (granularity == models::Granularity::contexts) {
    if (spec.context >= 0 && spec.context_tokens > 0) {
      parts.push_back({static_cast<std::uint64_t>(spec.context), std::min(spec.context_tokens, spec.prompt_tokens)});
    }
    return parts;
  }
  if (granularity == models::Granularity::chunks) {
    for (const std::uint64_t chunk : spec.chunks) parts.push_back({chunk, spec.chunk_tokens});
    return parts;
  }
  std::int64_t begin = 0;
  for (const std::uint64_t hash : spec.prefix_blocks) {
    const std::int64_t tokens = std::min(block_tokens, spec.prompt_tokens - begin);
    if (tokens <= 0) break;
    parts.push_back({hash, tokens});
    begin += tokens;
  }
  return parts;
}

using serving::Request;
using serving::StoredPrefix;

namespace {

std::int64_t kept_tokens(const models::StorageOption& option, std::int64_t tokens) {
  return std::min(tokens, static_cast<std::int64_t>(std::ceil(static_cast<double>(tokens) * option.keep)));
}

/// Tokens whose KV a verification brings: kept ones are exact unless they were quantised.
std::int64_t missing_tokens(const models::StorageOption& option, std::int64_t tokens) {
  return option.element_ratio < 1 ? tokens : tokens - kept_tokens(option, tokens);
}

}  // namespace

PromptCache::PromptCache(engine::Simulator& simulator, transport::Fabric& fabric, const serving::ServingConfig& config,
                         std::int64_t block_tokens, const FutureUses* future)
    : simulator_(simulator),
      config_(config),
      spec_(*config.placement),
      granularity_(spec_.granularity.value_or(models::Granularity::contexts)),
      verified_(verifies_stored(config)),
      block_tokens_(block_tokens),
      future_(future),
      geometry_(serving::configured_geometry(config, config.cluster.uniform())),
      pool_(models::option_pool(spec_)),
      quality_(spec_, pool_, config.context_sensitivities, config.context_curves.get(), config.run.seed),
      fabric_(fabric) {}

void PromptCache::connect(std::vector<transport::GroupLanes> replicas) {
  StoreConfig config = store_config(config_);
  config.lanes = std::move(replicas);
  store_.emplace(simulator_, fabric_, config, pool_, quality_.profiled(),
                 [&](const ObjectTable& objects, const std::vector<TierFacts>& tiers) {
                   NextUse next_use;
                   if (future_) {
                     next_use = [this, &objects](ObjectId id) { return future_->next(objects[id].key, request_now_); };
                   }
                   const auto& group = config_.cluster.uniform();
                   const auto timer = serving::step_timer(config_, group, group.parallel.tensor);
                   return make_placement({spec_, objects, pool_, quality_.profiled(), tiers,
                                          prefill_cost(config_, geometry_, timer), next_use});
                 });
  lookups_.hits.resize(store_->levels());
}

models::CurveIndex PromptCache::curve_of(std::uint64_t key) {
  return quality_.curve(granularity_ == models::Granularity::contexts ? key : key % models::block_curves);
}

void PromptCache::preload(const models::SharedChunkSpec& chunks) {
  const float share = 1.0F / static_cast<float>(chunks.per_request);
  for (std::int64_t replica = 0; replica < config_.cluster.replicas(); ++replica) {
    std::vector<ObjectId> objects;
    for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      const auto key = static_cast<std::uint64_t>(chunk);
      objects.push_back(store_->object(static_cast<std::size_t>(replica), key, geometry_.stored_transfer(chunks.tokens),
                                       chunks.tokens, curve_of(key), share));
    }
    store_->preload(static_cast<std::size_t>(replica), objects);
  }
}

/// Quantised KV is loaded whole beside the KV that was loaded before, up to the request's last round.
std::string PromptCache::refusal(const Request& r, const models::RequestSpec&, std::int64_t kv_bytes) const {
  const auto quantises = [](const models::StorageOption& option) { return option.element_ratio < 1; };
  if (!verified_ || std::none_of(pool_.all().begin(), pool_.all().end(), quantises)) return {};
  const serving::DecodePolicy& decode = *serving::find_decode_policy(config_.decode.policy);
  const std::int64_t held =
      geometry_.full_reservation(r.prompt + r.output + serving::draft_room(config_.decode, decode));
  const std::int64_t need = held + geometry_.full_reservation(r.prompt);
  if (need <= kv_bytes) return {};
  return fmt::format("needs {} bytes of KV memory to verify what is stored in few bits, a replica has {}", need,
                     kv_bytes);
}

void PromptCache::arrived(const Request& r, const models::RequestSpec& spec, std::size_t replica) {
  Prompt prompt;
  prompt.replica = replica;
  prompt.request = spec.id;
  for (const PromptPart& part : prompt_parts(spec, granularity_, block_tokens_)) {
    // Blocks are allocated whole.
    const std::int64_t room = granularity_ == models::Granularity::blocks ? block_tokens_ : part.tokens;
    const ObjectId own =
        store_->object(replica, part.key, geometry_.stored_transfer(room), part.tokens, curve_of(part.key),
                       granularity_ != models::Granularity::contexts
                           ? static_cast<float>(part.tokens) / static_cast<float>(spec.prompt_tokens)
                           : 1.0F);
    prompt.parts.push_back({part, own});
  }
  prompts_.emplace(r.id, std::move(prompt));
}

/// Chunks wherever they stand; else of its first parts, as long as they are stored.
std::vector<PromptCache::FoundPart> PromptCache::found(const Prompt& prompt) const {
  std::vector<FoundPart> list;
  const auto look_up = [&](std::size_t i) {
    const Found copy = store_->find(prompt.replica, prompt.parts[i].part.key);
    if (copy.id != kNoObject) list.push_back({i, copy});
    return copy.id != kNoObject || granularity_ == models::Granularity::chunks;
  };
  find_chain(prompt.parts.size(), look_up);
  return list;
}

StoredPrefix PromptCache::find(const Request& r) const {
  const Prompt& prompt = prompts_.at(r.id);
  StoredPrefix prefix;
  double quality = 0, kl = 0;
  for (const auto& [part, copy] : found(prompt)) {
    const models::StorageOption& option = pool_[copy.option];
    const std::int64_t tokens = prompt.parts[part].part.tokens;
    const CachedObject& object = store_->objects()[copy.id];
    const auto share = static_cast<double>(tokens);
    prefix.tokens += tokens;
    prefix.dropped += tokens - kept_tokens(option, tokens);
    prefix.missing += missing_tokens(option, tokens);
    prefix.unpack_s += static_cast<double>(object.full_bytes) * option.decompress_s_per_full_byte /
                       static_cast<double>(config_.cluster.uniform().parallel.tensor);
    quality += share * quality_.achieved(object.curve, copy.option, copy.quality, simulator_.now());
    kl += share * option.step_kl;
  }
  if (prefix.tokens == 0) return prefix;
  // The score of a context is that of requests that go on from it. For blocks and chunks it is the mean over the
  // prompt, whose computed parts are whole.
  const bool whole_prompt = granularity_ != models::Granularity::contexts;
  const auto of = static_cast<double>(whole_prompt ? r.prompt : prefix.tokens);
  prefix.quality = (quality + (of - static_cast<double>(prefix.tokens))) / of;
  prefix.step_kl = kl / of;
  prefix.tokens = std::min(prefix.tokens, r.prompt - 1);  // the last token's logits give the first output token
  prefix.dropped = std::min(prefix.dropped, prefix.tokens);
  prefix.missing = std::min(prefix.missing, prefix.tokens);
  prefix.agreement = std::exp(-prefix.step_kl);
  if (verified_) {  // what is given out is that of the whole KV
    prefix.quality = 1;
    prefix.step_kl = 0;
  }
  return prefix;
}

bool PromptCache::has_first(const Request& r) const {
  const Prompt& prompt = prompts_.at(r.id);
  return !prompt.parts.empty() && store_->find(prompt.replica, prompt.parts.front().part.key).id != kNoObject;
}

void PromptCache::load(const Request& r, engine::Callback on_complete) {
  Prompt& prompt = prompts_.at(r.id);
  request_now_ = prompt.request;
  prompt.loaded = found(prompt);
  std::vector<ObjectId> ids;
  for (const auto& [part, copy] : prompt.loaded) {
    ids.push_back(copy.id);
    prompt.believed = copy.quality;
  }
  store_->load(prompt.replica, ids, r.id, on_complete);
}

std::vector<TieredStore::Missing> PromptCache::missing(const Prompt& prompt) const {
  std::vector<TieredStore::Missing> list;
  for (const auto& [part, copy] : prompt.loaded) {
    const std::int64_t tokens = missing_tokens(pool_[copy.option], prompt.parts[part].part.tokens);
    if (tokens > 0) list.push_back({copy.id, geometry_.full_transfer(tokens)});
  }
  return list;
}

void PromptCache::load_missing(const Request& r, engine::Callback on_complete) {
  const Prompt& prompt = prompts_.at(r.id);
  store_->load_missing(prompt.replica, missing(prompt), r.id, on_complete);
}

double PromptCache::load_s(const Request& r) const {
  const Prompt& prompt = prompts_.at(r.id);
  std::vector<ObjectId> ids;
  for (const FoundPart& part : found(prompt)) ids.push_back(part.copy.id);
  return store_->load_s(prompt.replica, ids);
}

double PromptCache::load_missing_s(const Request& r) const {
  const Prompt& prompt = prompts_.at(r.id);
  return store_->load_missing_s(prompt.replica, missing(prompt));
}

/// Each prompt once, however often it was admitted.
void PromptCache::count(const Request& r, const Prompt& prompt) {
  for (const auto& [part, copy] : prompt.loaded) lookups_.hits[copy.level] += 1;
  lookups_.parts += prompt.parts.size();
  measured_.loaded_tokens += r.prefix->tokens;
  measured_.computed_tokens += r.prompt - r.prefix->tokens;
}

void PromptCache::computed(const Request& r) {
  Prompt& prompt = prompts_.at(r.id);
  request_now_ = prompt.request;
  if (r.prefix->tokens == 0) prompt.loaded.clear();  // admitted again, after what it had loaded was gone
  std::vector<ObjectId> own, missing, loaded;
  for (const Part& p : prompt.parts) own.push_back(p.own);
  std::vector<ObjectId> used = own;  // under the names by which they were found
  std::vector<bool> found(own.size());
  for (const auto& [part, copy] : prompt.loaded) {
    used[part] = copy.id;
    found[part] = true;
    loaded.push_back(copy.id);
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (!found[i]) missing.push_back(own[i]);
  }
  if (!prompt.counted) {
    count(r, prompt);
    store_->used(own, used);
  }
  prompt.counted = true;
  if (granularity_ == models::Granularity::chunks) loaded.clear();  // no chunk goes on from another
  if (!missing.empty()) store_->store(prompt.replica, missing, loaded, r.id);
}

std::optional<serving::ProfilingWork> PromptCache::finished(const Request& r) {
  const auto ended = prompts_.extract(r.id);
  const Prompt& prompt = ended.mapped();
  store_->withdraw(r.id);
  measured_.quality.add(r.prefix->quality);
  scored_ += 1;
  quality_sum_ += r.prefix->quality;
  if (!config_.context_datasets.empty() && granularity_ == models::Granularity::contexts && !prompt.parts.empty()) {
    const std::uint64_t context = prompt.parts.front().part.key;
    auto& of = measured_.datasets[config_.context_datasets[context % config_.context_datasets.size()]];
    of.requests += 1;
    of.ttft_s += (r.record->first_token - r.arrival).seconds();
    of.quality += r.prefix->quality;
  }
  const bool stored = r.prefix->tokens > 0 && granularity_ == models::Granularity::contexts;
  if (!spec_.profiling.online || !stored) return std::nullopt;
  const PromptPart& context = prompt.parts.front().part;
  const models::CurveIndex curve = curve_of(context.key);
  if (profiles_.contains(curve) || prompt.believed - r.prefix->quality <= spec_.profiling.threshold)
    return std::nullopt;
  serving::ProfilingWork work;
  work.steps = spec_.profiling.output_tokens;
  work.held_tokens = context.tokens;
  work.prefill_tokens = context.tokens;
  for (std::int64_t query = 0; query < spec_.profiling.queries; ++query) {
    for (const models::StorageOption& option : pool_.all()) {
      work.contexts.push_back(kept_tokens(option, context.tokens) + r.prompt - context.tokens);
    }
  }
  to_profile_ = {context.key, prompt.replica, prompt.parts.front().own};
  return work;
}

std::uint64_t PromptCache::profiling(const Request&) {
  profiles_.emplace(curve_of(to_profile_.context), to_profile_);
  return to_profile_.context;
}

void PromptCache::profiled(std::uint64_t context) {
  const models::CurveIndex curve = curve_of(context);
  quality_.profile(curve, simulator_.now());
  store_->profile_changed(curve, context);
  const Profiled done = profiles_.extract(curve).mapped();
  store_->store_again(done.replica, done.object);
  measured_.profiled += 1;
}

void PromptCache::start_measuring() {
  measured_ = {};
  lookups_ = {0, std::vector<std::uint64_t>(store_->levels())};
  store_->reset_statistics();
}

void PromptCache::finish_measuring(serving::Measurements& measured) {
  const StoreCounts counts = store_->counts();
  serving::PlacementMeasurement& m = measured.placement;
  const std::int64_t profiled_tokens = m.profiled_tokens;  // the replicas' part
  m = measured_;
  m.profiled_tokens = profiled_tokens;
  m.loads = counts.loads;
  m.joined_loads = counts.joined_loads;
  m.stores = counts.stores;
  if (spec_.policy != models::no_store_policy) m.unstored = counts.unstored;
  m.promotions = counts.promotions;
  m.demotions = counts.demotions;
  m.recompressions = counts.recompressions;
  m.drops = counts.drops;
  m.moved_bytes = counts.moved_bytes;
  m.whole_loads = counts.whole_loads;
  m.whole_bytes = counts.whole_bytes;
  measure_tiers(measured);
}

void PromptCache::measure_tiers(serving::Measurements& measured) const {
  for (std::size_t level = 0; level < store_->levels(); ++level) {
    const std::string& name = store_->level_name(level);
    const TieredStore::LevelUse use = store_->level_use(level);
    serving::TierMeasurement& tier = measured.tiers[name];
    tier.hits = lookups_.hits[level];
    tier.misses = lookups_.parts - tier.hits;
    tier.evictions = use.evictions;
    tier.bytes_peak = use.peak_bytes;
    serving::TierContents& contents = measured.placement.contents[name];
    contents.bytes = use.bytes;
    contents.full_bytes = use.full_bytes;
    contents.whole_bytes = use.whole_bytes;
    for (std::size_t option = 0; option < pool_.size(); ++option) {
      const std::uint64_t objects = use.objects_by_option[option];
      contents.objects += objects;
      if (objects > 0) contents.options[pool_[static_cast<models::OptionIndex>(option)].name] = objects;
    }
  }
}

}  // namespace kvsim::cache
