#include "sim/pools/node.h"

#include <algorithm>
#include <array>

#include "sim/engine/invariant.h"
#include "sim/engine/trace.h"
#include "sim/serving/step_parts.h"

namespace kvsim::pools {

using engine::Callback;
using engine::SimTime;

Node::Node(const NodeEnvironment& environment, StepListener& listener, Pool pool, std::size_t index,
           std::int64_t kv_capacity_bytes)
    : env_(environment),
      listener_(listener),
      pool_(pool),
      index_(index),
      memory_(environment.simulator, node_name(pool, index) + "/KV memory", kv_capacity_bytes, environment.trace) {
  models::StepWork one_token;
  one_token.decode.query_tokens = 1;
  one_token.logit_tokens = 1;
  iteration_estimate_s_ = env_.timer.time(one_token).total_s;
  if (env_.trace) {
    track_ = env_.trace->add_track(node_name(pool, index), engine::kGpuRow);
    running_counter_ = env_.trace->add_counter(node_name(pool, index), "running requests");
  }
}

void Node::start(PoolRequest& request, Work steady) {
  steady_.push_back({&request, steady, 1});
  wake();
}

void Node::stop(const PoolRequest& request) {
  std::erase_if(steady_, [&request](const StepEntry& entry) { return entry.request == &request; });
}

void Node::enqueue(PoolRequest& request, Work task) {
  (task == Work::prefill ? prompts_ : tasks_).push_back({&request, task, 0});
  wake();
}

void Node::wake() {
  if (iterating_ || wake_pending_) return;
  wake_pending_ = true;  // one iteration for everything that happens at this instant
  env_.simulator.schedule_in({}, Callback::to<&Node::begin_iteration>(this));
}

void Node::begin_iteration() {
  wake_pending_ = false;
  step_.clear();
  work_.clear();
  batch();
  if (step_.empty()) return;
  if (!iterating_) account_idle();
  note_time();
  iterating_ = true;
  for (const StepEntry& entry : step_) add(entry);
  step_time_ = env_.timer.time(work_);
  step_begin_ = env_.simulator.now();
  const engine::Duration length = std::max(engine::from_seconds(step_time_.total_s), engine::Duration{1});
  env_.simulator.schedule_in(length, Callback::to<&Node::end_iteration>(this));
}

/// Every decoding and drafting request, then what is to be done once, then prompts with what is left of the tokens.
void Node::batch() {
  step_.insert(step_.end(), steady_.begin(), steady_.end());
  std::int64_t budget = env_.config.schedule.max_batched_tokens - static_cast<std::int64_t>(step_.size());
  for (bool first = true; !tasks_.empty(); first = false) {
    StepEntry task = tasks_.front();
    task.tokens = tokens_of(task);
    if (task.tokens > budget && !first) break;  // one too large for any iteration has one for itself
    budget -= task.tokens;
    step_.push_back(task);
    tasks_.pop_front();
  }
  while (budget > 0 && !prompts_.empty()) {
    StepEntry chunk = prompts_.front();
    const serving::Request& r = *chunk.request->request;
    const std::int64_t left = r.prefill_target - r.prefill_done;
    chunk.tokens = std::min(budget, left);
    budget -= chunk.tokens;
    step_.push_back(chunk);
    if (chunk.tokens < left) break;
    prompts_.pop_front();
  }
}

std::int64_t Node::tokens_of(const StepEntry& task) {
  const serving::Request& r = *task.request->request;
  if (task.work == Work::verify) return r.drafted + 1;
  if (task.work == Work::catch_up) return r.generated + r.drafted + 1;
  return 0;
}

void Node::add(const StepEntry& entry) {
  const serving::Request& r = *entry.request->request;
  const models::CompressorSpec& compressor = env_.config.decode.compressor;
  const auto gpus = static_cast<double>(env_.config.cluster.tensor_parallel);
  switch (entry.work) {
    case Work::decode:
      serving::add_decode(work_, env_.geometry, r.context());
      break;
    case Work::draft:
      if (compressor.kind == models::CompressionKind::token_dropping) {
        serving::add_draft(work_, env_.geometry, r.prompt, r.generated, r.drafted,
                           serving::attention_time_factor(env_.config.cluster.profile, compressor));
      } else {  // decompressed on arrival
        serving::add_decode(work_, env_.geometry, r.context() + r.drafted);
      }
      break;
    case Work::prefill: {
      const bool last = r.prefill_done + entry.tokens == r.prefill_target;
      serving::add_chunk(work_, env_.geometry, r.prefill_done, entry.tokens, last);
      if (last && entry.request->traits().drafts && compressor.mode == models::CompressionMode::online &&
          compressor.compress_bytes_per_s.value > 0) {
        work_.extra_gpu_s += static_cast<double>(env_.geometry.full_transfer(r.prompt - entry.request->stored)) / gpus /
                             compressor.compress_bytes_per_s.value;
      }
      break;
    }
    case Work::verify:
      serving::add_verification(work_, env_.geometry, r.context(), r.drafted);
      break;
    case Work::catch_up:  // its generated tokens anew over the exact prompt; logits of the drafted ones alone
      serving::add_verification(work_, env_.geometry, r.prompt, r.generated + r.drafted);
      work_.logit_tokens -= static_cast<double>(r.generated);
      break;
    case Work::decompress:
      if (compressor.decompress_bytes_per_s.value > 0) {
        work_.extra_gpu_s +=
            static_cast<double>(env_.geometry.full_transfer(r.prompt)) / gpus / compressor.decompress_bytes_per_s.value;
      }
      break;
  }
}

void Node::end_iteration() {
  note_time();
  iterating_ = false;
  const SimTime now = env_.simulator.now();
  const double length = (now - step_begin_).seconds();
  note_memory();
  account(step_begin_, now);
  trace_step(step_begin_, now);
  env_.measured.iteration_s.add(length);
  env_.measured.extrapolated_iterations += step_time_.within_domain ? 0 : 1;
  sums_.iterations += 1;
  if (step_.front().work == Work::decode || step_.front().work == Work::draft) {
    constexpr double kPast = 0.8;
    iteration_estimate_s_ = kPast * iteration_estimate_s_ + (1 - kPast) * length;
  }
  for (const StepEntry& entry : step_) {
    count(entry, sums_);
    listener_.on_step(*this, entry);
  }
  idle_since_ = now;
  if (!iterating_ && !wake_pending_) begin_iteration();
}

void Node::count(const StepEntry& entry, serving::PoolMeasurement& sums) const {
  switch (entry.work) {
    case Work::decode:
      sums.decode_tokens += 1;
      env_.measured.drafting_request_iterations += 1;
      break;
    case Work::draft:
      sums.draft_tokens += 1;
      env_.measured.drafting_request_iterations += 1;
      break;
    case Work::verify:
    case Work::catch_up:
      sums.verifications += 1;
      sums.verified_tokens += entry.tokens;
      env_.measured.verifying_request_iterations += 1;
      break;
    case Work::prefill:
      sums.prefill_tokens += entry.tokens;
      break;
    case Work::decompress:
      break;
  }
}

void Node::account(SimTime begin, SimTime end) {
  begin = std::max(begin, measure_begin_);
  if (end <= begin) return;
  const double s = (end - begin).seconds();
  sums_.busy_s += s;
  env_.measured.busy_s += s;
  (memory_bound() ? env_.measured.hbm_bound_s : env_.measured.compute_bound_s) += s;
}

void Node::account_idle() {
  const SimTime begin = std::max(idle_since_, measure_begin_);
  const SimTime end = env_.simulator.now();
  if (end <= begin) return;
  // Idle with requests here: they wait for transfers or for the other pool.
  (waits() ? env_.measured.link_bound_s : env_.measured.idle_s) += (end - begin).seconds();
}

void Node::note_time() {
  const SimTime now = env_.simulator.now();
  engine::Duration& busy = memory_bound() ? spent_.hbm_bandwidth : spent_.compute;
  engine::Duration& idle = waits() ? spent_.link : spent_.idle;
  (iterating_ ? busy : idle) += now - spent_until_;
  spent_until_ = now;
}

serving::GpuTime Node::gpu_time() {
  note_time();
  return spent_;
}

void Node::note_memory() {
  used_peak_ = std::max(used_peak_, memory_.reserved());
  used_.set(static_cast<double>(memory_.reserved()), env_.simulator.now());
}

void Node::count_requests(std::int64_t change) {
  requests += change;
  if (env_.trace) env_.trace->counter(running_counter_, env_.simulator.now(), static_cast<double>(requests));
}

void Node::start_measuring() {
  measure_begin_ = env_.simulator.now();
  memory_.reset_statistics();
  sums_ = {};
  used_peak_ = 0;
  note_memory();
  used_.reset(measure_begin_);
}

void Node::finish_measuring() {
  const SimTime now = env_.simulator.now();
  note_memory();
  if (iterating_) {
    account(step_begin_, now);
  } else {
    account_idle();
  }
  const bool local = pool_ == Pool::local;
  const serving::PoolsConfig& pools = *env_.config.cluster.pools;
  const auto nodes = static_cast<double>((local ? pools.local : pools.remote).nodes);
  const double measured_s = (now - measure_begin_).seconds();
  serving::PoolMeasurement& pool = env_.measured.pools[name_of(pool_)];
  pool.capacity_s += measured_s;
  pool.busy_s += sums_.busy_s;
  pool.iterations += sums_.iterations;
  pool.decode_tokens += sums_.decode_tokens;
  pool.draft_tokens += sums_.draft_tokens;
  pool.verifications += sums_.verifications;
  pool.verified_tokens += sums_.verified_tokens;
  pool.prefill_tokens += sums_.prefill_tokens;
  pool.reserved_mean_bytes += memory_.mean_reserved() / nodes;
  pool.reserved_peak_bytes = std::max(pool.reserved_peak_bytes, memory_.high_water());

  serving::Measurements& m = env_.measured;
  const std::int64_t weights = env_.config.model.weight_bytes();
  m.capacity_s += measured_s;
  m.hbm_peak_bytes = std::max(m.hbm_peak_bytes, weights + used_peak_);
  m.hbm_reserved_peak_bytes = std::max(m.hbm_reserved_peak_bytes, weights + memory_.high_water());
  m.hbm_mean_bytes +=
      (static_cast<double>(weights) + used_.mean(now)) / static_cast<double>(pools.local.nodes + pools.remote.nodes);
}

void Node::trace_step(SimTime begin, SimTime end) {
  if (!env_.trace) return;
  static constexpr std::array<const char*, 6> kNames{"decode", "draft", "prefill", "verify", "catch up", "decompress"};
  std::array<bool, kNames.size()> there{};
  for (const StepEntry& e : step_) there.at(static_cast<std::size_t>(e.work)) = true;
  std::string name;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (there.at(i)) name += (name.empty() ? "" : "+") + std::string(kNames.at(i));
  }
  env_.trace->slice(track_, name, begin, end, engine::TraceSink::no_owner, static_cast<double>(step_.size()));
}

}  // namespace kvsim::pools
