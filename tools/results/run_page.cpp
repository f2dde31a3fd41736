#include "tools/results/run_page.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/serving/decode_policy.h"
#include "tools/results/draft_length_results.h"
#include "tools/results/drafting_results.h"
#include "tools/results/fetch_results.h"
#include "tools/results/lossless.h"
#include "tools/results/machines.h"
#include "tools/results/numbers.h"
#include "tools/results/placement_results.h"
#include "tools/results/pools_results.h"
#include "tools/results/provenance.h"
#include "tools/results/reuse_results.h"

namespace kvsim::results {
namespace {

using planner::ExperimentResult;
using scenario::Scenario;
using serving::Measurements;

double half_width(const ExperimentResult& result, const std::string& metric) {
  const auto it = result.confidence.find(metric);
  return it == result.confidence.end() ? std::numeric_limits<double>::quiet_NaN() : it->second.half_width_95;
}

Table requests(const Measurements& m) {
  Table t = key_figures("Requests");
  t.rows.push_back({"arrived", whole(m.arrived)});
  t.rows.push_back(
      {"completed", whole(m.completed), "", fmt::format("{} of them measured", whole(m.completed_measured))});
  t.rows.push_back({"refused", whole(m.refused)});
  t.rows.push_back({"running at the end", whole(m.running)});
  if (m.preemptions > 0) t.rows.push_back({"preemptions", whole(m.preemptions)});
  return t;
}

Table throughput(const Scenario& scenario, const ExperimentResult& result) {
  const Measurements& m = result.measured;
  const auto gpus = static_cast<double>(serving::gpus(scenario.serving.cluster));
  const auto output = static_cast<double>(m.output_tokens);
  const auto finished = static_cast<double>(m.completed_measured);
  Table t = key_figures("Throughput");
  t.rows.push_back({"output", figure(share(output, m.measured_s)),
                    plus_minus(half_width(result, "throughput.output_tokens_per_s")), "tokens/s"});
  t.rows.push_back({"output per GPU", figure(share(output, m.measured_s * gpus)), "", "tokens/s"});
  t.rows.push_back({"prompt and output", figure(share(output + static_cast<double>(m.prompt_tokens), m.measured_s)), "",
                    "tokens/s"});
  t.rows.push_back({"requests", figure(share(finished, m.measured_s)),
                    plus_minus(half_width(result, "throughput.requests_per_s")), "/s"});
  const serving::SloConfig& slo = scenario.serving.slo;
  if (slo.ttft_s || slo.tpot_s || slo.itl_s || slo.e2e_s || slo.quality_floor) {
    t.rows.push_back({"goodput", figure(share(static_cast<double>(m.good), m.measured_s)), "",
                      fmt::format("/s; {} of requests{}", percent(share(m.good, m.completed_measured)),
                                  slo.quality_floor ? ": objectives met, answer good" : " meet their objectives")});
  }
  return t;
}

Table latency(const ExperimentResult& result) {
  const Measurements& m = result.measured;
  Table t{"Latency", {"", "mean", "95 %", "p50", "p90", "p99", "max"}, {}, {}};
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  const auto add = [&](const char* label, const engine::Sample& s, const std::string& metric) {
    t.rows.push_back({label, seconds(s.mean()), plus_minus(half_width(result, metric), seconds),
                      seconds(s.quantile(0.5)), seconds(s.quantile(0.9)), seconds(s.quantile(0.99)), seconds(s.max())});
  };
  add("time to first token", m.ttft_s, "latency_s.ttft.mean");
  add("per output token", m.tpot_s, "latency_s.tpot.mean");
  add("between tokens", m.itl_s, "latency_s.itl.mean");
  add("between rounds", m.round_gap_s, "");
  add("arrival to last token", m.e2e_s, "latency_s.e2e.mean");
  return t;
}

Table speculation(const Scenario& scenario, const Measurements& m) {
  const bool pools = scenario.serving.cluster.pools.has_value();
  const auto accepted = static_cast<double>(m.accepted_tokens);
  Table t = key_figures("Speculation");
  t.rows.push_back({"rounds", whole(m.rounds)});
  const auto drafted = static_cast<double>(m.drafted_tokens);
  t.rows.push_back({"drafted per round", figure(share(drafted, static_cast<double>(m.rounds))), "",
                    pools ? "the draft length, or what was left to generate"
                    : drafts_until_computed(scenario.serving)
                        ? "until the prompt is computed whole; from then on nothing is drafted"
                        : "the draft length, and more while a verification waits"});
  t.rows.push_back({"accepted per round", figure(share(accepted, static_cast<double>(m.rounds))), "",
                    "drafted tokens, without the verifier's own"});
  t.rows.push_back({"acceptance rate", percent(share(accepted, static_cast<double>(m.drafted_tokens))), "",
                    fmt::format("{} of {} drafted tokens", whole(m.accepted_tokens), whole(m.drafted_tokens))});
  t.rows.push_back({"late reloads", percent(share(m.late_reloads, m.rounds)), "",
                    fmt::format("{} of {} rounds", whole(m.late_reloads), whole(m.rounds))});
  t.rows.push_back({"stalled", whole(m.stalled_request_iterations), "", "request-iterations"});
  add_draft_length_rows(t, scenario, m);
  return t;
}

Table quality(const Scenario& scenario, const Measurements& m) {
  Table t = key_figures("Quality");
  if (lossless(scenario)) {
    t.rows.push_back({"output", "lossless", "", "that of full-KV decoding"});
    return t;
  }
  const auto finished = static_cast<double>(m.completed_measured);
  t.rows.push_back({"task score", figure(share(m.quality, finished)), "", "relative to full KV"});
  t.rows.push_back(
      {"KL divergence", figure(share(m.kl_nats, finished)), "", "nats per request, from full-KV decoding"});
  t.rows.push_back({"same output", percent(share(m.same_output, finished)), "", "chance of the full-KV output"});
  return t;
}

Table memory(const Scenario& scenario, const ExperimentResult& result) {
  const Measurements& m = result.measured;
  const serving::KvCapacity& k = result.capacity;
  Table t = key_figures(fmt::format("Memory of a {}", group_word(scenario.serving.cluster)));
  t.rows.push_back({"KV capacity", whole(k.tokens), "",
                    fmt::format("tokens: {} blocks of {}, {}", whole(k.blocks), k.block_tokens,
                                bytes(static_cast<double>(k.bytes)))});
  t.rows.push_back({"weights", bytes(static_cast<double>(k.weights_bytes)), "", scenario.serving.model.name});
  t.rows.push_back({"GPU memory, peak", bytes(static_cast<double>(m.hbm_peak_bytes)), "",
                    fmt::format("weights and KV; {} with what was reserved",
                                bytes(static_cast<double>(m.hbm_reserved_peak_bytes)))});
  t.rows.push_back({"GPU memory, mean", bytes(m.hbm_mean_bytes)});
  if (scenario.serving.placement) return t;  // its tiers have a table of their own
  for (const auto& [name, tier] : m.tiers) {
    const std::string peak = bytes(static_cast<double>(tier.bytes_peak));
    if (scenario.serving.cluster.pools) {  // the storage node is nobody's memory
      t.rows.push_back({"on the storage node, peak", peak, "",
                        fmt::format("{} of {} blocks of prompts found there, {} dropped for room", whole(tier.hits),
                                    whole(tier.hits + tier.misses), whole(tier.evictions))});
      continue;
    }
    t.rows.push_back({name + " memory, peak", peak, "",
                      fmt::format("{} prompts loaded, {} prefilled", whole(tier.hits), whole(tier.misses))});
  }
  return t;
}

Table gpu_time(const Measurements& m) {
  Table t = key_figures("GPU time");
  t.rows.push_back({"busy", percent(share(m.busy_s, m.capacity_s))});
  t.rows.push_back({"bound by HBM", percent(share(m.hbm_bound_s, m.capacity_s))});
  t.rows.push_back({"bound by compute", percent(share(m.compute_bound_s, m.capacity_s))});
  t.rows.push_back({"bound by link", percent(share(m.link_bound_s, m.capacity_s))});
  t.rows.push_back({"idle", percent(share(m.idle_s, m.capacity_s))});
  return t;
}

Table links(const Measurements& m) {
  Table t{"Links", {"", "busy", "moved", "mean wait"}, {Align::left, Align::right, Align::right, Align::right}, {}};
  for (const auto& [name, link] : m.links) {
    t.rows.push_back({name, percent(share(link.busy_s, link.capacity_s)), bytes(static_cast<double>(link.bytes)),
                      seconds(share(link.wait_s, static_cast<double>(link.transfers)))});
  }
  return t;
}

Table speed(const ExperimentResult& result, bool timing) {
  const Measurements& m = result.measured;
  Table t = key_figures("Simulation");
  t.rows.push_back(
      {"measured time", seconds(m.measured_s), "",
       result.replications > 1 ? fmt::format("over {} replications", result.replications) : std::string()});
  t.rows.push_back({"events", whole(m.events)});
  t.rows.push_back(
      {"iterations", whole(m.iteration_s.count()), "", fmt::format("{} on average", seconds(m.iteration_s.mean()))});
  if (!timing) return t;
  t.rows.push_back({"wall time", seconds(result.wall_s)});
  const auto rate = [&](double amount) { return figure(share(amount, result.wall_s)); };
  t.rows.push_back({"speed", rate(static_cast<double>(m.iteration_s.count())), "",
                    fmt::format("iterations/s, {} simulated requests/s", rate(static_cast<double>(m.completed)))});
  return t;
}

void add_new(std::vector<std::string>& list, const std::string& prefix, const std::vector<std::string>& items) {
  for (const std::string& item : items) {
    const std::string text = prefix + item;
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  }
}

/// "lru with keydiff, keep ratio 0.3".
std::string placement_text(const models::PlacementSpec& placement) {
  if (!placement.compressor) return placement.policy;
  const std::string ratio = placement.keep_ratio ? fmt::format(", keep ratio {:.4g}", *placement.keep_ratio) : "";
  return fmt::format("{} with {}{}", placement.policy, placement.compressor->name, ratio);
}

}  // namespace

std::string setup_line(const Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  std::string line = fmt::format("{} on {}; {}", c.model.name, machines_text(c.cluster), decoding_text(c));
  if (c.cluster.pools) {
    return line + fmt::format("; dispatch {}; prefill {}; seed {}", c.cluster.pools->dispatch.policy,
                              prefill_word(c.prefill), c.run.seed);
  }
  if (c.placement) line += fmt::format("; placement {}", placement_text(*c.placement));
  if (scenario.workload.chunks) line += fmt::format("; prefill {}", prefill_text(scenario));
  return line + fmt::format("; schedule {}; seed {}", c.schedule.policy, c.run.seed);
}

std::vector<List> caveats(const std::vector<Outcome>& outcomes) {
  List assumptions{"Assumptions", {}}, fallbacks{"Fall-backs", {}}, refusals{"Refusals", {}};
  for (const Outcome& o : outcomes) {
    add_new(assumptions.items, "", assumptions_of(o.scenario));
    const std::string policy = o.policy.empty() ? "" : o.policy + ": ";
    add_new(fallbacks.items, "", o.result.fallbacks);
    add_new(fallbacks.items, policy, o.result.own_fallbacks);
    add_new(refusals.items, policy, o.result.refusals);
  }
  return {assumptions, fallbacks, refusals};
}

Page run_page(const Outcome& outcome, bool timing) {
  const ExperimentResult& result = outcome.result;
  const Measurements& m = result.measured;
  Page page;
  page.title = outcome.scenario.name;
  page.subtitle = {setup_line(outcome.scenario)};
  page.tables = {requests(m), throughput(outcome.scenario, result), latency(result)};
  // What a drafter alone proposes and its steps accept is the whole of the speculation.
  const bool verifies = serving::find_decode_policy(outcome.scenario.serving.decode.policy)->verifies;
  if (m.rounds > 0 && verifies) page.tables.push_back(speculation(outcome.scenario, m));
  if (has_drafter(outcome.scenario)) page.tables.push_back(drafter_table(outcome));
  if (holds_low_bit_copy_or_fetches(outcome.scenario)) page.tables.push_back(fetch_table(outcome));
  page.tables.push_back(quality(outcome.scenario, m));
  page.tables.push_back(memory(outcome.scenario, result));
  page.tables.push_back(gpu_time(m));
  if (outcome.scenario.serving.cluster.pools) {
    for (Table& table : pools_tables(outcome)) page.tables.push_back(std::move(table));
  }
  if (outcome.scenario.serving.placement) {
    for (Table& table : placement_tables(outcome)) page.tables.push_back(std::move(table));
  }
  for (Table& table : reuse_tables(outcome)) page.tables.push_back(std::move(table));
  if (!m.links.empty()) page.tables.push_back(links(m));
  page.tables.push_back(speed(result, timing));
  page.lists = caveats({outcome});
  return page;
}

}  // namespace kvsim::results
