#include "sim/serving/fetching.h"

#include <algorithm>
#include <cmath>

#include "models/hardware/link_spec.h"
#include "models/schema/units.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

using engine::Duration;

Fetching::Fetching(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode,
                   const KvGeometry& geometry, const models::StepTimer& timer, const models::LinkSpec& link,
                   double links)
    : config_(config),
      group_(group),
      decode_(decode),
      geometry_(geometry),
      timer_(timer),
      link_(link),
      links_(links),
      gpus_(static_cast<double>(group.parallel.tensor)),
      kv_heads_(static_cast<double>(config.model.kv_heads) * config.model.kv_copies(group.parallel.tensor) / gpus_) {
  if (!decode.fetches_pairs()) return;
  const std::int64_t most = decode.fetch == Fetch::speculative ? most_proposed(config.decode, decode) : 0;
  for (std::int64_t n = 0; n <= most; ++n) {
    const models::PrefetchSpec spec = step_prefetch(config, n);
    full_fetches_.push_back({models::fetched_tokens(spec, config.model.max_context),
                             models::layer_fetch(spec, config.model, group.parallel.tensor, config.model.max_context)});
  }
  row_bytes_ = full_fetches_.back().layer.row_bytes;
  method_ = models::find_gather(link, config.decode.prefetch.copies, row_bytes_);
}

LayerPipelineConfig Fetching::pipeline() const {
  const std::int64_t layers = config_.model.layers;
  switch (decode_.fetch) {
    case Fetch::everything:
      return {layers, FetchTime::next_layers, config_.decode.prefetch.buffered_layers};
    case Fetch::on_demand:
      return {layers, FetchTime::on_demand, layers};
    default:
      return {layers, FetchTime::next_step, layers};
  }
}

std::int64_t Fetching::proposals(const Request& r) const {
  if (decode_.fetch != Fetch::speculative || !decode_.drafter) return 0;
  return std::min(r.round.length->chosen, static_cast<std::int64_t>(full_fetches_.size()) - 1);
}

std::int64_t Fetching::choosing(std::int64_t proposals) const {
  return config_.decode.prefetch.query_tokens + proposals;
}

std::int64_t Fetching::query_tokens(const Request& r, std::int64_t proposed) const {
  if (decode_.fetch != Fetch::speculative) {
    return 1 + (decode_.drafter ? config_.decode.drafter->verified(proposed) : proposed);
  }
  return choosing(proposals(r)) + (r.round.pairs_asked ? 1 + proposed : 0);
}

void Fetching::clear() {
  rows_ = more_rows_ = whole_bytes_ = scores_ = score_rows_ = 0;
  decoded_tokens_ = offloaded_tokens_ = 0;
  waits_ = false;
}

models::LayerFetch Fetching::layer_fetch(std::int64_t context, std::int64_t proposals) const {
  // The latest tokens are there in 16 bit.
  const std::int64_t others = std::max<std::int64_t>(0, context - config_.decode.compressor.residual_tokens);
  const FullFetch& full = full_fetches_[static_cast<std::size_t>(proposals)];
  if (others >= full.tokens) return full.layer;
  return models::layer_fetch(step_prefetch(config_, proposals), config_.model, group_.parallel.tensor, others);
}

double Fetching::request_bytes(const Request& r, std::int64_t context) const {
  return layer_fetch(context, proposals(r)).bytes() * gpus_ * static_cast<double>(config_.model.layers);
}

double Fetching::longer_with_one_more_s() const {
  if (method_ == nullptr || more_rows_ <= 0) return 0;
  return static_cast<double>(config_.model.layers) *
         models::gather_s(link_, *method_, more_rows_ * gpus_ / links_, row_bytes_);
}

void Fetching::add_decode(const Request& r, std::int64_t proposed, models::StepWork& work) {
  decoded_tokens_ += 1 + proposed;  // whichever will be accepted: their KV leaves while the step runs
  if (decode_.fetch == Fetch::everything) {
    proposed > 0 ? add_verification(work, geometry_, r.context(), proposed)
                 : serving::add_decode(work, geometry_, r.context());
    whole_bytes_ += static_cast<double>(geometry_.full_transfer(r.context()));
    waits_ = true;  // its first layers came with the first load, or from the step before
    return;
  }
  const std::int64_t queries = query_tokens(r, proposed);
  add_low_bit_decode(work, geometry_, r.prompt, r.generated, queries, low_bit_time_factor(config_, group_));
  if (decode_.fetch == Fetch::none) return;
  const double deciding = decode_.fetch == Fetch::speculative ? static_cast<double>(choosing(proposals(r))) : 1;
  scores_ += deciding * static_cast<double>(r.context()) * kv_heads_;
  score_rows_ += deciding * kv_heads_;
  const std::int64_t n = proposals(r);
  const double rows = layer_fetch(r.context(), n).rows;
  rows_ += rows;
  if (n + 1 < static_cast<std::int64_t>(full_fetches_.size())) {
    more_rows_ += layer_fetch(r.context(), n + 1).rows - rows;
  }
  waits_ = waits_ || r.round.pairs_asked;
}

/// A quantiser acts on groups of tokens: once in so many steps on all of them.
double Fetching::quantising_s() const {
  if (!decode_.low_bit_copy || decoded_tokens_ == 0) return 0;
  const auto group = static_cast<double>(std::max<std::int64_t>(config_.decode.compressor.group_size, 1));
  models::CompressionWork work;
  work.full_bytes = static_cast<double>(geometry_.full_transfer(decoded_tokens_)) * group / gpus_;
  work.kept_bytes = work.full_bytes * geometry_.compressed().ratio();
  work.layers = static_cast<double>(config_.model.layers);
  work.quantises = true;
  return timer_.compression_s(work) / group;
}

double Fetching::selection_s() const {
  if (!decode_.fetches_pairs() || scores_ <= 0) return 0;
  const auto layers = static_cast<double>(config_.model.layers);
  return timer_.selection_s(scores_ * layers, score_rows_, layers);
}

LayerStep Fetching::step(const models::StepTime& time, const models::StepWork& work) const {
  const auto floor_ns = [](double s) { return Duration{static_cast<std::int64_t>(std::floor(s * kNsPerSecond))}; };
  const auto layers = static_cast<double>(config_.model.layers);
  const models::LayerTime layer = timer_.layers(time, work);
  const Duration selection = floor_ns(selection_s() / layers);
  LayerStep s;
  s.before = floor_ns(layer.before_s);
  s.after = floor_ns(layer.after_s);
  const Duration attention = floor_ns(layer.attention_s);
  s.attention = attention + selection;
  if (decode_.fetch == Fetch::on_demand && config_.decode.prefetch.attends_again) {
    s.scoring = attention + selection;
    s.attention = s.scoring + attention;
  } else if (decode_.fetch == Fetch::on_demand) {
    s.scoring = Duration{attention.ns / 2} + selection;  // keys are read for the scores, values after them
  }
  const Duration total = std::max(engine::from_seconds(time.total_s), Duration{1});
  s.tail = std::max(total - (s.before + attention + s.after) * config_.model.layers, Duration{});
  if (decode_.fetch == Fetch::everything) {
    s.fetch_bytes = std::llround(whole_bytes_ / layers);
  } else if (method_ != nullptr && rows_ > 0) {
    const double bytes = rows_ * row_bytes_;
    s.fetch_bytes = std::llround(bytes * gpus_);
    const auto slowdown = [&](double read_bytes_per_s) {
      return std::max(1.0,
                      models::gather_s(read_bytes_per_s, *method_, rows_, row_bytes_) / (bytes / read_bytes_per_s));
    };
    s.fetch_slowdown = slowdown(link_.read_bytes_per_s.value);
    s.slowdown_at_twice = slowdown(2 * link_.read_bytes_per_s.value);
  }
  s.waits = waits_;
  const std::int64_t offloaded = offloaded_tokens_ + (decode_.offloads() ? decoded_tokens_ : 0);
  s.offload_bytes = std::llround(static_cast<double>(geometry_.full_transfer(offloaded)) / layers);
  return s;
}

}  // namespace kvsim::serving
