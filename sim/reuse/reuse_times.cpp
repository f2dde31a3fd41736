#include "sim/reuse/reuse_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"

namespace kvsim::reuse {
namespace {

/// Share of a token's KV that depends on its place: the keys, or of a latent the rotary part.
double placed_share(const models::LlmSpec& model) {
  if (model.attention == models::AttentionKind::gqa) return 0.5;
  const auto rope = static_cast<double>(model.mla.qk_rope_head_dim);
  return rope / (static_cast<double>(model.mla.kv_lora_rank) + rope);
}

}  // namespace

ReuseTimes::ReuseTimes(const serving::ServingConfig& config)
    : config_(config),
      group_(config.cluster.uniform()),
      geometry_(serving::configured_geometry(config, group_)),
      timer_(serving::step_timer(config, group_, group_.parallel.tensor)) {
  if (config.reuse->method != models::ReuseMethod::selective) return;
  const models::SpeculativeSpec& small = config.reuse->speculative;
  small_.emplace(group_.gpu, serving::interconnect(config.cluster, group_), group_.profile, small.model,
                 small.gpus > 0 ? 1 : group_.parallel.tensor);
}

std::int64_t ReuseTimes::small_tokens(std::int64_t tokens) const {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(tokens) * config_.reuse->speculative.tokens_ratio));
}

double ReuseTimes::score_s(std::int64_t tokens) const {
  const models::PrefillChunk whole{static_cast<double>(small_tokens(tokens)), 0};
  return scoring_s({&whole, 1});
}

double ReuseTimes::scoring_s(std::span<const models::PrefillChunk> chunks) const {
  const auto token_bytes = static_cast<double>(config_.reuse->speculative.model.kv_bytes_per_token());
  models::StepWork work;
  for (const models::PrefillChunk& c : chunks) {
    work.prefill.query_tokens += c.tokens;
    work.prefill.requests += 1;
    work.prefill.pairs += c.tokens * c.before + c.tokens * (c.tokens + 1) / 2;
    work.prefill.kv_bytes += token_bytes * (c.before + c.tokens);
    work.chunks.push_back(c);
  }
  return small_->time(work).total_s;
}

double ReuseTimes::align_s(std::int64_t tokens) const {
  return config_.reuse->speculative.align_s_per_token * static_cast<double>(tokens);
}

std::int64_t ReuseTimes::scoring_bytes(std::int64_t tokens) const {
  const models::LlmSpec& model = config_.reuse->speculative.model;
  return std::llround(static_cast<double>(small_tokens(tokens) * model.kv_bytes_per_token()) *
                      model.kv_copies(group_.parallel.tensor));
}

double ReuseTimes::prefill_s(std::int64_t tokens, double before) const {
  models::StepWork work;
  const auto context = tokens + static_cast<std::int64_t>(before);
  serving::add_rows(work, geometry_, tokens, before, context, false);
  return timer_.time(work).total_s;
}

double ReuseTimes::first_layer_s(std::int64_t tokens, std::int64_t rows, double before) const {
  const double others = prefill_s(tokens, 0) - prefill_s(rows, before);
  return std::max(others, 0.0) / static_cast<double>(config_.model.layers);
}

double ReuseTimes::recover_s(std::int64_t tokens) const {
  const double bytes = static_cast<double>(geometry_.full_transfer(tokens)) * placed_share(config_.model) /
                       static_cast<double>(group_.parallel.tensor);
  return timer_.rewrite_s(bytes, static_cast<double>(config_.model.layers));
}

std::vector<std::string> ReuseTimes::small_fallbacks() const {
  std::vector<std::string> said;
  if (!small_) return said;
  const std::vector<std::string>& known = timer_.fallbacks();
  std::copy_if(small_->fallbacks().begin(), small_->fallbacks().end(), std::back_inserter(said),
               [&](const std::string& reason) { return std::find(known.begin(), known.end(), reason) == known.end(); });
  return said;
}

double rows_before(models::RowAttention attention, std::int64_t tokens, std::int64_t rows, double positions) {
  if (attention == models::RowAttention::whole) return static_cast<double>(tokens - rows);
  // So that rows x before + rows (rows + 1)/2 is the sum of (place + 1).
  const auto n = static_cast<double>(rows);
  return std::max(positions / n - (n - 1) / 2, 0.0);
}

bool chooses_tokens(const models::ReuseSpec& spec) {
  return spec.method == models::ReuseMethod::selective && spec.rho > 0 && spec.rho < 1;
}

std::int64_t scorer_memory(const serving::ServingConfig& config) {
  const serving::GroupConfig& c = config.cluster.uniform();
  return static_cast<std::int64_t>(static_cast<double>(c.gpu.memory_bytes.value) * c.memory_fraction) -
         serving::memory_beside_kv(config, c, config.reuse->speculative.model, models::Parallelism());
}

std::string scoring_problem(const serving::ServingConfig& config, const ReuseTimes& times, std::int64_t prompt,
                            std::int64_t output, std::int64_t kv_bytes) {
  if (!chooses_tokens(*config.reuse)) return {};
  const models::SpeculativeSpec& scorer = config.reuse->speculative;
  const models::LlmSpec& small = scorer.model;
  const std::int64_t tokens = times.small_tokens(prompt);
  if (tokens > small.max_context) {
    return fmt::format("has a prompt of {} tokens for the speculative model, {} allows {}", tokens, small.name,
                       small.max_context);
  }
  if (scorer.gpus > 0) {
    const std::int64_t room = scorer_memory(config) - small.weight_bytes();
    const std::int64_t kv = tokens * small.kv_bytes_per_token();
    if (kv <= room) return {};
    return fmt::format("needs {} bytes of KV memory on a GPU of {}, which leaves {}", kv, small.name, room);
  }
  // It may be preempted before its last token, and has to be let in again with all that it has generated.
  const std::int64_t room = serving::draft_room(config.decode, *serving::find_decode_policy(config.decode.policy)) - 1;
  const std::int64_t need =
      serving::configured_geometry(config, config.cluster.uniform()).full_reservation(prompt + output + room) +
      times.scoring_bytes(prompt);
  if (need <= kv_bytes) return {};
  return fmt::format("needs {} bytes of KV memory while {} scores its prompt, a replica has {}", need, small.name,
                     kv_bytes);
}

}  // namespace kvsim::reuse
