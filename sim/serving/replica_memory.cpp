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

std::int64_t Replica::decoding_reservation(const Request& r) const {
  if (r.direct) return geometry_.full_reservation(r.attended() + 1 + drafting_.most());
  if (drafts_as_loaded_) return geometry_.full_reservation(r.attended() + draft_room());
  if (holds_part(r) || !decode_.verifies) {
    return serving::decoding_reservation(config_, decode_, geometry_, r.prompt - r.prefix.dropped, r.generated);
  }
  const std::int64_t full = geometry_.full_reservation(r.context() + draft_room());
  // A resident request that drafts on quantised KV keeps that copy too; kept tokens are part of the full KV.
  return full + geometry_.redundant_reservation(r.prompt, r.generated);
}

bool Replica::can_stay_resident(const Request& r) const {
  return geometry_.full_reservation(r.prompt + r.output + draft_room()) +
             geometry_.redundant_reservation(r.prompt, r.output) <=
         hbm_.capacity();
}

std::int64_t Replica::largest_reload() const {
  std::int64_t largest = 0;
  for (const auto* list : {&decoding_, &prefilling_, &loading_}) {
    for (const Request* r : *list) {
      if (decode_.verifies && !r->resident && !r->direct) largest = std::max(largest, reload_reservation(*r));
    }
  }
  return largest;
}

/// GPU memory of what its next verification brings.
std::int64_t Replica::reload_reservation(const Request& r) const {
  if (!drafts_as_loaded_) return geometry_.reload_reservation(r.prompt, r.generated);
  return geometry_.full_reservation(whole_ == WholeKv::recomputed ? r.prefill_target : r.prefix.missing);
}

/// In order of arrival, with what decoding and unfinished prompts left of the iteration's tokens: a request whose
/// prompt is computed here enters with its first chunk.
void Replica::admit_waiting(std::int64_t budget, models::StepWork& work) {
  const std::int64_t still_taken = decided_ahead_ ? finished_since_decided_ : 0;
  while (!queue_.empty() && running() + still_taken < config_.schedule.max_requests) {
    Request& r = *queue_.front();
    if (!seen(r) || (budget <= 0 && needs_computing(r)) || !try_admit(r)) break;
    queue_.pop_front();
    if (r.phase == Phase::prefilling) budget -= batch_chunk(r, budget, work);
  }
  // Whatever else keeps the next one waiting, a limit on requests for instance: would it fit?
  admission_lacks_memory_ = false;
  if (queue_.empty() || !seen(*queue_.front())) return;
  choose_residency(*queue_.front());
  admission_lacks_memory_ = !has_memory_for(*queue_.front());
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
  if (r.resident || drafts_as_loaded_) return;
  r.resident = decode_.verifies && resident_count_ < config_.decode.resident && can_stay_resident(r);
}

/// What host memory can give back; an interrupted prefill starts again.
std::int64_t Replica::loadable_tokens(const Request& r) const {
  return r.in_host_tokens >= r.prompt ? r.in_host_tokens : 0;
}

std::int64_t Replica::admission_reservation(const Request& r) const {
  if (r.assembly) return decoding_reservation(r) + r.assembly->scoring_bytes;
  return loadable_tokens(r) > 0 || !holds_part(r) ? decoding_reservation(r)
                                                  : geometry_.full_reservation(r.context() + draft_room());
}

bool Replica::has_memory_for(const Request& r) const {
  const std::int64_t need = admission_reservation(r);
  if (hbm_.available() < need) return false;
  if (!decode_.verifies) return true;
  // One reload must always find room, whoever's it is; else nobody could ever verify.
  const std::int64_t reload = std::max(largest_reload(), r.resident ? 0 : reload_reservation(r));
  return hbm_.capacity() - held_total_ >= std::min(need, decoding_reservation(r)) + reload;
}

bool Replica::try_admit(Request& r) {
  if (layers_ && r.writebacks > 0) return false;  // pushed out before all of its KV was in host memory
  choose_residency(r);
  if (env_.prompts) {
    r.prefix = env_.prompts->find(r);
    r.assembly = env_.prompts->assembly(r);
    if (drafts_as_loaded_) choose_drafts(r);
  }
  if (decode_.verifies && !r.resident && config_.decode.offloaded && offloaded_count_ >= *config_.decode.offloaded) {
    return false;
  }
  if (!has_memory_for(r)) return false;
  const bool stored = config_.prefill == PrefillKind::stored;
  const std::int64_t loadable = loadable_tokens(r);
  const bool compressed = holds_part(r) && loadable > 0;
  const std::int64_t need = admission_reservation(r);
  const bool needs_host = (stored || offloads(r)) && r.host_held == 0;
  if (needs_host && !host_.try_reserve(host_reservation(r))) return false;
  if (needs_host) r.host_held = host_reservation(r);
  KVSIM_ALWAYS(hbm_.try_reserve(need), "memory that was available could not be reserved");
  r.held = need;
  held_total_ += need;

  std::int64_t load_bytes = 0;
  if (loadable > 0) {
    load_bytes =
        compressed ? geometry_.compressed_transfer(r.prompt, loadable - r.prompt) : geometry_.stored_transfer(loadable);
  }
  const bool alone = decoding_.empty() && prefilling_.empty() && loading_.empty();
  if (decode_.verifies && !schedule_->admit(r, load_bytes, view()) && !alone) {
    hbm_.release(need);
    held_total_ -= need;
    r.held = 0;
    return false;
  }
  if (r.admission == 0) (loadable > 0 ? host_tier_.hits : host_tier_.misses) += 1;  // of no meaning with a prompt store
  r.admission = next_admission_++;
  if (decode_.verifies) (r.resident ? resident_count_ : offloaded_count_) += 1;
  r.settling = false;
  if (load_bytes > 0) {
    r.phase = Phase::loading;
    loading_.push_back(&r);
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
    r.phase = Phase::prefilling;
    prefilling_.push_back(&r);
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
    if (e.tokens == 0) continue;
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
    if (resize_held(r, decoding_reservation(r))) secure_reload_room();
  }
  gpus_.wake();
}

void Replica::start_reloads() {
  reload_lacks_memory_ = false;
  for (const IterationPlan::ReloadStart& start : plan_.reloads) start_reload(*start.request, start.replaces_compressed);
}

bool Replica::start_reload(Request& r, bool replaces_compressed) {
  if (r.reload != Reload::none || r.writebacks > 0) return false;  // the host copy must be complete
  const std::int64_t bytes = reload_reservation(r);
  const std::int64_t freed = replaces_compressed && !r.settling && !drafts_as_loaded_
                                 ? geometry_.redundant_reservation(r.prompt, r.generated)
                                 : 0;
  if (hbm_.available() + freed < bytes) {
    reload_lacks_memory_ = true;
    return false;
  }
  hbm_.release(freed);
  r.held -= freed;
  held_total_ -= freed;
  r.replaced = freed;
  KVSIM_ALWAYS(hbm_.try_reserve(bytes), "memory that was available could not be reserved");
  set_staged(r, bytes);
  r.reload = Reload::in_flight;
  r.draft.reload_at = env_.simulator.now();
  if (drafts_as_loaded_) {
    bring_whole(r);
    return true;
  }
  r.transfer = h2d_->submit({.bytes = geometry_.reload_transfer(r.prompt, r.generated),
                             .on_complete = Callback::to<&Replica::on_reload>(this, r.id),
                             .owner = r.id,
                             .kind = "reload"});
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
  if (drafts_as_loaded_ && r.generated == 0) on_whole_prompt(r);  // it waits for its first token
  gpus_.wake();
}

void Replica::set_staged(Request& r, std::int64_t bytes) {
  staged_total_ += bytes - std::exchange(r.staged, bytes);
  streaming_.set(static_cast<double>(staged_total_), env_.simulator.now());
}

void Replica::release_staged(Request& r) {
  hbm_.release(r.staged);
  set_staged(r, 0);
  // The compressed copy is gathered again from the full KV before that leaves; it is the smaller of the two.
  KVSIM_ALWAYS(hbm_.try_reserve(r.replaced), "a compressed copy did not fit in place of the full one");
  r.held += r.replaced;
  held_total_ += r.replaced;
  r.replaced = 0;
}

bool Replica::resize_held(Request& r, std::int64_t bytes) {
  if (bytes > r.held) {
    if (!make_room(r, bytes - r.held)) return false;
  } else {
    hbm_.release(r.held - bytes);
  }
  held_total_ += bytes - r.held;
  r.held = bytes;
  return true;
}

bool Replica::make_room(Request& r, std::int64_t bytes) {
  while (!hbm_.try_reserve(bytes)) {
    Request* newest = &r;
    for (const auto* list : {&decoding_, &prefilling_, &loading_}) {
      for (Request* other : *list) {
        if (other->admission > newest->admission) newest = other;
      }
    }
    preempt(*newest);
    if (newest == &r) return false;
  }
  return true;
}

void Replica::secure_reload_room() {
  while (decoding_.size() > 1 && hbm_.capacity() - held_total_ < largest_reload()) {
    Request* newest = decoding_.back();
    for (const auto* list : {&prefilling_, &loading_}) {
      for (Request* other : *list) {
        if (other->admission > newest->admission) newest = other;
      }
    }
    if (newest->settling || newest->phase == Phase::prefilling) return;  // it will shrink by itself
    preempt(*newest);
  }
}

void Replica::preempt(Request& r) {
  if (r.transfer.value != 0) {
    // Copies among which fetches are queued are not withdrawn: what was planned behind them stays as it is.
    if (layers_) {
      r.stale_loads += 1;
    } else {
      h2d_->cancel(r.transfer);
    }
  }
  if (r.assembly) {
    abandon_assembly(r);
  } else if (r.phase == Phase::loading && r.prefix.tokens > 0) {
    r.stale_loads += 1;  // others may wait for the same load
  }
  if (drafts_as_loaded_ && whole_ == WholeKv::tiers && r.reload == Reload::in_flight) r.stale_reloads += 1;
  loading_bytes_ -= r.loading_bytes;
  r.loading_bytes = 0;
  r.transfer = {};
  r.prefix = {};
  if (env_.prompts) env_.prompts->preempted(r);
  remove_from_lists(r);
  schedule_->removed(r);
  release_staged(r);
  hbm_.release(r.held);
  held_total_ -= r.held;
  r.held = 0;
  r.settling = false;
  if (r.in_host_tokens < r.prompt) {  // the host copy is incomplete: it starts again
    host_.release(r.host_held);
    r.host_held = 0;
  }
  begin_round(r);
  if (r.pairs_asked) env_.measured.fetch.unused_bytes += std::llround(fetching_.request_bytes(r, r.context()));
  r.pairs_asked = false;
  outstanding_tokens_ += r.prefill_done + (r.context() - r.prefill_target);
  r.prefill_target = r.context();
  r.prefill_done = 0;
  r.phase = Phase::queued;
  r.preemptions += 1;
  env_.measured.preemptions += 1;
  queue_.push_front(&r);
}

void Replica::remove_from_lists(Request& r) {
  std::erase(decoding_, &r);
  std::erase(prefilling_, &r);
  std::erase(loading_, &r);
  if (decode_.verifies) (r.resident ? resident_count_ : offloaded_count_) -= 1;
}

}  // namespace kvsim::serving
