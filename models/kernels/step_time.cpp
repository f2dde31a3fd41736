#include "models/kernels/step_time.h"

#include <algorithm>

#include "models/kernels/step_fallbacks.h"

namespace kvsim::models {

GpuSpec faster_gpu(GpuSpec gpu, double memory, double arithmetic) {
  gpu.memory_bytes_per_s.value *= memory;
  for (Sourced<double>* rate : {&gpu.bf16_flops_per_s, &gpu.fp8_flops_per_s, &gpu.fp4_flops_per_s})
    rate->value *= arithmetic;
  return gpu;
}

StepTimer::StepTimer(const GpuSpec& gpu, const Interconnect& links, const KernelProfile& profile, const LlmSpec& model,
                     const Parallelism& parallel, CurveGrid grid)
    : setup_(gpu, links, profile, model, parallel, grid),
      linear_(setup_),
      head_(setup_),
      attention_(setup_),
      states_(setup_),
      indexers_(setup_),
      collectives_(setup_),
      elementwise_(setup_),
      launches_(setup_),
      pipeline_(setup_),
      fallbacks_(step_fallbacks(setup_, linear_, attention_, collectives_)) {}

StepTimer StepTimer::coarse(double memory, double arithmetic) const {
  return {faster_gpu(setup_.gpu, memory, arithmetic),
          setup_.links,
          setup_.profile,
          setup_.model,
          setup_.parallel,
          CurveGrid::coarse};
}

TokenTime StepTimer::token_time(const StepWork& work) const {
  if (tensor_only()) return token_time_of({setup_, work, work.tokens(), work.tokens()});
  const SharedWork shared = shared_work(work, setup_.parallel);
  return token_time_of({setup_, shared.rank, shared.rank.tokens(), shared.tokens});
}

TokenTime StepTimer::token_time_of(const RankStep& step) const {
  TokenTime t;
  if (step.tokens > 0) each_by_tokens([&](const auto& op) { op.add(step, t); });
  return t;
}

StepTime StepTimer::time_of(const RankStep& step, const TokenTime& by_tokens) const {
  StepTime t = by_tokens;
  if (step.tokens > 0) {
    t.collectives_s /= step.faster.collectives;
    t.gathering_s /= step.faster.collectives;
    t.overhead_s -= profile().iteration_overhead_s.value * (1 - 1 / step.faster.host);
  }
  t.overhead_s += step.work.extra_gpu_s;
  if (step.tokens > 0) each_by_work([&](const auto& op) { op.add(step, t); });
  t.total_s = t.linear_s + t.attention_s + t.collectives_s + t.overhead_s;
  return t;
}

StepTime StepTimer::time(const StepWork& work, const TokenTime& by_tokens, KnownLengths* known,
                         const Faster& faster) const {
  if (tensor_only()) return time_of({setup_, work, work.tokens(), work.tokens(), known, faster}, by_tokens);
  const SharedWork shared = shared_work(work, setup_.parallel);
  const auto of = [&](const StepWork& rank) {
    return time_of({setup_, rank, rank.tokens(), shared.tokens, known, faster}, by_tokens);
  };
  StepTime t = of(shared.rank);
  for (const StepWork& other : shared.others) {
    const StepTime of_other = of(other);
    if (of_other.total_s > t.total_s) t = of_other;
  }
  if (!one_stage() && shared.tokens > 0) {
    add_stages(shared, faster, t);
    if (shared.microbatches > 1) wait_for_chunks(work, faster, t);
  }
  return t;
}

/// Passes are timed as equal parts of the step. A chunk goes through the stages whole, so that a step takes no less
/// than the largest chunk: that of most tokens, or of most context.
void StepTimer::wait_for_chunks(const StepWork& work, const Faster& faster, StepTime& t) const {
  const auto by = [&work](const auto& size) {
    return std::max_element(work.chunks.begin(), work.chunks.end(),
                            [&size](const PrefillChunk& a, const PrefillChunk& b) { return size(a) < size(b); });
  };
  const auto longest = by([](const PrefillChunk& c) { return c.tokens; });
  const auto deepest = by([](const PrefillChunk& c) { return c.tokens * (c.before + c.tokens / 2); });
  for (auto chunk = longest; chunk != work.chunks.end(); chunk = chunk == deepest ? work.chunks.end() : deepest) {
    const SharedWork alone{one_chunk(work, *chunk), chunk->tokens};
    const RankStep step{setup_, alone.rank, alone.rank.tokens(), alone.tokens, nullptr, faster};
    StepTime of_chunk = time_of(step, token_time_of(step));
    add_stages(alone, faster, of_chunk);
    if (of_chunk.total_s > t.total_s) t = of_chunk;
  }
}

void StepTimer::add_stages(const SharedWork& shared, const Faster& faster, StepTime& t) const {
  const StepWork& rank = shared.rank;
  const Pipeline::Sent sent = pipeline_.sent(setup_, rank.tokens(), faster);
  PipelinePass pass{.sends_s = sent.all_s, .slowest_send_s = sent.slowest_s};
  pass.tail_s =
      t.head_s + t.gathering_s + host_s(rank) / faster.host + sampler_.seconds(setup_, rank) + rank.extra_gpu_s;
  if (faster.captured.value_or(is_captured(profile(), rank)))
    pass.tail_s += t.launch_s;  // else every stage launches its own kernels
  pass.layers_s = t.total_s - pass.tail_s;
  const double step_s = pipeline_s(pass, shared.microbatches, model().layers, setup_.parallel);
  t.collectives_s += step_s - t.total_s;
  t.total_s = step_s;
}

double StepTimer::one_token_s() const {
  StepWork work;
  work.decode.query_tokens = 1;
  work.logit_tokens = 1;
  return time(work).total_s;
}

LayerTime StepTimer::layers(const StepTime& time, const StepWork& work) const {
  const auto layers = static_cast<double>(model().layers);
  const double tokens = work.tokens();
  const Elementwise::Around norms = elementwise_.around_attention(setup_, tokens);
  const double body_s = time.linear_s - time.head_s;
  const double before_s = body_s * linear_.share_before_attention(model(), std::max(tokens, 1.0));
  LayerTime t;
  t.layers = layers;
  t.before_s = (before_s + norms.before_s) / layers;
  t.attention_s = time.attention_s / layers;
  t.after_s = (body_s - before_s + norms.after_s + time.collectives_s - time.gathering_s) / layers;
  t.tail_s = time.head_s + time.gathering_s + time.overhead_s - norms.before_s - norms.after_s;
  if (!captured(work)) {  // every layer waits for the launches of its kernels
    t.after_s += time.launch_s / layers;
    t.tail_s -= time.launch_s;
  }
  return t;
}

namespace {

CompressionKernels compression_kernels(const KernelProfile& p) {
  return {elementwise_form(p), p.fitted.top_k, p.fitted.quantise, p.fitted.dequantise};
}

}  // namespace

double StepTimer::compression_s(const CompressionWork& work) const {
  return models::compression_s(compression_kernels(profile()), setup_.machine, work);
}

double StepTimer::dequantise_s(double full_bytes, double kept_bytes, double layers) const {
  if (!profile().fitted.dequantise) return 0;
  return models::dequantise_s(compression_kernels(profile()), setup_.machine, full_bytes, kept_bytes, layers);
}

double StepTimer::rewrite_s(double bytes, double layers) const {
  return bytes > 0 ? gather_s(elementwise_form(profile()), setup_.machine, bytes, layers) : 0;
}

double StepTimer::selection_s(double scores, double rows, double layers) const {
  return scores > 0 ? top_k_s(compression_kernels(profile()), setup_.machine, scores, rows, layers) : 0;
}

}  // namespace kvsim::models
