#include "tools/results/provenance.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

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

/// Adds the figures that time all-reduces of so many GPUs that a link joins.
void add_joining_link(Collector& out, const std::string& role, const models::LinkSpec& link, const std::string& library,
                      std::int64_t gpus) {
  if (gpus <= 1) return;
  const models::CollectiveTimes times(link, models::Collective::all_reduce, library, gpus);
  if (times.source() == nullptr) return add_link(out, role, link);
  out.add(role + ".collectives", "table", *times.source());
}

/// Adds the figures that time the collectives of a replica's GPUs.
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

/// Adds the compressor that the policy drafts on or decodes with.
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

/// Adds the compressors that stored objects may have gone through.
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

}  // namespace kvsim::results
