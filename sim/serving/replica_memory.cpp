// Admission, memory and transfers of a replica. Nothing enters GPU memory that was not reserved first; a reservation
// that does not fit makes the request wait, or pushes out the newest one.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/replica.h"

namespace kvsim::serving {

using engine::Callback;

std::int64_t Replica::largest_reload() const {
  std::int64_t largest = 0;
  roster_.for_each([&](const Request& r) {
    if (decode_.verifies && !r.resident && !r.direct) largest = std::max(largest, full_kv_->reservation(r));
  });
  return largest;
}

/// In order of arrival, with what decoding and unfinished prompts left of the iteration's tokens: a request whose
/// prompt is computed here enters with its first chunk.
void Replica::admit_waiting(std::int64_t budget, models::StepWork& work) {
  const std::int64_t still_taken = decided_ahead_ ? finished_since_decided_ : 0;
  while (roster_.anybody_waits() && roster_.running() + still_taken < config_.schedule.max_requests) {
    Request& r = roster_.next();
    if (!seen(r) || (budget <= 0 && needs_computing(r)) || !try_admit(r)) break;
    if (r.phase == Phase::prefilling) budget -= batch_chunk(r, budget, work);
  }
  // Whatever else keeps the next one waiting, a limit on requests for instance: would it fit?
  admission_lacks_memory_ = false;
  if (!roster_.anybody_waits() || !seen(roster_.next())) return;
  choose_residency(roster_.next());
  admission_lacks_memory_ = !has_memory_for(roster_.next());
}

/// Before anything else can become of it.
bool Replica::needs_computing(const Request& r) const {
  if (reuses_chunks(config_.prefill)) return false;  // its chunks are loaded and scored first
  return r.in_host_tokens < r.prompt && (!env_.prompts || env_.prompts->find(r).tokens == 0);
}

bool Replica::seen(const Request& r) const {
  return !decided_ahead_ || r.id < known_requests_;
}

void Replica::choose_residency(Request& r) {
  r.direct = false;
  r.resident = decode_.keeps_full;
  if (r.resident || decode_.as_found) return;
  r.resident =
      decode_.verifies && roster_.resident() < config_.decode.resident && demand_.resident(r) <= memory_.capacity();
}

bool Replica::has_memory_for(const Request& r) const {
  const std::int64_t need = demand_.admission(r);
  if (memory_.available() < need) return false;
  if (!decode_.verifies) return true;
  // One reload must always find room, whoever's it is; else nobody could ever verify.
  const std::int64_t reload = std::max(largest_reload(), r.resident ? 0 : full_kv_->reservation(r));
  return memory_.capacity() - memory_.held() >= std::min(need, demand_.decoding(r)) + reload;
}

bool Replica::try_admit(Request& r) {
  if (layers_ && r.writebacks > 0) return false;  // pushed out before all of its KV was in host memory
  choose_residency(r);
  if (env_.prompts) {
    r.prefix = env_.prompts->find(r);
    r.assembly = env_.prompts->assembly(r);
    full_kv_->found(r);
  }
  if (decode_.verifies && !r.resident && config_.decode.offloaded && roster_.offloaded() >= *config_.decode.offloaded) {
    return false;
  }
  if (!has_memory_for(r)) return false;
  const bool stored = config_.prefill == PrefillKind::stored;
  const std::int64_t loadable = demand_.loadable_tokens(r);
  const bool compressed = demand_.holds_part(r) && loadable > 0;
  const std::int64_t need = demand_.admission(r);
  if ((stored || demand_.offloads(r)) && !memory_.hold_in_host(r.kv, demand_.in_host(r))) return false;
  KVSIM_ALWAYS(memory_.resize(r.kv, need), "memory that was available could not be reserved");

  std::int64_t load_bytes = 0;
  if (loadable > 0) {
    load_bytes =
        compressed ? geometry_.compressed_transfer(r.prompt, loadable - r.prompt) : geometry_.stored_transfer(loadable);
  }
  if (decode_.verifies && !schedule_->admit(r, load_bytes, view()) && roster_.running() > 0) {
    KVSIM_ALWAYS(memory_.resize(r.kv, 0), "memory could not be given back");
    return false;
  }
  if (r.admission == 0) (loadable > 0 ? host_tier_.hits : host_tier_.misses) += 1;  // of no meaning with a prompt store
  roster_.admit_next();
  r.settling = false;
  if (load_bytes > 0) {
    roster_.move(r, Phase::loading);
    loading_bytes_ += load_bytes;
    r.loading_bytes = load_bytes;
    r.transfer = h2d_->submit({.bytes = load_bytes,
                               .on_complete = Callback::to<&Replica::on_first_load>(this, r.id),
                               .owner = r.id,
                               .kind = "first load"});
  } else if (r.assembly) {
    begin_assembly(r);
  } else if (r.prefix.tokens > 0) {
    load_prefix(r);
  } else {
    r.in_host_tokens = 0;
    roster_.move(r, Phase::prefilling);
  }
  return true;
}

void Replica::write_back(Request& r, std::int64_t tokens) {
  r.in_host_tokens += tokens;
  r.writebacks += 1;
  d2h_->submit({.bytes = geometry_.stored_transfer(tokens),
                .on_complete = Callback::to<&Replica::on_writeback>(this, r.id),
                .owner = r.id,
                .kind = "write-back"});
}

/// The chunks of the coming step leave layer by layer while it runs (policies that fetch KV).
void Replica::count_offloads() {
  std::vector<std::uint64_t> leaving;
  for (const StepEntry& e : step_) {
    if (e.work != Work::prefill) continue;
    e.request->writebacks += 1;
    leaving.push_back(e.request->id);
    fetching_.add_offload(e.tokens);
  }
  offloading_.push_back(std::move(leaving));
}

void Replica::on_offloaded() {
  const std::vector<std::uint64_t> arrived = std::move(offloading_.front());
  offloading_.pop_front();
  for (const std::uint64_t id : arrived) on_writeback(id);
  if (gpus_.idle()) gpus_.wake();
}

void Replica::on_writeback(std::uint64_t id) {
  Request& r = request(id);
  note_memory();
  r.writebacks -= 1;
  release_if_over(r);
  if (r.writebacks == 0 && r.settling && r.phase == Phase::decoding) {
    r.settling = false;
    if (resize_held(r, demand_.decoding(r))) secure_reload_room();
  }
  gpus_.wake();
}

void Replica::start_reloads() {
  reload_lacks_memory_ = false;
  for (const IterationPlan::ReloadStart& start : plan_.reloads) {
    start_reload(*roster_.decoding()[start.decoding], start.replaces_compressed);
  }
}

bool Replica::start_reload(Request& r, bool replaces_compressed) {
  if (r.reload != Reload::none || r.writebacks > 0) return false;  // the host copy must be complete
  const std::int64_t bytes = full_kv_->reservation(r);
  const std::int64_t freed = replaces_compressed ? full_kv_->replaceable(r) : 0;
  if (!memory_.stage(r.kv, bytes, freed)) {
    reload_lacks_memory_ = true;
    return false;
  }
  r.reload = Reload::in_flight;
  r.draft.reload_at = env_.simulator.now();
  full_kv_->bring(r);
  return true;
}

void Replica::on_reload(std::uint64_t id) {
  Request& r = request(id);
  if (r.stale_reloads > 0) {  // of an admission that is over
    r.stale_reloads -= 1;
    release_if_over(r);
    return;
  }
  note_memory();
  r.transfer = {};
  r.reload = Reload::arrived;
  full_kv_->arrived(r);
  gpus_.wake();
}

bool Replica::resize_held(Request& r, std::int64_t bytes) {
  while (!memory_.resize(r.kv, bytes)) {
    Request& newest = roster_.newest();
    preempt(newest);
    if (&newest == &r) return false;
  }
  return true;
}

void Replica::secure_reload_room() {
  while (roster_.decoding().size() > 1 && memory_.capacity() - memory_.held() < largest_reload()) {
    Request& newest = roster_.newest();
    if (newest.settling || newest.phase == Phase::prefilling) return;  // it will shrink by itself
    preempt(newest);
  }
}

void Replica::preempt(Request& r) {
  steady_.leave(r);
  if (r.transfer.value != 0) {
    // Copies among which fetches are queued are not withdrawn: what was planned behind them stays as it is.
    if (layers_) {
      r.stale_loads += 1;
    } else {
      h2d_->cancel(r.transfer);
    }
  }
  if (r.assembly) {
    Assembly::abandon(r);
  } else if (r.phase == Phase::loading && r.prefix.tokens > 0) {
    r.stale_loads += 1;  // others may wait for the same load
  }
  if (r.reload == Reload::in_flight) full_kv_->abandoned(r);
  loading_bytes_ -= r.loading_bytes;
  r.loading_bytes = 0;
  r.transfer = {};
  r.prefix = {};
  if (env_.prompts) env_.prompts->preempted(r);
  roster_.push_out(r);
  schedule_->removed(r);
  memory_.leave_gpu(r.kv);
  r.settling = false;
  if (r.in_host_tokens < r.prompt) memory_.leave_host(r.kv);  // the host copy is incomplete: it starts again
  begin_round(r);
  if (r.pairs_asked) env_.measured.fetch.unused_bytes += std::llround(fetching_.request_bytes(r, r.context()));
  r.pairs_asked = false;
  outstanding_tokens_ += r.prefill_done + (r.context() - r.prefill_target);
  r.prefill_target = r.context();
  r.prefill_done = 0;
  r.preemptions += 1;
  env_.measured.preemptions += 1;
}

}  // namespace kvsim::serving
