#include "sim/instance/whole_route.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/engine/invariant.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {

WholeRoute::WholeRoute(InstanceParts& parts)
    : parts_(parts),
      loads_(parts.env, parts.link.to_gpu, parts.loop.gpus(), parts.use, *this),
      profiling_(parts.env.config.schedule, parts.env.geometry, parts.memory, parts.env.prompts, parts.env.measured),
      assembly_(parts.env, parts.loop.gpus(), *this) {}

std::string WholeRoute::refusal(const Request& r) const {
  const std::int64_t tokens = r.prompt + r.output;
  const models::LlmSpec& model = parts_.env.config.model;
  if (tokens > model.max_context) {
    return fmt::format(
        "needs a context of {} tokens, {} allows {}: where YaRN or the like makes more of it, give "
        "model.max_context",
        tokens, model.name, model.max_context);
  }
  const std::int64_t need = parts_.demand.most(r, parts_.reloads.full_kv().most_beside(tokens));
  const std::int64_t ranks = parts_.env.group.parallel.attention_data;
  if (const std::int64_t room = parts_.memory.gpu().capacity() / ranks; need > room) {
    return fmt::format("needs {} bytes of KV memory, a {} has {}", need, ranks > 1 ? "rank" : "replica", room);
  }
  const bool in_host = parts_.env.config.prefill == PrefillKind::stored || parts_.env.decode.offloads();
  if (in_host && parts_.demand.in_host(r) > parts_.memory.host().capacity()) {
    return fmt::format("needs {} bytes of host memory, a replica has {}", parts_.demand.in_host(r),
                       parts_.memory.host().capacity());
  }
  return {};
}

void WholeRoute::submit(Request& r) {
  r.prefill.target = r.prompt;
  r.moving.in_host_tokens = parts_.env.config.prefill == PrefillKind::stored ? r.prompt : 0;
  parts_.rounds.begin(r);
  parts_.outstanding_tokens += r.prompt + r.output;
  parts_.queues.arrive(r);
  parts_.loop.gpus().wake();
}

void WholeRoute::enter(const Admitted& admitted) {
  Request& r = admitted.request;
  r.full_kv.offload_pending = false;
  if (admitted.load_bytes > 0) {
    parts_.queues.move(r, Phase::loading);
    loads_.load(r, admitted.load_bytes);
    return;
  }
  if (!r.prefill.assembly && r.prefix->tokens == 0) {
    r.moving.in_host_tokens = 0;
    r.prefill.done = admitted.cached_tokens;
    parts_.outstanding_tokens -= r.prefill.done;
    parts_.queues.move(r, Phase::prefilling);
    return;
  }
  parts_.queues.move(r, Phase::loading);
  if (r.prefill.assembly) assembly_.begin(r);
  if (r.prefix->tokens > 0) loads_.load_prefix(r);
  if (r.prefill.assembly) assembly_.try_end(r);
}

void WholeRoute::idle(bool lags) {
  if (lags) return parts_.loop.gpus().wait_for_link(true);
  const std::vector<Request*>&decoding = parts_.queues.decoding(), &loading = parts_.queues.loading();
  const bool reloading = parts_.reloads.under_way();
  const bool waiting = reloading || !loading.empty();  // for something that comes by itself
  parts_.loop.gpus().wait_for_link(reloading || std::any_of(loading.begin(), loading.end(), [](const Request* r) {
                                     return Assembly::waits_for_link(*r);
                                   }));
  const bool anything = parts_.queues.anybody_waits() || !decoding.empty() || !parts_.queues.prefilling().empty();
  if (!anything || waiting || !parts_.offloading.idle() || !parts_.loop.fetched().idle()) return;
  // Nothing runs and nothing is on its way: give the memory of the newest request to the others.
  KVSIM_ALWAYS(decoding.size() > 1, "a request cannot make progress: nothing runs and nothing is on its way");
  parts_.preempt(*decoding.back());
  parts_.loop.gpus().wake();
}

void WholeRoute::on_loaded(Request& r) {
  if (r.being_assembled()) {
    assembly_.loaded(r);
    return;
  }
  // An offloaded request has all but its last token in host memory, and drafting starts from that one.
  r.prefill.done = parts_.demand.offloads(r)
                       ? r.prefill.target
                       : std::min(std::max(r.moving.in_host_tokens, r.prefix->tokens), r.prefill.target);
  parts_.outstanding_tokens -= r.prefill.done;
  if (r.prefill.done < r.prefill.target) {
    parts_.queues.move(r, Phase::prefilling);
    return;
  }
  become_ready(r);
  parts_.rounds.begin(r);
}

void WholeRoute::on_assembled(Request& r) {
  KVSIM_ALWAYS(parts_.memory.resize(r.kv, r.kv.held() - r.prefill.assembly->scoring_bytes),
               "memory could not be given back");
  r.prefill.done = r.prefill.target - r.prefill.assembly->rows;
  parts_.outstanding_tokens -= r.prefill.done;
  parts_.queues.move(r, Phase::prefilling);
}

void WholeRoute::become_ready(Request& r) {
  parts_.queues.move(r, Phase::decoding);
  parts_.env.measured.prompt_tokens += r.full_kv.had_prompt ? 0 : r.prompt;
  r.full_kv.had_prompt = true;
  r.round.unseen = 1;  // the prompt was read, or its KV loaded, with the drafter's
  if (parts_.env.decode.verifies) parts_.scheduling.ask(r);
}

std::int64_t WholeRoute::compressed(const Request& r) const {
  return parts_.demand.holds_part(r) && parts_.env.decode.reads_compressed ? r.context() : 0;
}

/// The last prompt position's logits give the next token, by the full KV.
void WholeRoute::on_prefilled(Instance&, Request& r) {
  if (r.prefill.assembly) {
    assembly_.note(r);
  } else {
    parts_.env.prompts.computed(r);
  }
  become_ready(r);
  if (parts_.env.decode.as_found() && !r.full_kv.direct) return parts_.rounds.begin_with_draft(r);
  parts_.emit_directly(r);
  if (r.remaining() == 0) return parts_.end(r);
  parts_.rounds.begin(r);
  if (parts_.demand.holds_part(r)) {
    r.full_kv.offload_pending =
        r.moving.writebacks > 0;  // the full KV leaves GPU memory when all of it is in host memory
    if (!r.full_kv.offload_pending)
      KVSIM_ALWAYS(parts_.resize(r, parts_.demand.decoding(r)), "compressing a prompt needed more memory");
  }
  if (parts_.decodes_uniformly()) parts_.join_uniform(r);
}

void WholeRoute::on_done(Instance&, Request& r, Work) {
  KVSIM_ALWAYS(false, fmt::format("request {} was to do something once, and has no route", r.id));
}

void WholeRoute::on_preempted(Instance&, Request& r) {
  parts_.loop.uniform_batch().leave(r);
  const std::int64_t computed = r.phase == Phase::decoding ? r.context() - 1 : r.prefill.done;  // the last token is new
  parts_.memory.tell(r.kv, parts_.demand.blocks_of(computed));
  loads_.abandon(r);
  if (r.prefill.assembly) Assembly::abandon(r);
  parts_.reloads.abandon(r);
  r.prefix.set({});
  parts_.env.prompts.preempted(r);
  parts_.queues.push_out(r);
  parts_.scheduling.removed(r);
  parts_.memory.push_out(r.kv);
  r.full_kv.offload_pending = false;
  if (r.moving.in_host_tokens < r.prompt) parts_.memory.leave_host(r.kv);  // incomplete: it starts again
  parts_.rounds.begin(r);
  parts_.loop.fetched().abandon(r, r.context());
  parts_.outstanding_tokens += r.prefill.done + (r.context() - r.prefill.target);
  r.prefill.target = r.context();
  r.prefill.done = parts_.demand.findable(r) ? computed : 0;
}

void WholeRoute::on_finished(Instance&, Request& r) {
  parts_.log.finished(r, output_fidelity(parts_.env.config, parts_.env.decode, parts_.env.geometry, r));
  parts_.scheduling.removed(r);
  parts_.queues.leave(r);
  parts_.memory.tell(r.kv, parts_.demand.blocks_of(r.context() - 1));  // nothing reads its last token
  parts_.memory.leave_gpu(r.kv);
  parts_.memory.leave_host(r.kv);
  parts_.admission.finished();
  parts_.env.requests.finished(r);
  profiling_.finished(r, parts_.queues.running(), parts_.queues.anybody_waits());
  parts_.env.requests.release_if_over(r);
}

}  // namespace kvsim::serving
