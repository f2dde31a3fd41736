// An instance's requests from their arrival to their end, where that is here. A reservation of memory that does not fit
// pushes out the newest one.
#include "sim/serving/instance.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/engine/invariant.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {
namespace {

/// In which form what drafts read is held. `own`: what arrives is not decompressed first.
memory::KvForm drafts_read(const InstanceEnvironment& env, bool own) {
  if (own) return env.decode.as_found() ? memory::KvForm::full : memory::KvForm::compressed;
  const bool drops = env.config.decode.compressor.kind == models::CompressionKind::token_dropping;
  return drops ? memory::KvForm::compressed : memory::KvForm::full;
}

}  // namespace

Instance::Instance(const InstanceEnvironment& environment, const InstanceSpec& spec,
                   const SchedulePolicyEntry& schedule)
    : env_(environment),
      route_(spec.route ? *spec.route : static_cast<Route&>(*this)),
      own_(spec.route == nullptr),
      grows_(spec.grows),
      schedules_(own_ && env_.decode.verifies),
      demand_(env_.config, env_.decode, env_.geometry, env_.prefix_tokens),
      loop_(env_, *this, spec.name, grows_ ? &memory_ : nullptr, drafts_read(env_, own_)),
      memory_(env_.simulator, spec.name, kv_capacity_bytes(env_.config, env_.group, env_.geometry), spec.host_bytes,
              env_.trace, env_.geometry.bytes_of_full_blocks(env_.prefix_tokens)),
      link_(spec.link ? *spec.link : make_host_link(env_.fabric, env_.config, env_.group, env_.decode, spec.name)),
      interference_(own_ ? env_.group.profile.interference : models::Interference{}, env_.fabric, loop_.gpus().work(),
                    link_.lanes),
      use_(env_, spec.name, loop_.gpus(), memory_, roster_, link_.to_gpu, own_),
      log_(env_.simulator, env_.config, env_.measured),
      loads_(env_, link_.to_gpu, loop_.gpus(), use_, *this),
      offloading_(env_, demand_, link_.from_gpu, loop_.gpus(), use_, *this),
      scheduling_(
          env_, schedule, roster_.decoding(), loop_.gpus(), memory_, loop_.proposals().drafting().tokens_per_step(),
          env_.config.run.stretches && rounds_in_step(env_.decode, loop_.steady()) ? Scheduling::Asked::when_due
                                                                                   : Scheduling::Asked::in_every_step),
      reloads_(env_, memory_, roster_, scheduling_, loop_, link_.to_gpu, use_),
      rounds_(env_, demand_, roster_, loop_.gpus(), link_.to_gpu, log_, loop_.proposals(), schedules_),
      steady_rounds_(env_, roster_, loop_.steady(), scheduling_, rounds_, loop_.parts(), schedules_),
      admission_(env_, demand_, memory_, roster_, reloads_, scheduling_, own_),
      profiling_(env_.config.schedule, env_.geometry, memory_, env_.prompts, env_.measured),
      assembly_(env_, loop_.gpus(), *this) {
  loop_.connect(link_, engine::Callback::to<&Instance::on_left>(this));
}

std::string Instance::refusal(const Request& r) const {
  const std::int64_t tokens = r.prompt + r.output;
  const models::LlmSpec& model = env_.config.model;
  if (tokens > model.max_context) {
    return fmt::format(
        "needs a context of {} tokens, {} allows {}: where YaRN or the like makes more of it, give "
        "model.max_context",
        tokens, model.name, model.max_context);
  }
  const std::int64_t need = demand_.most(r, reloads_.full_kv().most_beside(tokens));
  const std::int64_t ranks = env_.group.parallel.attention_data;
  if (const std::int64_t room = memory_.capacity() / ranks; need > room) {
    return fmt::format("needs {} bytes of KV memory, a {} has {}", need, ranks > 1 ? "rank" : "replica", room);
  }
  const bool in_host = env_.config.prefill == PrefillKind::stored || env_.decode.offloads();
  if (in_host && demand_.in_host(r) > memory_.host_capacity()) {
    return fmt::format("needs {} bytes of host memory, a replica has {}", demand_.in_host(r), memory_.host_capacity());
  }
  return {};
}

void Instance::submit(Request& r) {
  if (!own_) {
    if (admission_.at_once()) return route_.on_entered(*this, r);
    roster_.arrive(r);
    return loop_.gpus().wake();
  }
  r.prefill_target = r.prompt;
  r.in_host_tokens = env_.config.prefill == PrefillKind::stored ? r.prompt : 0;
  rounds_.begin(r);
  outstanding_tokens_ += r.prompt + r.output;
  roster_.arrive(r);
  loop_.gpus().wake();
}

void Instance::begin(Request& r, Phase phase) {
  roster_.join(r, phase);
  wake();
}

void Instance::stop(Request& r) {
  loop_.steady().leave(r);
  roster_.part(r);
  r.admission = 0;
}

void Instance::once(Request& r, Work work) {
  once_.push_back({{work}, &r, r.admission});
  wake();
}

void Instance::verify_as_it_arrives(Request& r) {
  loop_.await(r);
  once(r, Work::verify);
}

void Instance::await_loads(std::int64_t change) {
  coming_ += change;
  if (coming_ == 0 && change < 0) loop_.gpus().wake();
}

void Instance::on_left(std::uint64_t id) {
  route_.on_offloaded(*this, env_.requests[id]);
}

void Instance::update_requests() {
  for (Request* r : roster_.decoding()) loop_.steady().update(*r);
}

void Instance::start_measuring() {
  log_.start_measuring();
  memory_.start_measuring();
  use_.start_measuring();
  computed_ = {};
  loop_.gpus().start_measuring();
  admission_.start_measuring();
}

void Instance::finish_measuring() {
  use_.finish_measuring();
  if (own_) admission_.finish_measuring();
  add_group(env_.measured, loop_.gpus(),
            {replica_weights(env_.config, env_.group), memory_.reserved_peak(), instances(env_.config.cluster)});
}

void Instance::check_conservation() const {
  std::int64_t held = 0, staged = 0;
  roster_.for_each([&](const Request& r) {
    held += loop_.steady().held(r);
    staged += r.kv.staged();
  });
  memory_.check_conservation(held, staged);
}

void Instance::enter(const Admitted& admitted) {
  Request& r = admitted.request;
  if (!own_) {
    composing_ = true;
    route_.on_entered(*this, r);
    composing_ = false;
    return;
  }
  r.settling = false;
  if (admitted.load_bytes > 0) {
    roster_.move(r, Phase::loading);
    loads_.load(r, admitted.load_bytes);
    return;
  }
  if (!r.assembly && r.prefix.tokens == 0) {
    r.in_host_tokens = 0;
    r.prefill_done = admitted.cached_tokens;
    outstanding_tokens_ -= r.prefill_done;
    roster_.move(r, Phase::prefilling);
    return;
  }
  roster_.move(r, Phase::loading);
  if (r.assembly) assembly_.begin(r);
  if (r.prefix.tokens > 0) loads_.load_prefix(r);
  if (r.assembly) assembly_.try_end(r);
}

void Instance::on_loaded(Request& r) {
  if (r.being_assembled()) {
    assembly_.loaded(r);
    return;
  }
  // An offloaded request has all but its last token in host memory, and drafting starts from that one.
  r.prefill_done =
      demand_.offloads(r) ? r.prefill_target : std::min(std::max(r.in_host_tokens, r.prefix.tokens), r.prefill_target);
  outstanding_tokens_ -= r.prefill_done;
  if (r.prefill_done < r.prefill_target) {
    roster_.move(r, Phase::prefilling);
    return;
  }
  become_ready(r);
  rounds_.begin(r);
}

void Instance::on_assembled(Request& r) {
  KVSIM_ALWAYS(memory_.resize(r.kv, r.kv.held() - r.assembly->scoring_bytes), "memory could not be given back");
  r.prefill_done = r.prefill_target - r.assembly->rows;
  outstanding_tokens_ -= r.prefill_done;
  roster_.move(r, Phase::prefilling);
}

void Instance::become_ready(Request& r) {
  roster_.move(r, Phase::decoding);
  env_.measured.prompt_tokens += r.had_prompt ? 0 : r.prompt;
  r.had_prompt = true;
  r.round.unseen = 1;  // the prompt was read, or its KV loaded, with the drafter's
  if (env_.decode.verifies) scheduling_.ask(r);
}

void Instance::emit_directly(Request& r) {
  outstanding_tokens_ -= 1;
  log_.emitted_directly(r);
}

void Instance::on_settled(Request& r) {
  if (resize_held(r, demand_.decoding(r))) secure_reload_room();
}

std::int64_t Instance::compressed(const Request& r) const {
  return demand_.holds_part(r) && env_.decode.reads_compressed ? r.context() : 0;
}

/// Memory for its next token. False where the request itself was preempted for it.
bool Instance::grow_held(Request& r) {
  if (!grows(r)) return true;
  return resize_held(r, own_ ? demand_.decoding(r) : std::max(demand_.decoding(r), r.kv.held()));
}

/// The request that is preempted first. One whose drafts are verified elsewhere, or were, keeps its memory.
Request& Instance::newest() const {
  if (own_) return roster_.newest();
  const std::vector<Request*>& decoding = roster_.decoding();
  return **std::find_if(decoding.rbegin(), decoding.rend(), [this](const Request* r) { return grows(*r); });
}

bool Instance::resize_held(Request& r, std::int64_t bytes) {
  while (!memory_.resize(r.kv, bytes)) {
    Request& last = newest();
    preempt(last);
    if (&last == &r) return false;
  }
  return true;
}

void Instance::secure_reload_room() {
  while (roster_.decoding().size() > 1 && !reloads_.have_room()) {
    Request& newest = roster_.newest();
    if (newest.settling || newest.phase == Phase::prefilling) return;  // it will shrink by itself
    preempt(newest);
  }
}

void Instance::preempt(Request& r) {
  if (!own_) {
    loop_.fetched().abandon(r, r.context());
    stop(r);
    env_.measured.preemptions += 1;
    return route_.on_preempted(*this, r);
  }
  loop_.steady().leave(r);
  const std::int64_t computed = r.phase == Phase::decoding ? r.context() - 1 : r.prefill_done;  // the last token is new
  memory_.tell(r.kv, demand_.blocks_of(computed));
  loads_.abandon(r);
  if (r.assembly) Assembly::abandon(r);
  reloads_.abandon(r);
  r.prefix = {};
  env_.prompts.preempted(r);
  roster_.push_out(r);
  scheduling_.removed(r);
  memory_.push_out(r.kv);
  r.settling = false;
  if (r.in_host_tokens < r.prompt) memory_.leave_host(r.kv);  // the host copy is incomplete: it starts again
  rounds_.begin(r);
  loop_.fetched().abandon(r, r.context());
  outstanding_tokens_ += r.prefill_done + (r.context() - r.prefill_target);
  r.prefill_target = r.context();
  r.prefill_done = demand_.findable(r) ? computed : 0;
  env_.measured.preemptions += 1;
}

void Instance::on_finished(Instance&, Request& r) {
  log_.finished(r, output_fidelity(env_.config, env_.decode, env_.geometry, r));
  scheduling_.removed(r);
  roster_.leave(r);
  memory_.tell(r.kv, demand_.blocks_of(r.context() - 1));  // nothing reads its last token
  memory_.leave_gpu(r.kv);
  memory_.leave_host(r.kv);
  admission_.finished();
  env_.requests.finished(r);
  profiling_.finished(r, roster_.running(), roster_.anybody_waits());
  env_.requests.release_if_over(r);
}

}  // namespace kvsim::serving
