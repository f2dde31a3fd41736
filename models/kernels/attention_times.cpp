#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "models/kernels/operator_times.h"

namespace kvsim::models {
namespace {

/// Index i of the interval [axis[i], axis[i + 1]] that holds x, at an end the outermost.
std::size_t interval(const std::vector<double>& axis, double x) {
  std::size_t i = 0;
  while (i + 2 < axis.size() && x > axis[i + 1]) ++i;
  return i;
}

}  // namespace

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

/// Of one layer's up projection over tokens whose latents are cached already.
TokenCurve expansion_curve(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, double gpus,
                           CurveGrid grid) {
  const auto heads = static_cast<double>(model.heads) / gpus;
  const LinearShape shape{heads * static_cast<double>(model.mla.qk_nope_head_dim + model.mla.v_head_dim),
                          static_cast<double>(model.mla.kv_lora_rank), 1, LinearShape::Part::attention};
  const LinearForm* form = form_for(profile.fitted.linear, &LinearForm::weights, model.attention_format());
  const double flops_per_s = machine.flops_per_s(model.attention_format());
  return TokenCurve(
      [&](double tokens) {
        if (form != nullptr) return SplitTime{linear_time(profile, *form, shape, tokens, machine).seconds, 0};
        const double flops = 2 * tokens * shape.n * shape.k;
        return SplitTime{flops / (profile.linear_compute_efficiency.at(tokens) * flops_per_s), 0};
      },
      grid);
}

}  // namespace

bool AttentionTimes::covers(const KernelProfile& profile, const LlmSpec& model, const Machine& machine,
                            std::string& why) {
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
    : machine_(machine),
      measured_(profile.machine->peaks()),
      layers_(static_cast<double>(model.attention_layers())),
      kv_share_(model.kv_copies(static_cast<std::int64_t>(gpus)) / gpus),
      kv_bytes_per_token_(static_cast<double>(model.kv_bytes_per_token()) * kv_share_ / layers_),
      model_token_bytes_(static_cast<double>(model.kv_bytes_per_token())),
      further_query_share_(profile.further_query_share.value),
      launches_(profile.launches) {
  const NumberFormat kv = kv_format(model);
  const auto heads = static_cast<double>(model.heads) / gpus;
  latent_ = is_latent(model);
  if (latent_) {
    shape_ = absorbed_shape(model.mla, heads);
    chunk_shape_ = expanded_shape(model.mla, heads);
    expansion_ = expansion_curve(profile, model, machine, gpus, grid);
  } else {
    shape_ =
        chunk_shape_ = {heads, static_cast<double>(model.kv_heads) * kv_share_, static_cast<double>(model.head_dim)};
  }
  const auto [decode_forms, prefill_forms] = attention_forms(profile, model);
  decode_ = *form_for(*decode_forms, &DecodeForm::kv, kv);
  if (!decode_.correction.empty()) {
    constexpr std::size_t kHeadDimAxis = 2;
    const std::vector<double>& dims = decode_.correction.axes[kHeadDimAxis];
    head_dims_ = {dims.front(), dims.back()};
  }
  const auto of_heads = [](const Correction& c, const HeadShape& s) {
    return c.with_last({s.head_dim, s.heads / s.kv_heads});
  };
  plane_ = CorrectionPlane(of_heads(decode_.correction, shape_), shape_.kv_heads);
  constexpr std::size_t kLengthAxis = 1;
  if (!plane_.empty()) plane_lengths_ = decode_.correction.axes[kLengthAxis];
  decode_.correction = {};
  prefill_ = *form_for(*prefill_forms, &TiledForm::kv, kv);
  prefill_.correction = of_heads(prefill_.correction, chunk_shape_);
  if (latent_) return;
  if (const VerifyForm* verify = form_for(profile.fitted.verify_attention, &VerifyForm::kv, kv)) verify_ = *verify;
  if (const TiledForm* mixed = form_for(profile.fitted.mixed_attention, &TiledForm::kv, kv)) {
    mixed_ = *mixed;
    mixed_.correction = of_heads(mixed_.correction, shape_);
    has_mixed_ = true;
  }
  for (const DecodeTable& table : profile.tables.decode_attention) {
    if (table.kv != kv || table.heads != shape_.heads || table.kv_heads != shape_.kv_heads ||
        table.head_dim != shape_.head_dim) {
      continue;
    }
    has_grid_ = true;
    grid_warm_ = table.warm;
    as_measured_ = machine_ == measured_ && (!table.warm || decode_.hits_in_serving);
    grid_ = {};
    for (const double length : table.kv_lengths) grid_.log_kv.push_back(std::log(length));
    for (const DecodeRow& row : table.rows) {
      grid_.log_requests.push_back(std::log(row.requests));
      for (const double s : row.seconds) grid_.log_s.push_back(std::log(s));
    }
    grid_.kv_from = table.kv_lengths.front();
    grid_.kv_to = table.kv_lengths.back();
    grid_.requests_from = table.rows.front().requests;
    grid_.requests_to = table.rows.back().requests;
  }
}

double AttentionTimes::Grid::at(double requests, double kv) const {
  const double x = std::log(kv);
  const double y = std::log(requests);
  const std::size_t i = interval(log_kv, x);
  const std::size_t j = interval(log_requests, y);
  const double along = (x - log_kv[i]) / (log_kv[i + 1] - log_kv[i]);
  const double across = (y - log_requests[j]) / (log_requests[j + 1] - log_requests[j]);
  const double* low = &log_s[j * log_kv.size() + i];
  const double* high = low + log_kv.size();
  return std::exp((1 - across) * (low[0] + along * (low[1] - low[0])) +
                  across * (high[0] + along * (high[1] - high[0])));
}

FormTime AttentionTimes::at_least(FormTime streaming, double flops_s) const {
  const double arithmetic_s = decode_.t0_s + flops_s / layers_;
  return arithmetic_s > streaming.seconds ? FormTime{arithmetic_s, false} : streaming;
}

FormTime AttentionTimes::several(const AttentionWork& work, KnownLengths* known) const {
  const double requests = work.number_of_requests();
  DecodeCall call{
      requests,        shape_.heads,    kv_per_layer(work.kv_bytes), work.pairs / work.query_tokens, work.longest_kv,
      shape_.kv_heads, shape_.head_dim, work.queries_each()};
  DecodeCall least = call;
  least.kv_bytes = requests * kv_bytes_per_token_;
  least.mean_kv = 1;
  least.longest_kv = 0;
  least.queries = 1;
  return verify_->time(call, decode(work, work.kv_bytes, known).seconds, decode_time(least, machine_, false).seconds,
                       machine_);
}

FormTime AttentionTimes::decode_time(const DecodeCall& call, const Machine& machine, bool warm) const {
  FormTime t = decode_.time(call, machine, warm);
  if (plane_.empty() || !machine.as_measured) return t;
  const double walks = call.requests * call.kv_heads, kv = std::max(call.mean_kv, 1.0);
  const double factor = plane_.at(walks, kv);
  t.seconds *= factor;
  for (const double shorter : plane_lengths_) {
    if (shorter >= kv) break;
    const double of_shorter = plane_.at(walks, shorter);
    if (of_shorter <= factor) continue;  // and the form rises
    DecodeCall to = call;
    to.mean_kv = shorter;
    to.kv_bytes *= shorter / kv;
    to.longest_kv *= shorter / kv;
    t.seconds = std::max(t.seconds, of_shorter * decode_.time(to, machine, warm).seconds);
  }
  return t;
}

double AttentionTimes::between_lengths(double requests, double mean_kv, KnownLengths* known) const {
  const auto at = [&](double kv) {
    const DecodeCall call{requests,        shape_.heads,   requests * kv * kv_bytes_per_token_, kv, 0,
                          shape_.kv_heads, shape_.head_dim};
    return decode_time(call, machine_, false).seconds;
  };
  const double cell = std::floor(mean_kv / kLengthStep);
  KnownLengths::Cell once;
  KnownLengths::Cell& c = known ? known->of(requests, cell) : once;
  if (c.requests != requests || c.length != cell) {
    c = {requests, cell, at(std::max(cell * kLengthStep, 1.0)), at((cell + 1) * kLengthStep)};
  }
  const double from = std::max(cell * kLengthStep, 1.0);
  return c.from_s + (mean_kv - from) / ((cell + 1) * kLengthStep - from) * (c.to_s - c.from_s);
}

FormTime AttentionTimes::decode(const AttentionWork& work, double read_bytes, KnownLengths* known) const {
  const double requests = work.number_of_requests();
  if (reads_full_kv(work)) return {between_lengths(requests, work.pairs / work.query_tokens, known), true};
  const double kv_bytes = kv_per_layer(read_bytes);
  DecodeCall call{
      requests,        shape_.heads,    kv_bytes,       work.query_tokens > 0 ? work.pairs / work.query_tokens : 0,
      work.longest_kv, shape_.kv_heads, shape_.head_dim};
  if (!has_grid_ || kv_bytes <= 0) return decode_time(call, machine_, false);
  // The table at the nearest measured point, carried from there by the form: ratio 1 inside, on the measured machine.
  const double tokens = kv_bytes / requests / kv_bytes_per_token_;
  const double kv = std::clamp(tokens, grid_.kv_from, grid_.kv_to);
  const double n = std::clamp(requests, grid_.requests_from, grid_.requests_to);
  const double uneven_s = decode_.uneven_s(call, machine_);
  FormTime t{grid_.at(n, kv) + uneven_s, true};
  if (as_measured_ && kv == tokens && n == requests) return t;
  call.longest_kv = 0;
  const DecodeCall at{n, shape_.heads, n * kv * kv_bytes_per_token_, kv, 0, shape_.kv_heads, shape_.head_dim};
  const double carried = decode_time(call, machine_, false).seconds / decode_time(at, measured_, grid_warm_).seconds;
  t.seconds = grid_.at(n, kv) * carried + uneven_s;
  return t;
}

template <class Each>
void AttentionTimes::each_chunk(const StepWork& work, Each&& each) const {
  if (!work.chunks.empty()) {
    for (const PrefillChunk& c : work.chunks) each(c);
  } else if (work.prefill.query_tokens > 0) {
    const double n = work.prefill.query_tokens;
    each(PrefillChunk{.tokens = n, .before = std::max(work.prefill.pairs / n - (n + 1) / 2, 0.0)});
  }
}

FormTime AttentionTimes::prefill(const StepWork& work) const {
  TiledCall call;
  each_chunk(work, [&](const PrefillChunk& c) { prefill_.add_chunk(call, c.tokens, c.before, shape_, c.alike); });
  for (const AttentionWork* w : {&work.verify, &work.decode}) {
    if (!tiled(*w)) continue;
    const double queries = w->queries_each();
    const double before = std::max(w->pairs / w->query_tokens - (queries + 1) / 2, 0.0);
    prefill_.add_chunk(call, queries, before, shape_, w->number_of_requests());
  }
  return prefill_.time(call, shape_, machine_);
}

FormTime AttentionTimes::mixed(const StepWork& work) const {
  TiledCall call;
  each_chunk(work, [&](const PrefillChunk& c) { mixed_.add_chunk(call, c.tokens, c.before, shape_, c.alike); });
  for (const AttentionWork* w : {&work.verify, &work.decode}) {
    if (w->query_tokens <= 0) continue;
    const double requests = w->number_of_requests();
    mixed_.add_decodes(call, requests, w->query_tokens / requests, w->pairs / w->query_tokens, w->longest_kv,
                       kv_per_layer(w == &work.decode ? w->bytes_read(further_query_share_) : w->kv_bytes), shape_);
  }
  return mixed_.time(call, shape_, machine_);
}

DecodeCall AttentionTimes::absorbed_call(const AttentionWork& work) const {
  const double requests = work.number_of_requests();
  return {requests,        shape_.heads,    kv_per_layer(work.kv_bytes), work.pairs / work.query_tokens, 0,
          shape_.kv_heads, shape_.head_dim, work.query_tokens / requests};
}

double AttentionTimes::absorbed_s(const AttentionWork& work) const {
  return decode_.time(absorbed_call(work), machine_, false).seconds;
}

double AttentionTimes::expanded_s(const PrefillChunk& chunk) const {
  TiledCall call;
  prefill_.add_chunk(call, chunk.tokens, chunk.before, chunk_shape_);
  return prefill_.time(call, chunk_shape_, machine_).seconds +
         (chunk.before > 0 ? expansion_.at(chunk.before).seconds : 0);
}

bool AttentionTimes::near_switch(const PrefillChunk& c) const {
  constexpr double kFar = 4;  // by then expanding has taken longer, whatever is cached
  return c.tokens > decode_.chunks_up_to && c.tokens <= kFar * decode_.chunks_up_to;
}

/// The part of a chunk that is timed as absorbed, as work of one request; none where the chunk is expanded. Engines
/// absorb chunks of at most `chunks_up_to` tokens and expand longer ones. One that would be done sooner so than
/// `chunks_up_to` tokens is timed as these. In layers that select tokens a chunk is absorbed where some are left out,
/// and elsewhere where that is faster: no times of either are published.
std::optional<AttentionWork> AttentionTimes::absorbed_part(const PrefillChunk& c, const Margins& margins) const {
  const auto first = [&](double tokens) {
    AttentionWork work{tokens, (c.before + tokens) * model_token_bytes_, tokens * (c.before + (tokens + 1) / 2)};
    work.requests = 1;
    return work;
  };
  if (c.unattended > 0) {
    AttentionWork work = first(c.tokens);
    work.kv_bytes = std::max(c.before + c.tokens - c.unread, 0.0) * model_token_bytes_;
    work.pairs -= c.unattended;
    return work;
  }
  if (c.tokens <= decode_.chunks_up_to) return first(c.tokens);
  const bool near = near_switch(c);
  if (!near && !c.selects) return std::nullopt;
  const double expanded = expanded_s(c);
  if (near && absorbed_s(first(decode_.chunks_up_to)) > margins.beyond * expanded) return first(decode_.chunks_up_to);
  if (c.selects && absorbed_s(first(c.tokens)) < margins.selecting * expanded) return first(c.tokens);
  return std::nullopt;
}

AttentionTimes::ChunkTimes AttentionTimes::chunk_times(const StepWork& work, const Margins& margins) const {
  AttentionWork absorbed, longest, deepest;  // all; of most query tokens; of most pairs
  TiledCall expanded;
  double before = 0;
  each_chunk(work, [&](const PrefillChunk& c) {
    if (const auto part = absorbed_part(c, margins)) {
      absorbed.add(*part, c.alike);
      if (part->query_tokens > longest.query_tokens) longest = *part;
      if (part->pairs > deepest.pairs) deepest = *part;
    } else {
      prefill_.add_chunk(expanded, c.tokens, c.before, chunk_shape_, c.alike);
      before += c.alike * c.before;
    }
  });
  ChunkTimes times;
  if (absorbed.query_tokens > 0) {
    DecodeCall call = absorbed_call(absorbed);
    const double queries = call.queries;
    if (queries != deepest.query_tokens) {  // as many pairs, in requests like the one that has most of them
      call.queries = deepest.query_tokens;
      call.mean_kv = absorbed.pairs / (absorbed.requests * call.queries);
    }
    times.absorbed = decode_.time(call, machine_, false);
    times.absorbed.seconds +=
        (queries - call.queries) * absorbed.requests * (decode_.per_head_s * shape_.heads + decode_.per_token_s);
  }
  if (absorbed.requests > 1) {  // timed as if alike, which could be shorter than one of them
    times.absorbed.seconds = std::max({times.absorbed.seconds, absorbed_s(longest), absorbed_s(deepest)});
  }
  if (expanded.prompts > 0) times.expanded = prefill_.time(expanded, chunk_shape_, machine_);
  if (before > 0) times.expansion_s = expansion_.at(before).seconds;
  return times;
}

/// Beside others a chunk takes less than alone, absorbed or expanded, so that what is faster alone need not be so in
/// the step: whatever is not clearly so is tried as both. Of what an engine does by length the longest time counts, of
/// what it may choose the shortest.
AttentionTimes::ChunkTimes AttentionTimes::chunk_times(const StepWork& work) const {
  bool near = false, selects = false;
  each_chunk(work, [&](const PrefillChunk& c) {
    near = near || near_switch(c);
    selects = selects || c.selects;
  });
  const auto longest = [&](double selecting) {
    ChunkTimes times = chunk_times(work, {1, selecting});
    for (const double beyond : {0.9, 0.8, 0.7}) {
      if (!near) break;
      const ChunkTimes other = chunk_times(work, {beyond, selecting});
      if (other.seconds() > times.seconds()) times = other;
    }
    return times;
  };
  ChunkTimes times = longest(1);
  if (!selects) return times;
  for (const double selecting : {0.0, std::numeric_limits<double>::infinity()}) {
    const ChunkTimes other = longest(selecting);
    if (other.seconds() < times.seconds()) times = other;
  }
  return times;
}

/// Decoding and verifying requests and short chunks are absorbed; other chunks are expanded, behind the expansion of
/// what is cached of them already (the up projection of their own tokens is a linear layer of the step). Fixed times
/// are those of all that surrounds attention in a block, which a step runs once for all its tokens: the longest one
/// counts, an assumption.
template <class Add>
void AttentionTimes::add_latent(const StepWork& work, KnownLengths* known, Add&& add) const {
  double surround_s = 0;
  const auto launch = [&](FormTime t, double t0_s) {
    t.seconds -= std::min(t0_s, surround_s);
    surround_s = std::max(t0_s, surround_s);
    add(t);
  };
  const auto absorb = [&](const AttentionWork& w) {
    if (w.query_tokens > 0) launch(decode_.time(absorbed_call(w), machine_, false), decode_.t0_s);
  };
  if (reads_full_kv(work.decode)) {
    const double mean_kv = work.decode.pairs / work.decode.query_tokens;
    launch({between_lengths(work.decode.number_of_requests(), mean_kv, known), true}, decode_.t0_s);
  } else {
    absorb(work.decode);
  }
  absorb(work.verify);
  if (work.chunks.empty() && work.prefill.query_tokens <= 0) return;
  const ChunkTimes chunks = chunk_times(work);
  if (chunks.absorbed.seconds > 0) launch(chunks.absorbed, decode_.t0_s);
  if (chunks.expanded.seconds > 0) launch(chunks.expanded, prefill_.t0_s);
  if (chunks.expansion_s > 0) add({chunks.expansion_s, false});
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
        add(several(work.decode, known));
      } else {
        const FormTime t = decode(work.decode, work.decode.bytes_read(further_query_share_), known);
        add(work.decode.queries_each() > 1 ? at_least(t, decode_flops_s) : t);
      }
    }
    if (work.verify.query_tokens > 0 && !verify_tiled) {
      add(by_verify_form(work.verify) ? several(work.verify, known)
                                      : at_least(decode(work.verify, work.verify.kv_bytes, known), verify_flops_s));
    }
  };
  if (latent_) {
    add_latent(work, known, add);
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
  return {sum.seconds * layers_, sum.memory_bound_s * layers_};
}

bool AttentionTimes::within_domain(const StepWork& work) const {
  const bool shared = one_launch(work);
  const bool decode_tiled = shared || tiled(work.decode), verify_tiled = shared || tiled(work.verify);
  const double streamed = kv_per_layer((decode_tiled ? 0 : work.decode.bytes_read(further_query_share_)) +
                                       (verify_tiled ? 0 : work.verify.kv_bytes));
  if (decode_.valid_to > 0 && streamed > decode_.valid_to) return false;
  for (const auto& [w, in_tiles] : {std::pair{&work.decode, decode_tiled}, {&work.verify, verify_tiled}}) {
    if (!in_tiles && by_verify_form(*w) && verify_->valid_to > 0 && w->queries_each() > verify_->valid_to) return false;
  }
  if (!decode_tiled && has_grid_ && work.decode.number_of_requests() > grid_.requests_to) return false;
  double longest = 0;
  each_chunk(work, [&](const PrefillChunk& c) {
    if (c.unattended <= 0) longest = std::max(longest, c.before + c.tokens);
  });
  if (decode_tiled) longest = std::max(longest, work.decode.longest_kv);
  if (verify_tiled) longest = std::max(longest, work.verify.longest_kv);
  const double valid_to = shared ? mixed_.valid_to : prefill_.valid_to;
  return valid_to <= 0 || longest <= valid_to;
}

}  // namespace kvsim::models
