#include "sim/serving/replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/engine/trace.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {
namespace {

std::string name_of_replica(int index) {
  return fmt::format("replica {}", index);
}

}  // namespace

Replica::Replica(const ReplicaEnvironment& environment, int index, const SchedulePolicyEntry& schedule)
    : env_(environment),
      config_(environment.config),
      decode_(environment.decode),
      geometry_(environment.geometry),
      gpus_(environment.gpus, *this, name_of_replica(index)),
      hbm_(environment.simulator, name_of_replica(index) + "/KV memory",
           kv_capacity_bytes(environment.config, environment.geometry), environment.trace),
      host_(environment.simulator, name_of_replica(index) + "/host memory",
            environment.config.cluster.host_memory_bytes, environment.trace),
      fetching_(environment.config, environment.decode, environment.geometry, environment.timer),
      drafting_(environment.config, environment.decode),
      schedule_(schedule.make(environment.config.schedule)),
      draft_lengths_({environment.config, environment.decode, environment.geometry, environment.timer,
                      environment.decode.proposes() ? drafting_.acceptance() : environment.acceptance, drafting_},
                     environment.measured),
      draft_limit_(draft_limit(environment.config.decode)),
      whole_(whole_kv(environment.config)),
      drafts_as_loaded_(drafts_as_loaded(environment.config, environment.decode)),
      log_(environment.simulator, environment.config, environment.measured),
      weights_bytes_(replica_weights(environment.config)) {
  make_links(index);
  if (env_.trace) queue_counter_ = env_.trace->add_counter(name_of_replica(index), "queued requests");
}

/// The group has a link per GPU and moves its shards over all of them in parallel.
void Replica::make_links(int index) {
  const models::LinkSpec& spec = config_.cluster.host_link;
  const std::string owner = name_of_replica(index);
  const auto gpus = static_cast<double>(config_.cluster.tensor_parallel);
  const bool planned = decode_.fetch != Fetch::none && !config_.run.layer_events;
  const auto config = [&](const char* name) {
    return transport::LaneConfig{owner,
                                 name,
                                 {},
                                 engine::from_seconds(spec.latency_s.value),
                                 engine::from_seconds(spec.setup_s.value),
                                 config_.cluster.host_link_discipline};
  };
  transport::LaneConfig to_gpu = config("host link, to the GPU"), to_host = config("host link, from the GPU");
  const double read = spec.read_bytes_per_s.value * gpus, write = spec.write_bytes_per_s.value * gpus;
  if (planned) {
    transport::PlannedLink& h2d = env_.fabric.add_planned("host_to_gpu", read, to_gpu);
    transport::PlannedLink& d2h = env_.fabric.add_planned("gpu_to_host", write, to_host);
    layers_ = make_planned_layers(env_.simulator, fetching_.pipeline(), h2d, d2h);
    h2d_ = &h2d;
    d2h_ = &d2h;
    return;
  }
  to_gpu.route = {env_.fabric.link("host_to_gpu", owner, read)};
  to_host.route = {env_.fabric.link("gpu_to_host", owner, write)};
  h2d_ = &env_.fabric.add_lane(std::move(to_gpu));
  d2h_ = &env_.fabric.add_lane(std::move(to_host));
  if (decode_.fetch != Fetch::none) layers_ = make_simulated_layers(env_.simulator, fetching_.pipeline(), *h2d_, *d2h_);
}

std::int64_t Replica::draft_room() const {
  return serving::draft_room(config_.decode, decode_);
}

std::string Replica::refusal(const Request& r) const {
  const std::int64_t tokens = r.prompt + r.output;
  if (tokens > config_.model.max_context) {
    return fmt::format("needs a context of {} tokens, {} allows {}", tokens, config_.model.name,
                       config_.model.max_context);
  }
  const std::int64_t whole = geometry_.full_reservation(tokens + draft_room());
  std::int64_t need = whole;
  if (drafts_as_loaded_) {
    // Beside what drafts read: what was dropped of it, or all of it once more.
    need += whole_ == WholeKv::recomputed ? geometry_.full_reservation(tokens) : geometry_.block_bytes();
  } else if (decode_.holds_part()) {
    need = geometry_.compressed_reservation(r.prompt, r.output, draft_room());
    if (decode_.verifies) need += geometry_.reload_reservation(r.prompt, r.output);
    if (config_.prefill == PrefillKind::recompute) need = std::max(need, whole);
  }
  if (need > hbm_.capacity()) {
    return fmt::format("needs {} bytes of KV memory, a replica has {}", need, hbm_.capacity());
  }
  const bool in_host = config_.prefill == PrefillKind::stored || (decode_.offloads() && !drafts_as_loaded_);
  if (in_host && host_reservation(r) > host_.capacity()) {
    return fmt::format("needs {} bytes of host memory, a replica has {}", host_reservation(r), host_.capacity());
  }
  return {};
}

std::int64_t Replica::host_reservation(const Request& r) const {
  return serving::host_reservation(config_, decode_, geometry_, r.prompt, r.output);
}

void Replica::submit(Request& r) {
  r.phase = Phase::queued;
  r.prefill_target = r.prompt;
  r.in_host_tokens = config_.prefill == PrefillKind::stored ? r.prompt : 0;
  draft_lengths_.begin_round(r, decoding_, decode_.offloads());
  outstanding_tokens_ += r.prompt + r.output;
  queue_.push_back(&r);
  gpus_.wake();
}

ReplicaView Replica::view() const {
  ReplicaView v;
  v.decoding = decoding_;
  v.iteration_s = gpus_.iteration_s();
  v.link_bytes_per_s = h2d_->bandwidth();
  v.kv_capacity = hbm_.capacity();
  v.held_bytes = held_total_;
  v.draft_limit = draft_limit_;
  v.tokens_per_draft = drafting_.tokens_per_step();
  v.geometry = &geometry_;
  return v;
}

void Replica::start_measuring() {
  log_.start_measuring();
  hbm_.reset_statistics();
  host_.reset_statistics();
  note_memory();
  gpus_.start_measuring();
  memory_short_.reset(env_.simulator.now());
  streaming_.reset(env_.simulator.now());
  host_tier_ = {};
}

void Replica::finish_measuring() {
  const engine::SimTime now = env_.simulator.now();
  note_memory();
  Measurements& m = env_.measured;
  add_group(m, gpus_, {weights_bytes_, hbm_.high_water(), config_.cluster.replicas});
  m.memory_short_s += memory_short_.integral(now);
  const auto replicas = static_cast<double>(config_.cluster.replicas);
  m.kv_reserved_mean_bytes += hbm_.mean_reserved() / replicas;
  m.kv_streaming_mean_bytes += streaming_.mean(now) / replicas;
  m.kv_reserved_peak_bytes = std::max(m.kv_reserved_peak_bytes, hbm_.high_water());
  m.kv_streaming_peak_bytes = std::max(m.kv_streaming_peak_bytes, static_cast<std::int64_t>(streaming_.peak()));
  if (env_.prompts) return;  // it says what was in host memory
  TierMeasurement& tier = m.tiers["host"];
  tier.hits += host_tier_.hits;
  tier.misses += host_tier_.misses;
  tier.bytes_peak = std::max(tier.bytes_peak, host_.high_water());
}

void Replica::check_conservation() const {
  hbm_.check_conservation();
  host_.check_conservation();
  std::int64_t held = 0, staged = 0;
  for (const auto* list : {&decoding_, &prefilling_, &loading_}) {
    for (const Request* r : *list) {
      held += r->held;
      staged += r->staged;
    }
  }
  KVSIM_ALWAYS(held == held_total_, "KV memory held differs from the sum over requests");
  KVSIM_ALWAYS(staged == staged_total_, "KV memory of reloads differs from the sum over requests");
  KVSIM_ALWAYS(held + staged + profiling_held_ == hbm_.reserved(),
               "KV memory reserved differs from the sum over requests");
}

// Prompts put together from chunks: stored ones are loaded, missing ones computed alone, and a small model chooses
// tokens, all side by side. Then the chosen tokens and what follows the chunks are computed over the whole prompt.

using engine::Callback;

void Replica::begin_assembly(Request& r) {
  const engine::SimTime now = env_.simulator.now();
  r.assembling = true;
  r.apart_done = 0;
  r.scored = 0;
  r.admitted = r.loaded = r.selected = now;
  r.load_pending = r.prefix.tokens > 0;
  r.selection_pending = r.assembly->selects;
  r.selection_event = r.assembly->selects && r.assembly->scored_here == 0;
  if (r.selection_event) env_.prompts->select_elsewhere(r, Callback::to<&Replica::on_selected>(this, r.id));
  if (r.load_pending) {
    load_prefix(r);
  } else {
    r.phase = Phase::loading;
    loading_.push_back(&r);
  }
  // Whatever is left to be done is done in iterations; a prompt of which nothing is left has its rows in this one.
  rows_can_begin(r);
}

/// It was pushed out: what still comes for it is for nobody.
void Replica::abandon_assembly(Request& r) {
  if (r.load_pending) r.stale_loads += 1;  // others may wait for the same load
  if (r.selection_event) r.stale_selections += 1;
  r.assembling = r.load_pending = r.selection_pending = r.selection_event = false;
  r.assembly.reset();
}

void Replica::on_selected(std::uint64_t id) {
  Request& r = request(id);
  if (r.stale_selections > 0) {
    r.stale_selections -= 1;
    release_if_over(r);
    return;
  }
  r.selection_event = r.selection_pending = false;
  r.selected = env_.simulator.now();
  if (rows_can_begin(r)) gpus_.wake();
}

/// With what the rest leaves of the step's tokens missing chunks are computed, in order of admission. The small model
/// reads as many tokens a step as the large one may.
void Replica::batch_assembly(models::StepWork& work) {
  if (!reuses_chunks(config_.prefill)) return;
  auto budget = config_.schedule.max_batched_tokens - static_cast<std::int64_t>(work.tokens());
  std::int64_t scoring_budget = config_.schedule.max_batched_tokens;
  scoring_.clear();
  for (Request* r : loading_) {
    if (!r->assembling) continue;
    const std::int64_t apart = batch_apart(*r, budget, work);
    const std::int64_t scored = std::min(scoring_budget, r->assembly->scored_here - r->scored);
    if (scored > 0) scoring_.push_back({static_cast<double>(scored), static_cast<double>(r->scored)});
    if (apart > 0 || scored > 0) assembly_step_.push_back({r, r->admission, apart, scored});
    budget -= apart;
    scoring_budget -= scored;
  }
  if (scoring_.empty()) return;
  step_scoring_s_ = env_.prompts->scoring_s(scoring_);
  work.extra_gpu_s += step_scoring_s_;
}

std::int64_t Replica::batch_apart(Request& r, std::int64_t budget, models::StepWork& work) {
  const PromptAssembly& a = *r.assembly;
  const std::int64_t end = std::min(a.apart, r.apart_done + std::max<std::int64_t>(budget, 0));
  add_chunks_alone(work, geometry_, a.apart_unit, r.apart_done, end);
  return end - r.apart_done;
}

void Replica::apply_assembly() {
  for (const AssemblyEntry& e : assembly_step_) {
    Request& r = *e.request;
    if (r.admission != e.admission || !r.assembling) continue;
    r.apart_done += e.apart;
    r.scored += e.scored;
    if (e.scored > 0 && r.scored == r.assembly->scored_here) {
      r.selection_event = true;
      env_.simulator.schedule_in(engine::from_seconds(r.assembly->align_s),
                                 Callback::to<&Replica::on_selected>(this, r.id));
    }
    rows_can_begin(r);
  }
}

/// All chunks' KV is there, and the tokens are chosen: it joins the prompts that are prefilled.
bool Replica::rows_can_begin(Request& r) {
  if (r.load_pending || r.selection_pending || r.apart_done < r.assembly->apart) return false;
  r.assembling = false;
  r.assembled = env_.simulator.now();
  env_.prompts->computed(r);
  std::erase(loading_, &r);
  hbm_.release(r.assembly->scoring_bytes);
  held_total_ -= r.assembly->scoring_bytes;
  r.held -= r.assembly->scoring_bytes;
  r.prefill_done = r.prefill_target - r.assembly->rows;
  outstanding_tokens_ -= r.prefill_done;
  enter_prefilling(r);
  return true;
}

void Replica::batch_rows(Request& r, std::int64_t rows, bool last, models::StepWork& work) {
  PromptAssembly& a = *r.assembly;
  const std::int64_t done = r.prefill_done - (r.prefill_target - a.rows);
  add_rows(work, geometry_, rows, a.before + static_cast<double>(done), r.prefill_target - r.prefix.dropped, last);
  work.extra_gpu_s += std::exchange(a.recover_s, 0.0);
  work.extra_gpu_s += a.first_layer_s * static_cast<double>(rows) / static_cast<double>(a.rows);
}

/// Its first token is about to be out.
void Replica::note_assembly(const Request& r) {
  if (r.had_prompt) return;  // it was pushed out, and has been put together before
  const engine::SimTime now = env_.simulator.now();
  const PromptAssembly& a = *r.assembly;
  const std::int64_t chunks = a.apart + r.prefix.tokens;
  const std::int64_t other = r.prompt - chunks;
  ReuseMeasurement& m = env_.measured.reuse;
  m.prompts += 1;
  m.chunk_tokens += chunks;
  m.loaded_tokens += r.prefix.tokens;
  m.apart_tokens += a.apart;
  m.recomputed_tokens += a.rows - other;
  m.other_tokens += other;
  m.queue_s += (r.admitted - r.arrival).seconds();
  m.load_s += (r.loaded - r.admitted).seconds();
  m.select_s += (r.selected - r.admitted).seconds();
  m.assemble_s += (r.assembled - r.admitted).seconds();
  m.prefill_s += (now - r.assembled).seconds();
  m.selections_longer += r.selected > r.loaded ? 1 : 0;
}

}  // namespace kvsim::serving
