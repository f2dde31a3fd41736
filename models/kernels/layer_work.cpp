#include "models/kernels/layer_work.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kvsim::models {

LeftOut left_out(const LlmSpec& model, std::int64_t tensor_parallel, const StepWork& work) {
  if (model.window.layers == 0) return {};
  const LlmSpec part = model.as_read().window_part();
  LeftOut out;
  for (const AttentionWork* w : {&work.decode, &work.verify, &work.prefill}) {
    out.kv_bytes += w->unread * static_cast<double>(part.kv_bytes_per_token()) * part.kv_copies(tensor_parallel);
    out.flops += w->unattended * part.attention_flops_per_pair();
  }
  return out;
}

LayerWork::LayerWork(const LlmSpec& model)
    : window_(model.window),
      latent_(model.attention == AttentionKind::mla),
      token_bytes_(static_cast<double>(model.kv_bytes_per_token())),
      full_bytes_(static_cast<double>(model.full_part().kv_bytes_per_token())),
      window_bytes_(static_cast<double>(model.window_part().kv_bytes_per_token())) {}

bool LayerWork::differs(const StepWork& work) {
  return work.decode.unattended > 0 || work.verify.unattended > 0 || work.prefill.unattended > 0;
}

AttentionWork LayerWork::full(AttentionWork work) const {
  work.kv_bytes = work.kv_bytes / token_bytes_ * full_bytes_;
  work.unread = work.unattended = 0;
  return work;
}

AttentionWork LayerWork::window(AttentionWork work) const {
  work.kv_bytes = std::max(work.kv_bytes / token_bytes_ - work.unread, 0.0) * window_bytes_;
  work.pairs -= work.unattended;
  work.longest_kv = std::min(work.longest_kv, static_cast<double>(window_.tokens));
  work.unread = work.unattended = 0;
  return work;
}

PrefillChunk LayerWork::pieces(double tokens, double pairs) const {
  const double piece = std::min(tokens, static_cast<double>(window_.tokens));
  return {.tokens = piece, .before = std::max(pairs / tokens - (piece + 1) / 2, 0.0), .alike = tokens / piece};
}

/// A chunk whose tokens attend to selected ones runs as decoding does. Over latents AttentionTimes has it so; over
/// heads it becomes one of the requests with several query tokens. Chunks that nothing is left out of are as in other
/// layers.
void LayerWork::absorb_long_chunks(const AttentionWork& all, StepWork& part) const {
  if (part.chunks.empty() && all.query_tokens > 0) {
    const double n = all.query_tokens;
    part.chunks.push_back({.tokens = n, .before = std::max(all.pairs / n - (n + 1) / 2, 0.0)});
  }
  std::vector<PrefillChunk> whole;
  for (PrefillChunk c : part.chunks) {
    c.selects = true;
    c.unread = window_.unread(c.before, c.tokens);
    c.unattended = window_.unattended(c.before, c.tokens);
    if (latent_ || c.unattended <= 0) {
      whole.push_back(c);
      continue;
    }
    AttentionWork moved;
    moved.query_tokens = c.tokens;
    moved.requests = 1;
    moved.kv_bytes = std::max(c.before + c.tokens - c.unread, 0.0) * window_bytes_;
    moved.pairs = c.tokens * (c.before + (c.tokens + 1) / 2) - c.unattended;
    part.verify.add(moved, c.alike);
    part.prefill.add(moved, -c.alike);
  }
  part.chunks = std::move(whole);
  if (part.chunks.empty()) part.prefill = {};
}

StepWork LayerWork::in_full_layers(const StepWork& work) const {
  StepWork part = work;
  part.decode = full(work.decode);
  part.verify = full(work.verify);
  part.prefill = full(work.prefill);
  return part;
}

StepWork LayerWork::in_window_layers(const StepWork& work) const {
  StepWork part = work;
  part.decode = window(work.decode);
  part.verify = window(work.verify);
  part.prefill = window(work.prefill);
  if (window_.kind == WindowKind::selected) {
    absorb_long_chunks(work.prefill, part);
    return part;
  }
  for (PrefillChunk& c : part.chunks) {
    const double all = c.tokens * (c.before + (c.tokens + 1) / 2);
    const double alike = c.alike;
    c = pieces(c.tokens, all - window_.unattended(c.before, c.tokens));
    c.alike *= alike;
  }
  if (part.chunks.empty() && part.prefill.query_tokens > 0) {
    part.chunks.push_back(pieces(part.prefill.query_tokens, part.prefill.pairs));
  }
  return part;
}

}  // namespace kvsim::models
