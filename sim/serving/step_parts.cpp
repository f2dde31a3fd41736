#include "sim/serving/step_parts.h"

#include <algorithm>
#include <array>

namespace kvsim::serving {

models::StepTimer step_timer(const ServingConfig& config, const GroupConfig& group,
                             const models::Parallelism& parallel) {
  return {group.gpu, interconnect(config.cluster, group), group.profile, config.model, parallel};
}

bool profile_times_few_bits(const GroupConfig& group, const models::CompressorSpec& compressor) {
  return compressor.kind != models::CompressionKind::token_dropping && group.profile.low_bit.elements_per_s.value > 0 &&
         group.gpu.multiprocessors.value > 0;
}

double attention_time_factor(const ServingConfig& config, const GroupConfig& group,
                             const models::CompressorSpec& compressor) {
  if (!profile_times_few_bits(group, compressor)) return compressor.attention_time_factor.value;
  return group.profile.low_bit.time_factor(
      config.model.kv_bytes_per_element * compressor.quantised_ratio(),
      group.profile.attention_bandwidth_efficiency.value * group.gpu.memory_bytes_per_s.value,
      group.gpu.multiprocessors.value);
}

double low_bit_time_factor(const ServingConfig& config, const GroupConfig& group) {
  if (config.decode.prefetch.dequantisation == models::Dequantisation::unfused) return 0;
  return attention_time_factor(config, group, config.decode.compressor);
}

void add_decode(models::StepWork& work, const KvGeometry& geometry, std::int64_t context) {
  const auto tokens = static_cast<double>(context);
  work.decode.query_tokens += 1;
  work.logit_tokens += 1;
  work.decode.kv_bytes += geometry.full_read(context);
  work.decode.pairs += tokens;
  work.decode.longest_kv = std::max(work.decode.longest_kv, tokens);
  leave_out(work.decode, geometry.window(), tokens - 1, 1);
}

void add_draft(models::StepWork& work, const KvGeometry& geometry, std::int64_t prompt, std::int64_t generated,
               std::int64_t drafted, double attention_time_factor) {
  work.decode.query_tokens += 1;
  work.logit_tokens += 1;
  work.decode.kv_bytes +=
      geometry.compressed_read(prompt, generated, attention_time_factor) + geometry.full_read(drafted);
  const double attended = geometry.compressed().attended(prompt, generated) + static_cast<double>(drafted);
  work.decode.pairs += attended;
  work.decode.quantised += geometry.compressed().quantised(prompt, generated);
  work.decode.longest_kv = std::max(work.decode.longest_kv, attended);
}

void add_draft(models::StepWork& work, const KvGeometry& geometry, std::int64_t prompt, std::int64_t generated,
               std::int64_t drafted, std::int64_t proposed, double attention_time_factor) {
  if (proposed == 0) return add_draft(work, geometry, prompt, generated, drafted, attention_time_factor);
  const double queries = static_cast<double>(proposed) + 1;
  const double attended = geometry.compressed().attended(prompt, generated) + static_cast<double>(drafted);
  work.verify.query_tokens += queries;
  work.verify.requests += 1;
  work.verify.longest_kv = std::max(work.verify.longest_kv, attended + static_cast<double>(proposed));
  work.verify.kv_bytes +=
      geometry.compressed_read(prompt, generated, attention_time_factor) + geometry.full_read(drafted + proposed);
  work.verify.pairs += queries * attended + queries * (queries + 1) / 2;
  work.verify.quantised += queries * geometry.compressed().quantised(prompt, generated);
  work.logit_tokens += queries;
}

void add_low_bit_decode(models::StepWork& work, const KvGeometry& geometry, std::int64_t prompt, std::int64_t generated,
                        std::int64_t queries, double attention_time_factor) {
  const auto q = static_cast<double>(queries);
  const auto tokens = static_cast<double>(prompt + generated);
  work.decode.query_tokens += q;
  work.decode.requests += 1;
  work.logit_tokens += q;
  // Unfused, the copy is read, written in 16 bit and read again.
  work.decode.kv_bytes += attention_time_factor > 0 ? geometry.compressed_read(prompt, generated, attention_time_factor)
                                                    : geometry.compressed_read(prompt, generated) +
                                                          2 * geometry.full_read(prompt + generated);
  work.decode.pairs += q * tokens;
  if (attention_time_factor > 0) work.decode.quantised += q * geometry.compressed().quantised(prompt, generated);
  work.decode.longest_kv = std::max(work.decode.longest_kv, tokens);
}

void add_verification(models::StepWork& work, const KvGeometry& geometry, std::int64_t context, std::int64_t drafted) {
  const double queries = static_cast<double>(drafted) + 1;
  const auto tokens = static_cast<double>(context);
  work.verify.query_tokens += queries;
  work.verify.requests += 1;
  work.verify.longest_kv = std::max(work.verify.longest_kv, static_cast<double>(context + drafted));
  work.verify.kv_bytes += geometry.full_read(context + drafted);
  work.verify.pairs += queries * tokens + queries * (queries + 1) / 2;
  leave_out(work.verify, geometry.window(), tokens, queries);
  work.logit_tokens += queries;
}

namespace {

void add_prefill(models::StepWork& work, const KvGeometry& geometry, double tokens, double before, double kv_bytes,
                 bool last) {
  work.prefill.query_tokens += tokens;
  work.prefill.requests += 1;
  work.chunks.push_back({tokens, before});
  work.prefill.pairs += tokens * before + tokens * (tokens + 1) / 2;
  work.prefill.kv_bytes += kv_bytes;
  leave_out(work.prefill, geometry.window(), before, tokens);
  if (last) work.logit_tokens += 1;
}

}  // namespace

void add_chunk(models::StepWork& work, const KvGeometry& geometry, std::int64_t before, std::int64_t tokens,
               bool last) {
  add_prefill(work, geometry, static_cast<double>(tokens), static_cast<double>(before),
              geometry.full_read(before + tokens), last);
}

void add_chunks_alone(models::StepWork& work, const KvGeometry& geometry, std::int64_t unit, std::int64_t begin,
                      std::int64_t end) {
  while (begin < end) {
    const std::int64_t within = begin % unit;
    const std::int64_t tokens = std::min(unit - within, end - begin);
    add_chunk(work, geometry, within, tokens, false);
    begin += tokens;
  }
}

void add_rows(models::StepWork& work, const KvGeometry& geometry, std::int64_t rows, double before,
              std::int64_t context, bool last) {
  add_prefill(work, geometry, static_cast<double>(rows), before, geometry.full_read(context), last);
}

double compression_s(const ServingConfig& config, const GroupConfig& group, const KvGeometry& geometry,
                     const models::StepTimer& timer, std::int64_t tokens) {
  const models::CompressorSpec& c = config.decode.compressor;
  const auto gpus = static_cast<double>(group.parallel.tensor);
  const double full = static_cast<double>(geometry.full_transfer(tokens)) / gpus;
  if (c.compress_bytes_per_s.value > 0) return full / c.compress_bytes_per_s.value;
  models::CompressionWork work;
  work.full_bytes = full;
  work.kept_bytes = full * (geometry.compressed().has_budget() ? geometry.compressed().ratio_of(tokens, 0)
                                                               : config.decode.keep_ratio);
  work.layers = static_cast<double>(config.model.attention_layers());
  work.quantises = c.kind != models::CompressionKind::token_dropping;
  if (c.kind != models::CompressionKind::quantisation) {
    const double kv_heads = std::max(static_cast<double>(config.model.kv_heads) / gpus, 1.0);
    work.scores = static_cast<double>(tokens) * kv_heads * work.layers;
    work.rows = kv_heads;
  }
  return timer.compression_s(work);
}

double decompression_s(const ServingConfig& config, const GroupConfig& group, const KvGeometry& geometry,
                       const models::StepTimer& timer, std::int64_t tokens) {
  const models::CompressorSpec& c = config.decode.compressor;
  if (c.kind == models::CompressionKind::token_dropping) return 0;
  const double full = static_cast<double>(geometry.full_transfer(tokens)) / static_cast<double>(group.parallel.tensor);
  if (c.decompress_bytes_per_s.value > 0) return full / c.decompress_bytes_per_s.value;
  return timer.dequantise_s(full, full * config.decode.keep_ratio, static_cast<double>(config.model.layers));
}

using memory::KvForm;

std::int64_t ForwardPass::verifications() const {
  return std::count_if(entries.begin(), entries.end(), [](const StepEntry& e) { return e.work == Work::verify; });
}

engine::Duration ForwardPass::computing() const {
  return std::max(engine::from_seconds(time.total_s), engine::Duration{1});
}

machine::Step ForwardPass::step(models::StepTimes& times) const {
  return {computing(), &times.account(work), true, time.total_s > 0 ? time.hbm_bound_s / time.total_s : 0,
          time.within_domain};
}

std::string ForwardPass::name() const {
  static constexpr std::array<const char*, 6> kNames{"decode", "draft", "verify", "prefill", "catch up", "decompress"};
  std::array<bool, kNames.size()> there{};
  there[static_cast<std::size_t>(Work::prefill)] = assembles;
  for (const StepEntry& e : entries) there.at(static_cast<std::size_t>(e.work)) = true;
  std::string name;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (there.at(i)) name += (name.empty() ? "" : "+") + std::string(kNames.at(i));
  }
  return name.empty() ? "score" : name;
}

StepParts::StepParts(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode,
                     const KvGeometry& geometry, const models::StepTimer& timer, KvForm drafts_read)
    : config_(config),
      group_(group),
      geometry_(geometry),
      timer_(timer),
      one_token_each_(!decode.drafter && !decode.low_bit_copy && !decode.fetches()),
      decoding_reads_(decode.lossless() ? KvForm::full : KvForm::compressed),
      drafts_read_(drafts_read),
      attention_time_factor_(attention_time_factor(config, group, config.decode.compressor)) {}

std::optional<StepParts::Growth> StepParts::growth(const Request& r, Work work) const {
  if (!one_token_each_) return std::nullopt;
  if (work == Work::draft || decoding_reads_ == KvForm::full) return Growth{geometry_.full_read(1), 0};
  const auto bytes = geometry_.compressed_read_growth(r.prompt, r.generated, attention_time_factor_);
  return bytes ? std::optional(Growth{*bytes, geometry_.compressed().quantised_growth()}) : std::nullopt;
}

void StepParts::add(const Request& r, const StepPart& part, models::StepWork& work) const {
  switch (part.work) {
    case Work::decode:
      add_token(r, decoding_reads_, 0, verified(part.proposed), work);
      break;
    case Work::draft:
      add_token(r, drafts_read_, r.round.drafted, part.proposed, work);
      break;
    case Work::prefill:
      add_chunk(work, geometry_, r.prefill.done - r.prefix->dropped, part.tokens,
                r.prefill.done + part.tokens == r.prefill.target);
      break;
    case Work::verify:
      add_verification(work, geometry_, r.context() - r.round.tail, r.round.tail + r.round.drafted);
      break;
    case Work::catch_up:  // its generated tokens anew over the exact prompt; logits of the drafted ones alone
      add_verification(work, geometry_, r.prompt, r.generated + r.round.drafted);
      work.logit_tokens -= static_cast<double>(r.generated);
      break;
    case Work::decompress:
      work.extra_gpu_s += decompression_s(config_, group_, geometry_, timer_, r.prompt);
      break;
  }
}

std::int64_t StepParts::verified(std::int64_t proposed) const {
  return config_.decode.drafter ? config_.decode.drafter->verified(proposed) : proposed;
}

void StepParts::add_token(const Request& r, KvForm reads, std::int64_t drafted, std::int64_t proposed,
                          models::StepWork& work) const {
  if (reads == KvForm::compressed) {
    add_draft(work, geometry_, r.prompt, r.generated, drafted, proposed, attention_time_factor_);
  } else if (proposed > 0) {
    add_verification(work, geometry_, r.attended() + drafted, proposed);
  } else {
    add_decode(work, geometry_, r.attended() + drafted);
  }
}

void StepParts::add_compression(std::int64_t tokens, models::StepWork& work) const {
  work.extra_gpu_s += compression_s(config_, group_, geometry_, timer_, tokens);
}

}  // namespace kvsim::serving
