#include "tools/results/run_page.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/serving/decode_policy.h"
#include "tools/results/functional.h"
#include "tools/results/metrics.h"
#include "tools/results/numbers.h"
#include "tools/results/provenance.h"
#include "tools/results/rivals.h"
#include "tools/results/run_answer.h"
#include "tools/results/scenario_words.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

using planner::ExperimentResult;
using scenario::Scenario;
using serving::Measurements;

Table requests(const Figures& f) {
  Table t = key_figures("Requests");
  t.rows.push_back({"arrived", f.text("requests.arrived")});
  t.rows.push_back({"completed", f.text("requests.completed"), "",
                    fmt::format("{} of them measured", f.text("details.completed_measured"))});
  t.rows.push_back({"refused", f.text("requests.refused")});
  t.rows.push_back({"running at the end", f.text("requests.running")});
  if (f.at("details.preemptions") > 0)
    t.rows.push_back({"preemptions", f.text("details.preemptions"), "", "in the whole run"});
  return t;
}

Table throughput(const Outcome& outcome, const Figures& f) {
  Table t = key_figures("Throughput");
  const auto add = [&](const char* label, const std::string& metric, const std::string& unit) {
    t.rows.push_back({label, f.text(metric), plus_minus(half_width(outcome.result, metric)), unit});
  };
  add("output", "throughput.output_tokens_per_s", "tokens/s");
  add("output per GPU", "throughput.output_tokens_per_s_per_gpu", "tokens/s");
  add("prompt and output", "throughput.total_tokens_per_s", "tokens/s");
  add("requests", "throughput.requests_per_s", "/s");
  const serving::SloConfig& slo = outcome.scenario.serving.slo;
  const bool floor = slo.quality_floor || slo.functional_floor;
  if (slo.any() || floor) {
    const Measurements& m = outcome.result.measured;
    add("goodput", "slo.goodput_requests_per_s",
        fmt::format("/s; {} of requests{}", percent(share(m.good, m.completed_measured)),
                    floor ? ": objectives met, answer good" : " meet their objectives"));
  }
  return t;
}

Table latency(const ExperimentResult& result, const Figures& f) {
  Table t{"Latency", {"", "mean", "95 %", "p50", "p90", "p99", "max"}, {}, {}};
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  const auto add = [&](const char* label, const std::string& metric) {
    const auto text = [&](const char* statistic) { return f.text(fmt::format("{}.{}", metric, statistic)); };
    t.rows.push_back({label, text("mean"), plus_minus(half_width(result, metric + ".mean"), seconds), text("p50"),
                      text("p90"), text("p99"), text("max")});
  };
  add("time to first token", "latency_s.ttft");
  add("per output token", "latency_s.tpot");
  add("between tokens", "latency_s.itl");
  add("between rounds", "details.round_gap_s");
  add("arrival to last token", "latency_s.e2e");
  return t;
}

/// The figure that each objective limits, beside its limit.
Table objectives(const serving::SloConfig& slo, const Figures& f) {
  Table t = key_figures("Objectives");
  for (const serving::SloObjective& o : slo.objectives()) {
    const std::string key = serving::slo_key(o.metric, o.percentile);
    const bool missed = f.at("slo.measured_s.*", key) > o.limit_s;
    t.rows.push_back({serving::slo_name(o), f.text("slo.measured_s.*", key), "",
                      fmt::format("limit {}{}", seconds(o.limit_s), missed ? ", missed" : "")});
  }
  if (slo.limits(serving::SloMetric::itl)) t.rows.push_back({"ITL", "", "", std::string(kItlOf)});
  return t;
}

Table sessions(const Figures& f) {
  Table t = key_figures("Sessions");
  t.rows.push_back({"begun", f.text("sessions.begun")});
  t.rows.push_back({"finished", f.text("sessions.finished"), "",
                    fmt::format("in the measured time, {} a second", f.text("sessions.per_s"))});
  t.rows.push_back({"turns", f.text("sessions.mean_turns"), "", "of a finished session, mean"});
  t.rows.push_back({"between turns", f.text("sessions.think_s"), "", "mean"});
  if (f.at("sessions.cut") > 0) t.rows.push_back({"cut", f.text("sessions.cut"), "", "by a turn that was refused"});
  t.rows.push_back({"under way at the end", f.text("sessions.under_way")});
  if (f.at("sessions.alone") > 0)
    t.rows.push_back({"requests of none", f.text("sessions.alone"), "", "not among them"});
  if (f.at("sessions.sub_agents.begun") > 0) {
    t.rows.push_back({"sub-agents begun", f.text("sessions.sub_agents.begun")});
    if (f.at("sessions.sub_agents.cut") > 0) {
      t.rows.push_back({"sub-agents cut", f.text("sessions.sub_agents.cut"), "", "by a turn that was refused"});
    }
  }
  return t;
}

Table session_times(const Figures& f) {
  Table t{"Session times", {"", "mean", "p50", "p90", "p99", "max"}, {}, {}};
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  const auto add = [&](const char* label, const std::string& metric) {
    const auto text = [&](const char* statistic) { return f.text(fmt::format("{}.{}", metric, statistic)); };
    t.rows.push_back({label, text("mean"), text("p50"), text("p90"), text("p99"), text("max")});
  };
  add("first request to last token", "sessions.duration_s");
  if (f.at("sessions.sub_agents.begun") > 0) add("the same of sub-agents", "sessions.sub_agents.duration_s");
  add("time to first token, first turn", "sessions.ttft_first_s");
  add("time to first token, later turns", "sessions.ttft_later_s");
  return t;
}

Table classes(const Scenario& scenario, const Figures& f) {
  Table t{"Classes",
          {"", "requests", "objectives met", "TTFT mean", "TTFT p99", "TPOT mean", "TPOT p99", "E2E mean", "E2E p99"},
          {},
          {}};
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  for (const serving::ClassConfig& one : scenario.serving.classes) {
    const auto text = [&](const char* figure) { return f.text(fmt::format("classes.*.{}", figure), one.name); };
    t.rows.push_back({one.name, text("requests"), text("attainment"), text("ttft_s.mean"), text("ttft_s.p99"),
                      text("tpot_s.mean"), text("tpot_s.p99"), text("e2e_s.mean"), text("e2e_s.p99")});
  }
  return t;
}

Table speculation(const Outcome& outcome, const Figures& f) {
  const scenario::Scenario& scenario = outcome.scenario;
  const Measurements& m = outcome.result.measured;
  Table t = key_figures("Speculation");
  t.rows.push_back({"rounds", f.text("speculation.rounds")});
  t.rows.push_back({"drafted per round", figure(share(m.drafted_tokens, m.rounds)), "",
                    drafts_until_computed(scenario.serving)
                        ? "until the prompt is computed whole; from then on nothing is drafted"
                    : scenario.serving.cluster.topology().drafts_while_waiting
                        ? "the draft length, and more while a verification waits"
                        : "the draft length, or what was left to generate"});
  t.rows.push_back({"accepted per round", f.text("speculation.mean_accepted_length"), "",
                    "drafted tokens, without the verifier's own"});
  t.rows.push_back({"acceptance rate", f.text("speculation.acceptance_rate"), "",
                    fmt::format("{} of {} drafted tokens", f.text("speculation.accepted_tokens"),
                                f.text("speculation.drafted_tokens"))});
  t.rows.push_back({"late reloads", percent(share(m.late_reloads, m.rounds)), "",
                    fmt::format("{} of {} rounds", f.text("speculation.late_reloads"), f.text("speculation.rounds"))});
  t.rows.push_back({"stalled", f.text("details.stalled_request_iterations"), "", "request-iterations"});
  add_draft_length_rows(t, outcome);
  return t;
}

Table quality(const Scenario& scenario, const Figures& f) {
  Table t = key_figures("Quality");
  if (lossless(scenario)) {
    t.rows.push_back({"output", "lossless", "", "that of full-KV decoding"});
    return t;
  }
  t.rows.push_back(
      {"task score", f.text("quality.mean_score"), "", "relative to full KV; partly right counts in part"});
  bool known = false;
  for (const models::FunctionalTask& task : models::kFunctionalTasks) {
    const double score = f.at("quality.functional.*", task.key);
    if (!std::isfinite(score)) continue;
    known = true;
    t.rows.push_back(
        {task.name, figure(score), "", fmt::format("functional, relative to full KV: {}", task.description)});
  }
  if (!known) t.rows.push_back({"functional", "-", "", std::string(kFunctionalUnknown)});
  t.rows.push_back(
      {"KL divergence", f.text("quality.expected_kl_nats"), "", "nats per request, from full-KV decoding"});
  t.rows.push_back({"same output", f.text("details.full_kv_output_probability"), "", "chance of the full-KV output"});
  return t;
}

Table memory(const Outcome& outcome, const Figures& f) {
  const Scenario& scenario = outcome.scenario;
  Table t = key_figures(fmt::format("Memory of a {}", group_word(scenario.serving.cluster)));
  const std::vector<const serving::GroupConfig*> kinds = serving::kinds(scenario.serving.cluster);
  for (const serving::GroupConfig* group : kinds) {
    const serving::KvCapacity& k = capacity_of(outcome, *group);
    const bool one = kinds.size() == 1;
    const std::string of = one ? "" : ", " + group->name;
    t.rows.push_back({"KV capacity" + of, one ? f.text("details.kv_capacity.tokens") : whole(k.tokens), "",
                      fmt::format("tokens: {} blocks of {}, {}", whole(k.blocks), k.block_tokens,
                                  bytes(static_cast<double>(k.bytes)))});
    t.rows.push_back({"full requests" + of, one ? f.text("details.kv_capacity.concurrency") : figure(k.concurrency), "",
                      fmt::format("of {} tokens at once, by {}", whole(k.longest), k.decided_by)});
    t.rows.push_back({"weights" + of, bytes(static_cast<double>(k.weights_bytes)), "", scenario.serving.model.name});
  }
  t.rows.push_back({"GPU memory, peak", f.text("gpu.hbm_peak_bytes"), "",
                    fmt::format("weights and {}; {} with what was reserved",
                                scenario.serving.schedule.prefix_caching ? "KV that requests refer to" : "KV",
                                f.text("details.hbm_reserved_peak_bytes"))});
  t.rows.push_back({"GPU memory, mean", f.text("gpu.hbm_mean_bytes")});
  if (scenario.serving.placement) return t;  // its tiers have a table of their own
  for (const auto& [name, tier] : outcome.result.measured.tiers) {
    const std::string peak = f.text("tiers.*.bytes_peak", name), hits = f.text("tiers.*.hits", name);
    if (scenario.serving.cluster.topology().memory.keeps_blocks) {
      t.rows.push_back({"on the storage node, peak", peak, "",
                        fmt::format("{} of {} blocks of prompts found there, {} dropped for room", hits,
                                    whole(tier.hits + tier.misses), f.text("tiers.*.evictions", name))});
      continue;
    }
    t.rows.push_back({name + " memory, peak", peak, "",
                      fmt::format("{} prompts loaded, {} prefilled", hits, f.text("tiers.*.misses", name))});
  }
  return t;
}

Table gpu_time(const scenario::Scenario& scenario, const Figures& f) {
  Table t = key_figures("GPU time");
  t.rows.push_back({"busy", f.text("gpu.busy_fraction")});
  constexpr double kShown = 0.0005;  // less would be printed as nothing
  for (const serving::TimePartName& part : serving::kTimeParts) {
    if (!(f.at(fmt::format("gpu.bound_by.{}", part.key)) >= kShown)) continue;
    const std::string gain = part.more.empty() ? "" : gain_text(f.at(fmt::format("gpu.twice.{}", part.key)));
    const std::string twice = gain.empty() ? "" : fmt::format("twice it: {} faster", gain);
    t.rows.push_back({std::string(part.name), f.text(fmt::format("gpu.bound_by.{}", part.key)), "", twice});
  }
  if (const double in_use = f.at("gpu.link_in_use"); in_use > serving::kLinkInUse) {
    const bool binds = in_use >= serving::kNeverRests;
    t.rows.push_back({"busiest link", f.text("gpu.link_in_use"), "",
                      fmt::format("beside the others{}; twice of it: simulate it", binds ? ", and what binds" : "")});
  }
  if (f.at("iterations.launched") > 0) {
    std::vector<std::string> captured;
    for (const serving::GroupConfig* group : serving::kinds(scenario.serving.cluster)) {
      captured.push_back(whole(group->profile.captured_tokens));
    }
    t.rows.push_back({"launched kernel by kernel", f.text("iterations.launched"), "",
                      fmt::format("of {} iterations: more than the {} tokens that captured ones have",
                                  f.text("iterations.count"), fmt::join(captured, " or "))});
  }
  if (kTokenises.holds(scenario)) {
    t.rows.push_back({"tokenising thread busy", f.text("tokeniser.busy_fraction"), "",
                      "beside the others; one prompt after another"});
  }
  return t;
}

Table links(const Measurements& m, const Figures& f) {
  Table t{"Links", {"", "busy", "moved", "mean wait"}, {Align::left, Align::right, Align::right, Align::right}, {}};
  for (const auto& [name, link] : m.links) {
    t.rows.push_back({name, f.text("links.*.utilisation", name), f.text("links.*.bytes", name),
                      f.text("links.*.mean_wait_s", name)});
  }
  return t;
}

Table speed(const ExperimentResult& result, const Figures& f, bool timing) {
  Table t = key_figures("Simulation");
  t.rows.push_back(
      {"measured time", f.text("details.measured_s"), "",
       result.replications > 1 ? fmt::format("over {} replications", result.replications) : std::string()});
  t.rows.push_back({"events", f.text("engine.events")});
  t.rows.push_back(
      {"iterations", f.text("iterations.count"), "", fmt::format("{} on average", f.text("iterations.mean_s"))});
  if (!timing) return t;
  t.rows.push_back({"wall time", f.text("engine.wall_s")});
  t.rows.push_back({"speed", f.text("details.simulated_iterations_per_wall_s"), "",
                    fmt::format("iterations/s, {} simulated requests/s", f.text("details.requests_per_wall_s"))});
  return t;
}

void add_new(std::vector<std::string>& list, const std::string& prefix, const std::vector<std::string>& items) {
  for (const std::string& item : items) {
    const std::string text = prefix + item;
    if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
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
  if (const serving::DispatchConfig* dispatcher = c.cluster.topology().dispatcher) {
    return line +
           fmt::format("; dispatch {}; prefill {}; seed {}", dispatcher->policy, prefill_word(c.prefill), c.run.seed);
  }
  if (c.placement) line += fmt::format("; placement {}", placement_text(*c.placement));
  if (scenario.workload.chunks) line += fmt::format("; prefill {}", prefill_text(scenario));
  return line + fmt::format("; schedule {}; seed {}", c.schedule.policy, c.run.seed);
}

std::vector<List> caveats(const std::vector<Outcome>& outcomes) {
  List assumptions{"Assumptions", {}}, fallbacks{"Fall-backs", {}}, refusals{"Refusals", {}};
  List remarks{"Keys without effect", {}};
  for (const Outcome& o : outcomes) {
    add_new(assumptions.items, "", assumptions_of(o.scenario));
    add_new(remarks.items, "", o.scenario.remarks);
    const std::string policy = o.policy.empty() ? "" : o.policy + ": ";
    add_new(fallbacks.items, "", o.result.fallbacks);
    add_new(fallbacks.items, policy, o.result.own_fallbacks);
    add_new(refusals.items, policy, o.result.refusals);
  }
  List percentiles{"Percentiles", {}};
  std::vector<std::string> sketched;
  for (const Outcome& o : outcomes) sketched.push_back(sketched_percentiles(o.result.measured));
  const bool alike = std::adjacent_find(sketched.begin(), sketched.end(), std::not_equal_to<>()) == sketched.end();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (sketched[i].empty()) continue;
    add_new(percentiles.items, alike || outcomes[i].policy.empty() ? "" : outcomes[i].policy + ": ", {sketched[i]});
  }
  return {{"How sure", how_sure(outcomes)}, assumptions, remarks, fallbacks, refusals, percentiles};
}

Page run_page(const Outcome& outcome, bool timing) {
  const ExperimentResult& result = outcome.result;
  const Measurements& m = result.measured;
  Page page;
  page.title = outcome.scenario.name;
  page.subtitle = {setup_line(outcome.scenario)};
  if (!outcome.interrupted.empty()) page.subtitle.push_back("interrupted: " + outcome.interrupted);
  if (const std::string why = unsteady_state(outcome); !why.empty()) {
    page.subtitle.push_back("no steady state: " + why);
  }
  const serving::ServingConfig& config = outcome.scenario.serving;
  if (config.placement && config.cluster.replicas() > 1) page.subtitle.push_back(tiers_text(config));
  const Figures f(outcome, timing);
  page.tables = {requests(f), throughput(outcome, f), latency(result, f)};
  if (config.slo.any() && config.classes.empty()) page.tables.push_back(objectives(config.slo, f));
  if (outcome.scenario.workload.has_sessions()) {
    page.tables.push_back(sessions(f));
    page.tables.push_back(session_times(f));
  }
  if (!outcome.scenario.serving.classes.empty()) page.tables.push_back(classes(outcome.scenario, f));
  // A drafter's proposals and their acceptance by its steps are the whole of the speculation where it is alone.
  const bool verifies = serving::find_decode_policy(outcome.scenario.serving.decode.policy)->verifies;
  if (m.rounds > 0 && verifies) page.tables.push_back(speculation(outcome, f));
  if (has_drafter(outcome.scenario)) page.tables.push_back(drafter_table(outcome));
  if (holds_low_bit_copy_or_fetches(outcome.scenario)) page.tables.push_back(fetch_table(outcome));
  page.tables.push_back(quality(outcome.scenario, f));
  page.tables.push_back(memory(outcome, f));
  page.tables.push_back(gpu_time(outcome.scenario, f));
  if (kPools.holds(outcome.scenario)) {
    for (Table& table : pools_tables(outcome)) page.tables.push_back(std::move(table));
  }
  if (outcome.scenario.serving.schedule.prefix_caching) page.tables.push_back(prefix_table(outcome));
  if (outcome.scenario.serving.placement) {
    for (Table& table : placement_tables(outcome)) page.tables.push_back(std::move(table));
  }
  for (Table& table : reuse_tables(outcome)) page.tables.push_back(std::move(table));
  if (!m.links.empty()) page.tables.push_back(links(m, f));
  page.tables.push_back(speed(result, f, timing));
  page.lists = caveats({outcome});
  page.lists.front().first = true;
  page.first = answer_tables(outcome, f, page.tables[2]);
  if (std::string line = config.classes.empty() ? verdict(config.slo, f) : ""; !line.empty())
    page.subtitle.push_back(std::move(line));
  return page;
}

}  // namespace kvsim::results
