// From a file to a scenario: read, override, resolve names, check, read the trace.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/kernels/engine_kernels.h"
#include "models/kernels/operator_times.h"
#include "models/llm/config_import.h"
#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "models/prefetch/prefetch_spec.h"
#include "models/reuse/importance_signal.h"
#include "models/schema/error.h"
#include "models/schema/overrides.h"
#include "models/schema/spelling.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"
#include "models/workload/trace_overlay.h"
#include "models/workload/trace_reader.h"
#include "sim/cache/placement/placements.h"
#include "sim/scenario/keys_without_effect.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schemas.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/replica_fleet.h"
#include "sim/serving/simulation.h"
#include "sim/serving/step_parts.h"
#include "sim/systems/systems.h"

namespace kvsim::scenario {
namespace {

namespace fs = std::filesystem;
using schema::ConfigNode;
using schema::InputError;
using schema::ParseContext;
using schema::Reporter;
using Requests = std::shared_ptr<const std::vector<models::RequestSpec>>;
using ScoredPrompts = std::shared_ptr<const std::vector<models::ScoredPrompt>>;

constexpr std::int64_t kAllOffloaded = -1;  // `offloaded: all`

/// A path in a scenario: beside the scenario where that exists, else as it stands.
std::string beside(const fs::path& folder, const std::string& path) {
  const fs::path candidate = folder / path;
  std::error_code ignored;
  return fs::path(path).is_relative() && fs::exists(candidate, ignored) ? candidate.lexically_normal().string() : path;
}

models::Catalogue catalogue_with(const std::vector<std::string>& includes, const fs::path& folder) {
  models::Catalogue catalogue = models::Catalogue::built_in();
  std::vector<ConfigNode> files;
  for (const std::string& path : includes) files.push_back(schema::read_yaml_file(beside(folder, path)));
  if (!files.empty()) catalogue.add(files);
  return catalogue;
}

/// A quantiser's ratio follows from its bits; dropping needs a ratio, or a budget; full_kv needs neither.
double keep_ratio_of(const Scenario& s, const Reporter& report) {
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

/// What is fetched: as the scenario says, else the defaults.
void complete_prefetch(Scenario& s, const models::Catalogue& catalogue) {
  models::PrefetchSpec& spec = s.serving.decode.prefetch;
  spec = s.prefetch.value_or(models::PrefetchSpec{});
  if (spec.attention.coverage.empty()) {
    spec.attention = catalogue.attention_profile(models::default_attention_profile);
  }
}

models::Granularity usual_granularity(const Scenario& s) {
  if (s.workload.chunks && s.serving.prefill != serving::PrefillKind::prefix_cache) return models::Granularity::chunks;
  const bool blocks =
      s.workload.recorded_prompts() || s.workload.chunks || s.workload.sessions || !s.workload.classes.empty();
  return blocks ? models::Granularity::blocks : models::Granularity::contexts;
}

/// What is stored of prompts: as the scenario says, with what it leaves to others.
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
  s.serving.context_datasets.clear();
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
void complete_memory(Scenario& s, const models::Catalogue& catalogue, const Reporter& report) {
  using serving::StatedKv;
  serving::ClusterConfig& c = s.serving.cluster;
  const auto& engine = s.serving.schedule.engine;
  c.engine_memory =
      engine && engine->memory ? *engine->memory : *catalogue.engine(models::default_engine_memory).memory;
  c.stated_kv.reset();
  for (const auto& [key, unit, amount] : {std::tuple{"kv_tokens", StatedKv::Unit::tokens, s.kv_tokens},
                                          {"kv_blocks", StatedKv::Unit::blocks, s.kv_blocks},
                                          {"kv_bytes", StatedKv::Unit::bytes, s.kv_bytes}}) {
    if (!amount) continue;
    if (c.stated_kv) {
      report.fail(fmt::format("cluster.gpu.{}", key),
                  "states the KV memory, as another key does: give one of kv_tokens, kv_blocks and kv_bytes");
    }
    c.stated_kv = StatedKv{unit, *amount};
  }
}

/// A library that nobody knows would leave the choice to chance; one of another link may stand.
void check_collective_library(const serving::ClusterConfig& cluster, const Reporter& report) {
  std::set<std::string> known{"nccl", "vllm"};
  for (const models::CollectiveTable& table : cluster.peer_link.collectives) known.insert(table.library);
  if (known.contains(cluster.profile.collective_library)) return;
  report.fail("cluster.gpu.profile.collective_library",
              fmt::format("\"{}\" is no library that link {} has tables of, expected one of {}",
                          cluster.profile.collective_library, cluster.peer_link.name, fmt::join(known, ", ")));
}

/// Forms of attention over fp8 KV where the profile has them of bf16 alone: over half the bytes. Such kernels widen
/// what they read, which took FlashInfer's over prompts 1.29 times as long (issue 3484: RTX PRO 6000, 8,192 tokens).
void complete_fp8_forms(serving::ServingConfig& c) {
  constexpr double kWidened = 1.29;
  models::FittedForms& f = c.cluster.profile.fitted;
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
void use_engine_kernels(serving::ServingConfig& c, const models::Catalogue& catalogue) {
  models::KernelProfile& profile = c.cluster.profile;
  for (const models::EngineKernels& of : profile.by_engine) {
    if (of.kernels == profile.engine_kernels) models::use_kernels(catalogue.profile(of.profile), c.model, profile);
  }
  complete_fp8_forms(c);
}

/// Costs of drafting beside kernels, where the profile does not say them: the engine's, else the usual one's.
void use_draft_costs(serving::ServingConfig& c, const models::Catalogue& catalogue) {
  auto& drafts = c.cluster.profile.drafts;
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
void use_quantised_kernel(serving::ServingConfig& c, const models::Catalogue& catalogue) {
  models::KernelProfile& profile = c.cluster.profile;
  const models::CompressorSpec& compressor = c.decode.compressor;
  if (profile.quantised || compressor.kind == models::CompressionKind::token_dropping ||
      serving::profile_times_few_bits(c.cluster, compressor)) {
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

/// Whose kernels run: as the scenario says, else as the engine's entry does. Forms that the scenario changes itself
/// stay as they are.
void complete_kernels(Scenario& s, const models::Catalogue& catalogue, const Reporter& report) {
  serving::ServingConfig& c = s.serving;
  if (c.schedule.engine && !report.node().find_path("cluster.gpu.profile.engine_kernels")) {
    c.cluster.profile.engine_kernels = c.schedule.engine->kernels;
  }
  std::set<std::string> known{"", std::string(models::kUsualKernels)};
  for (const models::EngineKernels& of : c.cluster.profile.by_engine) known.insert(of.kernels);
  for (const auto& line : catalogue.list(models::EntryKind::engine)) known.insert(catalogue.engine(line.name).kernels);
  const std::string& kernels = c.cluster.profile.engine_kernels;
  if (!known.contains(kernels)) {
    known.erase("");
    report.fail("cluster.gpu.profile.engine_kernels",
                fmt::format("nobody's kernels are called \"{}\"{}", kernels,
                            schema::suggest(kernels, std::vector<std::string>(known.begin(), known.end()))));
  }
  if (!report.node().find_path("cluster.gpu.profile.fitted")) use_engine_kernels(c, catalogue);
  use_draft_costs(c, catalogue);
}

/// The mean of a table of rates, where the scenario gives no other; and objectives of classes, for who judges.
void complete_workload(Scenario& s) {
  if (auto& arrivals = s.workload.arrivals; arrivals && !(arrivals->rate_per_s > 0)) {
    arrivals->rate_per_s = arrivals->over_time->mean_rate();
  }
  s.serving.classes.clear();
  for (const ClassInput& of : s.workload.classes) s.serving.classes.push_back({of.requests.name, of.slo});
}

/// Refuses keys without effect that contradict the rest of the scenario.
void refuse_contradictions(const Scenario& s, const Reporter& report) {
  for (const schema::UnreadKey& key : scenario_schema().unread_keys(s)) {
    const bool written = report.node().find_path(key.path) != nullptr;
    if (written && key.then == schema::IfWritten::refused) report.fail(key.path, key.why);
  }
}

void complete(Scenario& s, const models::Catalogue& catalogue, const fs::path& folder, const Reporter& report,
              const std::function<ScoredPrompts(const std::string&)>& read_prompts, bool judges_machine) {
  serving::ServingConfig& c = s.serving;
  const models::GpuSpec& gpu = c.cluster.gpu;
  c.cluster.profile = s.profile ? *s.profile : catalogue.profile(gpu.profile);
  if (const auto wrong = catalogue.contradiction(c.cluster.profile)) {
    report.fail("cluster.gpu.profile." + wrong->key, wrong->message);
  }
  c.cluster.host_link = s.host_link ? *s.host_link : catalogue.link(gpu.host_link);
  c.cluster.peer_link = s.peer_link ? *s.peer_link : catalogue.link(gpu.peer_link);
  check_collective_library(c.cluster, report);
  complete_workload(s);
  refuse_contradictions(s, report);
  complete_pools(s, report);
  complete_schedule(s, report);
  complete_memory(s, catalogue, report);
  complete_kernels(s, catalogue, report);
  if (!c.schedule.arrival) {
    c.schedule.arrival = c.cluster.pools ? serving::ReloadArrival::whole : serving::ReloadArrival::layerwise;
  }
  const bool scored = s.reuse.importance.source == models::ImportanceSource::file;
  if (scored) s.reuse.importance.path = beside(folder, s.reuse.importance.path);
  complete_placement(s, catalogue, folder, report);
  complete_reuse(s, catalogue, report);
  if (scored && s.workload.chunks) {
    c.scored_prompts = read_prompts(s.reuse.importance.path);
    check_scored_prompts(s, report);
  }
  if (c.cluster.node && c.cluster.node->memory_bytes) {
    if (report.node().find_path("cluster.host.memory")) {
      report.fail("cluster.host.memory", "cluster.node.memory says it: remove one of the keys");
    }
    serving::share_node_memory(c.cluster);
  }
  if (s.compressor) c.decode.compressor = *s.compressor;
  use_quantised_kernel(c, catalogue);
  complete_prefetch(s, catalogue);
  c.decode.keep_ratio = keep_ratio_of(s, report);
  if (c.decode.offloaded == kAllOffloaded) c.decode.offloaded.reset();
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
  try {
    systems::check(c);
  } catch (const serving::ConfigurationError& e) {
    if (!judges_machine && dynamic_cast<const serving::UnsuitableMachine*>(&e) != nullptr) return;
    refuse_unworkable(report, e.key(), e.what(), dynamic_cast<const serving::ModelDoesNotFit*>(&e) != nullptr);
  }
}

/// The node at a path of keys; null where there is none.
const ConfigNode* at(const ConfigNode& document, std::initializer_list<const char*> path) {
  const ConfigNode* node = &document;
  for (const char* key : path) {
    node = node->is_map() ? node->find(key) : nullptr;
    if (!node) return nullptr;
  }
  return node;
}

/// A part of a catalogue entry (`--set cluster.gpu.profile.linear.t0=9us`) changes the GPU's own entry where the
/// scenario names none. A whole entry has a description.
void give_base(ConfigNode& document, const models::Catalogue& catalogue, const std::string& key,
               const ConfigNode* written, const char* of_gpu) {
  const ConfigNode* type = at(document, {"cluster", "gpu", "type"});
  if (!written || !written->is_map() || written->find("base") || written->find("description") || !type) return;
  const ConfigNode gpu = catalogue.resolve("gpu", *type, "cluster.gpu.type");
  const ConfigNode* name = gpu.find(of_gpu);
  if (name && name->is_scalar()) schema::assign(document, {key + ".base", name->text(), written->origin()});
}

/// `model: {config: FILE, ...}`: the keys that the file comes to, under those beside it. Returns what is to be said of
/// it.
std::vector<std::string> import_model_config(ConfigNode& document, const fs::path& folder) {
  ConfigNode* model = document.is_map() ? document.find("model") : nullptr;
  const ConfigNode* config = model && model->is_map() ? model->find("config") : nullptr;
  if (config == nullptr) return {};
  if (!config->is_scalar()) {
    throw InputError(config->origin(), "model.config", fmt::format("expected a file, found {}", config->describe()));
  }
  if (model->find("base") != nullptr) {
    throw InputError(config->origin(), "model.config", "given beside model.base: expected one of them");
  }
  const std::string file = beside(folder, config->text());
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    throw InputError(config->origin(), "model.config", fmt::format("there is no file {}", config->describe()));
  }
  models::ImportedModel imported = models::import_model_file(file);
  ConfigNode changes = *model;
  changes.erase("config");
  *model = schema::merge(imported.entry, changes);
  return imported.remarks;
}

}  // namespace

class ScenarioFile::Sources {
 public:
  explicit Sources(fs::path folder) : folder_(std::move(folder)) {}

  /// Of the scenario.
  [[nodiscard]] const fs::path& folder() const { return folder_; }

  /// The catalogue with the files that the document includes.
  std::shared_ptr<const models::Catalogue> catalogue(const ConfigNode& document) {
    static const ConfigNode none;
    const ConfigNode* written = document.find("include");
    const ConfigNode& include = written && written->is_sequence() ? *written : none;  // the parser reports the rest
    return shared(catalogues_, include, [&] { return built_in_with(include); });
  }

  /// Reads the trace, and those that are laid over it, and completes their paths. What is left out of them is added to
  /// `assumptions`.
  Requests trace(TraceInput& input, std::vector<std::string>& assumptions) {
    const Requests own = recording(input, assumptions);
    if (input.overlay.empty()) return own;
    std::vector<Requests> all{own};
    std::vector<std::string> files{input.path};
    std::vector<models::TracePart> parts{{own.get(), 0, 0}};
    OverlayKey key{{key_of(input), 0.0}};
    for (TraceInput& other : input.overlay) {
      all.push_back(recording(other, assumptions));
      const auto same = std::find(files.begin(), files.end(), other.path);
      const auto later_ns = std::llround(std::min(other.at_s, kLatest_s) * 1e9);
      parts.push_back({all.back().get(), later_ns, static_cast<std::uint64_t>(same - files.begin())});
      if (same == files.end()) files.push_back(other.path);
      key.emplace_back(key_of(other), other.at_s);
    }
    return shared(overlays_, key, [&] { return models::overlaid(parts); });
  }

  ScoredPrompts scored_prompts(const std::string& path) {
    return shared(prompts_, path, [&] { return models::read_scored_prompts(path); });
  }

 private:
  using TraceKey = std::tuple<std::string, std::string, std::int64_t, double, std::optional<models::TraceColumns>,
                              models::TraceCut, bool, bool>;
  using OverlayKey = std::vector<std::pair<TraceKey, double>>;
  static constexpr double kLatest_s = static_cast<double>(models::max_arrival_ns) * 1e-9;

  static TraceKey key_of(const TraceInput& input) {
    return {input.format,  input.path, input.max_requests, input.time_scale,
            input.columns, input.cut,  input.skip_invalid, input.sort};
  }

  Requests recording(TraceInput& input, std::vector<std::string>& assumptions) {
    input.path = beside(folder_, input.path);
    const auto recorded = shared(traces_, key_of(input), [&] {
      std::uint64_t left_out = 0;
      std::string first;
      const models::TraceOptions options{static_cast<std::uint64_t>(input.max_requests),
                                         input.time_scale,
                                         input.columns,
                                         &left_out,
                                         input.skip_invalid,
                                         input.sort,
                                         &first};
      Recording read{models::read_trace(models::find_trace_format(input.format), input.path, options), {}};
      if (!first.empty()) read.left_out = models::lines_left_out(left_out, first);
      if (!input.cut.all()) read.requests = models::cut_trace(std::move(read.requests), input.cut);
      return read;
    });
    if (!recorded->left_out.empty()) assumptions.push_back("workload.trace: " + recorded->left_out);
    return {recorded, &recorded->requests};
  }

  struct Recording {
    std::vector<models::RequestSpec> requests;
    std::string left_out;  ///< in words; empty: nothing
  };
  template <class Key, class T>
  using Shelf = std::deque<std::pair<Key, std::shared_ptr<const T>>>;
  static constexpr std::size_t kKept = 16;  // of each: a sweep over traces must not end with all of them in memory

  /// What `make` makes, or made before for this key.
  template <class Key, class T, class Make>
  std::shared_ptr<const T> shared(Shelf<Key, T>& shelf, const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, value] : shelf) {
      if (known == key) return value;
    }
    auto value = std::make_shared<const T>(make());
    if (shelf.size() == kKept) shelf.pop_front();
    shelf.emplace_back(key, value);
    return value;
  }

  models::Catalogue built_in_with(const ConfigNode& include) const {
    std::vector<std::string> includes;
    for (const ConfigNode& item : include.items()) {
      if (item.is_scalar()) includes.push_back(item.text());
    }
    return catalogue_with(includes, folder_);
  }

  fs::path folder_;
  std::mutex mutex_;
  Shelf<ConfigNode, models::Catalogue> catalogues_;
  Shelf<TraceKey, Recording> traces_;
  Shelf<OverlayKey, std::vector<models::RequestSpec>> overlays_;
  Shelf<std::string, std::vector<models::ScoredPrompt>> prompts_;
};

ScenarioFile::ScenarioFile(ConfigNode document, const std::string& folder, std::string name,
                           const std::vector<std::string>& overrides)
    : name_(std::move(name)), document_(std::move(document)), sources_(std::make_shared<Sources>(folder)) {
  for (const std::string& assignment : overrides) schema::apply_set(document_, assignment);
}

ScenarioFile::ScenarioFile(const std::string& path, const std::vector<std::string>& overrides)
    : ScenarioFile(schema::read_yaml_file(path), fs::path(path).parent_path().string(), path, overrides) {}

ScenarioFile ScenarioFile::from_text(std::string_view text, const std::string& name,
                                     const std::vector<std::string>& overrides) {
  return {schema::read_yaml(text, name), "", name, overrides};
}

Scenario ScenarioFile::load(const std::vector<schema::Assignment>& changes) const {
  ConfigNode document = document_;
  for (const schema::Assignment& change : changes) schema::assign(document, change);
  return load(std::move(document), true);
}

Scenario ScenarioFile::parse() const {
  return load(document_, false);
}

ScenarioFile ScenarioFile::for_other_machines() const {
  ScenarioFile file = *this;
  file.judges_machine_ = false;
  return file;
}

Scenario ScenarioFile::load(ConfigNode document, bool whole) const {
  const auto shared_catalogue = sources_->catalogue(document);
  const models::Catalogue& catalogue = *shared_catalogue;
  give_base(document, catalogue, "cluster.gpu.profile", at(document, {"cluster", "gpu", "profile"}), "profile");
  give_base(document, catalogue, "cluster.gpu.peer_link", at(document, {"cluster", "gpu", "peer_link"}), "peer_link");
  give_base(document, catalogue, "cluster.host.link", at(document, {"cluster", "host", "link"}), "host_link");
  const std::vector<std::string> remarks = import_model_config(document, sources_->folder());
  const ParseContext context{"", &catalogue};
  Scenario scenario = scenario_schema().parse(document, context);
  for (const std::string& remark : remarks) scenario.assumptions.push_back("model: " + remark);
  scenario.file = name_;
  if (scenario.name.empty()) scenario.name = fs::path(name_).stem().string();
  scenario.document = std::make_shared<const ConfigNode>(document);
  if (!whole) return scenario;
  if (std::string& router = scenario.serving.cluster.router; router.empty()) {
    router = scenario.workload.has_sessions() ? serving::session_router : serving::default_router;
  }
  const Reporter report(document, context);
  complete(
      scenario, catalogue, sources_->folder(), report,
      [this](const std::string& path) { return sources_->scored_prompts(path); }, judges_machine_);
  if (scenario.workload.trace) {
    scenario.trace = sources_->trace(*scenario.workload.trace, scenario.assumptions);
    if (scenario.workload.trace->sessions &&
        std::none_of(scenario.trace->begin(), scenario.trace->end(),
                     [](const models::RequestSpec& r) { return r.session >= 0; })) {
      report.fail("workload.trace.sessions", "the trace says of no request which session it belongs to");
    }
    if (scenario.workload.trace->arrivals_only) scenario.trace = with_generated_prompts(scenario);
  }
  if (scenario.serving.cluster.router == serving::session_router && !scenario.workload.has_sessions()) {
    refuse_unworkable(report, "cluster.router",
                      "session keeps the turns of a session on one replica, and this workload's requests belong to "
                      "none: give workload.sessions or trace.sessions, or use least_loaded");
  }
  check_prefixes(scenario, report);
  return scenario;
}

void refuse_unworkable(const Reporter& report, const std::string& key, const std::string& why, bool does_not_fit) {
  try {
    report.fail(key, why);
  } catch (const InputError& located) {
    throw UnworkableScenario(located, key, why, does_not_fit);
  }
}

Scenario load_scenario(const std::string& path, const std::vector<std::string>& overrides) {
  return ScenarioFile(path, overrides).load();
}

Scenario load_scenario_text(std::string_view text, const std::string& name, const std::vector<std::string>& overrides) {
  return ScenarioFile::from_text(text, name, overrides).load();
}

models::Catalogue catalogue_of(const Scenario& scenario) {
  return catalogue_with(scenario.include, fs::path(scenario.file).parent_path());
}

Scenario on_machine(const Scenario& scenario, const std::string& gpu, std::int64_t tensor_parallel) {
  if (scenario.serving.cluster.pools) {
    throw InputError("cluster.pools: another GPU is tried for replicas only: change cluster.gpu itself");
  }
  Scenario changed = scenario;
  serving::ClusterConfig& cluster = changed.serving.cluster;
  cluster.parallel.tensor = tensor_parallel;
  serving::share_node_memory(cluster);
  if (gpu == cluster.gpu.name) return changed;
  if (cluster.node) cluster.node->usd_per_hour.reset();  // that of a node of other GPUs
  const models::Catalogue catalogue = catalogue_of(scenario);
  cluster.gpu = catalogue.gpu(gpu);
  const models::KernelProfile before = cluster.profile;
  cluster.profile = catalogue.profile(cluster.gpu.profile);
  cluster.profile.fused = before.fused;  // these are the engine's
  cluster.profile.engine_kernels = before.engine_kernels;
  use_engine_kernels(changed.serving, catalogue);
  cluster.profile.drafts = before.drafts;
  cluster.profile.quantised = before.quantised;
  if (const auto& engine = changed.serving.schedule.engine) {
    cluster.profile.launch.chunks_captured = before.launch.chunks_captured;
    cluster.profile.launch.by_requests = before.launch.by_requests;
    if (engine->kernel_launch_s.value > 0) cluster.profile.launch.kernel_s = before.launch.kernel_s;
  }
  cluster.host_link = catalogue.link(cluster.gpu.host_link);
  cluster.peer_link = catalogue.link(cluster.gpu.peer_link);
  changed.profile.reset();
  changed.host_link.reset();
  changed.peer_link.reset();
  return changed;
}

std::string resolved_yaml(const Scenario& scenario) {
  Scenario shown = scenario;
  shown.profile = scenario.serving.cluster.profile;
  shown.host_link = scenario.serving.cluster.host_link;
  shown.peer_link = scenario.serving.cluster.peer_link;
  shown.include.clear();  // what the files said is written out
  shown.dispatch.reset();
  shown.prefetch = scenario.serving.decode.prefetch;
  const auto& pools = scenario.serving.cluster.pools;
  if (pools) {
    const serving::DispatchConfig& d = pools->dispatch;
    shown.dispatch = DispatchInput{d.policy, d.paths, std::nullopt};
    if (d.policy == "weighted") shown.dispatch->weights = d.weights;
  }
  ConfigNode document = scenario_schema().dump(shown);
  if (shown.serving.placement) {
    for (const auto& key : models::foreign_keys(shown.serving.placement->policy)) {
      schema::take_away(document, fmt::format("placement.{}", key.key));
    }
  }
  for (const schema::UnreadKey& key : scenario_schema().unread_keys(scenario)) {
    const bool written = scenario.document && scenario.document->find_path(key.path) != nullptr;
    const ConfigNode* shown_there = document.find_path(key.path);
    const bool kept = written || (shown_there && has_default(key.path, *shown_there));
    if (!kept || key.then == schema::IfWritten::refused) schema::take_away(document, key.path);
  }
  const auto& node = scenario.serving.cluster.node;
  if (node && node->memory_bytes) schema::take_away(document, "cluster.host.memory");
  return schema::to_yaml(document);
}

}  // namespace kvsim::scenario
