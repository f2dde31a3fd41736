#include "models/kernels/operators/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kvsim::models {

NumberFormat kv_format(const LlmSpec& model) {
  return model.kv_bytes_per_element <= 1.0 ? NumberFormat::fp8 : NumberFormat::bf16;
}

namespace {

bool is_latent(const LlmSpec& model) {
  return model.attention == AttentionKind::mla;
}

std::pair<const std::vector<DecodeForm>*, const std::vector<TiledForm>*> attention_forms(const KernelProfile& profile,
                                                                                         const LlmSpec& model) {
  const FittedForms& f = profile.fitted;
  if (is_latent(model)) return {&f.latent_decode_attention, &f.latent_prefill_attention};
  return {&f.decode_attention, &f.prefill_attention};
}

HeadShape decode_shape(const LlmSpec& model, double gpus) {
  const auto heads = static_cast<double>(model.heads) / gpus;
  if (is_latent(model)) return absorbed_shape(model.mla, heads);
  const double kv_share = model.kv_copies(static_cast<std::int64_t>(gpus)) / gpus;
  return {heads, static_cast<double>(model.kv_heads) * kv_share, static_cast<double>(model.head_dim)};
}

}  // namespace

bool covers_attention(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, std::string& why) {
  const NumberFormat kv = kv_format(model);
  const auto [decode, prefill] = attention_forms(profile, model);
  if (decode->empty() || prefill->empty()) {
    why = fmt::format("the profile has no fitted forms{}", is_latent(model) ? " for a latent" : "");
  } else if (model.kv_bytes_per_element != 1.0 && model.kv_bytes_per_element != 2.0) {
    why = "the KV cache is neither bf16 nor fp8";
  } else if (form_for(*decode, &DecodeForm::kv, kv) == nullptr || form_for(*prefill, &TiledForm::kv, kv) == nullptr) {
    why = fmt::format("the profile has no fitted forms for a {} KV cache{}", word(kv),
                      is_latent(model) ? " of a latent" : "");
  } else if (machine.multiprocessors <= 0) {
    why = "the GPU's multiprocessors are not given";
  } else {
    return true;
  }
  return false;
}

AttentionTimes::AttentionTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, double gpus,
                               CurveGrid grid)
    : decode_(profile, model, *form_for(*attention_forms(profile, model).first, &DecodeForm::kv, kv_format(model)),
              decode_shape(model, gpus), machine, gpus),
      prefill_(*form_for(*attention_forms(profile, model).second, &TiledForm::kv, kv_format(model))),
      launches_(profile.launches),
      further_query_share_(profile.further_query_share.value) {
  const NumberFormat kv = kv_format(model);
  if (is_latent(model)) {
    latent_.emplace(profile, model, decode_, prefill_, gpus, grid);
    return;
  }
  prefill_.correction = correction_for(prefill_.correction, decode_.shape());
  if (const VerifyForm* verify = form_for(profile.fitted.verify_attention, &VerifyForm::kv, kv)) verify_ = *verify;
  if (const TiledForm* mixed = form_for(profile.fitted.mixed_attention, &TiledForm::kv, kv)) {
    mixed_ = *mixed;
    mixed_->correction = correction_for(mixed_->correction, decode_.shape());
  }
}

std::string AttentionTimes::operation(const StepWork& work) const {
  const bool chunks_alone = work.prefill.query_tokens > 0 && work.prefill.query_tokens == work.tokens();
  const bool tiles = launches_.of(work) == Launch::prefill || chunks_alone;
  if (latent_) return tiles ? "latent_prefill_attention" : "latent_decode_attention";
  if (one_launch(work)) return "mixed_attention";
  if (tiles) return "prefill_attention";
  const bool several = work.verify.kv_bytes > work.decode.kv_bytes || work.decode.queries_each() > 1;
  return several && verify_ ? "verify_attention" : "decode_attention";
}

FormTime AttentionTimes::prefill(const StepWork& work) const {
  TiledCall call;
  work.each_chunk(
      [&](const PrefillChunk& c) { prefill_.add_chunk(call, c.tokens, c.before, decode_.shape(), c.alike); });
  for (const AttentionWork* w : {&work.verify, &work.decode}) {
    if (!tiled(*w)) continue;
    const double queries = w->queries_each();
    const double before = std::max(w->pairs / w->query_tokens - (queries + 1) / 2, 0.0);
    prefill_.add_chunk(call, queries, before, decode_.shape(), w->number_of_requests());
  }
  return prefill_.time(call, decode_.shape(), decode_.machine());
}

FormTime AttentionTimes::mixed(const StepWork& work) const {
  TiledCall call;
  work.each_chunk(
      [&](const PrefillChunk& c) { mixed_->add_chunk(call, c.tokens, c.before, decode_.shape(), c.alike); });
  for (const AttentionWork* w : {&work.verify, &work.decode}) {
    if (w->query_tokens <= 0) continue;
    const double requests = w->number_of_requests();
    mixed_->add_decodes(call, requests, w->query_tokens / requests, w->pairs / w->query_tokens, w->longest_kv,
                        decode_.kv_per_layer(w == &work.decode ? w->bytes_read(further_query_share_) : w->kv_bytes),
                        decode_.shape());
  }
  return mixed_->time(call, decode_.shape(), decode_.machine());
}

SplitTime AttentionTimes::time(const StepWork& work, double decode_flops_s, double verify_flops_s,
                               KnownLengths* known) const {
  SplitTime sum;
  const auto add = [&](const FormTime& t) {
    sum.seconds += t.seconds;
    if (t.memory_bound) sum.memory_bound_s += t.seconds;
  };
  const bool decode_tiled = tiled(work.decode), verify_tiled = tiled(work.verify);
  const auto add_requests = [&] {
    if (work.decode.query_tokens > 0 && !decode_tiled) {
      if (by_verify_form(work.decode)) {
        add(decode_.several(*verify_, work.decode, known));
      } else {
        const FormTime t = decode_.time(work.decode, read_bytes(work.decode), known);
        add(work.decode.queries_each() > 1 ? decode_.at_least(t, decode_flops_s) : t);
      }
    }
    if (work.verify.query_tokens > 0 && !verify_tiled) {
      add(by_verify_form(work.verify)
              ? decode_.several(*verify_, work.verify, known)
              : decode_.at_least(decode_.time(work.verify, work.verify.kv_bytes, known), verify_flops_s));
    }
  };
  if (latent_) {
    sum = latent_->time(work, known);
  } else if (one_launch(work)) {
    // Chunks in it make it no shorter than the requests' own launches would be without them.
    if (work.prefill.query_tokens > 0) add_requests();
    const FormTime together = mixed(work);
    if (together.seconds >= sum.seconds) {
      sum = {};
      add(together);
    }
  } else {
    add_requests();
    if (work.prefill.query_tokens > 0 || decode_tiled || verify_tiled) add(prefill(work));
  }
  return {sum.seconds * decode_.layers(), sum.memory_bound_s * decode_.layers()};
}

bool AttentionTimes::within_domain(const StepWork& work) const {
  const bool shared = one_launch(work);
  const bool decode_tiled = shared || tiled(work.decode), verify_tiled = shared || tiled(work.verify);
  const double streamed = decode_.kv_per_layer((decode_tiled ? 0 : work.decode.bytes_read(further_query_share_)) +
                                               (verify_tiled ? 0 : work.verify.kv_bytes));
  if (decode_.form().valid_to > 0 && streamed > decode_.form().valid_to) return false;
  for (const auto& [w, in_tiles] : {std::pair{&work.decode, decode_tiled}, {&work.verify, verify_tiled}}) {
    if (!in_tiles && by_verify_form(*w) && verify_->valid_to > 0 && w->queries_each() > verify_->valid_to) return false;
  }
  const std::optional<double> most = decode_.most_requests();
  if (!decode_tiled && most && work.decode.number_of_requests() > *most) return false;
  double longest = 0;
  work.each_chunk([&](const PrefillChunk& c) {
    if (c.unattended <= 0) longest = std::max(longest, c.before + c.tokens);
  });
  if (decode_tiled) longest = std::max(longest, work.decode.longest_kv);
  if (verify_tiled) longest = std::max(longest, work.verify.longest_kv);
  const double valid_to = shared ? mixed_->valid_to : prefill_.valid_to;
  return valid_to <= 0 || longest <= valid_to;
}

AttentionLayers::AttentionLayers(const StepSetup& s, const LlmSpec& part)
    : kv_share_(part.kv_copies(s.parallel.tensor) / s.gpus),
      flops_per_pair_(part.attention_flops_per_pair()),
      t0_s_(s.profile.attention_t0_s.value * static_cast<double>(part.attention_layers())),
      further_query_share_(s.profile.further_query_share.value),
      roofline_(Roofline::of_attention(s)) {
  std::string why;
  if (covers_attention(s.profile, s.model, s.machine, why)) times_.emplace(s.profile, part, s.machine, s.gpus, s.grid);
}

void AttentionLayers::add(const RankStep& step, const StepWork& work, KnownLengths* known, StepTime& time) const {
  if (times_) {
    const double decode_flops_s = work.decode.queries_each() > 1 ? flops_s(step, work.decode) : 0;
    const SplitTime t = times_->time(work, decode_flops_s, flops_s(step, work.verify), known);
    time.attention_s += t.seconds;
    time.hbm_bound_s += t.memory_bound_s;
    time.within_domain = time.within_domain && times_->within_domain(work);
    return;
  }
  add_roofline(step, work.decode, decode_bytes(work), time);
  add_roofline(step, work.verify, work.verify.kv_bytes, time);
  add_roofline(step, work.prefill, work.prefill.kv_bytes, time);
}

void AttentionLayers::add_roofline(const RankStep& step, const AttentionWork& work, double read_bytes,
                                   StepTime& time) const {
  if (work.query_tokens <= 0) return;
  const SplitTime t = roofline_.time(load(step, work, read_bytes), work.pairs / work.query_tokens);
  time.attention_s += t0_s_ + t.seconds;
  time.hbm_bound_s += t.memory_bound_s;
}

}  // namespace kvsim::models
