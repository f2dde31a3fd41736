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
      parts_(environment.config, environment.decode, environment.geometry, environment.timer,
             drafts_read(environment.config.decode.compressor)),
      memory_(environment.simulator, node_name(pool, index) + "/KV memory", kv_capacity_bytes, environment.trace),
      gpus_(environment.gpus, *this, node_name(pool, index)),
      stretch_(environment.simulator, environment.step_times, environment.config.run.stretches, gpus_, steady_, *this),
      steady_(parts_, environment.geometry, nullptr, environment.trace != nullptr),
      proposals_(environment),
      fetched_(environment, gpus_, network.kv_link(pool, index), engine::Callback::to<&Node::on_offloaded>(this)) {
  touch();
}

void Node::start(Request& request, Work work) {
  request.admission = ++starts_;
  alone_.push_back({{work, 1}, &request, request.admission});
  gpus_.wake();
}

void Node::stop(Request& request) {
  if (steady_.has(request)) return steady_.leave(request);
  std::erase_if(alone_, [&request](const StepEntry& entry) { return entry.request == &request; });
}

void Node::enqueue(Request& request, Work task) {
  tasks_.push_back({{task}, &request, request.admission});
  gpus_.wake();
}

void Node::verify_as_it_arrives(Request& request) {
  arriving_.push_back(&request);
  enqueue(request, Work::verify);
}

void Node::arrived(const Request& request) {
  if (std::erase(arriving_, &request) == 0 || !ends_by_arrival_ || awaits_kv()) return;
  ends_by_arrival_ = false;
  const engine::SimTime computed = gpus_.step_begin() + pass_.computing();
  const engine::SimTime last = env_.simulator.now() + serving::last_layer(pass_.time, env_.config.model.layers);
  env_.simulator.schedule_at(std::max(computed, last), gpus_.ended());
}

/// The step that begins, or is under way.
bool Node::awaits_kv() const {
  return !arriving_.empty() && std::any_of(pass_.entries.begin(), pass_.entries.end(), [this](const StepEntry& entry) {
    return std::find(arriving_.begin(), arriving_.end(), entry.request) != arriving_.end();
  });
}

void Node::prefill(Request& request, std::int64_t compressed) {
  prompts_.push_back({&request, compressed});
  gpus_.wake();
}

void Node::begin_step() {
  if (stretch_.under_way()) return run_step();
  if (fetched_.lags()) return;
  join_steady();
  propose();
  pass_.clear();
  fetched_.begin_step();
  steady_.begin_step(pass_.work);
  const bool ahead = std::exchange(decided_ahead_, false);
  batch(ahead ? known_prompts_ : prompts_.size());
  const auto empty = [this] { return steady_.size() == 0 && pass_.entries.empty(); };
  if (ahead && empty()) batch(prompts_.size());  // there was nothing to decide ahead: decide now
  known_prompts_ = prompts_.size();
  if (empty()) return;
  stretch_.begin(pass_, idle());
  run_step();
}

/// Whoever is in step with the others from now on.
void Node::join_steady() {
  std::erase_if(alone_, [this](const StepEntry& entry) {
    const Request& r = *entry.request;
    const std::int64_t left = entry.work == Work::draft ? r.round.target - r.round.drafted : r.remaining();
    return steady_.join(*entry.request, entry.work, left, env_.simulator.now());
  });
}

/// What the drafter may propose for whom.
void Node::propose() {
  if (!proposals_.any()) return;
  decoding_.clear();
  for (const StepEntry& entry : alone_) decoding_.push_back(entry.request);
  proposals_.begin_step(decoding_);
}

serving::StepPart Node::part_of(const StepEntry& entry, std::int64_t budget) const {
  const Request& r = *entry.request;
  const std::int64_t room = entry.work == Work::draft ? r.round.target - r.round.drafted : r.remaining();
  const std::int64_t proposed = proposals_.of(r, room, budget);
  return {entry.work, fetched_.query_tokens(r, proposed), proposed};
}

/// Every decoding and drafting request, then what is to be done once, then so many prompts with what is left of the
/// tokens.
void Node::batch(std::size_t prompts) {
  std::int64_t budget = env_.config.schedule.max_batched_tokens - steady_.size();
  for (const StepEntry& entry : alone_) {
    const serving::StepPart part = part_of(entry, budget);
    budget -= part.tokens;
    add(*entry.request, part);
    if (proposals_.any()) proposals_.add(*entry.request, part.proposed);
  }
  for (bool first = true; !tasks_.empty(); first = false) {
    StepEntry task = tasks_.front();
    task.tokens = tokens_of(task);
    if (task.tokens > budget && !first) break;  // one too large for any iteration has one for itself
    budget -= task.tokens;
    add(*task.request, task);
    tasks_.pop_front();
  }
  for (; budget > 0 && prompts > 0; --prompts) {
    const Prompt& prompt = prompts_.front();
    const Request& r = *prompt.request;
    const std::int64_t left = r.prefill_target - r.prefill_done;
    const std::int64_t tokens = std::min(budget, left);
    budget -= tokens;
    add(*prompt.request, {Work::prefill, tokens});
    pass_.work.extra_gpu_s += std::exchange(prompt.request->prefix.unpack_s, 0.0);
    if (proposals_.any()) proposals_.add_chunk(r, tokens);
    fetched_.add_chunk(tokens);
    if (tokens < left) break;
    if (prompt.compressed > 0) parts_.add_compression(prompt.compressed, pass_.work);
    prompts_.pop_front();
  }
}

void Node::add(Request& request, const serving::StepPart& part) {
  pass_.add(request, part);
  if (part.work == Work::decode && fetched_.possible()) {
    fetched_.add(request, part.proposed, pass_.work);
  } else {
    parts_.add(request, part, pass_.work);
  }
}

std::int64_t Node::tokens_of(const StepEntry& task) {
  const Request& r = *task.request;
  if (task.work == Work::verify) return serving::verified_tokens(r);
  if (task.work == Work::catch_up) return r.generated + r.round.drafted + 1;
  return 0;
}

void Node::run_step() {
  if (stretch_.under_way()) {
    stretch_.run(pass_);
  } else {
    pass_.work.extra_gpu_s += fetched_.quantising_s() + proposals_.seconds();
    pass_.time = env_.step_times.time(pass_.work);
  }
  machine::Step step = pass_.step(env_.step_times);
  step.decodes = steady_.size() > 0 || pass_.entries.front().decodes();
  if (fetched_.by_layers()) return fetched_.start(step, pass_);
  ends_by_arrival_ = awaits_kv();
  ends_by_arrival_ ? gpus_.start(step) : gpus_.start(step, {});
}

void Node::on_steady_step_ended() {
  gpus_.use_memory(memory_.reserved());
  decided_ahead_ = env_.config.schedule.asynchronous;
  sums_.iterations += 1;
  sums_.decode_tokens += steady_.decoding();
  sums_.draft_tokens += steady_.drafts();
  env_.measured.drafting_request_iterations += static_cast<std::uint64_t>(steady_.decoding() + steady_.drafts());
  if (steady_.decoding() > 0) {
    listener_.on_decoded_together(steady_.decoding(), steady_.gap(env_.simulator.now()));
  }
}

void Node::end_step() {
  if (stretch_.end_step(pass_)) return;
  fetched_.end_step();
  on_steady_step_ended();
  if (gpus_.traced()) gpus_.trace_step(pass_.name(), pass_.entries.size());
  if (env_.decode.proposes()) {
    proposals_.step_ended(pass_.work, pass_.time, gpus_.waited(), fetched_.longer_with_one_more_s(), decoding_);
  }
  apply_steadily();
}

/// As if one after the other, in order of their start; then what was done once.
void Node::apply_steadily() {
  over_.clear();
  steady_.end_step(env_.simulator.now(), over_);
  auto over = over_.begin();
  const auto until = [&](std::uint64_t admission) {
    for (; over != over_.end() && (*over)->admission < admission; ++over) {
      listener_.on_steady_over(*this, **over, (*over)->remaining() == 0 ? Work::decode : Work::draft);
    }
  };
  for (const StepEntry& entry : pass_.entries) {
    until(entry.decodes() ? entry.admission : starts_ + 1);
    apply(entry);
  }
  until(starts_ + 1);
}

void Node::apply(const StepEntry& entry) {
  serving::count_iteration(entry.work, env_.measured);
  Request& r = *entry.request;
  if (entry.work == Work::decode && fetched_.chose_first(r)) return;
  const std::int64_t context = r.context();
  const bool drafter = entry.decodes() && proposals_.any();
  const std::int64_t accepted = drafter ? proposals_.accept(r, entry.proposed) : 0;
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
  if (entry.work == Work::decode && r.remaining() == 0) fetched_.abandon(r, context);
}

void Node::count_requests(std::int64_t change) {
  requests_ += change;
  touch();
  note_waiting();
  gpus_.trace_running(requests_);
}

void Node::count_stateless(std::int64_t change) {
  stateless_ += change;
  touch();
  note_waiting();
}

/// Idle with requests here: they wait for transfers or for the other pool.
void Node::note_waiting() {
  gpus_.wait_for_link(requests_ > 0 || stateless_ > 0);
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
  pool.busy_s += gpus_.measured_time().computing.seconds();
  pool.iterations += sums_.iterations;
  pool.decode_tokens += sums_.decode_tokens;
  pool.draft_tokens += sums_.draft_tokens;
  pool.verifications += sums_.verifications;
  pool.verified_tokens += sums_.verified_tokens;
  pool.prefill_tokens += sums_.prefill_tokens;
  pool.reserved_mean_bytes += memory_.mean_reserved() / nodes;
  pool.reserved_peak_bytes = std::max(pool.reserved_peak_bytes, memory_.high_water());

  serving::add_group(
      env_.measured, gpus_,
      {serving::replica_weights(env_.config), memory_.high_water(), pools.local.nodes + pools.remote.nodes});
}

}  // namespace kvsim::pools
