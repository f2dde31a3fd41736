#include "sim/serving/steady_batch.h"

#include <algorithm>
#include <vector>

#include "sim/engine/invariant.h"

namespace kvsim::serving {

SteadyBatch::SteadyBatch(const StepParts& parts, const KvGeometry& geometry, KvHoldings* memory, bool traced)
    : parts_(parts),
      geometry_(geometry),
      memory_(memory),
      traced_(traced),
      grow_(static_cast<std::size_t>(geometry.block_tokens()), 0) {}

bool SteadyBatch::possible(Work work) const {
  return !traced_ && parts_.reads_a_token_more(work) && (!memory_ || geometry_.grows_by_blocks());
}

/// Of its coming step.
models::AttentionWork SteadyBatch::part(const Request& r) const {
  models::StepWork work;
  parts_.add(r, {r.steady.drafts_ ? Work::draft : Work::decode, 1}, work);
  return work.decode;
}

/// Of a member it does not change while it is one.
double SteadyBatch::longest_key(const Request& r, const models::AttentionWork& part) const {
  return part.pairs - static_cast<double>(r.steady.since_);
}

/// A step whose number is this, modulo a block's tokens, begins with all its blocks full.
std::size_t SteadyBatch::grows_at(const Request& r) const {
  const std::int64_t block = geometry_.block_tokens();
  const std::int64_t key = r.attended() - static_cast<std::int64_t>(r.steady.since_);
  return static_cast<std::size_t>((block - key % block) % block);
}

SteadyBatch::Due SteadyBatch::due(Request& r) const {
  const std::int64_t left = r.steady.drafts_ ? r.round.target - r.round.drafted : r.remaining();
  return {r.steady.since_ + static_cast<std::uint64_t>(left), r.admission, &r};
}

/// It is up to date.
void SteadyBatch::count(Request& r, std::int64_t sign) {
  (r.steady.drafts_ ? drafting_ : decoding_) += sign;
  const models::AttentionWork its = part(r);
  kv_bytes_ += static_cast<double>(sign) * its.kv_bytes;
  pairs_ += static_cast<double>(sign) * its.pairs;
  const double longest = longest_key(r, its);
  if (sign > 0) {
    longest_.insert(longest);
  } else {
    longest_.erase(longest_.find(longest));
  }
  if (memory_) grow_[grows_at(r)] += sign;
}

bool SteadyBatch::join(Request& r, Work work, engine::SimTime now) {
  if (!possible(work)) return false;
  KVSIM_ALWAYS(r.steady.batch_ == nullptr && !under_way_, "a request joins a batch twice, or during a step");
  if (work == Work::decode && r.record.last_token != now) return false;
  if (memory_ && r.kv.held() != geometry_.full_reservation(r.attended())) return false;
  KVSIM_ALWAYS(size() == 0 || last_end_ == now, "a request joins a batch between two of its steps");
  last_end_ = now;
  r.steady.batch_ = this;
  r.steady.drafts_ = work == Work::draft;
  r.steady.since_ = steps_;
  KVSIM_ALWAYS(due(r).step > steps_, "a request joins a batch that has nothing to do there");
  count(r, 1);
  due_.insert(due(r));
  return true;
}

void SteadyBatch::leave(Request& r) {
  if (!has(r)) return;
  update(r);
  due_.erase(due(r));
  forget(r);
}

/// It is up to date, and nothing is due of it any more.
void SteadyBatch::forget(Request& r) {
  count(r, -1);
  r.steady.batch_ = nullptr;
  if (size() == 0) gaps_.clear();
}

void SteadyBatch::update(Request& r) {
  if (!has(r)) return;
  if (memory_) memory_->attribute(r.kv, held(r));
  const auto steps = static_cast<std::int64_t>(steps_ - r.steady.since_);
  if (steps == 0) return;
  if (r.steady.drafts_) {
    r.round.drafted += steps;
  } else {
    r.generated += steps;
    r.record.direct_tokens += steps;
    r.record.last_token = last_end_;
    r.record.largest_gap_s = std::max(r.record.largest_gap_s, largest_gap_since(r.steady.since_).seconds());
  }
  r.steady.since_ = steps_;
}

std::int64_t SteadyBatch::held(const Request& r) const {
  if (!memory_ || !has(r)) return r.kv.held();
  const auto steps = static_cast<std::int64_t>(steps_ - r.steady.since_);
  return geometry_.full_reservation(r.attended() + steps + (under_way_ ? 1 : 0));
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
  drafts_ = drafting_;
  if (size() == 0) return;
  if (memory_) memory_->grow(growth());
  under_way_ = true;
  const auto requests = static_cast<double>(size());
  work.decode.query_tokens += requests;
  work.logit_tokens += requests;
  work.decode.kv_bytes += kv_bytes_;
  work.decode.pairs += pairs_;
  work.decode.longest_kv = std::max(work.decode.longest_kv, *longest_.rbegin() + static_cast<double>(steps_));
}

void SteadyBatch::end_step(engine::SimTime now) {
  if (!under_way_) return;
  under_way_ = false;
  steps_ += 1;
  kv_bytes_ += geometry_.full_read(size());
  pairs_ += static_cast<double>(size());
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
  under_way_ = alone && enabled_ && steady_.size() > 0 && pass.entries.empty() &&
               pass.work.tokens() == static_cast<double>(steady_.size()) && pass.work.extra_gpu_s == 0;
  if (under_way_) by_tokens_ = timer_.token_time(pass.work);
}

void Stretch::run(ForwardPass& pass) {
  const engine::SimTime free_before = simulator_.free_before();
  for (;; next(pass)) {
    pass.time = timer_.time(pass.work, by_tokens_);
    const machine::Step step = pass.step();
    if (simulator_.now() + step.computing >= free_before || steady_.ends_with_step()) return;
    gpus_.pass(step, step.computing);
  }
}

bool Stretch::end_step(ForwardPass& pass) {
  const bool as_begun = pass.work.tokens() == static_cast<double>(steady_.size());  // nobody has left
  under_way_ = under_way_ && as_begun && !gpus_.woken() && !steady_.ends_with_step();
  if (under_way_) next(pass);
  return under_way_;
}

/// A step has ended with which nobody finishes, and the next one begins.
void Stretch::next(ForwardPass& pass) {
  owner_.on_steady_step_ended();
  steady_.end_step(simulator_.now());
  pass.work.decode = {};
  pass.work.logit_tokens = 0;
  steady_.begin_step(pass.work);
  owner_.on_steady_step_begins();
}

}  // namespace kvsim::serving
