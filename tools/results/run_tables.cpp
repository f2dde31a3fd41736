#include "tools/results/run_page.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/cache/prompt_cache.h"
#include "sim/pools/configuration.h"
#include "sim/serving/decode_policy.h"
#include "tools/results/metrics.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

/// "at least 5 % at a batch of 34, and from 65 on".
std::string costs_from(const Figures& f) {
  const double batch = f.at("fetch.two_token_batch"), always = f.at("fetch.two_token_batch_always");
  if (!(batch > 0)) return "never 5 % on this machine";
  if (always == batch) return "at least 5 % from a batch of " + f.text("fetch.two_token_batch") + " on";
  const std::string first = "at least 5 % at a batch of " + f.text("fetch.two_token_batch");
  return always > 0 ? fmt::format("{}, and from {} on", first, f.text("fetch.two_token_batch_always"))
                    : first + ", not for good";
}

/// How many, and how long together.
std::string outages(const serving::InstancePool& pool) {
  double s = 0;
  for (const transport::Outage& outage : pool.group.outages) s += outage.lasting_s;
  return pool.group.outages.empty() ? "none" : fmt::format("{}, {} in all", pool.group.outages.size(), seconds(s));
}

/// The pools that have nodes, one a column.
Table pools(const Outcome& outcome) {
  constexpr std::array<std::pair<const char*, const char*>, 12> figures{
      {{"nodes", "nodes"},
       {"GPUs", "gpus"},
       {"busy", "busy_fraction"},
       {"iterations", "iterations"},
       {"decoded tokens", "decode_tokens"},
       {"drafted tokens", "draft_tokens"},
       {"verifications", "verifications"},
       {"verified positions", "verified_tokens"},
       {"prefilled tokens", "prefill_tokens"},
       {"KV reserved, mean", "kv_reserved_mean_bytes"},
       {"KV reserved, peak", "kv_reserved_peak_bytes"},
       {"KV capacity of a node", "kv_capacity_bytes"}}};
  const Figures f(outcome);
  const serving::Topology topology = outcome.scenario.serving.cluster.topology();
  Table t = with_columns("Pools", {""});
  for (const auto& [label, key] : figures) t.rows.push_back({label});
  t.rows.push_back({"link outages"});
  for (const serving::InstancePool& pool : topology.instances) {
    if (pool.group.count == 0) continue;
    const std::string name(pool.group.name);
    t.header.emplace_back(name);
    t.align.push_back(Align::right);
    for (std::size_t i = 0; i < figures.size(); ++i) {
      t.rows[i].push_back(f.text(fmt::format("pools.*.{}", figures[i].second), name));
    }
    t.rows.back().push_back(outages(pool));
  }
  return t;
}

/// Description of a path, in few words: a page has a hundred columns.
std::string in_short(const models::PathTraits& path) {
  if (!path.drafts) return path.on_local ? "local pool only" : "remote pool only, full KV";
  const char* local = path.cached ? "keeps" : "re-reads";
  if (!path.streams_rest) return fmt::format("remote drafts, local {} full KV", local);
  return fmt::format("as {}, then remote alone", path.cached ? "P1_cached" : "P1_stateless");
}

Table paths(const Outcome& outcome) {
  const Figures f(outcome);
  Table t = with_columns("Paths", {"", "share", "started", "completed", "output tokens", ""});
  t.align.back() = Align::left;
  for (const models::Path path : pools::usable_paths(outcome.scenario.serving)) {
    const models::PathTraits& traits = models::traits(path);
    const std::string name(traits.name);
    t.rows.push_back({name, f.text("paths.*.share", name), f.text("paths.*.started", name),
                      f.text("paths.*.completed", name), f.text("paths.*.output_tokens", name), in_short(traits)});
  }
  return t;
}

Table tiers(const Outcome& outcome) {
  const Figures f(outcome);
  const bool verified = cache::verifies_stored(outcome.scenario.serving);
  Table t = with_columns("Tiers", {"", "hits", "of lookups", "evictions", "peak", "objects", "stored", "keep ratio"});
  if (verified) {
    t.header.emplace_back("kept whole");
    t.align.push_back(Align::right);
  }
  double hits = 0, lookups = 0;
  for (const std::string& name : kTiers.possible(outcome.scenario)) {
    hits += f.at("tiers.*.hits", name);
    lookups = f.at("tiers.*.hits", name) + f.at("tiers.*.misses", name);
    t.rows.push_back({name});
    for (const char* key :
         {"tiers.*.hits", "tiers.*.hit_rate", "tiers.*.evictions", "tiers.*.bytes_peak", "placement.contents.*.objects",
          "placement.contents.*.bytes", "placement.contents.*.mean_keep_ratio"}) {
      t.rows.back().push_back(f.text(key, name));
    }
    if (verified) t.rows.back().push_back(f.text("placement.contents.*.whole_bytes", name));
  }
  t.rows.push_back({"computed", kCount.print(lookups - hits), percent(share(lookups - hits, lookups))});
  return t;
}

/// Objects by representation, one tier a column; the most used first.
Table representations(const Outcome& outcome) {
  const auto& all = outcome.result.measured.placement.contents;
  const std::vector<std::string> names = kTiers.possible(outcome.scenario);
  std::map<std::string, std::uint64_t> totals;
  for (const auto& [name, contents] : all) {
    for (const auto& [option, objects] : contents.options) totals[option] += objects;
  }
  std::vector<std::pair<std::string, std::uint64_t>> order(totals.begin(), totals.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> header{"objects"};
  header.insert(header.end(), names.begin(), names.end());
  Table t = with_columns("Representations at the end", std::move(header));
  for (const auto& [option, total] : order) {
    std::vector<Cell> row{option};
    for (const std::string& name : names) {
      const auto tier = all.find(name);
      const bool stored = tier != all.end() && tier->second.options.contains(option);
      row.push_back(whole(stored ? tier->second.options.at(option) : 0));
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

const char* granularity_text(const models::PlacementSpec& spec) {
  if (spec.granularity == models::Granularity::chunks) return "chunk by chunk";
  return spec.granularity == models::Granularity::blocks ? "block by block" : "each context as a whole";
}

Table prompts(const Outcome& outcome) {
  const Figures f(outcome);
  const models::PlacementSpec& spec = *outcome.scenario.serving.placement;
  const auto text = [&f](const char* key) { return f.text(fmt::format("placement.{}", key)); };
  const double loaded = f.at("placement.loaded_tokens");
  Table t = key_figures(fmt::format("Stored prompts: {}, {}", spec.policy, granularity_text(spec)));
  t.rows.push_back({"prompt tokens loaded", percent(share(loaded, loaded + f.at("placement.computed_tokens"))), "",
                    fmt::format("{} loaded, {} computed", text("loaded_tokens"), text("computed_tokens"))});
  t.rows.push_back(
      {"loads", text("loads"), "", fmt::format("objects; {} more were on their way", text("joined_loads"))});
  t.rows.push_back({"stores", text("stores"), "", fmt::format("objects; {} were not", text("unstored"))});
  t.rows.push_back({"promotions", text("promotions")});
  t.rows.push_back({"demotions", text("demotions"), "", fmt::format("{} objects were given up", text("drops"))});
  t.rows.push_back({"recompressions", text("recompressions"), "", "made smaller after they were stored"});
  t.rows.push_back({"moved", text("moved_bytes"), "", "written for stores and demotions"});
  if (cache::verifies_stored(outcome.scenario.serving)) {
    t.rows.push_back({"read to verify", text("whole_load_bytes"), "",
                      fmt::format("what compressed copies lack, of {} objects", text("whole_loads"))});
  }
  if (spec.profiling.online) {
    t.rows.push_back(
        {"profiled", text("profiled"), "", fmt::format("contexts, {} tokens decoded", text("profiled_tokens"))});
  }
  t.rows.push_back({"quality, mean", text("quality.mean"), "",
                    drafts_until_computed(outcome.scenario.serving)
                        ? "of what requests would go on from without verification"
                        : "of requests, relative to the whole KV"});
  t.rows.push_back({"quality, 10 % below", text("quality.p10"), "",
                    fmt::format("1 % below {}, the least {}", text("quality.p1"), text("quality.min"))});
  return t;
}

Table answers(const Outcome& outcome) {
  const Figures f(outcome);
  Table t = key_figures("Answers");
  t.rows.push_back({"score, mean", f.text("answers.mean_score"), "",
                    fmt::format("{} with all of the prompt computed", f.text("answers.full_score"))});
  if (const auto& floor = outcome.scenario.serving.slo.quality_floor) {
    t.rows.push_back({"good", f.text("answers.good_share"), "",
                      fmt::format("of answers: at least {:g} of their task's mean score", *floor)});
  }
  return t;
}

Table chunk_prompts(const Outcome& outcome) {
  const Figures f(outcome);
  Table t = key_figures("Prompts put together: " + prefill_text(outcome.scenario));
  const auto tokens = [&](const char* label, const char* key, const char* remark) {
    t.rows.push_back({label, percent(share(f.at(key), f.at("reuse.chunk_tokens"))), "",
                      fmt::format("{} tokens {}", f.text(key), remark)});
  };
  t.rows.push_back(
      {"prompts", f.text("reuse.prompts"), "",
       fmt::format("{} tokens of chunks, {} behind them", f.text("reuse.chunk_tokens"), f.text("reuse.other_tokens"))});
  tokens("of chunks, loaded", "reuse.loaded_tokens", "from tiers");
  tokens("computed alone", "reuse.apart_tokens", "that were not stored");
  tokens("computed again", "reuse.recomputed_tokens", "over the whole prompt");
  if (drafts_as_found(outcome.scenario.serving)) {
    t.rows.push_back({"computed to verify", f.text("reuse.verified_tokens"), "",
                      "tokens of prompts, whole, beside the drafts on them"});
  }
  if (outcome.scenario.serving.cluster.groups.front().scorer_gpus > 0) {
    t.rows.push_back({"scorers busy", f.text("reuse.scorer_busy_fraction")});
  }
  return t;
}

Table times(const Outcome& outcome) {
  const Figures f(outcome);
  Table t = key_figures("Time to first token, in parts");
  const auto part = [&](const char* label, const char* key, const std::string& remark) {
    t.rows.push_back({label, f.text(key), "", remark});
  };
  part("queueing", "reuse.mean_s.queue", "arrival to admission");
  part("loading", "reuse.mean_s.load", "side by side with choosing");
  if (outcome.scenario.serving.prefill == serving::PrefillKind::selective) {
    part("choosing tokens", "reuse.mean_s.select",
         fmt::format("scoring, aligning; longer than loading: {} of prompts", f.text("reuse.selections_longer")));
  }
  part("both, and missing chunks", "reuse.mean_s.assemble", "admission to first token computed over the whole prompt");
  part("prefill", "reuse.mean_s.prefill", "of what is computed again, and what follows the chunks");
  if (drafts_as_found(outcome.scenario.serving)) {
    part("first drafted token", "reuse.time_to_first_draft_s",
         fmt::format("arrival to draft; verified, and counted as first, {} after arrival",
                     f.text("latency_s.ttft.mean")));
  }
  return t;
}

}  // namespace

void add_draft_length_rows(Table& table, const Outcome& outcome) {
  const Figures f(outcome);
  const auto text = [&f](const char* key) { return f.text(fmt::format("speculation.draft_length.{}", key)); };
  if (!something_drafts(outcome.scenario) || outcome.result.measured.draft_lengths.rounds.empty()) return;
  table.rows.push_back({"draft length", text("mean"), "",
                        fmt::format("{}: p10 {}, p90 {}", outcome.scenario.serving.decode.draft_lengths.policy,
                                    text("p10"), text("p90"))});
  if (!(outcome.result.measured.draft_lengths.best_tokens > 0)) return;
  table.rows.push_back({"regret", text("regret"), "", "short of what the best lengths would have given"});
}

Table drafter_table(const Outcome& outcome) {
  const Figures f(outcome);
  const serving::DrafterConfig& drafter = *outcome.scenario.serving.decode.drafter;
  const bool verifies = serving::find_decode_policy(outcome.scenario.serving.decode.policy)->verifies;
  Table t = key_figures(fmt::format("Drafter {}", drafter.spec.name));
  t.rows.push_back({"steps", f.text("drafter.steps"), "", "of requests, with proposed tokens"});
  t.rows.push_back({"proposed per step", figure(share(f.at("drafter.proposed_tokens"), f.at("drafter.steps"))), "",
                    fmt::format("{} where the step, the round and the request have room", drafter.tokens())});
  t.rows.push_back(
      {"accepted per step", f.text("drafter.mean_accepted_length"), "", "proposed tokens, without the step's own"});
  t.rows.push_back({"acceptance rate", f.text("drafter.acceptance_rate"), "",
                    fmt::format("{} of {} proposed tokens{}", f.text("drafter.accepted_tokens"),
                                f.text("drafter.proposed_tokens"), verifies ? ", into drafts" : "")});
  t.rows.push_back({"GPU time", f.text("drafter.gpu_time_share"), "", "for its own passes"});
  return t;
}

Table fetch_table(const Outcome& outcome) {
  const Figures f(outcome);
  const serving::ServingConfig& config = outcome.scenario.serving;
  const serving::DecodePolicy& decode = *serving::find_decode_policy(config.decode.policy);
  const serving::FetchMeasurement& m = outcome.result.measured.fetch;
  const auto text = [&f](const char* key) { return f.text(fmt::format("fetch.{}", key)); };
  Table t = key_figures(decode.fetch == serving::Fetch::none ? "Low-bit copy" : "Fetching");
  if (m.request_steps == 0) {
    t.rows.push_back({"steps", "0", "", "nothing was decoded in the measured time"});
    return t;
  }
  t.rows.push_back({"resident", text("resident_fraction"), "",
                    fmt::format("of a 16-bit cache, at the mean context of {} tokens", text("mean_context"))});
  t.rows.push_back({"batch", text("mean_batch"), "", "requests decoding, on average"});
  if (decode.fetch == serving::Fetch::none) return t;
  t.rows.push_back({"moved a step",
                    bytes(static_cast<double>(m.bytes) / static_cast<double>(std::max<std::uint64_t>(m.steps, 1))), "",
                    fmt::format("{} of it for tokens that were never decoded",
                                percent(static_cast<double>(m.unused_bytes) /
                                        static_cast<double>(std::max<std::int64_t>(m.bytes, 1))))});
  if (decode.fetches_pairs()) {
    const std::string copies = find_metric("fetch.copies")->figure({outcome}).value;
    t.rows.push_back({"rows", text("row_bytes"), "",
                      fmt::format("each; {} moves them at {}, long copies go at {}/s", copies, text("row_bytes_per_s"),
                                  bytes(serving::kv_links(config).front().spec.read_bytes_per_s.value))});
  }
  t.rows.push_back({"hidden", text("hidden"), "",
                    fmt::format("of the fetching; GPUs waited {} for it, or for loads ahead of it, in {} of {} steps",
                                text("wait_s"), text("waiting_steps"), text("steps"))});
  if (decode.fetch != serving::Fetch::speculative) return t;
  t.rows.push_back({"second token", text("two_token_cost"), "", "more a step than one token each; " + costs_from(f)});
  return t;
}

Table prefix_table(const Outcome& outcome) {
  const serving::PrefixMeasurement& p = outcome.result.measured.prefix;
  const bool stored = outcome.scenario.serving.cluster.topology().memory.keeps_blocks;
  const auto all = static_cast<double>(p.loaded_tokens + p.on_node_tokens + p.joined_tokens + p.prefilled_tokens);
  Table t = with_columns("Prefixes", {"", "tokens", "share", ""});
  t.align.back() = Align::left;
  const auto add = [&](const char* what, std::int64_t tokens, const char* remark) {
    t.rows.push_back({what, whole(tokens), percent(share(static_cast<double>(tokens), all)), remark});
  };
  if (stored) add("loaded", p.loaded_tokens, "from the storage node");
  add(stored ? "on the node" : "in GPU memory", p.on_node_tokens, "already there for an earlier request");
  if (stored) add("joined", p.joined_tokens, "on their way there for another request");
  add("prefilled", p.prefilled_tokens, "");
  return t;
}

std::vector<Table> pools_tables(const Outcome& outcome) {
  std::vector<Table> tables{pools(outcome), paths(outcome)};
  if (!outcome.scenario.serving.placement) tables.push_back(prefix_table(outcome));
  return tables;
}

std::vector<Table> placement_tables(const Outcome& outcome) {
  std::vector<Table> tables{prompts(outcome), tiers(outcome), representations(outcome)};
  if (tables.back().rows.empty()) tables.pop_back();
  return tables;
}

std::vector<Table> reuse_tables(const Outcome& outcome) {
  if (outcome.scenario.serving.tasks.empty()) return {};
  if (!outcome.scenario.serving.reuse) return {answers(outcome)};
  return {answers(outcome), chunk_prompts(outcome), times(outcome)};
}

}  // namespace kvsim::results
