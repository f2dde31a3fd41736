// kvsim plan: the best draft length, keep ratio and batch, by the closed forms.
#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/closed_form/transfer_model.h"
#include "planner/export/engine_export.h"
#include "planner/plan/refinements.h"
#include "tools/cli/command.h"
#include "tools/cli/plan/modes.h"

namespace kvsim::cli {
namespace plan_internal {
namespace {

template <class Registry>
std::vector<std::string> names_of(const Registry& registry) {
  std::vector<std::string> names;
  for (const auto& entry : registry) names.emplace_back(entry.name);
  return names;
}

std::vector<std::string> engines() {
  std::vector<std::string> names;
  for (const planner::EngineExport* engine : planner::engine_exports()) names.emplace_back(engine->name);
  return names;
}

void refuse_what_has_no_effect(const PlanOptions& o) {
  const auto refuse = [](const char* name, bool given, const char* why) {
    if (given) throw schema::InputError(fmt::format("{}: {}", name, why));
  };
  if (!o.symbols.empty()) {
    constexpr const char* kFile = "does not go with --symbols, whose file says it all";
    refuse("--draft-length", !o.draft_length.empty(), kFile);
    refuse("--keep-ratio", !o.keep_ratio.empty(), kFile);
    refuse("--without", !o.without.empty(), kFile);
    refuse("--set", !o.set.empty(), kFile);
    refuse("--simulate", o.simulate, "raw symbols have nothing to simulate, give a SCENARIO");
    refuse("--explain", o.explain, "raw symbols have nothing to simulate, give a SCENARIO");
    refuse("--draft-table", o.draft_table, "raw symbols name no machine to time, give a SCENARIO");
    refuse("--pareto", o.pareto, "raw symbols know no other policies, give a SCENARIO");
    refuse("--export", !o.engines.empty(), "raw symbols name no model to serve, give a SCENARIO");
  }
  refuse("--prices", !o.prices.empty() && !o.pareto, "belongs to --pareto, and would have no effect here");
  if (o.simulate || o.explain) return;
  constexpr const char* kSimulated = "belongs to --simulate and --explain, and would have no effect here";
  refuse("--seed", o.seed.has_value(), kSimulated);
  refuse("--replications", o.replications.has_value(), kSimulated);
}

/// Not where there is a scenario, which says whether they belong to it.
void refuse_chunk_options(const PlanOptions& o) {
  const auto refuse = [](const char* name, bool given) {
    if (given) throw schema::InputError(fmt::format("{}: is about a SCENARIO whose prompts are made of chunks", name));
  };
  refuse("--context", !o.context.empty());
  refuse("--hit-rate", !o.hit_rate.empty());
  refuse("--link", !o.link.empty());
  refuse("--tier", !o.tier.empty());
}

void plan(Console& console, const PlanOptions& options) {
  const int given =
      (options.scenario.empty() ? 0 : 1) + (options.symbols.empty() ? 0 : 1) + (options.paths.empty() ? 0 : 1);
  if (given != 1) {
    throw schema::InputError("plan: expected one of SCENARIO, --symbols FILE and --paths FILE (kvsim plan --help)");
  }
  if (!options.lp_out.empty() && options.paths.empty()) {
    throw schema::InputError("--lp-out: belongs to --paths, and would have no effect here");
  }
  if (options.scenario.empty()) refuse_chunk_options(options);
  if (options.draft_table && !options.paths.empty()) {
    throw schema::InputError("--draft-table: does not go with --paths, give a SCENARIO");
  }
  if (!options.paths.empty()) return plan_paths(console, options);
  refuse_what_has_no_effect(options);
  if (!options.scenario.empty()) return plan_scenario(console, options);
  plan_symbols(console, options);
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<PlanOptions>();
  app.add_option("SCENARIO", options->scenario, "Scenario file (YAML)")->type_name("FILE");
  app.add_option("--symbols", options->symbols, "Plan from raw symbols instead: M, KV, HBM, BW_hbm, BW_link")
      ->type_name("FILE");
  app.add_option("--paths", options->paths, "Plan requests/s on six paths through two pools, from raw\nsymbols")
      ->type_name("FILE");
  app.add_option("--lp-out", options->lp_out, "With --paths: the linear programme in CPLEX LP format")
      ->type_name("FILE");
  app.add_option("--model", options->model, "How reloads use link and HBM: published, conserving or\nrings (default)")
      ->check(CLI::IsMember(names_of(planner::kTransferModels)))
      ->type_name("NAME");
  app.add_option("--draft-length", options->draft_length, "Draft lengths to search, by default 1:60")
      ->type_name("FROM:TO");
  app.add_option("--keep-ratio", options->keep_ratio,
                 "Keep ratios to search, by default 0.05:0.95:0.05; a\nquantiser has its own")
      ->type_name("C,C,...|FROM:TO:STEP");
  app.add_option("--without", options->without,
                 "Leave out a refinement of the closed form; repeatable:\n"
                 "reservations, iterations, compute, kernels, lengths,\noutputs")
      ->check(CLI::IsMember(names_of(planner::kRefinements)))
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--simulate", options->simulate,
               "Simulate the best plans and their neighbours, and say\nwhich one is best, with its interval");
  app.add_flag("--explain", options->explain,
               "Say which resource binds, what more of each would bring\n(by simulation) and how far the plan holds");
  app.add_flag("--pareto", options->pareto,
               "The front of throughput against speed for each user and\nquality, with cost and energy per token");
  app.add_flag("--draft-table", options->draft_table,
               "The best draft length by batch and context, for\ndecode.draft_lengths: policy table");
  app.add_option("--prices", options->prices, "With --pareto: price table (YAML) that changes the\nbuilt-in one")
      ->type_name("FILE");
  app.add_option("--export", options->engines,
                 "The plan as configuration of a serving engine: vllm or\nlmcache; repeatable with --out")
      ->check(CLI::IsMember(engines()))
      ->type_name("ENGINE")
      ->allow_extra_args(false);
  app.add_option("--context", options->context, "Prompts of chunks: tokens of the chunks, by default the\nscenario's")
      ->type_name("TOKENS,...");
  app.add_option("--hit-rate", options->hit_rate,
                 "Prompts of chunks: share of the chunks that is stored, by\ndefault 1")
      ->type_name("SHARE");
  app.add_option("--link", options->link,
                 "Prompts of chunks: another link to host memory, of the\ncatalogue or by its bandwidth (5 GB/s)")
      ->type_name("LINK");
  app.add_option("--tier", options->tier,
                 "Prompts of chunks: where they are stored, host (default)\nor a name of cluster.storage")
      ->type_name("NAME");
  declare_simulation_options(app, *options);
  app.add_option("--out", options->out, "Folder for plan.json, plan.md, and what is exported or\ndrawn")
      ->type_name("DIR");
  app.add_flag("--json", options->json, "Print one JSON document");
  app.add_flag("--timing", options->timing, "Wall-clock figures in the JSON too, which then differs between runs");
  return [options](Console& console) { plan(console, *options); };
}

}  // namespace
}  // namespace plan_internal

extern const Command plan_command;
const Command plan_command{"plan", "Find the best draft length, keep ratio and batch",
                           "kvsim plan scenarios/long_context/headline.yaml --keep-ratio 0.1,0.2,0.4",
                           plan_internal::declare};

}  // namespace kvsim::cli
