#include "sim/instance/admission.h"

#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::serving {

std::optional<Admitted> Admission::next(std::int64_t budget) {
  if (!own_) return next_with_memory(budget);
  if (std::optional<Admitted> admitted = try_next(budget)) return admitted;
  if (looked_ && !env_.prompts.stores()) return std::nullopt;  // it has just been told
  lacks_memory_ = false;
  if (queues_.anybody_waits() && seen(queues_.next())) {
    choose_residency(queues_.next());
    lacks_memory_ = !has_memory_for(queues_.next());
    if (!looked_ && env_.prompts.stores()) need_.of = nullptr;  // it is of what was found before, if anything was
  }
  return std::nullopt;
}

std::optional<Admitted> Admission::next_with_memory(std::int64_t budget) {
  if (!queues_.anybody_waits()) return {};
  Request& r = queues_.next();
  if (!seen(r) || (budget <= 0 && r.prefill.done < r.prefill.target) || held_back()) return {};
  queues_.admit_next();
  return Admitted{r, 0, 0};
}

bool Admission::decide_now() {
  if (!std::exchange(decided_ahead_, false)) return false;
  received_ = env_.requests.arrived();
  return true;
}

void Admission::begin_step(bool prompts_before) {
  released_ = false;
  unseen_for_ += 1;
  const bool looks =
      prompts_before || queues_.decoding().empty() || unseen_for_ >= env_.config.schedule.receive_interval;
  if (!looks) return;
  unseen_for_ = 0;
  received_ = decided_ahead_ ? known_requests_ : env_.requests.arrived();
}

bool Admission::held_back() {
  const BatchWait& wait = env_.config.schedule.batch_wait;
  if (released_ || wait.iterations == 0 || queues_.decoding().empty()) return false;
  const double enough = wait.tokens * static_cast<double>(env_.config.schedule.max_batched_tokens);
  std::int64_t requests = 0, tokens = static_cast<std::int64_t>(queues_.decoding().size());
  const bool more = queues_.all_waiting([&](const Request& r) {
    if (!seen(r)) return true;
    tokens += r.prefill.target;
    requests += 1;
    return static_cast<double>(tokens) < enough && (!wait.requests || requests < *wait.requests);
  });
  if (more && held_ < wait.iterations) {
    held_ += 1;
    return true;
  }
  held_ = 0;
  released_ = true;
  return false;
}

void Admission::step_begun() {
  decided_ahead_ = false;
  finished_since_decided_ = 0;
  known_requests_ = env_.requests.arrived();
}

/// Before anything else can become of it.
bool Admission::needs_computing(const Request& r) const {
  if (reuses_chunks(env_.config.prefill)) return false;  // its chunks are loaded and scored first
  return r.moving.in_host_tokens < r.prompt && env_.prompts.find(r).tokens == 0;
}

void Admission::choose_residency(Request& r) const {
  r.full_kv.direct = false;
  r.full_kv.resident = env_.decode.keeps_full;
  if (r.full_kv.resident || env_.decode.as_found()) return;
  r.full_kv.resident = env_.decode.verifies && queues_.resident() < env_.config.decode.resident &&
                       demand_.resident(r) <= memory_.gpu().capacity();
}

bool Admission::has_memory_for(const Request& r) {
  if (!knows_need_of(r)) {
    const std::int64_t shared = memory_.in_use(r.kv, memory_.there(r.kv, demand_.findable_blocks(r)));
    need_ = {&r, queues_.changes(), env_.prompts.changes(), memory_.gpu().blocks().evictions(),
             demand_.admission(r) - shared};
    if (env_.decode.verifies) {
      need_.held = std::min(need_.admission, demand_.decoding(r));
      need_.reload = r.full_kv.resident ? 0 : reloads_.full_kv().reservation(r);
    }
  }
  return has_needed_memory();
}

bool Admission::has_needed_memory() const {
  if (memory_.available() < need_.admission) return false;
  if (!env_.decode.verifies) return true;
  return memory_.gpu().capacity() - memory_.held() >= need_.held + std::max(reloads_.largest(), need_.reload);
}

std::optional<Admitted> Admission::try_next(std::int64_t budget) {
  put_off_ = looked_ = false;
  const std::int64_t still_taken = decided_ahead_ ? finished_since_decided_ : 0;
  if (!queues_.anybody_waits() || queues_.running() + still_taken >= env_.config.schedule.max_requests) return {};
  Request& r = queues_.next();
  if (!seen(r) || (budget <= 0 && needs_computing(r))) return {};
  const DecodePolicy& decode = env_.decode;
  if (decode.fetches() && r.moving.writebacks > 0) return {};  // preempted before all of its KV was in host memory
  if (knows_need_of(r) && !has_needed_memory()) {
    looked_ = lacks_memory_ = true;
    return {};
  }
  choose_residency(r);
  r.prefix.set(env_.prompts.find(r));
  r.prefill.assembly = env_.prompts.assembly(r);
  reloads_.full_kv().found(r);
  const std::optional<std::int64_t>& most_offloaded = env_.config.decode.offloaded;
  if (decode.verifies && !r.full_kv.resident && most_offloaded && queues_.offloaded() >= *most_offloaded) return {};
  looked_ = true;
  lacks_memory_ = !has_memory_for(r);
  if (lacks_memory_ || held_back()) return {};
  const bool stored = env_.config.prefill == PrefillKind::stored;
  const std::int64_t loadable = demand_.loadable_tokens(r);
  if ((stored || demand_.offloads(r)) && !memory_.hold_in_host(r.kv, demand_.in_host(r))) return {};
  const std::int64_t shared = memory_.there(r.kv, demand_.findable_blocks(r));
  memory_.share(r.kv, shared);
  std::int64_t findable = std::max<std::int64_t>(env_.geometry.bytes_of_full_blocks(r.prefill.done) - r.kv.shared(), 0);
  // KV that follows the blocks that it shared is found where they are.
  if (shared < r.kv.named(demand_.blocks_of(r.prefill.done))) findable = 0;
  // The last tokens go first, and windows that ended before them, or states, are gone already.
  const bool whole = !env_.geometry.continues_anywhere(r.prefill.done);
  if (whole && memory_.found(r.kv, findable) < findable) findable = 0;
  const std::int64_t cached = memory_.take_back(r.kv, findable);
  const std::int64_t found = env_.geometry.tokens_of_full_blocks(r.kv.shared() + cached);
  KVSIM_ALWAYS(memory_.resize(r.kv, demand_.admission(r)), "memory that was available could not be reserved");

  std::int64_t load_bytes = 0;
  if (loadable > 0) {
    load_bytes = demand_.holds_part(r) ? env_.geometry.compressed_transfer(r.prompt, loadable - r.prompt)
                                       : env_.geometry.stored_transfer(loadable);
  }
  if (decode.verifies && !scheduling_.admit(r, load_bytes) && queues_.running() > 0) {
    KVSIM_ALWAYS(memory_.resize(r.kv, 0), "memory could not be given back");
    put_off_ = true;
    return {};
  }
  if (r.admission == 0) {
    (loadable > 0 ? host_tier_.hits : host_tier_.misses) += 1;
    if (env_.config.schedule.prefix_caching) {
      r.kv.note_found(found);
      env_.measured.prefix.on_node_tokens += found;
      env_.measured.prefix.prefilled_tokens += r.prompt - found;
    }
  }
  queues_.admit_next();
  return Admitted{r, load_bytes, found};
}

void Admission::finish_measuring() const {
  if (env_.prompts.stores()) return;  // it says what was in host memory
  TierMeasurement& tier = env_.measured.tiers["host"];
  tier.hits += host_tier_.hits;
  tier.misses += host_tier_.misses;
  tier.bytes_peak = std::max(tier.bytes_peak, memory_.host().high_water());
}

}  // namespace kvsim::serving
