// Progress of requests through a replica: tokens emitted, rounds verified, what is measured of them.
#include <algorithm>
#include <cmath>

#include "sim/engine/invariant.h"
#include "sim/serving/objectives.h"
#include "sim/serving/replica.h"

namespace kvsim::serving {

using engine::SimTime;

void Replica::begin_round(Request& r) {
  r.drafted = 0;
  r.reload = Reload::none;
  r.arriving = false;
  r.late = false;
  std::int64_t x = config_.decode.draft_length;
  const AdaptiveDraft& a = config_.decode.adaptive;
  if (a.enabled && r.rounds == 0) x = std::clamp(x, a.minimum, a.maximum);
  if (a.enabled && r.rounds > 0) {
    const double agreement = std::clamp(r.agreement_estimate, 0.01, 0.9999);
    x = std::clamp(static_cast<std::int64_t>(std::log(a.survival) / std::log(agreement)), a.minimum, a.maximum);
  }
  r.draft_target = std::min(x, r.remaining());
}

void Replica::adapt_draft_length(Request& r, std::int64_t drafted, std::int64_t accepted) {
  const AdaptiveDraft& a = config_.decode.adaptive;
  if (!a.enabled || drafted == 0) return;
  // Maximum likelihood of a geometric law from one round: accepted / (accepted + observed failures).
  const double trials = static_cast<double>(accepted) + (accepted < drafted ? 1.0 : 0.0);
  const double observed = static_cast<double>(accepted) / trials;
  r.agreement_estimate = a.forgetting * r.agreement_estimate + (1.0 - a.forgetting) * observed;
}

void Replica::apply_verification(Request& r) {
  const std::int64_t drafted = r.drafted;
  const std::int64_t accepted = env_.acceptance.accepted(drafted, r.accept_stream.uniform(), r.acceptance);
  KVSIM_ALWAYS(r.resident || r.reload == Reload::arrived, "a request was verified without its full KV");
  KVSIM_ALWAYS(drafted <= r.remaining() && accepted >= 0 && accepted <= drafted,
               "a round accepted more than it drafted");
  // The verifier's own token: the correction at the first mismatch, or the bonus. None after the last token.
  const std::int64_t correction = accepted < r.remaining() ? 1 : 0;
  r.rounds += 1;
  r.drafted_tokens += drafted;
  r.accepted_tokens += accepted;
  r.corrections += correction;
  if (measuring()) {
    Measurements& m = env_.measured;
    m.rounds += 1;
    m.drafted_tokens += drafted;
    m.accepted_tokens += accepted;
    m.rejected_tokens += drafted - accepted;
    m.corrections += correction;
    m.late_reloads += r.late ? 1 : 0;
  }
  adapt_draft_length(r, drafted, accepted);
  release_staged(r);
  emit(r, accepted + correction);
  if (r.remaining() == 0) {
    finish(r);
    return;
  }
  if (offloads(r)) write_back(r, accepted + correction);
  begin_round(r);
}

void Replica::emit_directly(Request& r) {
  r.direct_tokens += 1;
  if (measuring()) env_.measured.direct_tokens += 1;
  emit(r, 1);
}

void Replica::emit(Request& r, std::int64_t tokens) {
  const SimTime now = env_.simulator.now();
  const bool first = r.generated == 0;
  r.generated += tokens;
  outstanding_tokens_ -= tokens;
  if (first) {
    r.first_token = now;
  }
  const double gap = first ? 0.0 : (now - r.last_token).seconds();
  r.largest_gap_s = std::max(r.largest_gap_s, gap);
  r.last_token = now;
  if (!measuring()) return;
  Measurements& m = env_.measured;
  m.output_tokens += tokens;
  if (config_.run.token_samples) {
    if (!first) {
      m.round_gap_s.add(gap);
      m.itl_s.add(gap);
    }
    if (tokens > 1) m.itl_s.add(0.0, static_cast<std::size_t>(tokens - 1));
  }
  m.tokens_by_slice.add((now - measure_begin_).seconds(), static_cast<double>(tokens));
}

void Replica::finish(Request& r) {
  KVSIM_ALWAYS(r.generated == r.output, "a request finished with the wrong number of tokens");
  KVSIM_ALWAYS(r.generated == r.accepted_tokens + r.corrections + r.direct_tokens,
               "a token was emitted that no full-KV pass, or more than one, stands for");
  record_completion(r);
  schedule_->removed(r);
  remove_from_lists(r);
  release_staged(r);
  hbm_.release(r.held);
  held_total_ -= r.held;
  r.held = 0;
  host_.release(r.host_held);
  r.host_held = 0;
  r.phase = Phase::finished;
  finished_since_decided_ += 1;
  notify(env_.on_finished, r);
  if (r.writebacks == 0) notify(env_.on_released, r);
}

void Replica::notify(engine::Callback callback, const Request& r) {
  callback.word = r.id;
  callback();
}

void Replica::record_completion(const Request& r) {
  Measurements& m = env_.measured;
  m.completed += 1;
  if (!measuring()) return;
  m.completed_measured += 1;
  const double e2e = (r.last_token - r.arrival).seconds();
  const double ttft = (r.first_token - r.arrival).seconds();
  m.e2e_s.add(e2e);
  m.ttft_s.add(ttft);
  double tpot = 0;
  if (r.output > 1) {
    tpot = (e2e - ttft) / static_cast<double>(r.output - 1);
    m.tpot_s.add(tpot);
  }
  const std::uint8_t missed = missed_objectives(config_.slo, {ttft, tpot, r.largest_gap_s, e2e});
  m.within_slo += missed == 0 ? 1 : 0;
  if (r.judged >= 0) m.verdicts[static_cast<std::size_t>(r.judged)] = missed;
  if (decode_.lossless()) {
    m.same_output += 1;
  } else {
    const double ratio = geometry_.ratio();
    const double nats = config_.decode.compressor.step_kl(ratio) * static_cast<double>(r.direct_tokens);
    m.kl_nats += nats;
    m.same_output += std::exp(-nats);
    m.quality += config_.decode.compressor.quality_at(ratio);
  }
}

void Replica::note_memory() {
  // Reserved bytes still on the link are not there yet.
  const std::int64_t used = hbm_.reserved() - std::min(hbm_.reserved(), h2d_->backlog_bytes());
  used_peak_ = std::max(used_peak_, used);
  used_.set(static_cast<double>(used), env_.simulator.now());
  if (env_.trace) env_.trace->counter(queue_counter_, env_.simulator.now(), static_cast<double>(queue_.size()));
}

void Replica::account_step(SimTime begin, SimTime end) {
  begin = std::max(begin, measure_begin_);
  if (!measuring() || end <= begin) return;
  const double s = (end - begin).seconds();
  Measurements& m = env_.measured;
  const double waiting = std::clamp(step_wait_s_, 0.0, s);
  m.busy_s += s - waiting;
  m.link_bound_s += waiting;
  (step_time_.hbm_bound_s >= step_time_.compute_bound_s ? m.hbm_bound_s : m.compute_bound_s) += s - waiting;
}

void Replica::account_idle() {
  const SimTime begin = std::max(idle_since_, measure_begin_);
  const SimTime end = env_.simulator.now();
  if (!measuring() || end <= begin) return;
  (idle_on_link_ ? env_.measured.link_bound_s : env_.measured.idle_s) += (end - begin).seconds();
}

void Replica::trace_step(SimTime begin, SimTime end) {
  if (!env_.trace) return;
  bool draft = false, verify = false, prefill = false;
  for (const StepEntry& e : step_) {
    prefill = prefill || e.tokens > 0;
    draft = draft || (e.tokens == 0 && e.action == Action::draft);
    verify = verify || e.action == Action::verify;
  }
  static constexpr const char* kNames[2][8] = {
      {"", "decode", "", "", "prefill", "decode+prefill", "", ""},
      {"", "draft", "verify", "draft+verify", "prefill", "draft+prefill", "verify+prefill", "draft+verify+prefill"}};
  const int kind = (draft ? 1 : 0) + (verify ? 2 : 0) + (prefill ? 4 : 0);
  env_.trace->slice(gpu_track_, kNames[decode_.verifies ? 1 : 0][kind], begin, end, engine::TraceSink::no_owner,
                    static_cast<double>(step_.size()));
}

}  // namespace kvsim::serving
