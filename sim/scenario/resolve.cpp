// From a scenario as it is written to one that can be simulated: defaults that depend on other keys, and what follows
// from several keys together.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <tuple>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/kernels/engine_kernels.h"
#include "models/kernels/operators/attention.h"
#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "models/prefetch/prefetch_spec.h"
#include "models/reuse/importance_signal.h"
#include "models/schema/spelling.h"
#include "sim/cache/placement/placements.h"
#include "sim/routing/router.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schemas.h"
#include "sim/serving/step_parts.h"

namespace kvsim::scenario {

namespace fs = std::filesystem;
using schema::Reporter;
using serving::GroupConfig;

std::string beside(const fs::path& folder, const std::string& path) {
  const fs::path candidate = folder / path;
  std::error_code ignored;
  return fs::path(path).is_relative() && fs::exists(candidate, ignored) ? candidate.lexically_normal().string() : path;
}

namespace {

constexpr std::int64_t kAllOffloaded = -1;  // `offloaded: all`

/// A quantiser's ratio follows from its bits; dropping needs a ratio, or a budget; full_kv needs neither.
double keep_ratio_of(const Written& s, const Reporter& report) {
  if (s.serving.decode.budget) {
    if (s.keep_ratio) report.fail("decode.budget", "decode.keep_ratio says what is kept: remove one of the keys");
    return 1.0;
  }
  if (!s.compressor || s.compressor->kind != models::CompressionKind::quantisation) {
    if (!s.keep_ratio && s.compressor) {
      report.fail("decode", fmt::format("missing key \"keep_ratio\", which compressor {} needs", s.compressor->name));
    }
    const auto& sparse = s.serving.decode.sparse;
    if (!s.keep_ratio && sparse && sparse->selection && !sparse->keep_ratio) {
      report.fail("decode.sparse",
                  fmt::format("missing key \"keep_ratio\", which selection {} needs", sparse->selection->name));
    }
    return s.keep_ratio.value_or(1.0);
  }
  const double ratio = s.compressor->quantised_ratio();
  if (s.keep_ratio && std::abs(*s.keep_ratio - ratio) > 1e-9) {
    report.fail("decode.keep_ratio",
                fmt::format("{} keeps {:.6g} by its bits and groups: remove this key, or choose another compressor",
                            s.compressor->name, ratio));
  }
  return ratio;
}

models::Granularity usual_granularity(const Scenario& s) {
  if (s.workload.chunks && s.serving.prefill != serving::PrefillKind::prefix_cache) return models::Granularity::chunks;
  const bool blocks =
      s.workload.recorded_prompts() || s.workload.chunks || s.workload.sessions || !s.workload.classes.empty();
  return blocks ? models::Granularity::blocks : models::Granularity::contexts;
}

/// Completes the storage of prompts: as the scenario says, with what it leaves to others.
void complete_placement(Scenario& s, const models::Catalogue& catalogue, const fs::path& folder,
                        const Reporter& report) {
  auto& placement = s.serving.placement;
  if (!placement) return;
  using models::Granularity;
  models::reset_foreign_keys(*placement);
  models::complete_methods(placement->options, [&](const char* name) { return catalogue.compressor(name); });
  if (!placement->granularity) placement->granularity = usual_granularity(s);
  if (s.workload.chunks && placement->granularity == Granularity::contexts) {
    report.fail("placement.granularity",
                "prompts made of chunks have no context of their own to store: use chunks where prefill puts them "
                "together, blocks with prefix_cache");
  }
  if (s.workload.recorded_prompts() && placement->granularity == Granularity::contexts) {
    report.fail("placement.granularity",
                "requests of a trace share blocks, and nobody knows their contexts: use blocks, or workload.prefixes");
  }
  if ((s.workload.sessions || !s.workload.classes.empty()) && placement->granularity == Granularity::contexts) {
    report.fail("placement.granularity",
                s.workload.sessions
                    ? "what the turns of a session share are blocks: use blocks"
                    : "contexts are of one law of lengths, and classes have laws of their own: use blocks");
  }
  const cache::PlacementEntry* policy = cache::find_placement(placement->policy);
  if (policy && policy->needs_future && s.workload.has_sessions()) {
    report.fail("placement.policy",
                fmt::format("{} must know all requests beforehand, and when a session's next turn comes is known when "
                            "the one before it is over: use lru, or another policy without the future",
                            policy->name));
  }
  if (policy && policy->needs_future && s.workload.endless()) {
    report.fail(
        "placement.policy",
        fmt::format("{} must know all requests beforehand: give workload.requests, or use a trace", policy->name));
  }
  const auto& prefixes = s.workload.prefixes;
  const bool by_context = placement->granularity == Granularity::contexts && prefixes;
  s.serving.context_sensitivities =
      by_context ? models::prefix_sensitivities(*prefixes) : models::block_sensitivities({});
  if (by_context) {
    for (const models::DatasetSpec& dataset : prefixes->datasets) {
      s.serving.context_datasets.push_back(dataset.name);
    }
  }
  if (placement->quality.source != models::QualitySource::file) return;
  placement->quality.path = beside(folder, placement->quality.path);
  const models::QualityFile file = models::QualityFile::read(placement->quality.path);
  const std::size_t curves = s.serving.context_sensitivities.size();
  s.serving.context_curves =
      std::make_shared<const models::QualityTable>(file.curves(curves, models::option_pool(*placement)));
}

/// KV memory as the scenario states it, and what its engine takes beside it.
void complete_memory(Scenario& s, const models::Catalogue& catalogue) {
  const auto& engine = s.serving.schedule.engine;
  const models::EngineMemory memory =
      engine && engine->memory ? *engine->memory : *catalogue.engine(models::default_engine_memory).memory;
  for (GroupConfig& group : s.serving.cluster.groups) group.engine_memory = memory;
}

/// Forms of attention over fp8 KV where the profile has them of bf16 alone: over half the bytes. Such kernels widen
/// what they read, which took FlashInfer's over prompts 1.29 times as long (issue 3484: RTX PRO 6000, 8,192 tokens).
void complete_fp8_forms(const serving::ServingConfig& c, GroupConfig& group) {
  constexpr double kWidened = 1.29;
  models::FittedForms& f = group.profile.fitted;
  if (models::kv_format(c.model) != models::NumberFormat::fp8) return;
  const auto complete = [](auto& forms, double factor) {
    using Form = typename std::decay_t<decltype(forms)>::value_type;
    const Form* bf16 = models::form_for(forms, &Form::kv, models::NumberFormat::bf16);
    if (bf16 == nullptr || models::form_for(forms, &Form::kv, models::NumberFormat::fp8) != nullptr) return;
    Form fp8 = *bf16;
    fp8.kv = models::NumberFormat::fp8;
    if constexpr (std::is_same_v<Form, models::TiledForm>) fp8.efficiency /= factor;
    fp8.source = {schema::SourceKind::assumption,
                  "not measured over fp8 KV: as over bf16 with half the bytes; " + bf16->source.reference};
    forms.push_back(fp8);
  };
  complete(f.decode_attention, 1);
  complete(f.prefill_attention, kWidened);
  complete(f.mixed_attention, kWidened);
}

/// The forms of the kernels that the engine runs, in place of the profile's.
void use_engine_kernels(const serving::ServingConfig& c, GroupConfig& group, const models::Catalogue& catalogue) {
  models::KernelProfile& profile = group.profile;
  for (const models::EngineKernels& of : profile.by_engine) {
    if (of.kernels == profile.engine_kernels) models::use_kernels(catalogue.profile(of.profile), c.model, profile);
  }
  complete_fp8_forms(c, group);
}

/// Costs of drafting beside kernels, where the profile does not say them: the engine's, else the usual one's.
void use_draft_costs(const serving::ServingConfig& c, GroupConfig& group, const models::Catalogue& catalogue) {
  auto& drafts = group.profile.drafts;
  if (drafts) return;
  const auto& engine = c.schedule.engine;
  if (engine && engine->drafts) {
    drafts = engine->drafts;
    return;
  }
  drafts = catalogue.engine(models::kUsualKernels).drafts;
  if (!drafts) return;
  for (schema::Sourced<double>* figure :
       {&drafts->pass_s, &drafts->vocabulary_s, &drafts->round_s, &drafts->request_s, &drafts->layer_s}) {
    figure->source = {schema::SourceKind::assumption,
                      fmt::format("not measured with {}: that of {}, {}", engine ? engine->name : "no engine named",
                                  models::kUsualKernels, figure->source.reference)};
  }
}

/// Attention over what the compressor quantises, where the profile does not say it: as the engine has it of that
/// compressor, else the usual one, and else of any that nobody measured.
void use_quantised_kernel(const serving::ServingConfig& c, GroupConfig& group, const models::Catalogue& catalogue) {
  models::KernelProfile& profile = group.profile;
  const models::CompressorSpec& compressor = c.decode.compressor;
  if (profile.quantised || compressor.kind == models::CompressionKind::token_dropping ||
      serving::profile_times_few_bits(group, compressor)) {
    return;
  }
  const auto& engine = c.schedule.engine;
  const bool own = engine && !engine->quantised.empty();
  const models::EngineSpec usual = catalogue.engine(models::kUsualKernels);
  const std::vector<models::QuantisedKernel>& kernels = own ? engine->quantised : usual.quantised;
  for (const models::QuantisedKernel& kernel : kernels) {
    const bool its = compressor.name == kernel.compressor || compressor.name == kernel.compressor + " (changed)";
    if (its || (kernel.compressor.empty() && !profile.quantised)) profile.quantised = kernel;
  }
  if (own || !profile.quantised) return;
  for (schema::Sourced<double>* figure :
       {&profile.quantised->layer_s, &profile.quantised->token_s, &profile.quantised->elements_per_s}) {
    figure->source = {schema::SourceKind::assumption,
                      fmt::format("not measured with {}: that of {}, {}", engine ? engine->name : "no engine named",
                                  models::kUsualKernels, figure->source.reference)};
  }
}

/// Completes whose kernels run: as the scenario says, else as the engine's entry does. Forms that the scenario changes
/// itself stay as they are.
void complete_kernels(const serving::ServingConfig& c, GroupConfig& group, const models::Catalogue& catalogue,
                      const Reporter& report) {
  const std::string profile = group.gpu_key + ".profile";
  if (c.schedule.engine && !report.node().find_path(profile + ".engine_kernels")) {
    group.profile.engine_kernels = c.schedule.engine->kernels;
  }
  std::set<std::string> known{"", std::string(models::kUsualKernels)};
  for (const models::EngineKernels& of : group.profile.by_engine) known.insert(of.kernels);
  for (const auto& line : catalogue.list(models::EntryKind::engine)) known.insert(catalogue.engine(line.name).kernels);
  const std::string& kernels = group.profile.engine_kernels;
  if (!known.contains(kernels)) {
    known.erase("");
    report.fail(profile + ".engine_kernels",
                fmt::format("nobody's kernels are called \"{}\"{}", kernels,
                            schema::suggest(kernels, std::vector<std::string>(known.begin(), known.end()))));
  }
  if (!report.node().find_path(profile + ".fitted")) use_engine_kernels(c, group, catalogue);
  use_draft_costs(c, group, catalogue);
}

/// The mean of a table of rates, where the scenario gives no other; and objectives of classes, for who judges.
void complete_workload(Scenario& s) {
  if (auto& arrivals = s.workload.arrivals; arrivals && !(arrivals->rate_per_s > 0)) {
    arrivals->rate_per_s = arrivals->over_time->mean_rate();
  }
  for (const ClassInput& of : s.workload.classes) s.serving.classes.push_back({of.requests.name, of.slo});
}

/// Refuses keys without effect that contradict the rest of the scenario.
void refuse_contradictions(const Written& s, const Reporter& report) {
  for (const schema::UnreadKey& key : scenario_schema().unread_keys(s)) {
    const bool written = report.node().find_path(key.path) != nullptr;
    if (written && key.then == schema::IfWritten::refused) report.fail(key.path, key.why);
  }
}

/// Lengths of a run and of its queue go together.
void check_run(const Scenario& s, const Reporter& report) {
  const serving::ServingConfig& c = s.serving;
  if (!c.run.duration_s && s.workload.endless()) {
    report.fail("run", s.workload.sessions ? "an endless run: give run.duration, or workload.sessions.count"
                                           : "an endless run: give run.duration, or workload.requests");
  }
  if (s.workload.closed && !s.workload.sessions && s.workload.closed->concurrency > c.run.most_in_flight) {
    report.fail("run.most_in_flight",
                fmt::format("{} clients of workload.closed are in the system at any time: expected "
                            "so many or more",
                            s.workload.closed->concurrency));
  }
  if (c.run.duration_s && c.run.warmup_s >= *c.run.duration_s) {
    report.fail("run.warmup", "must be shorter than run.duration");
  }
  if (c.decode.resident > c.schedule.max_requests) {
    report.fail("decode.resident", "must not exceed schedule.max_requests");
  }
}

}  // namespace

void resolve(Scenario& s, Written& written, const models::Catalogue& catalogue, const std::filesystem::path& folder,
             const Reporter& report, const ReadPrompts& read_prompts) {
  static_cast<Settings&>(s) = written;
  serving::ServingConfig& c = s.serving;
  if (c.cluster.router.empty()) {
    c.cluster.router = s.workload.has_sessions() ? routing::session_router : routing::default_router;
  }
  lay_out_groups(c.cluster, written, catalogue, report);
  complete_workload(s);
  refuse_contradictions(written, report);
  complete_pools(s, written, report);
  complete_schedule(s, report);
  complete_memory(s, catalogue);
  for (GroupConfig& group : c.cluster.groups) complete_kernels(c, group, catalogue, report);
  if (!c.schedule.arrival) {
    c.schedule.arrival = c.cluster.pools ? serving::ReloadArrival::whole : serving::ReloadArrival::layerwise;
  }
  models::ImportanceSignals& importance = written.reuse.importance;
  const bool scored = importance.source == models::ImportanceSource::file;
  if (scored) importance.path = beside(folder, importance.path);
  complete_placement(s, catalogue, folder, report);
  complete_reuse(s, written, catalogue, report);
  if (scored && s.workload.chunks) {
    c.scored_prompts = read_prompts(importance.path);
    check_scored_prompts(s, report);
  }
  if (c.cluster.node && c.cluster.node->memory_bytes) {
    if (report.node().find_path("cluster.host.memory")) {
      report.fail("cluster.host.memory", "cluster.node.memory says it: remove one of the keys");
    }
    serving::share_node_memory(c.cluster);
  }
  if (written.compressor) c.decode.compressor = *written.compressor;
  for (GroupConfig& group : c.cluster.groups) use_quantised_kernel(c, group, catalogue);
  if (models::PrefetchSpec& prefetch = c.decode.prefetch; prefetch.attention.coverage.empty()) {
    prefetch.attention = catalogue.attention_profile(models::default_attention_profile);
  }
  c.decode.keep_ratio = keep_ratio_of(written, report);
  if (c.decode.offloaded == kAllOffloaded) c.decode.offloaded.reset();
  settle_groups(c.cluster, written);
  check_run(s, report);
}

}  // namespace kvsim::scenario
