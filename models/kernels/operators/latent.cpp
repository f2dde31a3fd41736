#include "models/kernels/operators/latent.h"

#include <algorithm>
#include <limits>

#include "models/kernels/linear_shapes.h"

namespace kvsim::models {
namespace {

/// The curve is of one layer's up projection over tokens whose latents are cached already.
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

LatentAttention::LatentAttention(const KernelProfile& profile, const LlmSpec& model, const DecodeLaunch& absorbed,
                                 const TiledForm& expanded, double gpus, CurveGrid grid)
    : absorbed_(absorbed),
      form_(expanded),
      chunk_shape_(expanded_shape(model.mla, static_cast<double>(model.heads) / gpus)),
      expansion_(expansion_curve(profile, model, absorbed.machine(), gpus, grid)) {
  form_.correction = correction_for(form_.correction, chunk_shape_);
}

DecodeCall LatentAttention::absorbed_call(const AttentionWork& work) const {
  const double requests = work.number_of_requests();
  const HeadShape& shape = absorbed_.shape();
  return {requests,       shape.heads,    absorbed_.kv_per_layer(work.kv_bytes), work.pairs / work.query_tokens, 0,
          shape.kv_heads, shape.head_dim, work.query_tokens / requests};
}

double LatentAttention::absorbed_s(const AttentionWork& work) const {
  return absorbed_.form().time(absorbed_call(work), absorbed_.machine(), false).seconds;
}

double LatentAttention::expanded_s(const PrefillChunk& chunk) const {
  TiledCall call;
  form_.add_chunk(call, chunk.tokens, chunk.before, chunk_shape_);
  return form_.time(call, chunk_shape_, absorbed_.machine()).seconds +
         (chunk.before > 0 ? expansion_.at(chunk.before).seconds : 0);
}

bool LatentAttention::near_switch(const PrefillChunk& c) const {
  constexpr double kFar = 4;  // by then expanding has taken longer, whatever is cached
  return c.tokens > absorbed_.form().chunks_up_to && c.tokens <= kFar * absorbed_.form().chunks_up_to;
}

/// The part of a chunk that is timed as absorbed, as work of one request; none where the chunk is expanded. Engines
/// absorb chunks of at most `chunks_up_to` tokens and expand longer ones. One that would be done sooner so than
/// `chunks_up_to` tokens is timed as these. In layers that select tokens a chunk is absorbed where some are left out,
/// and elsewhere where that is faster: no times of either are published.
std::optional<AttentionWork> LatentAttention::absorbed_part(const PrefillChunk& c, const Margins& margins) const {
  const auto first = [&](double tokens) {
    AttentionWork work{tokens, (c.before + tokens) * absorbed_.token_bytes(), tokens * (c.before + (tokens + 1) / 2)};
    work.requests = 1;
    return work;
  };
  if (c.unattended > 0) {
    AttentionWork work = first(c.tokens);
    work.kv_bytes = std::max(c.before + c.tokens - c.unread, 0.0) * absorbed_.token_bytes();
    work.pairs -= c.unattended;
    return work;
  }
  if (c.tokens <= absorbed_.form().chunks_up_to) return first(c.tokens);
  const bool near = near_switch(c);
  if (!near && !c.selects) return std::nullopt;
  const double expanded = expanded_s(c);
  if (near && absorbed_s(first(absorbed_.form().chunks_up_to)) > margins.beyond * expanded)
    return first(absorbed_.form().chunks_up_to);
  if (c.selects && absorbed_s(first(c.tokens)) < margins.selecting * expanded) return first(c.tokens);
  return std::nullopt;
}

LatentAttention::ChunkTimes LatentAttention::chunk_times(const StepWork& work, const Margins& margins) const {
  AttentionWork absorbed, longest, deepest;  // all; of most query tokens; of most pairs
  TiledCall expanded;
  double before = 0;
  work.each_chunk([&](const PrefillChunk& c) {
    if (const auto part = absorbed_part(c, margins)) {
      absorbed.add(*part, c.alike);
      if (part->query_tokens > longest.query_tokens) longest = *part;
      if (part->pairs > deepest.pairs) deepest = *part;
    } else {
      form_.add_chunk(expanded, c.tokens, c.before, chunk_shape_, c.alike);
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
    times.absorbed = absorbed_.form().time(call, absorbed_.machine(), false);
    times.absorbed.seconds += (queries - call.queries) * absorbed.requests *
                              (absorbed_.form().per_head_s * absorbed_.shape().heads + absorbed_.form().per_token_s);
  }
  if (absorbed.requests > 1) {  // timed as if alike, which could be shorter than one of them
    times.absorbed.seconds = std::max({times.absorbed.seconds, absorbed_s(longest), absorbed_s(deepest)});
  }
  if (expanded.prompts > 0) times.expanded = form_.time(expanded, chunk_shape_, absorbed_.machine());
  if (before > 0) times.expansion_s = expansion_.at(before).seconds;
  return times;
}

/// Beside others a chunk takes less than alone, absorbed or expanded, so that what is faster alone need not be so in
/// the step: whatever is not clearly so is tried as both. Of what an engine does by length the longest time counts, of
/// what it may choose the shortest.
LatentAttention::ChunkTimes LatentAttention::chunk_times(const StepWork& work) const {
  bool near = false, selects = false;
  work.each_chunk([&](const PrefillChunk& c) {
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
SplitTime LatentAttention::time(const StepWork& work, KnownLengths* known) const {
  SplitTime sum;
  const auto add = [&sum](const FormTime& t) {
    sum.seconds += t.seconds;
    if (t.memory_bound) sum.memory_bound_s += t.seconds;
  };
  double surround_s = 0;
  const auto launch = [&](FormTime t, double t0_s) {
    t.seconds -= std::min(t0_s, surround_s);
    surround_s = std::max(t0_s, surround_s);
    add(t);
  };
  const auto absorb = [&](const AttentionWork& w) {
    if (w.query_tokens > 0)
      launch(absorbed_.form().time(absorbed_call(w), absorbed_.machine(), false), absorbed_.form().t0_s);
  };
  if (absorbed_.reads_full_kv(work.decode)) {
    const double mean_kv = work.decode.pairs / work.decode.query_tokens;
    launch({absorbed_.between_lengths(work.decode.number_of_requests(), mean_kv, known), true}, absorbed_.form().t0_s);
  } else {
    absorb(work.decode);
  }
  absorb(work.verify);
  if (work.chunks.empty() && work.prefill.query_tokens <= 0) return sum;
  const ChunkTimes chunks = chunk_times(work);
  if (chunks.absorbed.seconds > 0) launch(chunks.absorbed, absorbed_.form().t0_s);
  if (chunks.expanded.seconds > 0) launch(chunks.expanded, form_.t0_s);
  if (chunks.expansion_s > 0) add({chunks.expansion_s, false});
  return sum;
}

}  // namespace kvsim::models
