// From a file to a scenario: read, override, look up entries of the catalogue, resolve, judge, read the trace.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "models/llm/config_import.h"
#include "models/placement/placement_spec.h"
#include "models/schema/error.h"
#include "models/schema/overrides.h"
#include "models/schema/yaml.h"
#include "models/workload/trace_overlay.h"
#include "models/workload/trace_reader.h"
#include "sim/cache/placement/placements.h"
#include "sim/routing/router.h"
#include "sim/scenario/keys_without_effect.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schemas.h"
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

/// Keys of a profile that describe the engine, which another GPU's profile keeps.
constexpr std::array kKeysOfEngine{"cluster.gpu.profile.fused", "cluster.gpu.profile.engine_kernels",
                                   "cluster.gpu.profile.drafts", "cluster.gpu.profile.quantised"};
/// Further such keys, where an engine is named.
constexpr std::array kLaunchOfEngine{"cluster.gpu.profile.launch.chunks_captured",
                                     "cluster.gpu.profile.launch.by_requests", "cluster.gpu.profile.launch.kernel"};

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

  /// Folder of the scenario.
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

  /// The value that `make` makes, or made before for this key.
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

  [[nodiscard]] models::Catalogue built_in_with(const ConfigNode& include) const {
    models::Catalogue catalogue = models::Catalogue::built_in();
    std::vector<ConfigNode> files;
    for (const ConfigNode& item : include.items()) {
      if (item.is_scalar()) files.push_back(schema::read_yaml_file(beside(folder_, item.text())));
    }
    if (!files.empty()) catalogue.add(files);
    return catalogue;
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

ScenarioFile ScenarioFile::with(const std::vector<schema::Assignment>& changes) const {
  ScenarioFile changed = *this;
  for (const schema::Assignment& change : changes) schema::assign(changed.document_, change);
  return changed;
}

ScenarioFile ScenarioFile::judged_by(Judged judged) const {
  ScenarioFile file = *this;
  file.judged_ = judged;
  return file;
}

struct ScenarioFile::Parsed {
  std::shared_ptr<const models::Catalogue> catalogue;
  ConfigNode document;  ///< with what entries of the catalogue are changed, and what an imported model says
  Written written;
};

ScenarioFile::Parsed ScenarioFile::read() const {
  Parsed parsed{sources_->catalogue(document_), document_, {}};
  ConfigNode& document = parsed.document;
  const models::Catalogue& catalogue = *parsed.catalogue;
  complete_gpus(document, catalogue);
  const std::vector<std::string> remarks = import_model_config(document, sources_->folder());
  parsed.written = scenario_schema().parse(document, {"", &catalogue});
  for (const std::string& remark : remarks) parsed.written.assumptions.push_back("model: " + remark);
  if (parsed.written.name.empty()) parsed.written.name = fs::path(name_).stem().string();
  return parsed;
}

Written ScenarioFile::parse() const {
  return read().written;
}

Scenario ScenarioFile::load(const std::vector<schema::Assignment>& changes) const {
  if (!changes.empty()) return with(changes).load();
  Parsed parsed = read();
  Scenario scenario;
  scenario.file = name_;
  scenario.source = std::make_shared<const ScenarioFile>(*this);
  scenario.catalogue = parsed.catalogue;
  const ParseContext context{"", parsed.catalogue.get()};
  const Reporter report(parsed.document, context);
  resolve(scenario, parsed.written, *parsed.catalogue, sources_->folder(), report,
          [this](const std::string& path) { return sources_->scored_prompts(path); });
  judge(scenario, report);
  if (scenario.workload.trace) {
    scenario.trace = sources_->trace(*scenario.workload.trace, scenario.assumptions);
    if (scenario.workload.trace->sessions &&
        std::none_of(scenario.trace->begin(), scenario.trace->end(),
                     [](const models::RequestSpec& r) { return r.session >= 0; })) {
      report.fail("workload.trace.sessions", "the trace says of no request which session it belongs to");
    }
    if (scenario.workload.trace->arrivals_only) scenario.trace = with_generated_prompts(scenario);
  }
  if (scenario.serving.cluster.router == routing::session_router && !scenario.workload.has_sessions()) {
    refuse_unworkable(report, "cluster.router",
                      "session keeps the turns of a session on one replica, and this workload's requests belong to "
                      "none: give workload.sessions or trace.sessions, or use least_loaded");
  }
  check_prefixes(scenario, report);
  scenario.written = std::make_shared<const Written>(std::move(parsed.written));
  scenario.document = std::make_shared<const ConfigNode>(std::move(parsed.document));
  return scenario;
}

void ScenarioFile::judge(const Scenario& scenario, const Reporter& report) const {
  if (judged_ == Judged::nothing) return;
  try {
    systems::check(scenario.serving);
  } catch (const serving::ConfigurationError& e) {
    const bool of_machine = dynamic_cast<const serving::UnsuitableMachine*>(&e) != nullptr;
    if (of_machine && judged_ == Judged::all_but_machine) return;
    refuse_unworkable(report, e.key(), e.what(), dynamic_cast<const serving::ModelDoesNotFit*>(&e) != nullptr);
  }
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

Scenario with(const Scenario& scenario, const std::vector<schema::Assignment>& changes) {
  Scenario changed = scenario.source->with(changes).unjudged().load();
  changed.remarks = scenario.remarks;
  return changed;
}

Scenario on_machine(const Scenario& scenario, const std::string& gpu, std::int64_t tensor_parallel) {
  const serving::ClusterConfig& own = scenario.serving.cluster;
  if (const serving::Topology t = own.topology(); !t.independent()) {
    throw InputError(fmt::format("{}: another GPU is tried for replicas only: change cluster.gpu itself", t.key));
  }
  std::vector<schema::Assignment> changes{{"cluster.gpu.tensor_parallel", std::to_string(tensor_parallel)}};
  if (gpu == own.uniform().gpu.name) return with(scenario, changes);
  changes.push_back({"cluster.gpu.type", scenario.catalogue->gpu(gpu).name});
  for (const char* own_key : {"cluster.gpu.profile", "cluster.gpu.peer_link", "cluster.host.link",
                              "cluster.node.price"}) {  // a node of other GPUs has another price
    changes.push_back({own_key, std::nullopt});
  }
  const auto keep = [&](const char* key) {
    const ConfigNode* kept = scenario.source->document().find_path(key);
    if (kept) changes.push_back({key, schema::to_flow_yaml(*kept)});
  };
  for (const char* key : kKeysOfEngine) keep(key);
  if (scenario.serving.schedule.engine) {
    for (const char* key : kLaunchOfEngine) keep(key);
  }
  return with(scenario, changes);
}

Written written_out(const Scenario& scenario) {
  Written written = *scenario.written;
  static_cast<Settings&>(written) = scenario;
  if (!written.pools) write_out(scenario.serving.cluster.groups.front(), written);
  return written;
}

std::string resolved_yaml(const Scenario& scenario) {
  Written shown = written_out(scenario);
  shown.include.clear();  // what the files said is written out
  ConfigNode document = scenario_schema().dump(shown);
  if (shown.serving.placement) {
    for (const auto& key : models::foreign_keys(shown.serving.placement->policy)) {
      schema::take_away(document, fmt::format("placement.{}", key.key));
    }
  }
  for (const schema::UnreadKey& key : scenario_schema().unread_keys(shown)) {
    const bool written = scenario.document->find_path(key.path) != nullptr;
    const ConfigNode* shown_there = document.find_path(key.path);
    const bool kept = written || (shown_there && has_default(key.path, *shown_there));
    if (!kept || key.then == schema::IfWritten::refused) schema::take_away(document, key.path);
  }
  const auto& node = scenario.serving.cluster.node;
  if (node && node->memory_bytes) schema::take_away(document, "cluster.host.memory");
  return schema::to_yaml(document);
}

}  // namespace kvsim::scenario
