// `kvsim plan`: its options, each with the modes in which it means something, and the modes themselves.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/output_files.h"
#include "tools/cli/signals.h"
#include "tools/cli/simulating.h"

namespace CLI {
class Option;
}

namespace kvsim::cli {

/// Kind of plan, by what is given.
enum class PlanMode : unsigned {
  verification = 1,  ///< a scenario that drafts and verifies on replicas
  symbols = 2,       ///< --symbols FILE
  paths = 4,         ///< --paths FILE
  pools = 8,         ///< a scenario with two pools
  prefetch = 16,     ///< a scenario whose decode policy fetches KV
  reuse = 32,        ///< a scenario whose prompts are made of chunks, decoding being ordinary
  draft_table = 64   ///< SCENARIO --draft-table
};

constexpr PlanMode operator|(PlanMode a, PlanMode b) {
  return PlanMode{static_cast<unsigned>(a) | static_cast<unsigned>(b)};
}
constexpr PlanMode operator&(PlanMode a, PlanMode b) {
  return PlanMode{static_cast<unsigned>(a) & static_cast<unsigned>(b)};
}
constexpr bool contains(PlanMode modes, PlanMode mode) {
  return (modes & mode) != PlanMode{};
}

/// Where an option means something, and why not elsewhere.
struct PlanOptionUse {
  PlanMode modes{};
  std::vector<const char*> only_with{};  ///< without any of these it has no effect, whatever the mode
  const char* beside_symbols = nullptr;  ///< why not; by default since the file says it all
  const char* between_pools = nullptr;   ///< why not
};

struct PlanOptions : RunOptions {
  std::string scenario;
  std::string symbols;
  std::string paths;
  std::string lp_out;
  std::string model;
  std::string draft_length;
  std::string keep_ratio;
  std::vector<std::string> without;  ///< refinements
  bool simulate = false;
  bool explain = false;
  bool pareto = false;
  bool draft_table = false;
  std::string prices;
  std::string context;
  std::string hit_rate;
  std::string link;
  std::string tier;
  std::vector<std::string> engines;      ///< --export
  std::vector<std::string> inputs;       ///< files that are read
  std::shared_ptr<OutputFolder> folder;  ///< --out, where it was opened; null: it is not asked for
  std::vector<std::pair<const CLI::Option*, PlanOptionUse>> uses;
};

/// Declares them all. `options` must outlive the parsing.
void declare_plan_options(CLI::App& app, PlanOptions& options);

/// Whether an option may follow those of `kvsim plan` that are given, by their names, and SCENARIO if that is: whether
/// there is a mode in which all of them mean something.
bool may_follow(const std::string& option, const std::set<std::string>& given);

/// Throws schema::InputError for an option that is given and has no effect without another one, which is not.
void refuse_lone_options(const PlanOptions& options);

/// Throws schema::InputError for an option that is given and means nothing in this mode. `why` says what of the
/// scenario makes it so.
void refuse_options_beside(PlanMode mode, const PlanOptions& options, const std::string& why = "");

void plan_verification(Console& console, const PlanOptions& options, const scenario::Scenario& scenario);
/// Throws std::runtime_error after the results where nothing consistent was found.
void plan_pools(Console& console, const PlanOptions& options, const scenario::Scenario& scenario);
void plan_prefetch(Console& console, const PlanOptions& options, const scenario::Scenario& scenario);
void plan_reuse(Console& console, const PlanOptions& options, const scenario::Scenario& scenario);
void plan_draft_table(Console& console, const PlanOptions& options, const scenario::Scenario& scenario);
void plan_symbols(Console& console, const PlanOptions& options);
/// Throws std::runtime_error after the results where no self-consistent batches were found.
void plan_paths(Console& console, const PlanOptions& options);

/// Throws schema::InputError where a file of --out, or --lp-out, is one of `inputs`.
void refuse_plan_inputs(const PlanOptions& options);

/// Refuses those and opens the folder of --out, so that what cannot be written is refused before any simulation.
void open_output(PlanOptions& options);

/// Result of `read`, which runs while the folder may be open: SIGINT and SIGTERM end it at once (EndsAtOnce).
template <class Read>
auto read_or_ended(const PlanOptions& options, const Read& read) {
  const EndsAtOnce reading(options.folder ? options.folder->made() : std::span<const std::string>());
  return read();
}

/// A file of --out: name and contents.
using PlanFile = std::pair<std::string, std::string>;

/// Prints a plan and writes the files of the open folder: plan.json, plan.md and `exported`. Without --out, what is
/// exported is printed in place of the plan.
void deliver_plan(Console& console, const PlanOptions& options, const results::Json& document,
                  const std::vector<results::Page>& pages, const std::vector<PlanFile>& exported = {});

}  // namespace kvsim::cli
