#include "sim/serving/request_log.h"

#include <algorithm>
#include <cmath>

#include "models/prefetch/prefetch_spec.h"
#include "models/reuse/rag_task.h"
#include "sim/engine/invariant.h"
#include "sim/engine/random.h"
#include "sim/serving/objectives.h"

namespace kvsim::serving {
namespace {

template <class T>
void drop_every_second(std::vector<T>& series) {
  for (std::size_t i = 0; i < series.size() / 2; ++i) series[i] = series[2 * i + 1];
  series.resize(series.size() / 2);
}

}  // namespace

OutputFidelity decoding_fidelity(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                                 std::int64_t prompt, std::int64_t generated) {
  if (decode.lossless()) return {};
  const std::int64_t context = prompt + generated;
  const models::CompressorSpec& compressor = config.decode.compressor;
  if (decode.low_bit_copy && context <= compressor.residual_tokens) return {false, 0, 1};  // all of it in 16 bit
  if (decode.fetches_pairs()) {
    const models::PrefetchQuality q =
        models::prefetch_quality(config.decode.prefetch, compressor, context, decode.fetch == Fetch::speculative);
    return {false, q.step_kl, q.score, models::functional_unknown()};
  }
  const double ratio = geometry.compressed().ratio_of(prompt, generated);
  return {false, compressor.step_kl(ratio), compressor.quality_at(ratio), compressor.functional_at(ratio)};
}

OutputFidelity output_fidelity(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                               const Request& r) {
  if (decode.as_found()) return {};
  if (r.prefix->quality < 1 || r.prefix->step_kl != 0) {
    return {false, r.prefix->step_kl, r.prefix->quality, models::functional_unknown()};
  }
  return decoding_fidelity(config, decode, geometry, r.prompt, r.generated);
}

void add_group(Measurements& m, const machine::GpuGroup& gpus, const GroupMemory& memory) {
  const machine::GpuTime time = gpus.spent().measured();
  m.capacity_s += gpus.spent().measured_length().seconds();
  m.busy_s += time.computing.seconds();
  for (std::size_t i = 0; i < models::kResources; ++i) {
    m.bound_s[i] += time.bound_s[i];
    m.saved_s[i] += time.saved_s[i];
  }
  m.link_saved_s += time.link_saved_s;
  m.link_bound_s += time.link.seconds();
  m.front_end_s += time.front_end.seconds();
  m.idle_s += time.idle.seconds();
  m.hbm_peak_bytes = std::max(m.hbm_peak_bytes, memory.weights_bytes + gpus.used_peak());
  m.hbm_reserved_peak_bytes = std::max(m.hbm_reserved_peak_bytes, memory.weights_bytes + memory.kv_reserved_peak_bytes);
  m.hbm_mean_bytes +=
      (static_cast<double>(memory.weights_bytes) + gpus.used_mean()) / static_cast<double>(memory.groups);
}

void Timeline::add(const LoadSample& sample, const std::map<std::string, transport::LinkTotals>& totals) {
  samples.push_back(sample);
  for (const auto& [name, total] : totals) {
    LinkSeries& series = links[name];
    series.links = total.links;
    series.busy_s.push_back(total.busy_s);
  }
  if (samples.size() < most) return;
  drop_every_second(samples);
  for (auto& [name, series] : links) drop_every_second(series.busy_s);
  period_s *= 2;
}

using engine::SimTime;

std::int64_t RequestLog::verified(Request& r, std::int64_t drafted, std::int64_t accepted) {
  KVSIM_ALWAYS(drafted <= r.remaining() && accepted >= 0 && accepted <= drafted,
               "a round accepted more than it drafted");
  // The verifier's own token: the correction at the first mismatch, or the bonus. None after the last token.
  const std::int64_t correction = accepted < r.remaining() ? 1 : 0;
  TokenRecord& record = r.record.edit();
  record.drafted_tokens += drafted;
  record.accepted_tokens += accepted;
  record.corrections += correction;
  r.round.ended_accepted = correction == 0;
  measured_.rounds += 1;
  measured_.drafted_tokens += drafted;
  measured_.accepted_tokens += accepted;
  measured_.rejected_tokens += drafted - accepted;
  measured_.corrections += correction;
  measured_.late_reloads += r.round.late ? 1 : 0;
  emitted(r, accepted + correction);
  return accepted + correction;
}

void RequestLog::emitted_directly(Request& r) {
  r.record.edit().direct_tokens += 1;
  measured_.direct_tokens += 1;
  emitted(r, 1);
}

void RequestLog::emitted(Request& r, std::int64_t tokens) {
  const SimTime now = simulator_.now();
  const bool first = r.generated == 0;
  r.generated += tokens;
  TokenRecord& record = r.record.edit();
  if (first) record.first_token = now;
  const double gap = first ? 0.0 : (now - record.last_token).seconds();
  record.largest_gap_s = std::max(record.largest_gap_s, gap);
  record.last_token = now;
  if (!first) sample_gap(gap, 1);
  if (config_.run.token_samples && tokens > 1) measured_.itl_s.add(0.0, static_cast<std::size_t>(tokens - 1));
  count(tokens);
}

void RequestLog::emitted_together(std::int64_t requests, engine::Duration gap) {
  if (requests == 0) return;
  measured_.direct_tokens += requests;
  sample_gap(gap.seconds(), requests);
  count(requests);
}

void RequestLog::sample_gap(double gap_s, std::int64_t requests) {
  if (!config_.run.token_samples) return;
  measured_.round_gap_s.add(gap_s, static_cast<std::size_t>(requests));
  measured_.itl_s.add(gap_s, static_cast<std::size_t>(requests));
}

void RequestLog::count(std::int64_t tokens) {
  measured_.output_tokens += tokens;
  measured_.tokens_by_slice.add((simulator_.now() - measure_begin_).seconds(), static_cast<double>(tokens));
}

void RequestLog::finished(Request& r, const OutputFidelity& fidelity) {
  KVSIM_ALWAYS(r.generated == r.output, "a request finished with the wrong number of tokens");
  KVSIM_ALWAYS(r.generated == r.record->accepted_tokens + r.record->corrections + r.record->direct_tokens,
               "a token was emitted that no full-KV pass, or more than one, stands for");
  r.phase = Phase::finished;
  Measurements& m = measured_;
  m.completed += 1;
  m.completed_measured += 1;
  const double e2e = (r.record->last_token - r.arrival).seconds();
  const double ttft = (r.record->first_token - r.arrival).seconds();
  m.e2e_s.add(e2e);
  m.ttft_s.add(ttft);
  m.largest_gap_s.add(r.record->largest_gap_s);
  double tpot = 0;
  if (r.output > 1) {
    tpot = (e2e - ttft) / static_cast<double>(r.output - 1);
    m.tpot_s.add(tpot);
  }
  const SloConfig& slo = config_.slo_of(r.kind);
  const Verdict missed = missed_objectives(slo, {ttft, tpot, r.record->largest_gap_s, e2e});
  m.within_slo += missed == 0 ? 1 : 0;
  for (std::size_t p = 0; p < kSloPercentiles.size(); ++p) {
    m.within_percentile[p] += (missed & percentile_bits(p)) == 0 ? 1 : 0;
  }
  if (r.judged >= 0) m.verdicts[static_cast<std::size_t>(r.judged)] = missed;
  if (fidelity.lossless) {
    m.same_output += 1;
  } else {
    const double nats = fidelity.step_kl_nats * static_cast<double>(r.generated);
    m.kl_nats += nats;
    m.same_output += std::exp(-nats);
  }
  const double quality = fidelity.lossless ? 1 : fidelity.quality;
  m.quality += quality;
  for (std::size_t task = 0; task < m.functional.size(); ++task) m.functional[task] += fidelity.functional[task];
  const bool scores =
      config_.tasks.empty() ? !slo.quality_floor || quality >= *slo.quality_floor : answered(r, quality);
  const bool right = !slo.functional_floor || models::least_functional(fidelity.functional) >= *slo.functional_floor;
  m.good += missed == 0 && scores && right ? 1 : 0;
  if (config_.classes.empty()) return;
  ClassMeasurement& of = m.classes[config_.classes[r.kind].name];
  of.completed += 1;
  of.within_slo += missed == 0 ? 1 : 0;
  of.ttft_s.add(ttft);
  if (r.output > 1) of.tpot_s.add(tpot);
  of.e2e_s.add(e2e);
}

/// Scores its answer; the draw is the request's own, whatever computed it.
bool RequestLog::answered(const Request& r, double quality) {
  const models::RagTask& task = config_.tasks[r.id % config_.tasks.size()];
  const double full = task.full_score.value;
  engine::RandomStream draw(config_.run.seed, "answers", r.id);
  const double at = draw.uniform_open();
  const double score = models::answer_score(full * quality, task.spread.value, at);
  const bool good = !config_.slo.quality_floor || score >= *config_.slo.quality_floor * full;
  AnswerMeasurement& answers = measured_.answers;
  answers.answers += 1;
  answers.score += score;
  answers.full_score += models::answer_score(full, task.spread.value, at);
  answers.good += good ? 1 : 0;
  return good;
}

}  // namespace kvsim::serving
