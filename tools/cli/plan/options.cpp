#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "planner/closed_form/transfer_model.h"
#include "planner/export/engine_export.h"
#include "planner/plan/scenario_costs.h"
#include "tools/cli/plan/plan.h"

namespace kvsim::cli {
namespace {

template <class Registry>
std::vector<std::string> entry_names(const Registry& registry) {
  std::vector<std::string> names;
  for (const auto& entry : registry) names.emplace_back(entry.name);
  return names;
}

std::vector<std::string> engines() {
  std::vector<std::string> names;
  for (const planner::EngineExport* engine : planner::engine_exports()) names.emplace_back(engine->name);
  return names;
}

std::string reason(PlanMode mode, const PlanOptionUse& use, const std::string& why) {
  using enum PlanMode;
  const bool of_chunks = use.modes == reuse;
  if (mode == symbols || mode == paths) {
    if (of_chunks) return "is about a SCENARIO whose prompts are made of chunks";
    if (mode == paths && use.modes == draft_table) return "does not go with --paths, give a SCENARIO";
    if (mode == symbols && use.beside_symbols) return use.beside_symbols;
    return fmt::format("does not go with {}, whose file says it all", mode == symbols ? "--symbols" : "--paths");
  }
  if (of_chunks) {
    return "belongs to scenarios with workload.chunks whose decode policy is full_kv, and would have no effect here: "
           "leave it out";
  }
  if (mode == pools && use.between_pools) {
    return fmt::format("{}, and {}: leave it out", use.between_pools, why);
  }
  return fmt::format("belongs to plans that draft and verify, and {}: leave it out", why);
}

bool given(const PlanOptions& options, const std::string& name) {
  return std::any_of(options.uses.begin(), options.uses.end(),
                     [&](const auto& use) { return use.first->get_name() == name && use.first->count() > 0; });
}

}  // namespace

void declare_plan_options(CLI::App& app, PlanOptions& o) {
  using enum PlanMode;
  constexpr PlanMode kOfScenario = verification | pools | prefetch | reuse | draft_table;
  const auto in = [&o](PlanMode modes, const CLI::Option* option, PlanOptionUse use = {}) {
    use.modes = modes;
    o.uses.emplace_back(option, std::move(use));
  };
  constexpr const char* kByPath = "what is planned between pools are requests/s by path";
  constexpr const char* kNothingToSimulate = "raw symbols have nothing to simulate, give a SCENARIO";
  in(kOfScenario, app.add_option("SCENARIO", o.scenario, "Scenario file (YAML)")->type_name("FILE"));
  in(symbols, app.add_option("--symbols", o.symbols, "Plan from raw symbols instead: M, KV, HBM, BW_hbm, BW_link")
                  ->type_name("FILE"));
  in(paths, app.add_option("--paths", o.paths, "Plan requests/s on six paths through two pools, from raw\nsymbols")
                ->type_name("FILE"));
  in(paths,
     app.add_option("--lp-out", o.lp_out, "With --paths: the linear programme in CPLEX LP format")->type_name("FILE"),
     {.only_with = {"--paths"}});
  in(verification | symbols,
     app.add_option("--model", o.model, "How reloads use link and HBM: published, conserving or\nrings (default)")
         ->check(CLI::IsMember(entry_names(planner::kTransferModels)))
         ->type_name("NAME"),
     {.between_pools = "it is about reloads on one replica"});
  in(verification,
     app.add_option("--draft-length", o.draft_length, "Draft lengths to search, by default 1:60")->type_name("FROM:TO"),
     {.between_pools = kByPath});
  in(verification,
     app.add_option("--keep-ratio", o.keep_ratio,
                    "Keep ratios to search, by default 0.05:0.95:0.05; a\nquantiser has its own")
         ->type_name("C,C,...|FROM:TO:STEP"),
     {.between_pools = kByPath});
  in(verification,
     app.add_option("--without", o.without,
                    "Leave out a refinement of the closed form; repeatable:\n"
                    "reservations, iterations, compute, kernels, lengths,\noutputs")
         ->check(CLI::IsMember(entry_names(planner::kRefinements)))
         ->type_name("NAME")
         ->allow_extra_args(false),
     {.between_pools = "refinements are those of one replica's plan"});
  in(verification | pools,
     app.add_flag("--simulate", o.simulate,
                  "Simulate the best plans and their neighbours, and say\nwhich one is best, with its interval"),
     {.beside_symbols = kNothingToSimulate});
  in(verification,
     app.add_flag(
         "--explain", o.explain,
         "Say which resource binds, what more of each would bring\n(by simulation) and how far the plan holds"),
     {.beside_symbols = kNothingToSimulate, .between_pools = "it says what binds one replica"});
  in(verification,
     app.add_flag("--pareto", o.pareto,
                  "The front of throughput against speed for each user and\nquality, with cost and energy per token"),
     {.beside_symbols = "raw symbols know no other policies, give a SCENARIO",
      .between_pools = "its front is that of one replica"});
  in(draft_table,
     app.add_flag("--draft-table", o.draft_table,
                  "The best draft length by batch and context, for\ndecode.draft_lengths: policy table"),
     {.beside_symbols = "raw symbols name no machine to time, give a SCENARIO"});
  in(verification,
     app.add_option("--prices", o.prices, "With --pareto: price table (YAML) that changes the\nbuilt-in one")
         ->type_name("FILE"),
     {.only_with = {"--pareto"}});
  in(verification,
     app.add_option("--export", o.engines,
                    "The plan as configuration of a serving engine: vllm or\nlmcache; repeatable with --out")
         ->check(CLI::IsMember(engines()))
         ->type_name("ENGINE")
         ->allow_extra_args(false),
     {.beside_symbols = "raw symbols name no model to serve, give a SCENARIO",
      .between_pools = "an engine's configuration is that of one replica"});
  in(reuse,
     app.add_option("--context", o.context, "Prompts of chunks: tokens of the chunks, by default the\nscenario's")
         ->type_name("TOKENS,..."));
  in(reuse,
     app.add_option("--hit-rate", o.hit_rate, "Prompts of chunks: share of the chunks that is stored, by\ndefault 1")
         ->type_name("SHARE"));
  in(reuse,
     app.add_option("--link", o.link,
                    "Prompts of chunks: another link to host memory, of the\ncatalogue or by its bandwidth (5 GB/s)")
         ->type_name("LINK"));
  in(reuse, app.add_option("--tier", o.tier,
                           "Prompts of chunks: where they are stored, host (default)\nor a name of cluster.storage")
                ->type_name("NAME"));
  declare_simulation_options(app, o);
  in(kOfScenario, app.get_option("--set"));
  for (const char* name : {"--seed", "--replications"}) {
    in(kOfScenario | symbols, app.get_option(name), {.only_with = {"--simulate", "--explain"}});
  }
  app.add_option("--out", o.out, "Folder for plan.json, plan.md, and what is exported or\ndrawn")->type_name("DIR");
  app.add_flag("--json", o.json, "Print one JSON document");
  app.add_flag("--details", o.details, kDetailsHelp);
  in(verification | symbols,
     app.add_flag("--timing", o.timing, "Wall-clock figures in the JSON too, which then differs between runs"),
     {.between_pools = "a plan between pools has no wall-clock figures"});
}

bool may_follow(const std::string& option, const std::set<std::string>& given) {
  CLI::App app;
  PlanOptions options;
  declare_plan_options(app, options);
  const auto use_of = [&options](const std::string& name) {
    const auto found = std::find_if(options.uses.begin(), options.uses.end(),
                                    [&name](const auto& used) { return used.first->get_name() == name; });
    return found == options.uses.end() ? PlanOptionUse{PlanMode{~0U}} : found->second;
  };
  const PlanOptionUse use = use_of(option);
  PlanMode modes = use.modes;
  for (const std::string& name : given) modes = modes & use_of(name).modes;
  const auto possible = [&](const char* name) { return (modes & use_of(name).modes) != PlanMode{}; };
  if (!use.only_with.empty()) return std::any_of(use.only_with.begin(), use.only_with.end(), possible);
  return modes != PlanMode{};
}

void refuse_lone_options(const PlanOptions& options) {
  for (const auto& [option, use] : options.uses) {
    const std::vector<const char*>& with = use.only_with;
    const bool effective =
        with.empty() || std::any_of(with.begin(), with.end(), [&](const char* name) { return given(options, name); });
    if (option->count() == 0 || effective) continue;
    throw schema::InputError(
        fmt::format("{}: belongs to {}, and would have no effect here", option->get_name(), fmt::join(with, " and ")));
  }
}

void refuse_options_beside(PlanMode mode, const PlanOptions& options, const std::string& why) {
  for (const auto& [option, use] : options.uses) {
    if (option->count() == 0 || contains(use.modes, mode)) continue;
    throw schema::InputError(fmt::format("{}: {}", option->get_name(), reason(mode, use, why)));
  }
}

}  // namespace kvsim::cli
