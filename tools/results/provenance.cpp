#include "tools/results/provenance.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/engines/engine_spec.h"
#include "models/hardware/collectives.h"
#include "models/kernels/profile.h"
#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "models/prefetch/prefetch_spec.h"
#include "models/schema/units.h"
#include "models/schemas.h"
#include "sim/routing/router.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/step_parts.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

using schema::Dimension;
using schema::Source;
using schema::Sourced;

class Collector {
 public:
  void add(std::string figure, std::string value, const Source& source) {
    list_.push_back({std::move(figure), std::move(value), std::string(source_word(source.kind)), source.reference});
  }
  void add(std::string figure, Dimension dimension, const Sourced<double>& value) {
    add(std::move(figure), schema::format_real(dimension, value.value), value.source);
  }
  void add(std::string figure, const Sourced<std::int64_t>& bytes) {
    add(std::move(figure), schema::format_bytes(bytes.value), bytes.source);
  }
  void add(Provenance row) {
    row.figure.insert(0, of_);
    list_.push_back(std::move(row));
  }
  /// add_for(group) for a group of each kind; what it adds is named after the group where there are several.
  template <class Add>
  void for_each(const serving::ClusterConfig& cluster, const Add& add_for) {
    const std::vector<const serving::GroupConfig*> kinds = serving::kinds(cluster);
    for (const serving::GroupConfig* group : kinds) {
      of_ = kinds.size() > 1 ? group->name + "." : "";
      add_for(*group);
    }
    of_.clear();
  }
  [[nodiscard]] std::vector<Provenance> take() { return std::move(list_); }

 private:
  std::vector<Provenance> list_;
  std::string of_;  // with which names of figures begin
};

void add_gpu(Collector& out, const serving::ServingConfig& c, const serving::GroupConfig& group) {
  const models::GpuSpec& gpu = group.gpu;
  out.add("gpu.memory", gpu.memory_bytes);
  out.add("gpu.memory_bandwidth", Dimension::bandwidth, gpu.memory_bytes_per_s);
  if (gpu.board_power_w.value > 0) out.add("gpu.board_power", Dimension::power, gpu.board_power_w);
  const models::NumberFormat format = c.model.arithmetic_format();
  if (format == models::NumberFormat::nvfp4 && gpu.fp4_flops_per_s.value > 0) {
    out.add("gpu.fp4_peak", Dimension::compute, gpu.fp4_flops_per_s);
  } else if ((format == models::NumberFormat::fp8 || format == models::NumberFormat::fp8_block) &&
             gpu.fp8_flops_per_s.value > 0) {
    out.add("gpu.fp8_peak", Dimension::compute, gpu.fp8_flops_per_s);
  } else {
    out.add("gpu.bf16_peak", Dimension::compute, gpu.bf16_flops_per_s);
  }
}

void add_link(Collector& out, const std::string& role, const models::LinkSpec& link) {
  out.add(role + ".read", Dimension::bandwidth, link.read_bytes_per_s);
  out.add(role + ".write", Dimension::bandwidth, link.write_bytes_per_s);
  if (link.both_ways_bytes_per_s.value > 0) {
    out.add(role + ".both_ways", Dimension::bandwidth, link.both_ways_bytes_per_s);
  }
  out.add(role + ".latency", Dimension::time, link.latency_s);
  out.add(role + ".setup", Dimension::time, link.setup_s);
}

/// What times all-reduces of so many GPUs that a link joins.
void add_joining_link(Collector& out, const std::string& role, const models::LinkSpec& link, const std::string& library,
                      std::int64_t gpus) {
  if (gpus <= 1) return;
  const models::CollectiveTimes times(link, models::Collective::all_reduce, library, gpus);
  if (times.source() == nullptr) return add_link(out, role, link);
  out.add(role + ".collectives", "table", *times.source());
}

/// What times the collectives of a replica's GPUs.
void add_collectives(Collector& out, const serving::ClusterConfig& cluster, const serving::GroupConfig& c) {
  const models::Interconnect links = serving::interconnect(cluster, c);
  const std::int64_t nodes = links.nodes_of(c.parallel.tensor);
  const std::string& library = c.profile.collective_library;
  add_joining_link(out, "peer_link", c.peer_link, library, (c.parallel.tensor + nodes - 1) / nodes);
  if (nodes > 1) {
    add_joining_link(out, "node.link", *links.between_nodes, library, nodes);
  } else if (links.nodes_of(c.parallel.gpus()) > 1) {
    add_link(out, "node.link", *links.between_nodes);
  }
}

/// A law of accepted lengths that the scenario gives itself.
void add_own_law(Collector& out, std::string figure, const models::AcceptanceSpec& law) {
  out.add(std::move(figure), acceptance_text(law), Source{schema::SourceKind::scenario, {}});
}

void add_drafter(Collector& out, const serving::DrafterConfig& drafter) {
  const models::DrafterSpec& d = drafter.spec;
  out.add("drafter", fmt::format("{}: {}", d.name, d.network.name.empty() ? "its own layers" : d.network.name),
          d.network.source);
  if (drafter.acceptance) {
    add_own_law(out, "drafter.acceptance", *drafter.acceptance);
  } else {
    out.add("drafter.acceptance", acceptance_text(d.acceptance), d.acceptance_source);
  }
  if (d.says_pass_overhead()) out.add("drafter.pass_overhead", Dimension::time, d.pass_overhead_s);
}

/// Costs of drafting beside kernels, as far as the policy and its drafter meet them.
void add_draft_costs(Collector& out, const serving::ServingConfig& config, const serving::GroupConfig& group,
                     const serving::DecodePolicy& decode) {
  const auto& drafts = group.profile.drafts;
  if (!drafts || !(decode.verifies || decode.drafter)) return;
  const auto add = [&out](const char* name, const schema::Sourced<double>& figure) {
    if (figure.value > 0) out.add(fmt::format("profile.drafts.{}", name), Dimension::time, figure);
  };
  if (decode.drafter && !config.decode.drafter->spec.says_pass_overhead()) {
    add("pass", drafts->pass_s);
    if (config.decode.drafter->spec.network.vocabulary != config.model.vocabulary) {
      add("vocabulary", drafts->vocabulary_s);
    }
  }
  add("round", drafts->round_s);
  add("request", drafts->request_s);
  add("layer", drafts->layer_s);
}

/// What the policy drafts on or decodes with.
void add_compressor(Collector& out, const serving::ServingConfig& config, const serving::DecodePolicy& decode) {
  const serving::DecodeConfig own = serving::own_drafts(config.decode);
  const models::CompressorSpec& c = own.compressor;
  const bool selects = decode.keeps_full && config.decode.sparse && config.decode.sparse->selection;
  const std::string role = selects ? "sparse.selection" : "compressor";
  out.for_each(config.cluster, [&](const serving::GroupConfig& group) {
    const auto& kernel = group.profile.quantised;
    if (kernel && !selects) {
      const std::string of = "profile.quantised." + (kernel->compressor.empty() ? "" : kernel->compressor + ".");
      out.add(of + "layer", Dimension::time, kernel->layer_s);
      if (kernel->token_s.value > 0) out.add(of + "token", Dimension::time, kernel->token_s);
      if (kernel->elements_per_s.value > 0) {
        out.add(of + "elements_per_s", Dimension::number, kernel->elements_per_s);
      }
    } else if (!serving::profile_times_few_bits(group, c)) {
      out.add(role + ".attention_time_factor", Dimension::number, c.attention_time_factor);
    }
  });
  if (!decode.keeps_full) out.add(role + ".compress", Dimension::bandwidth, c.compress_bytes_per_s);
  if (!c.step_kl_nats.empty()) out.add(role + ".step_kl", "curve", c.step_kl_source);
  const bool by_agreement = decode.verifies && own.acceptance.kind == models::AcceptanceKind::compressor;
  if (by_agreement && !c.agreement.empty()) out.add(role + ".agreement", "curve", c.agreement_source);
  if (decode.verifies) return;
  if (!c.quality.empty()) out.add(role + ".quality", "curve", c.quality_source);
  for (std::size_t task = 0; task < c.functional.size(); ++task) {
    if (c.functional[task].points.empty()) continue;
    out.add(fmt::format("{}.functional.{}", role, models::kFunctionalTasks[task].key), "curve",
            c.functional[task].source);
  }
}

/// How many drafted tokens a verification accepts, where the scenario says it.
void add_acceptance(Collector& out, const serving::ServingConfig& config, const serving::DecodePolicy& decode) {
  const models::AcceptanceSpec law = serving::own_drafts(config.decode).acceptance;
  if (!decode.verifies || law.kind == models::AcceptanceKind::compressor) return;
  const bool sparse = decode.keeps_full && config.decode.sparse && config.decode.sparse->acceptance;
  add_own_law(out, sparse ? "sparse.acceptance" : "acceptance", law);
}

void add_fetch(Collector& out, const serving::ServingConfig& c) {
  const models::PrefetchSpec& spec = c.decode.prefetch;
  const serving::Topology topology = c.cluster.topology();
  for (const auto& [group, way] : topology.instances) {
    if (group.count == 0) continue;
    const auto& [link, key, figure] = way;
    const models::LayerFetch fetch = models::layer_fetch(spec, c.model, group.parallel.tensor, c.model.max_context);
    const models::GatherMethod& method = *models::find_gather(link, spec.copies, fetch.row_bytes);
    const std::string gather = fmt::format("{}.gathers.{}", figure, method.name);
    out.add(gather + ".per_row", Dimension::time, method.per_row_s);
    if (method.bytes_per_s.value > 0) out.add(gather + ".bandwidth", Dimension::bandwidth, method.bytes_per_s);
  }
  out.add("prefetch.attention.coverage", "curve", spec.attention.coverage_source);
  out.add("prefetch.attention.hit_rate", "curve", spec.attention.hit_rate_source);
  out.add("prefetch.attention.recovery", "curve", spec.attention.recovery_source);
}

void add_dataset(Collector& out, const models::DatasetSpec& d, bool loses) {
  const std::string figure = "dataset." + d.name;
  out.add(figure + ".mean_tokens", Dimension::number, d.mean_tokens);
  out.add(figure + ".tokens_cv", Dimension::number, d.tokens_cv);
  if (!loses) return;
  out.add(figure + ".sensitivity", Dimension::number, d.sensitivity);
  out.add(figure + ".loss_cv", Dimension::number, d.loss_cv);
}

/// Of the compressors that stored objects may have gone through.
void add_stored_form(Collector& out, const models::CompressorSpec& c) {
  const std::string figure = "compressor." + c.name;
  if (c.compress_bytes_per_s.value > 0) out.add(figure + ".compress", Dimension::bandwidth, c.compress_bytes_per_s);
  if (c.kind == models::CompressionKind::quantisation) {
    out.add(figure + ".decompress", Dimension::bandwidth, c.decompress_bytes_per_s);
    if (!c.quality.empty()) out.add(figure + ".quality", "curve", c.quality_source);
  }
  if (!c.step_kl_nats.empty()) out.add(figure + ".step_kl", "curve", c.step_kl_source);
}

void add_placement(Collector& out, const scenario::Scenario& scenario) {
  const models::PlacementSpec& placement = *scenario.serving.placement;
  const auto& prefixes = scenario.workload.prefixes;
  const bool generated = !stores_whole(scenario) && placement.quality.source == models::QualitySource::generated &&
                         placement.granularity == models::Granularity::contexts;
  if (prefixes) {
    for (const models::DatasetSpec& dataset : prefixes->datasets) add_dataset(out, dataset, generated);
  }
  if (stores_whole(scenario)) return;
  if (placement.compressor) add_stored_form(out, *placement.compressor);
  if (placement.policy != models::utility_policy) return;
  for (const models::CompressorSpec& method : placement.options.methods) add_stored_form(out, method);
  for (const models::CompressorSpec& quantiser : placement.options.quantisers) add_stored_form(out, quantiser);
}

void add_rules(Collector& out, const std::string& of, const schema::ConfigNode& rules) {
  for (const auto& [key, rule, origin] : rules.entries()) {
    std::string figure = fmt::format("{}.{}", of, key);
    if (rule.is_scalar()) {  // as the scenario has it
      out.add(std::move(figure), rule.text(), Source{schema::SourceKind::scenario, {}});
      continue;
    }
    const schema::ConfigNode* reference = rule.find("reference");
    out.add({std::move(figure), rule.find("value")->text(), rule.find("source")->text(),
             reference != nullptr ? reference->text() : std::string()});
  }
}

void add_engine(Collector& out, const models::EngineSpec& engine) {
  schema::ConfigNode rules = models::engine_schema().dump(engine);
  // Drafts and memory are listed where something drafts, and where memory decides.
  for (const char* key : {"name", "description", "drafts", "quantised", "memory"}) rules.erase(key);
  add_rules(out, "engine." + engine.name, rules);
}

/// Memory beside weights and KV, where it decides how much KV fits. Only one of the figures of memory outside of the
/// framework counts.
void add_memory(Collector& out, const serving::GroupConfig& group) {
  if (group.stated_kv || group.activation_bytes || group.profile.framework) return;
  schema::ConfigNode rules = models::engine_memory_schema().dump(group.engine_memory);
  const std::string counts = models::outside_key(group.parallel, serving::has_fast_peers(group));
  for (const char* key : {"alone", "staged", "joined", "slow_join"}) {
    if (key != counts) rules.erase(key);
  }
  if (group.engine_memory.sizing.value == models::KvSizing::profiled) rules.erase("context");
  add_rules(out, "memory", rules);
}

void add_tasks(Collector& out, const serving::ServingConfig& c) {
  for (const models::RagTask& task : c.tasks) {
    const std::string figure = "rag_task." + task.name;
    out.add(figure + ".full_score", Dimension::number, task.full_score);
    out.add(figure + ".spread", Dimension::number, task.spread);
    if (!c.reuse) continue;
    out.add(figure + ".full_reuse", Dimension::number, task.full_reuse);
    if (c.prefill == serving::PrefillKind::full_reuse) continue;
    const bool spans = c.prefill != serving::PrefillKind::selective || models::completes_spans(c.reuse->spans);
    for (const models::ScoreAt& at : task.scores) {
      out.add(fmt::format("{}.{} at {:g}", figure, spans ? "score" : "without_spans", at.rho), Dimension::number,
              spans ? at.score : at.without_spans);
    }
    if (c.prefill == serving::PrefillKind::cacheblend) {
      out.add(figure + ".cacheblend_below", Dimension::number, task.cacheblend_below);
    }
    if (c.prefill == serving::PrefillKind::epic) {
      out.add(figure + ".epic_below", Dimension::number, task.epic_below);
    }
  }
  if (c.prefill == serving::PrefillKind::selective) {
    const models::LlmSpec& small = c.reuse->speculative.model;
    out.add("speculative_model", small.name, small.source);
  }
}

/// What sessions and recordings that are cut take for granted.
std::vector<std::string> traffic_assumptions(const scenario::Scenario& scenario) {
  const scenario::WorkloadConfig& w = scenario.workload;
  std::vector<std::string> said;
  if (w.sessions && scenario.serving.prefill == serving::PrefillKind::prefix_cache) {
    said.emplace_back(
        "Of a session the next turn finds whole blocks of the prompt before it: the KV of answers is not stored, and "
        "is computed again as part of that turn's prompt.");
  }
  if (scenario.serving.schedule.prefix_caching && !w.recorded_prompts() && !w.chunks) {
    said.push_back(fmt::format(
        "Prompts share whole blocks of {} tokens: what one has in common with others beyond its last whole block is "
        "computed again.",
        models::SharedPrefixes::block_tokens));
  }
  const bool turns_wait = w.sessions || (w.trace && w.trace->sessions);
  const serving::ClusterConfig& cluster = scenario.serving.cluster;
  if (turns_wait && cluster.replicas() > 1 && !cluster.host_shared && cluster.router != routing::session_router) {
    said.push_back(fmt::format(
        "A turn goes to any of the {} replicas, by load or in turn, and finds its session's KV only where it was "
        "served before: cluster.router: session keeps sessions on their replica.",
        cluster.replicas()));
  }
  if (w.sessions && w.closed) {
    said.emplace_back("All users begin their first session at 0 s, and each next one when the one before is over.");
  }
  if (w.sessions && w.sessions->spec.sub_agents) {
    said.emplace_back(
        "Sub-agents begin when the turn that begins them is over, share nothing with other prompts, and are all waited "
        "for; a last turn begins none.");
  }
  if (w.trace && !w.trace->overlay.empty()) {
    said.emplace_back(
        "Overlaid traces are merged by time; what prompts share is kept within a file, and prompts of different files "
        "share nothing.");
  }
  if (w.trace && w.trace->sessions) {
    const auto& all = *scenario.trace;
    const auto recorded =
        std::count_if(all.begin(), all.end(), [](const models::RequestSpec& r) { return r.think_ns >= 0; });
    said.push_back(
        fmt::format("Turns of the trace's sessions wait for the one before, then for the recorded time from "
                    "its end to the turn, which {} requests have; for others the whole time between the two "
                    "arrivals is taken, the answer's own included.",
                    recorded));
    if (std::any_of(all.begin(), all.end(), [](const models::RequestSpec& r) { return r.parent >= 0; })) {
      said.emplace_back(
          "Sub-agents of the trace begin after the latest turn of their parent before them, whose next turn waits for "
          "them all, whether it did or not.");
    }
  }
  if (w.trace && w.trace->cut.repeat > 1) {
    said.push_back(
        fmt::format("The trace comes {} times, with the same prompts: what is cached of one round is found "
                    "in the next.",
                    w.trace->cut.repeat));
  }
  if (w.trace && w.trace->cut.keep < 1) {
    said.push_back(
        fmt::format("{:.4g} of the trace's requests are kept, by chance: what they share with those left "
                    "out is lost.",
                    w.trace->cut.keep));
  }
  return said;
}

/// What representations and their quality take for granted; nothing where prompts are stored whole.
std::vector<std::string> placement_assumptions(const scenario::Scenario& scenario) {
  const auto& placement = scenario.serving.placement;
  if (!placement || stores_whole(scenario)) return {};
  std::vector<std::string> said = models::option_assumptions(*placement);
  const auto add = [&said](std::vector<std::string> more) {
    said.insert(said.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  const bool blocks = placement->granularity != models::Granularity::contexts;
  const auto& prefixes = scenario.workload.prefixes;
  // Blocks do not know the data set that they come from.
  add(models::quality_assumptions(placement->quality,
                                  prefixes && !blocks ? prefixes->datasets : std::vector<models::DatasetSpec>{}));
  if (blocks) {
    const bool file = placement->quality.source == models::QualitySource::file;
    said.push_back(fmt::format("Blocks and chunks share {} {} quality curves, by their hashes.", models::block_curves,
                               file ? "of the file's" : "generated"));
  }
  add(models::drift_assumptions(placement->drift));
  add(models::profile_assumptions(placement->profiling));
  return said;
}

/// Shares that nobody has measured are 0 in the figures; what they may be stands beside them. Kernels that memory binds
/// lose at least the bandwidth that copies take.
void add_interference(Collector& out, const serving::GroupConfig& c) {
  const models::Interference& i = c.profile.interference;
  const auto unknown = [](const Sourced<double>& share) { return share.value <= 0 && share.source.reference.empty(); };
  const auto add = [&out](const char* name, double least, const char* of_least, const Sourced<double>& most) {
    out.add(fmt::format("profile.interference.{}", name), fmt::format("0, of {:.2g} to {:.2g}", least, most.value),
            {schema::SourceKind::assumption,
             fmt::format("not measured on this GPU; {}at most as {}", of_least, most.source.reference)});
  };
  if (unknown(i.kernels_to_gpu)) {
    const double share = c.host_link.read_bytes_per_s.value / c.gpu.memory_bytes_per_s.value;
    add("kernels_to_gpu", std::min(share, i.kernels_at_most.value),
        "at least the link's share of the memory bandwidth, ", i.kernels_at_most);
  }
  if (unknown(i.copies_to_gpu)) add("copies_to_gpu", 0, "", i.copies_at_most);
}

}  // namespace

std::string_view source_word(schema::SourceKind kind) {
  constexpr std::array<std::string_view, 6> words{"datasheet", "publication", "measurement",
                                                  "derived",   "assumption",  "scenario"};
  return words.at(static_cast<std::size_t>(kind));
}

std::vector<Provenance> provenance_of(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  const serving::DecodePolicy& decode = *serving::find_decode_policy(c.decode.policy);
  Collector out;
  out.add("model", c.model.name, c.model.source);
  out.for_each(c.cluster, [&](const serving::GroupConfig& group) {
    add_gpu(out, c, group);
    const auto figures = models::used_figures(group.gpu, group.profile, c.model, group.parallel.tensor);
    for (const models::UsedFigure& f : figures) out.add(f.name, f.value, f.source);
  });
  const bool over_network = c.cluster.topology().memory.over_network;
  if (over_network || c.prefill == serving::PrefillKind::stored || decode.offloads() || c.placement) {
    for (const serving::NamedLink& link : serving::kv_links(c)) add_link(out, std::string(link.figure), link.spec);
    if (!over_network) add_interference(out, c.cluster.uniform());
  }
  if (decode.fetches_pairs()) add_fetch(out, c);
  out.for_each(c.cluster, [&](const serving::GroupConfig& group) { add_collectives(out, c.cluster, group); });
  if (reads_own_choice(c)) add_compressor(out, c, decode);
  add_acceptance(out, c, decode);
  if (decode.drafter) add_drafter(out, *c.decode.drafter);
  out.for_each(c.cluster, [&](const serving::GroupConfig& group) { add_draft_costs(out, c, group, decode); });
  if (c.placement) add_placement(out, scenario);
  add_tasks(out, c);
  if (c.schedule.engine) add_engine(out, *c.schedule.engine);
  out.for_each(c.cluster, [&](const serving::GroupConfig& group) { add_memory(out, group); });
  return out.take();
}

std::string stored_prompts_sentence(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  if (c.prefill != serving::PrefillKind::stored) return {};
  return "prefill: stored: the KV of every prompt is stored before its request comes, and none is computed; of a "
         "service that computes prompts, use prefill: recompute, or prefix_cache with placement";
}

std::vector<std::string> assumptions_of(const scenario::Scenario& scenario) {
  std::vector<std::string> list = scenario.assumptions;
  const bool by_itself = scenario.workload.arrivals || scenario.workload.has_sessions() || scenario.workload.trace;
  if (by_itself ||
      scenario.serving.slo.limits(serving::SloMetric::ttft)) {  // a service, not a batch whose decoding is measured
    if (std::string said = stored_prompts_sentence(scenario); !said.empty()) list.push_back(std::move(said));
  }
  for (std::string& said : traffic_assumptions(scenario)) list.push_back(std::move(said));
  for (std::string& said : placement_assumptions(scenario)) list.push_back(std::move(said));
  for (std::string& said : reuse_assumptions(scenario)) list.push_back(std::move(said));
  for (std::string& said : drafting_assumptions(scenario)) list.push_back(std::move(said));
  for (std::string& said : parallelism_assumptions(scenario.serving.cluster)) list.push_back(std::move(said));
  for (const Provenance& p : provenance_of(scenario)) {
    if (p.source != source_word(schema::SourceKind::assumption)) continue;
    if (p.figure.starts_with("dataset.") && p.figure.ends_with(".loss_cv")) continue;  // quality_assumptions says it
    list.push_back(fmt::format("{} = {}{}{}", p.figure, p.value, p.reference.empty() ? "" : ": ", p.reference));
  }
  return list;
}

std::optional<PriceRow> node_price(const serving::ClusterConfig& cluster) {
  if (!cluster.node || !cluster.node->usd_per_hour) return std::nullopt;
  return PriceRow{fmt::format("node of {} x {}", cluster.node->gpus, cluster.uniform().gpu.name),
                  kPerNodeHour,
                  {{*cluster.node->usd_per_hour, {schema::SourceKind::scenario, "cluster.node.price"}}, {}}};
}

std::vector<PriceRow> machine_prices(const serving::ClusterConfig& cluster, const models::PriceTable& prices) {
  if (auto node = node_price(cluster)) return {*std::move(node)};
  std::vector<PriceRow> rows;
  for (const serving::GroupConfig* group : serving::kinds(cluster)) {
    const std::string& gpu = group->gpu.name;
    const models::Price* price = prices.gpu(gpu);
    const bool known = std::any_of(rows.begin(), rows.end(), [&gpu](const PriceRow& row) { return row.what == gpu; });
    if (price != nullptr && !known) rows.push_back({gpu, kPerGpuHour, *price});
  }
  return rows;
}

std::vector<std::string> price_lines(const std::vector<PriceRow>& rows) {
  using Groups = std::vector<std::pair<std::string, std::string>>;
  Groups units, origins;
  const auto put = [](Groups& groups, const std::string& key, const std::string& item) {
    for (auto& [known, items] : groups) {
      if (known != key) continue;
      items += ", " + item;
      return;
    }
    groups.emplace_back(key, item);
  };
  bool from_table = false;
  for (const PriceRow& row : rows) {
    const std::string name = row.what == "dram" ? "host memory" : row.what == "ssd" ? "SSD" : row.what;
    const models::Price& price = row.price;
    const bool of_scenario = price.usd.source.kind == schema::SourceKind::scenario;
    from_table = from_table || !of_scenario;
    put(units, std::string(row.per), fmt::format("{} ${:.2f}", name, price.usd.value));
    put(origins,
        of_scenario ? price.usd.source.reference
                    : fmt::format("{}, {}", price.date.empty() ? "no date given" : price.date,
                                  source_word(price.usd.source.kind)),
        name);
  }
  std::vector<std::string> lines;
  for (const auto& [unit, prices] : units) lines.push_back(fmt::format("{} per {}", prices, unit));
  std::string line;
  for (const auto& [origin, names] : origins) {
    line += fmt::format("{}{}{}", line.empty() ? "" : "; ", origin, origins.size() > 1 ? ": " + names : "");
  }
  if (from_table) line += "; give yours with --prices FILE";
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string unpriced_line(const serving::ClusterConfig& cluster, const models::PriceTable& prices,
                          std::string_view columns) {
  if (node_price(cluster)) return {};
  std::vector<std::string> unpriced;
  for (const serving::GroupConfig* group : serving::kinds(cluster)) {
    if (prices.gpu(group->gpu.name) == nullptr) unpriced.push_back(group->gpu.name);
  }
  if (unpriced.empty()) return {};
  return fmt::format("{}: no price in the table, so its $ {} empty: give one with --prices FILE",
                     fmt::join(unpriced, ", "), columns);
}

const Fields<PriceRow>& price_fields() {
  static const Fields<PriceRow> fields{
      {"what", {kText, "what the price is for: a machine's GPU, a node with all in it, dram or ssd"}, &PriceRow::what},
      {"usd",
       {kDollars, kLower, "the price, for what stands under per"},
       [](const PriceRow& r) { return r.price.usd.value; }},
      {"per", {kText, "what one price is paid for"}, &PriceRow::per},
      {"date",
       {kText, "when the price held; empty where the table does not say"},
       [](const PriceRow& r) { return r.price.date; }},
      {"source",
       {kText, "the kind of source that the price is from"},
       [](const PriceRow& r) { return source_word(r.price.usd.source.kind); }},
      {"reference", {kText, "where the price was found"}, [](const PriceRow& r) {
         return r.price.usd.source.reference;
       }}};
  return fields;
}

namespace {

template <auto Member>
const engine::Sample& sample(const serving::Measurements& m) {
  return m.*Member;
}

}  // namespace

std::span<const QuantileSample> quantile_samples() {
  using M = serving::Measurements;
  static constexpr std::array<QuantileSample, 11> samples{
      {{"latency_s.ttft", "times to the first token", sample<&M::ttft_s>},
       {"latency_s.tpot", "times per output token", sample<&M::tpot_s>},
       {"latency_s.itl", "gaps between tokens", sample<&M::itl_s>},
       {"details.round_gap_s", "gaps between rounds", sample<&M::round_gap_s>},
       {"latency_s.e2e", "times to the last token", sample<&M::e2e_s>},
       {"iterations", "lengths of iterations", sample<&M::iteration_s>},
       {"placement.quality", "scores of what was loaded",
        [](const M& m) -> const engine::Sample& { return m.placement.quality; }},
       {"sessions.duration_s", "lengths of sessions", sample<&M::session_s>},
       {"sessions.sub_agents.duration_s", "lengths of sub-agents' sessions", sample<&M::sub_agent_s>},
       {"sessions.ttft_first_s", "times to the first token of first turns", sample<&M::first_turn_ttft_s>},
       {"sessions.ttft_later_s", "times to the first token of later turns", sample<&M::later_turn_ttft_s>}}};
  return samples;
}

std::string sketched_percentiles(const std::vector<std::string>& keys) {
  std::vector<std::string_view> words;
  for (const QuantileSample& one : quantile_samples()) {
    if (std::find(keys.begin(), keys.end(), one.key) != keys.end()) words.push_back(one.words);
  }
  return words.empty() ? std::string() : fmt::format("{}: {}", fmt::join(words, ", "), kSketched);
}

std::string sketched_percentiles(const serving::Measurements& run) {
  std::vector<std::string> keys;
  for (const QuantileSample& one : quantile_samples()) {
    if (one.of(run).sketched()) keys.emplace_back(one.key);
  }
  return sketched_percentiles(keys);
}

}  // namespace kvsim::results
