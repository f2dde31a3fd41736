// A scenario: what a user's YAML file says, checked and resolved against the catalogue. `kvsim schema` is generated
// from the same field tables that parse it (scenario_schema.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "models/schema/error.h"
#include "models/schema/object_schema.h"
#include "models/schema/overrides.h"
#include "models/workload/distributions.h"
#include "models/workload/request_source.h"
#include "models/workload/shared_chunks.h"
#include "models/workload/shared_prefixes.h"
#include "models/workload/trace_cut.h"
#include "models/workload/trace_reader.h"
#include "sim/serving/config.h"
#include "sim/serving/request.h"

namespace kvsim::scenario {

/// Most clients of a closed loop.
inline constexpr std::int64_t kMostClients = 1'000'000;

struct ClosedLoop {
  std::int64_t concurrency = 1;  ///< requests in the system at any time, or sessions under way, over all replicas
};

struct TraceInput {
  std::string format;
  std::string path;               ///< relative to the scenario's folder, or to the working directory if not there
  std::int64_t max_requests = 0;  ///< 0: all
  double time_scale = 1;          ///< arrival times are multiplied by this: 0.5 doubles the rate
  bool arrivals_only = false;     ///< requests arrive as recorded; their prompts and outputs are generated
  bool skip_invalid = false;      ///< lines that are no request are left out
  bool sort = false;              ///< requests are in any order
  std::optional<models::TraceColumns> columns{};  ///< of format columns
  models::TraceCut cut;                           ///< which of the requests, and how often
  bool sessions = false;                          ///< turns after a session's first one wait for the one before
  double at_s = 0;                                ///< of an overlaid one: when its time begins
  std::vector<TraceInput> overlay{};              ///< others, whose requests come beside these

  /// Tokens of the blocks of its requests, and of overlaid ones; 0: none has any.
  [[nodiscard]] std::int64_t block_tokens() const;
};

/// Sessions, whose first prompts are `context` long and whose answers are `output` long.
struct SessionInput {
  models::SessionSpec spec;
  std::int64_t count = 0;  ///< how many; 0: until the run's duration is over
};

/// Requests of one kind among others.
struct ClassInput {
  models::RequestClass requests;
  std::optional<serving::SloConfig> slo;  ///< none: the scenario's
};

/// Where requests come from: exactly one of arrivals (open), closed, trace.
struct WorkloadConfig {
  std::optional<models::ArrivalSpec> arrivals;
  std::optional<ClosedLoop> closed;
  std::optional<TraceInput> trace;
  std::optional<models::LengthSpec> context;  ///< prompt lengths, after prefix or chunks if any; not with a trace's own
  std::optional<models::LengthSpec> output;   ///< output lengths; not with a trace's own
  std::optional<models::SharedPrefixSpec> prefixes;  ///< with which prompts begin; not with a trace
  std::optional<models::SharedChunkSpec> chunks;     ///< of which prompts are made; not with a trace or prefixes
  std::vector<models::RagTask> tasks{};              ///< with chunks: what prompts ask for, in turn
  std::optional<SessionInput> sessions;              ///< absent: every request stands alone; not with a trace or chunks
  std::vector<ClassInput> classes;                   ///< in place of context, output and prefixes
  std::int64_t requests = 0;                         ///< how many; 0: until the run's duration is over

  /// The trace brings prompts of its own, not only arrivals.
  [[nodiscard]] bool recorded_prompts() const { return trace && !trace->arrivals_only; }
  /// Requests wait for others of their session.
  [[nodiscard]] bool has_sessions() const { return sessions || (trace && trace->sessions); }
  /// Nothing says how many requests or sessions there are.
  [[nodiscard]] bool endless() const { return !trace && (sessions ? sessions->count : requests) == 0; }
};

using PathWeights = std::array<double, models::kPaths>;

/// Settings of paths in a scenario with pools; PoolsConfig::dispatch follows from it.
struct DispatchInput {
  std::string policy = serving::DispatchConfig{}.policy;
  std::vector<models::Path> paths;
  std::optional<PathWeights> weights;  ///< of the policy weighted
  schema::OwnKeys own{};               ///< of the policy
};

/// The GPUs of instances as they are written: cluster.gpu, or those of a pool.
struct GroupInput : serving::GroupConfig {
  std::optional<std::int64_t> kv_tokens;  ///< one of three ways to state KV memory (GroupConfig::stated_kv)
  std::optional<std::int64_t> kv_blocks;
  std::optional<std::int64_t> kv_bytes;
};

/// The host memory of a replica and the way to it.
struct HostInput {
  std::int64_t memory_bytes = 0;
  models::LinkSpec link;
  std::vector<transport::Outage> outages;
};

/// Identical nodes with a link each to the storage node.
struct PoolInput {
  std::int64_t nodes = 0;
  models::LinkSpec link;
  std::optional<double> shared_bytes_per_s;
  std::vector<transport::Outage> outages;
  std::optional<GroupInput> gpu;  ///< none: those of cluster.gpu
};

/// Two pools in place of replicas; ClusterConfig::groups follow from them.
struct PoolsInput : serving::PoolsConfig {
  PoolInput local;
  PoolInput remote;
};

/// The parts that a scenario has as written and as resolved.
struct Settings {
  std::string name;
  std::string description;
  std::vector<std::string> assumptions;  ///< what the author took for granted, repeated in every result
  std::vector<std::string> include;
  serving::ServingConfig serving;
  WorkloadConfig workload;
  std::int64_t replications = 1;  ///< runs with seeds seed, seed + 1, ...
};

/// A scenario as it is written: keys that are left out have their defaults, names of the catalogue their entries. What
/// follows from several keys is not worked out; `serving` has none of the values that are stated below.
struct Written : Settings {
  GroupInput gpus;  ///< of replicas, and of pools without GPUs of their own
  std::int64_t replicas = 1;
  HostInput host;
  std::optional<PoolsInput> pools;
  std::optional<models::CompressorSpec> compressor;
  std::optional<double> keep_ratio;
  std::optional<DispatchInput> dispatch;
  models::ReuseSpec reuse;
};

class ScenarioFile;

/// A scenario that can be simulated: `serving` and `workload` follow from what was written, by ScenarioFile::load
/// alone.
struct Scenario : Settings {
  std::string file;                                    ///< where it was read from
  std::shared_ptr<const schema::ConfigNode> document;  ///< as written, with what options changed; null: not read
  std::shared_ptr<const Written> written;              ///< what the document says, with what resolving completes of it
  std::shared_ptr<const ScenarioFile> source;          ///< the document before entries were looked up
  std::shared_ptr<const models::Catalogue> catalogue;  ///< the built-in one, and what its `include` files add
  std::vector<std::string> remarks;                    ///< on keys of its file that have no effect, in words
  /// The requests of workload.trace; of arrivals_only with the prompts and outputs that run.seed draws.
  std::shared_ptr<const std::vector<models::RequestSpec>> trace;
};

/// The field table of a scenario as it is written.
const schema::ObjectSchema<Written>& scenario_schema();

/// The scenario as it would be written with all that follows from what was written. Its rules say which keys nothing
/// reads.
Written written_out(const Scenario& scenario);

/// Reads, overrides (`a.b.c=v` each), resolves and checks a scenario, its trace included. Throws schema::InputError
/// with file, line and column, UnworkableScenario where only the whole is wrong.
Scenario load_scenario(const std::string& path, const std::vector<std::string>& overrides = {});

/// Loads from memory; `name` stands for the file's name, relative paths are taken from the working directory.
Scenario load_scenario_text(std::string_view text, const std::string& name,
                            const std::vector<std::string>& overrides = {});

/// A scenario that is well written and cannot be simulated: its model does not fit, its policies do not go together.
class UnworkableScenario : public schema::InputError {
 public:
  /// `problem` says where it was written.
  UnworkableScenario(const schema::InputError& problem, std::string key, std::string why, bool does_not_fit)
      : schema::InputError(problem), key_(std::move(key)), why_(std::move(why)), does_not_fit_(does_not_fit) {}
  [[nodiscard]] const std::string& why() const { return why_; }
  /// Which key is to blame, and why.
  [[nodiscard]] std::string reason() const { return key_ + ": " + why_; }
  /// Whether it is GPU memory that is too small for the model.
  [[nodiscard]] bool does_not_fit() const { return does_not_fit_; }

 private:
  std::string key_, why_;
  bool does_not_fit_;
};

/// A scenario's file, read once, from which many variants are made. Variants with equal `include` share a catalogue,
/// those with equal workload.trace share the requests. May be used by several threads at once.
class ScenarioFile {
 public:
  /// Reads the file and applies `overrides` (`a.b.c=v` each) for all variants. Throws schema::InputError.
  explicit ScenarioFile(const std::string& path, const std::vector<std::string>& overrides = {});
  /// Loads from memory.
  static ScenarioFile from_text(std::string_view text, const std::string& name,
                                const std::vector<std::string>& overrides = {});

  /// The file with these changes. Throws schema::InputError where a path leads nowhere.
  [[nodiscard]] ScenarioFile with(const std::vector<schema::Assignment>& changes) const;

  /// The scenario with these changes, resolved and checked. Throws schema::InputError, of which UnworkableScenario.
  [[nodiscard]] Scenario load(const std::vector<schema::Assignment>& changes = {}) const;

  /// The scenario as it is written: every key read and known, and neither how they go together checked nor the trace
  /// read. Throws schema::InputError for what no other key can put right: misspelt keys, values of the wrong kind.
  [[nodiscard]] Written parse() const;

  /// The file for machines that are chosen afterwards (on_machine): its own is not judged, so that neither a model
  /// which does not fit it nor its number of GPUs is a reason to refuse the scenario.
  [[nodiscard]] ScenarioFile for_other_machines() const { return judged_by(Judged::all_but_machine); }

  /// The file for combinations that are judged afterwards (systems::check).
  [[nodiscard]] ScenarioFile unjudged() const { return judged_by(Judged::nothing); }

  /// The document as it is written, with the overrides.
  [[nodiscard]] const schema::ConfigNode& document() const { return document_; }

 private:
  class Sources;  ///< what variants share
  enum class Judged : std::uint8_t { all, all_but_machine, nothing };
  struct Parsed;
  ScenarioFile(schema::ConfigNode document, const std::string& folder, std::string name,
               const std::vector<std::string>& overrides);
  [[nodiscard]] ScenarioFile judged_by(Judged judged) const;
  [[nodiscard]] Parsed read() const;
  void judge(const Scenario& scenario, const schema::Reporter& report) const;

  std::string name_;
  schema::ConfigNode document_;
  std::shared_ptr<Sources> sources_;
  Judged judged_ = Judged::all;
};

/// The scenario as kvsim understood it: every default written out, every catalogue entry that is read resolved, as
/// YAML.
std::string resolved_yaml(const Scenario& scenario);

/// The scenario with changes of what was written, resolved anew; `serving` and `workload` as they were changed since
/// are lost. What goes together is not checked (systems::check). Throws schema::InputError.
Scenario with(const Scenario& scenario, const std::vector<schema::Assignment>& changes);

/// The scenario with another GPU of the catalogue (what its `include` files add counts) and this many GPUs per replica:
/// changes of what was written, as in `with`. Another GPU brings its own kernel profile and links, and the scenario's
/// own keeps what the scenario gave it; what is of the engine is kept on both. Throws schema::InputError for an unknown
/// name, and for a scenario with pools. Whether the model fits is not checked (systems::check).
Scenario on_machine(const Scenario& scenario, const std::string& gpu, std::int64_t tensor_parallel);

/// Whether requests say which blocks of their prompts they share, without which a prefix cache never hits. The
/// scenario's trace has been read.
bool has_prefix_blocks(const Scenario& scenario);

/// The requests of scenario.trace with their arrivals, and prompts and outputs as the workload generates them.
std::shared_ptr<const std::vector<models::RequestSpec>> with_generated_prompts(const Scenario& scenario);

/// The requests of one run. Streams are named, so that arrivals depend on nothing but the workload and the seed.
std::unique_ptr<serving::RequestFeed> make_feed(const Scenario& scenario, std::uint64_t seed);
/// Feed whose requests tell what they share or not, whether the scenario's machines have a use for it or not.
std::unique_ptr<serving::RequestFeed> make_feed(const Scenario& scenario, std::uint64_t seed, bool blocks);

}  // namespace kvsim::scenario
