#include "tests/scenario/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kvsim::testing {
namespace {

std::string sample(const char* name, const engine::Sample& s) {
  double weighted = 0;  // the order of the values counts too
  std::size_t position = 0;
  for (const double v : s.values()) weighted += v * static_cast<double>(++position);
  return fmt::format("{}: {} values, mean {}, min {}, max {}, median {}, weighted {}\n", name, s.count(), s.mean(),
                     s.min(), s.max(), s.quantile(0.5), weighted);
}

}  // namespace

std::string summary(const serving::Measurements& m) {
  std::string text = fmt::format("requests {} {} {} {}, preemptions {}\n", m.arrived, m.completed, m.refused, m.running,
                                 m.preemptions);
  text += fmt::format("measured {} s, completed {}, output {}, prompt {}, within SLO {}, good {}\n", m.measured_s,
                      m.completed_measured, m.output_tokens, m.prompt_tokens, m.within_slo, m.good);
  text += sample("ttft", m.ttft_s) + sample("tpot", m.tpot_s) + sample("e2e", m.e2e_s) + sample("itl", m.itl_s) +
          sample("round gap", m.round_gap_s) + sample("iteration", m.iteration_s);
  text +=
      fmt::format("rounds {}, drafted {}, accepted {}, rejected {}, corrections {}, direct {}, late {}, stalled {}\n",
                  m.rounds, m.drafted_tokens, m.accepted_tokens, m.rejected_tokens, m.corrections, m.direct_tokens,
                  m.late_reloads, m.stalled_request_iterations);
  text += fmt::format("kl {}, quality {}\n", m.kl_nats, m.quality);
  text += fmt::format("busy {}, hbm {}, compute {}, link {}, idle {}, capacity {}\n", m.busy_s, m.hbm_bound_s,
                      m.compute_bound_s, m.link_bound_s, m.idle_s, m.capacity_s);
  text += fmt::format("memory {} {} {}\n", m.hbm_peak_bytes, m.hbm_reserved_peak_bytes, m.hbm_mean_bytes);
  for (const auto& [name, l] : m.links) {
    text += fmt::format("{}: busy {} of {}, {} B, wait {}, {} transfers\n", name, l.busy_s, l.capacity_s, l.bytes,
                        l.wait_s, l.transfers);
  }
  for (const auto& [name, t] : m.tiers) {
    text += fmt::format("{}: {} {} {} {}\n", name, t.hits, t.misses, t.evictions, t.bytes_peak);
  }
  for (const models::Path path : models::kAllPaths) {
    const serving::PathMeasurement& p = m.paths.at(models::index_of(path));
    if (p.started + p.completed == 0) continue;
    text += fmt::format("{}: {} {} {}\n", models::path_name(path), p.started, p.completed, p.output_tokens);
  }
  for (const auto& [name, p] : m.pools) {
    text += fmt::format("{}: busy {} of {}, {} iterations, {} {} {} {} {} tokens, {} {} B\n", name, p.busy_s,
                        p.capacity_s, p.iterations, p.decode_tokens, p.draft_tokens, p.verifications, p.verified_tokens,
                        p.prefill_tokens, p.reserved_mean_bytes, p.reserved_peak_bytes);
  }
  text += fmt::format("prefixes {} {} {} {}\n", m.prefix.loaded_tokens, m.prefix.on_node_tokens, m.prefix.joined_tokens,
                      m.prefix.prefilled_tokens);
  text += fmt::format("fetch {} steps, {} {} B, {} {} s, {} waited, {} requests, {} tokens, {} choices\n",
                      m.fetch.steps, m.fetch.bytes, m.fetch.unused_bytes, m.fetch.fetch_s, m.fetch.wait_s,
                      m.fetch.waiting_steps, m.fetch.request_steps, m.fetch.context_tokens, m.fetch.first_choices);
  text += fmt::format("drafter {} steps, {} {} tokens, {} s\n", m.drafter.steps, m.drafter.proposed_tokens,
                      m.drafter.accepted_tokens, m.drafter.gpu_s);
  const serving::PlacementMeasurement& p = m.placement;
  text += fmt::format("stored {} {} tokens, {} {} loads, {} {} stores, {} {} moves, {} {}, {} B, profiled {} {}\n",
                      p.loaded_tokens, p.computed_tokens, p.loads, p.joined_loads, p.stores, p.unstored, p.promotions,
                      p.demotions, p.recompressions, p.drops, p.moved_bytes, p.profiled, p.profiled_tokens);
  text += fmt::format("whole {} loads, {} B\n", p.whole_loads, p.whole_bytes) + sample("quality", p.quality);
  const serving::ReuseMeasurement& r = m.reuse;
  text += fmt::format("reuse {} prompts, {} {} {} {} {} tokens, {} {} {} {} {} s, {} s scored, {} longer\n", r.prompts,
                      r.chunk_tokens, r.loaded_tokens, r.apart_tokens, r.recomputed_tokens, r.other_tokens, r.queue_s,
                      r.load_s, r.select_s, r.assemble_s, r.prefill_s, r.scorers_busy_s, r.selections_longer);
  text +=
      fmt::format("verified {} tokens, {} drafted first, {} s\n", r.verified_tokens, r.first_drafts, r.first_draft_s);
  text += fmt::format("answers {}, {} of {}, {} good\n", m.answers.answers, m.answers.score, m.answers.full_score,
                      m.answers.good);
  for (const auto& [name, c] : p.contents) {
    text += fmt::format("{}: {} objects, {} {} {} B:", name, c.objects, c.bytes, c.full_bytes, c.whole_bytes);
    // Representations by what there is of them; what they are called is reported.
    for (const auto& [option, objects] : c.options) text += fmt::format(" {}", objects);
    text += "\n";
  }
  return text + fmt::format("events {}, slices {}\n", m.events, fmt::join(m.tokens_by_slice.tokens, " "));
}

std::string summary(const planner::ExperimentResult& result) {
  std::string text = summary(result.measured);
  for (const auto& [name, interval] : result.confidence) {
    text += fmt::format("{}: {} +- {} of {}\n", name, interval.mean, interval.half_width_95, interval.observations);
  }
  text += fmt::format("{} replications, {} KV bytes, {} blocks of {}, interrupted {}\n", result.replications,
                      result.capacity.bytes, result.capacity.blocks, result.capacity.block_tokens, result.interrupted);
  return text + fmt::format("{}\n{}\n", fmt::join(result.fallbacks, "\n"), fmt::join(result.refusals, "\n"));
}

}  // namespace kvsim::testing
