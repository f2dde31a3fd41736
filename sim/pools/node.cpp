#include "sim/pools/node.h"

#include <algorithm>
#include <utility>

#include "sim/serving/kv_capacity.h"
#include "sim/serving/request_log.h"

namespace kvsim::pools {
namespace {

/// Drafts on quantised KV read what it was decompressed to on arrival.
memory::KvForm drafts_read(const models::CompressorSpec& compressor) {
  return compressor.kind == models::CompressionKind::token_dropping ? memory::KvForm::compressed : memory::KvForm::full;
}

}  // namespace

using serving::Request;
using serving::StepEntry;

Node::Node(const NodeEnvironment& environment, StepListener& listener, Pool pool, std::size_t index,
           std::int64_t kv_capacity_bytes, const StorageNetwork& network)
    : env_(environment),
      listener_(listener),
      pool_(pool),
      index_(index),
      memory_(environment.simulator, node_name(pool, index) + "/KV memory", kv_capacity_bytes, environment.trace),
      loop_(environment, *this, node_name(pool, index), nullptr, drafts_read(environment.config.decode.compressor)) {
  loop_.connect(network.kv_link(pool, index), engine::Callback::to<&Node::on_offloaded>(this));
  touch();
}

void Node::start(Request& request, Work work) {
  request.admission = ++starts_;
  alone_.push_back({{work, 1}, &request, request.admission});
  loop_.gpus().wake();
}

void Node::stop(Request& request) {
  if (loop_.steady().has(request)) return loop_.steady().leave(request);
  std::erase_if(alone_, [&request](const StepEntry& entry) { return entry.request == &request; });
}

void Node::enqueue(Request& request, Work task) {
  tasks_.push_back({{task}, &request, request.admission});
  loop_.gpus().wake();
}

void Node::verify_as_it_arrives(Request& request) {
  loop_.await(request);
  enqueue(request, Work::verify);
}

void Node::prefill(Request& request, std::int64_t compressed) {
  prompts_.push_back({&request, compressed});
  loop_.gpus().wake();
}

/// Requests that are in step with the others from now on join them; the drafter may propose for the rest.
bool Node::decide() {
  std::erase_if(alone_, [this](const StepEntry& entry) {
    const Request& r = *entry.request;
    const std::int64_t left = entry.work == Work::draft ? r.round.target - r.round.drafted : r.remaining();
    return loop_.steady().join(*entry.request, entry.work, left, env_.simulator.now());
  });
  if (!loop_.proposals().any()) return true;
  decoding_.clear();
  for (const StepEntry& entry : alone_) decoding_.push_back(entry.request);
  return true;
}

bool Node::compose() {
  loop_.steady().begin_step(loop_.pass().work);
  const bool ahead = std::exchange(decided_ahead_, false);
  batch(ahead ? known_prompts_ : prompts_.size());
  const auto empty = [this] { return loop_.steady().size() == 0 && loop_.pass().entries.empty(); };
  if (ahead && empty()) batch(prompts_.size());  // there was nothing to decide ahead: decide now
  known_prompts_ = prompts_.size();
  return !empty();
}

serving::StepPart Node::part_of(const StepEntry& entry, std::int64_t budget) const {
  const Request& r = *entry.request;
  const std::int64_t room = entry.work == Work::draft ? r.round.target - r.round.drafted : r.remaining();
  const std::int64_t proposed = loop_.proposals().of(r, room, budget);
  return {entry.work, loop_.fetched().query_tokens(r, proposed), proposed};
}

/// Every decoding and drafting request, then what is to be done once, then so many prompts with what is left of the
/// tokens.
void Node::batch(std::size_t prompts) {
  std::int64_t budget = env_.config.schedule.max_batched_tokens - loop_.steady().size();
  for (const StepEntry& entry : alone_) {
    const serving::StepPart part = part_of(entry, budget);
    budget -= part.tokens;
    loop_.add(*entry.request, part);
  }
  for (bool first = true; !tasks_.empty(); first = false) {
    StepEntry task = tasks_.front();
    task.tokens = tokens_of(task);
    if (task.tokens > budget && !first) break;  // one too large for any iteration has one for itself
    budget -= task.tokens;
    loop_.add(*task.request, task);
    tasks_.pop_front();
  }
  for (; budget > 0 && prompts > 0; --prompts) {
    const Prompt& prompt = prompts_.front();
    const Request& r = *prompt.request;
    const std::int64_t left = r.prefill_target - r.prefill_done;
    const std::int64_t tokens = std::min(budget, left);
    budget -= tokens;
    const bool last = tokens == left;
    loop_.add_chunk(*prompt.request, tokens, last ? prompt.compressed : 0);
    if (!last) break;
    prompts_.pop_front();
  }
}

std::int64_t Node::tokens_of(const StepEntry& task) {
  const Request& r = *task.request;
  if (task.work == Work::verify) return serving::verified_tokens(r);
  if (task.work == Work::catch_up) return r.generated + r.round.drafted + 1;
  return 0;
}

void Node::start(machine::Step step) {
  step.decodes = loop_.steady().size() > 0 || loop_.pass().entries.front().decodes();
  loop_.start(step);
}

void Node::on_steady_step_ended() {
  loop_.gpus().use_memory(memory_.reserved());
  decided_ahead_ = env_.config.schedule.asynchronous;
  sums_.iterations += 1;
  sums_.decode_tokens += loop_.steady().decoding();
  sums_.draft_tokens += loop_.steady().drafts();
  env_.measured.drafting_request_iterations +=
      static_cast<std::uint64_t>(loop_.steady().decoding() + loop_.steady().drafts());
  if (loop_.steady().decoding() > 0) {
    listener_.on_decoded_together(loop_.steady().decoding(), loop_.steady().gap(env_.simulator.now()));
  }
}

/// As if one after the other, in order of their start; then what was done once.
void Node::apply() {
  over_.clear();
  loop_.steady().end_step(env_.simulator.now(), over_);
  auto over = over_.begin();
  const auto until = [&](std::uint64_t admission) {
    for (; over != over_.end() && (*over)->admission < admission; ++over) {
      listener_.on_steady_over(*this, **over, (*over)->remaining() == 0 ? Work::decode : Work::draft);
    }
  };
  for (const StepEntry& entry : loop_.pass().entries) {
    until(entry.decodes() ? entry.admission : starts_ + 1);
    apply(entry);
  }
  until(starts_ + 1);
}

void Node::apply(const StepEntry& entry) {
  serving::count_iteration(entry.work, env_.measured);
  Request& r = *entry.request;
  if (entry.work == Work::decode && loop_.fetched().chose_first(r)) return;
  const std::int64_t context = r.context();
  const bool drafter = entry.decodes() && loop_.proposals().any();
  const std::int64_t accepted = drafter ? loop_.proposals().accept(r, entry.proposed) : 0;
  switch (entry.work) {
    case Work::decode:
      sums_.decode_tokens += 1 + accepted;
      break;
    case Work::draft:
      sums_.draft_tokens += 1 + accepted;
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
  listener_.on_step(*this, entry, accepted);
  if (entry.work == Work::decode && r.remaining() == 0) loop_.fetched().abandon(r, context);
}

void Node::count_requests(std::int64_t change) {
  requests_ += change;
  touch();
  note_waiting();
  loop_.gpus().trace_running(requests_);
}

void Node::count_stateless(std::int64_t change) {
  stateless_ += change;
  touch();
  note_waiting();
}

/// Idle with requests here: they wait for transfers or for the other pool.
void Node::note_waiting() {
  loop_.gpus().wait_for_link(requests_ > 0 || stateless_ > 0);
}

void Node::start_measuring() {
  memory_.reset_statistics();
  sums_ = {};
  loop_.gpus().use_memory(memory_.reserved());
  loop_.gpus().start_measuring();
}

void Node::finish_measuring() {
  loop_.gpus().use_memory(memory_.reserved());
  const bool local = pool_ == Pool::local;
  const serving::PoolsConfig& pools = *env_.config.cluster.pools;
  const auto nodes = static_cast<double>((local ? pools.local : pools.remote).nodes);
  serving::PoolMeasurement& pool = env_.measured.pools[name_of(pool_)];
  pool.capacity_s += loop_.gpus().measured().seconds();
  pool.busy_s += loop_.gpus().measured_time().computing.seconds();
  pool.iterations += sums_.iterations;
  pool.decode_tokens += sums_.decode_tokens;
  pool.draft_tokens += sums_.draft_tokens;
  pool.verifications += sums_.verifications;
  pool.verified_tokens += sums_.verified_tokens;
  pool.prefill_tokens += sums_.prefill_tokens;
  pool.reserved_mean_bytes += memory_.pool().mean_reserved() / nodes;
  pool.reserved_peak_bytes = std::max(pool.reserved_peak_bytes, memory_.pool().high_water());

  serving::add_group(
      env_.measured, loop_.gpus(),
      {serving::replica_weights(env_.config), memory_.pool().high_water(), pools.local.nodes + pools.remote.nodes});
}

}  // namespace kvsim::pools
