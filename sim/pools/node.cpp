#include "sim/pools/node.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/serving/request_log.h"

namespace kvsim::pools {
namespace {

/// Drafts on quantised KV read what it was decompressed to on arrival.
memory::KvForm drafts_read(const models::CompressorSpec& compressor) {
  return compressor.kind == models::CompressionKind::token_dropping ? memory::KvForm::compressed : memory::KvForm::full;
}

}  // namespace

Node::Node(const NodeEnvironment& environment, StepListener& listener, Pool pool, std::size_t index,
           std::int64_t kv_capacity_bytes)
    : env_(environment),
      listener_(listener),
      pool_(pool),
      index_(index),
      memory_(environment.simulator, node_name(pool, index) + "/KV memory", kv_capacity_bytes, environment.trace),
      gpus_(environment.gpus, *this, node_name(pool, index)),
      parts_(environment.config, environment.decode, environment.geometry, environment.timer,
             drafts_read(environment.config.decode.compressor)) {}

void Node::start(PoolRequest& request, Work steady) {
  steady_.push_back({{steady, 1}, &request});
  gpus_.wake();
}

void Node::stop(const PoolRequest& request) {
  std::erase_if(steady_, [&request](const StepEntry& entry) { return entry.request == &request; });
}

void Node::enqueue(PoolRequest& request, Work task) {
  (task == Work::prefill ? prompts_ : tasks_).push_back({{task}, &request});
  gpus_.wake();
}

void Node::begin_step() {
  step_.clear();
  work_.clear();
  const bool ahead = std::exchange(decided_ahead_, false);
  batch(ahead ? known_prompts_ : prompts_.size());
  if (ahead && step_.empty()) batch(prompts_.size());  // there was nothing to decide ahead: decide now
  known_prompts_ = prompts_.size();
  if (step_.empty()) return;
  for (const StepEntry& entry : step_) {
    parts_.add(*entry.request->request, entry, work_);
    if (compresses(entry)) parts_.add_compression(entry.request->request->prompt - entry.request->stored, work_);
  }
  const models::StepTime time = env_.timer.time(work_);
  const engine::Duration length = std::max(engine::from_seconds(time.total_s), engine::Duration{1});
  const Work first = step_.front().work;
  gpus_.start({length, time.hbm_bound_s >= time.compute_bound_s, first == Work::decode || first == Work::draft,
               time.within_domain},
              length);
}

/// Every decoding and drafting request, then what is to be done once, then so many prompts with what is left of the
/// tokens.
void Node::batch(std::size_t prompts) {
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
  for (; budget > 0 && prompts > 0; --prompts) {
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
  if (task.work == Work::verify) return serving::verified_tokens(r);
  if (task.work == Work::catch_up) return r.generated + r.round.drafted + 1;
  return 0;
}

/// After a prompt's last chunk: for drafts on it elsewhere, or because its tokens are decoded with less than its full
/// KV.
bool Node::compresses(const StepEntry& chunk) const {
  const serving::Request& r = *chunk.request->request;
  if (chunk.work != Work::prefill || r.prefill_done + chunk.tokens < r.prefill_target) return false;
  const bool online = env_.config.decode.compressor.mode == models::CompressionMode::online;
  return (chunk.request->traits().drafts && online) || !env_.decode.lossless();
}

void Node::end_step() {
  gpus_.use_memory(memory_.reserved());
  trace_step();
  sums_.iterations += 1;
  decided_ahead_ = env_.config.schedule.asynchronous;
  for (const StepEntry& entry : step_) {
    count(entry);
    listener_.on_step(*this, entry);
  }
}

void Node::count(const StepEntry& entry) {
  serving::count_iteration(entry.work, env_.measured);
  switch (entry.work) {
    case Work::decode:
      sums_.decode_tokens += 1;
      break;
    case Work::draft:
      sums_.draft_tokens += 1;
      break;
    case Work::verify:
    case Work::catch_up:
      sums_.verifications += 1;
      sums_.verified_tokens += entry.tokens;
      break;
    case Work::prefill:
      sums_.prefill_tokens += entry.tokens;
      break;
    case Work::decompress:
      break;
  }
}

void Node::count_requests(std::int64_t change) {
  requests += change;
  note_waiting();
  gpus_.trace_running(requests);
}

void Node::add_stateless(PoolRequest& request) {
  stateless.push_back(&request);
  note_waiting();
}

void Node::remove_stateless(PoolRequest& request) {
  std::erase(stateless, &request);
  note_waiting();
}

/// Idle with requests here: they wait for transfers or for the other pool.
void Node::note_waiting() {
  gpus_.wait_for_link(requests > 0 || !stateless.empty());
}

void Node::start_measuring() {
  memory_.reset_statistics();
  sums_ = {};
  gpus_.use_memory(memory_.reserved());
  gpus_.start_measuring();
}

void Node::finish_measuring() {
  gpus_.use_memory(memory_.reserved());
  const bool local = pool_ == Pool::local;
  const serving::PoolsConfig& pools = *env_.config.cluster.pools;
  const auto nodes = static_cast<double>((local ? pools.local : pools.remote).nodes);
  serving::PoolMeasurement& pool = env_.measured.pools[name_of(pool_)];
  pool.capacity_s += gpus_.measured().seconds();
  pool.busy_s += gpus_.measured_time().computing().seconds();
  pool.iterations += sums_.iterations;
  pool.decode_tokens += sums_.decode_tokens;
  pool.draft_tokens += sums_.draft_tokens;
  pool.verifications += sums_.verifications;
  pool.verified_tokens += sums_.verified_tokens;
  pool.prefill_tokens += sums_.prefill_tokens;
  pool.reserved_mean_bytes += memory_.mean_reserved() / nodes;
  pool.reserved_peak_bytes = std::max(pool.reserved_peak_bytes, memory_.high_water());

  serving::add_group(env_.measured, gpus_,
                     {env_.config.model.weight_bytes(), memory_.high_water(), pools.local.nodes + pools.remote.nodes});
}

void Node::trace_step() {
  if (!gpus_.traced()) return;
  static constexpr std::array<const char*, 6> kNames{"decode", "draft", "prefill", "verify", "catch up", "decompress"};
  std::array<bool, kNames.size()> there{};
  for (const StepEntry& e : step_) there.at(static_cast<std::size_t>(e.work)) = true;
  std::string name;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (there.at(i)) name += (name.empty() ? "" : "+") + std::string(kNames.at(i));
  }
  gpus_.trace_step(name, step_.size());
}

}  // namespace kvsim::pools
