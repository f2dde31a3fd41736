#include "sim/serving/steady_batch.h"

#include <algorithm>
#include <vector>

#include "sim/engine/invariant.h"

namespace kvsim::serving {

SteadyBatch::SteadyBatch(const DecodePolicy& decode, const KvGeometry& geometry, KvHoldings& memory, bool traced)
    : geometry_(geometry),
      memory_(memory),
      possible_(!traced && !decode.drafts() && !decode.reads_compressed && !decode.low_bit_copy &&
                decode.fetch == Fetch::none && geometry.grows_by_blocks()),
      grow_(static_cast<std::size_t>(geometry.block_tokens()), 0) {}

/// Of a member it does not change while it is one.
std::int64_t SteadyBatch::key(const Request& r) const {
  return r.attended() - static_cast<std::int64_t>(r.steady.since_);
}

/// A step whose number is this, modulo a block's tokens, begins with all its blocks full.
std::size_t SteadyBatch::grows_at(std::int64_t key) const {
  const std::int64_t block = geometry_.block_tokens();
  return static_cast<std::size_t>((block - key % block) % block);
}

SteadyBatch::Due SteadyBatch::due(Request& r) const {
  return {r.steady.since_ + static_cast<std::uint64_t>(r.remaining()), r.admission, &r};
}

void SteadyBatch::join(Request& r, engine::SimTime now) {
  if (!possible_ || r.kv.held() != geometry_.full_reservation(r.attended())) return;
  KVSIM_ALWAYS(!has(r) && r.record.last_token == now && r.remaining() > 0,
               "a request joins a batch it is not in step with");
  KVSIM_ALWAYS(size_ == 0 || last_end_ == now, "a request joins a batch between two of its steps");
  last_end_ = now;
  r.steady.member_ = true;
  r.steady.since_ = steps_;
  size_ += 1;
  attended_ += r.attended();
  keys_.insert(key(r));
  grow_[grows_at(key(r))] += 1;
  due_.insert(due(r));
}

void SteadyBatch::leave(Request& r) {
  if (!has(r)) return;
  update(r);
  due_.erase(due(r));
  forget(r);
}

/// It is up to date, and nothing is due of it any more.
void SteadyBatch::forget(Request& r) {
  keys_.erase(keys_.find(key(r)));
  grow_[grows_at(key(r))] -= 1;
  attended_ -= r.attended();
  size_ -= 1;
  r.steady.member_ = false;
  if (size_ == 0) gaps_.clear();
}

void SteadyBatch::update(Request& r) {
  if (!has(r)) return;
  memory_.attribute(r.kv, held(r));
  const auto steps = static_cast<std::int64_t>(steps_ - r.steady.since_);
  if (steps == 0) return;
  r.generated += steps;
  r.record.direct_tokens += steps;
  r.record.last_token = last_end_;
  r.record.largest_gap_s = std::max(r.record.largest_gap_s, largest_gap_since(r.steady.since_).seconds());
  r.steady.since_ = steps_;
}

std::int64_t SteadyBatch::held(const Request& r) const {
  if (!has(r)) return r.kv.held();
  return geometry_.full_reservation(key(r) + static_cast<std::int64_t>(steps_) + (under_way_ ? 1 : 0));
}

engine::Duration SteadyBatch::largest_gap_since(std::uint64_t step) const {
  return std::upper_bound(gaps_.begin(), gaps_.end(), step,
                          [](std::uint64_t before, const Gap& gap) { return before < gap.step; })
      ->length;
}

std::int64_t SteadyBatch::growth(std::uint64_t after) const {
  return grow_[(steps_ + after) % grow_.size()] * geometry_.block_bytes();
}

void SteadyBatch::begin_step(models::StepWork& work) {
  if (size_ == 0) return;
  memory_.grow(growth());
  under_way_ = true;
  const auto requests = static_cast<double>(size_);
  const auto tokens = static_cast<double>(attended_);
  work.decode.query_tokens += requests;
  work.logit_tokens += requests;
  work.decode.kv_bytes += geometry_.full_read(attended_);
  work.decode.pairs += tokens;
  work.decode.longest_kv =
      std::max(work.decode.longest_kv, static_cast<double>(*keys_.rbegin() + static_cast<std::int64_t>(steps_)));
}

void SteadyBatch::end_step(engine::SimTime now) {
  if (!under_way_) return;
  under_way_ = false;
  steps_ += 1;
  attended_ += size_;
  const engine::Duration length = gap(now);
  while (!gaps_.empty() && gaps_.back().length <= length) gaps_.pop_back();
  gaps_.push_back({steps_, length});
  last_end_ = now;
}

void SteadyBatch::end_step(engine::SimTime now, std::vector<Request*>& over) {
  end_step(now);
  while (!due_.empty() && due_.begin()->step == steps_) {
    Request& r = *due_.begin()->request;
    update(r);
    due_.erase(due_.begin());
    forget(r);
    over.push_back(&r);
  }
}

void Stretch::begin(const ForwardPass& pass, bool alone) {
  under_way_ = alone && env_.config.run.stretches && steady_.size() > 0 && pass.entries.empty() &&
               pass.work.tokens() == static_cast<double>(steady_.size()) && pass.work.extra_gpu_s == 0 &&
               admission_.waits_for_event();
  if (under_way_) by_tokens_ = env_.timer.token_time(pass.work);
}

std::int64_t Stretch::run(ForwardPass& pass) {
  const engine::SimTime free_before = env_.simulator.free_before();
  models::StepTime& time = pass.time;
  for (std::int64_t emitted = 0;; emitted += next(pass)) {
    time = env_.timer.time(pass.work, by_tokens_);
    const engine::Duration length = std::max(engine::from_seconds(time.total_s), engine::Duration{1});
    if (env_.simulator.now() + length >= free_before || ends_with_step()) return emitted;
    gpus_.pass({length, time.hbm_bound_s >= time.compute_bound_s, true, time.within_domain}, length);
  }
}

std::int64_t Stretch::end_step(ForwardPass& pass) {
  under_way_ = under_way_ && !gpus_.woken() && !ends_with_step();
  return under_way_ ? next(pass) : 0;
}

/// A step has ended with which nobody finishes, and the next one begins.
std::int64_t Stretch::next(ForwardPass& pass) {
  use_.note();
  log_.emitted_together(steady_.size(), steady_.gap(env_.simulator.now()));
  steady_.end_step(env_.simulator.now());
  pass.work.decode = {};
  pass.work.logit_tokens = 0;
  steady_.begin_step(pass.work);
  env_.measured.drafting_request_iterations += static_cast<std::uint64_t>(steady_.size());
  admission_.look_again();
  use_.set_short(admission_.lacks_memory());
  return steady_.size();
}

}  // namespace kvsim::serving
