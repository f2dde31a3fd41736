#include "sim/instance/uniform_batch.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "sim/engine/invariant.h"

namespace kvsim::serving {
namespace {

/// Parts of a token: the KV that requests attend to is a whole number of these (see KvGeometry).
constexpr double kParts = 1024;

}  // namespace

GrowingKv::GrowingKv(const KvGeometry* geometry, bool compressed) : geometry_(geometry), compressed_(compressed) {
  if (!geometry) return;
  const auto units = compressed ? geometry->compressed_units() : geometry->full_units();
  if (!units) return;
  units_ = *units;
  block_ = geometry->block_tokens() * units_.of_token;
  if (std::has_single_bit(static_cast<std::uint64_t>(block_))) within_ = block_ - 1;
  by_first_.assign(static_cast<std::size_t>(block_), 0);
}

/// In a step, a token more than the context is held; of the tokens before it, some may be compressed.
std::optional<std::int64_t> GrowingKv::first(const Request& r, std::int64_t steps) const {
  if (!possible()) return std::nullopt;
  const std::int64_t grown = steps * units_.a_token_adds;
  if (!compressed_) return r.attended() - grown;
  const auto held = geometry_->compressed().in_units(r.prompt - r.prefix->dropped, r.generated);
  return held ? std::optional(*held + units_.of_token - units_.a_token_adds - grown) : std::nullopt;
}

std::int64_t GrowingKv::growth(std::int64_t steps) const {
  if (!possible()) return 0;
  // Those with whom the units that a token adds reach into another block, which they do from each of as many places.
  std::int64_t requests = 0;
  std::size_t at = within_block(-(steps + 1) * units_.a_token_adds);
  for (std::int64_t i = 0; i < units_.a_token_adds; ++i) {
    requests += by_first_[at];
    if (++at == by_first_.size()) at = 0;
  }
  return requests * geometry_->block_bytes();
}

void UniformBatch::Gaps::add(std::int64_t step, engine::Duration length) {
  if (last_.length > length) gaps_.push_back(last_);
  while (!gaps_.empty() && gaps_.back().length <= length) gaps_.pop_back();
  last_ = {step, length};
}

engine::Duration UniformBatch::Gaps::longest_since(std::int64_t step) const {
  const auto longest = std::upper_bound(gaps_.begin(), gaps_.end(), step,
                                        [](std::int64_t before, const Gap& gap) { return before < gap.step; });
  return longest == gaps_.end() ? last_.length : longest->length;
}

UniformBatch::UniformBatch(const StepParts& parts, const KvGeometry& geometry, KvHoldings* memory, bool traced)
    : parts_(parts), memory_(memory), traced_(traced), kv_(memory ? &geometry : nullptr, parts.decodes_compressed()) {}

bool UniformBatch::possible(Work work) const {
  return !traced_ && parts_.may_grow() && (!memory_ || work == Work::draft || kv_.possible());
}

/// It is up to date.
void UniformBatch::count(const Request& r, std::int64_t sign) {
  const auto one = static_cast<double>(sign);
  (r.uniform_place.drafts_ ? drafting_ : decoding_) += sign;
  const Member& member = of(r);
  growth_.add(member.growth, one);
  coming_.add(member.first, one);
  coming_.add(member.growth, one * static_cast<double>(steps_));
  if (grows(r)) kv_.count(member.held, sign);
}

bool UniformBatch::join(Request& r, Work work, std::int64_t tokens, engine::SimTime now) {
  if (!possible(work)) return false;
  KVSIM_ALWAYS(r.uniform_place.batch_ == nullptr && !under_way_, "a request joins a batch twice, or during a step");
  KVSIM_ALWAYS(tokens > 0, "a request joins a batch that has nothing to do there");
  Member member;
  const std::optional<StepParts::Growth> growth = parts_.growth(r, work);
  if (!growth || (work == Work::decode && r.record->last_token != now)) return false;
  if (size() > 0 && last_end_ != now) return false;  // it came with a step that the members had no part in
  if (memory_ && work == Work::decode) {
    const std::optional<std::int64_t> first = kv_.first(r, steps_);
    if (!first || r.kv.held() != kv_.bytes(*first, steps_)) return false;
    member.held = *first;
  }
  last_end_ = now;
  models::StepWork its;
  parts_.add(r, {work, 1}, its);
  member.since = steps_;
  member.growth = {growth->kv_bytes, 1, growth->quantised};
  member.first = {its.decode.kv_bytes, its.decode.pairs, its.decode.quantised};
  member.first.add(member.growth, -static_cast<double>(steps_));
  member.due = due_.push(steps_ + tokens, &r);
  enter(r, work, member);
  count(r, 1);
  return true;
}

void UniformBatch::enter(Request& r, Work work, const Member& member) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(members_.size()));
    members_.emplace_back();
  }
  r.uniform_place.batch_ = this;
  r.uniform_place.drafts_ = work == Work::draft;
  r.uniform_place.member_ = free_.back();
  free_.pop_back();
  of(r) = member;
  of(r).longest = longest_.push(-static_cast<std::int64_t>(member.first.pairs * kParts), r.uniform_place.member_);
  find_first();
}

void UniformBatch::find_first() {
  next_due_ = due_.empty() ? kNever : due_.top_key();
  if (!longest_.empty()) longest_pairs_ = members_[longest_.top()].first.pairs;
}

void UniformBatch::leave(Request& r) {
  if (!has(r)) return;
  update(r);
  due_.cancel(of(r).due);
  forget(r);
  find_first();
}

/// It is up to date, and nothing is due of it any more.
void UniformBatch::forget(Request& r) {
  count(r, -1);
  longest_.cancel(of(r).longest);
  free_.push_back(r.uniform_place.member_);
  r.uniform_place.batch_ = nullptr;
  if (size() > 0) return;
  gaps_.clear();
}

void UniformBatch::update(Request& r) {
  if (!has(r)) return;
  if (grows(r)) r.kv.attribute(held(r));
  Member& member = of(r);
  const std::int64_t steps = steps_ - member.since;
  if (steps == 0) return;
  if (r.uniform_place.drafts_) {
    r.round.drafted += steps;
  } else {
    r.generated += steps;
    TokenRecord& record = r.record.edit();
    record.direct_tokens += steps;
    record.last_token = last_end_;
    record.largest_gap_s = std::max(record.largest_gap_s, gaps_.longest_since(member.since).seconds());
  }
  member.since = steps_;
}

std::int64_t UniformBatch::held(const Request& r) const {
  if (!has(r) || !grows(r)) return r.kv.held();
  return kv_.bytes(of(r).held, steps_ + (under_way_ ? 1 : 0));
}

void UniformBatch::begin_step(models::StepWork& work) {
  drafts_ = drafting_;
  if (size() == 0) return;
  if (memory_ && decoding_ > 0) memory_->grow(growth());
  under_way_ = true;
  const auto requests = static_cast<double>(size());
  work.decode.query_tokens += requests;
  work.logit_tokens += requests;
  work.decode.kv_bytes += coming_.kv_bytes;
  work.decode.pairs += coming_.pairs;
  work.decode.quantised += coming_.quantised;
  work.decode.longest_kv = std::max(work.decode.longest_kv, longest_pairs_ + static_cast<double>(steps_));
}

void UniformBatch::end_step(engine::SimTime now) {
  if (!under_way_) return;
  under_way_ = false;
  steps_ += 1;
  coming_.add(growth_, 1);
  const engine::Duration length = gap(now);
  last_end_ = now;
  if (decoding_ > 0) gaps_.add(steps_, length);
}

void UniformBatch::end_step(engine::SimTime now, std::vector<Request*>& over) {
  end_step(now, over, [](const Request&) { return std::int64_t{0}; });
}

void FastForward::begin(const ForwardPass& pass, bool alone) {
  under_way_ = alone && enabled_ && uniform_batch_.size() > 0 && pass.entries.empty() &&
               pass.work.tokens() == static_cast<double>(uniform_batch_.size()) && pass.work.extra_gpu_s == 0;
  if (under_way_) by_tokens_ = step_times_.of(pass.work);
}

void FastForward::run(ForwardPass& pass) {
  const engine::SimTime free_before = simulator_.free_before();
  for (;; next(pass)) {
    pass.time = step_times_.time(pass.work, by_tokens_);
    machine::Step step = pass.step(step_times_);
    step.computing = gpus_.computing(step);
    if (simulator_.now() + step.computing >= free_before || uniform_batch_.ends_with_step()) return;
    gpus_.pass(step, step.computing);
    passed_ = true;
  }
}

bool FastForward::end_step(ForwardPass& pass) {
  passed_ = false;
  const bool as_begun = pass.work.tokens() == static_cast<double>(uniform_batch_.size());  // nobody has left
  under_way_ = under_way_ && as_begun && !gpus_.woken() && !uniform_batch_.ends_with_step();
  if (under_way_) next(pass);
  return under_way_;
}

/// A step has ended with which nobody finishes, and the next one begins.
void FastForward::next(ForwardPass& pass) {
  listener_.on_uniform_step_ended();
  uniform_batch_.end_step(simulator_.now());
  pass.work.decode = {};
  pass.work.logit_tokens = 0;
  uniform_batch_.begin_step(pass.work);
  listener_.on_uniform_step_begins();
}

}  // namespace kvsim::serving
