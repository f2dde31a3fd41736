// The modes of `kvsim plan` that print one closed form's answer.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "models/schema/yaml.h"
#include "planner/draft_table/draft_table.h"
#include "planner/export/engine_export.h"
#include "planner/infeasible.h"
#include "planner/paths/path_lp.h"
#include "planner/paths/path_plan.h"
#include "planner/reuse/reuse_plan.h"
#include "sim/pools/configuration.h"
#include "sim/serving/decode_policy.h"
#include "tools/cli/plan/plan.h"
#include "tools/results/paths.h"
#include "tools/results/plan.h"
#include "tools/results/section.h"

namespace kvsim::cli {
namespace {

using schema::InputError;

constexpr const char* kDocument = "plan.json";
constexpr const char* kPage = "plan.md";

std::string lp_of(const results::PathsResult& result) {
  const planner::PerPool& batch = result.plan.batch;
  const std::string remarks = fmt::format(
      "The path LP of {}: requests/s by path, seconds per request and row.\nCoefficients at batches of {} "
      "(local) and {} (remote) per GPU, residence {}.",
      result.file, batch.local, batch.remote, residence_name(result.problem.residence));
  return lp_text(result.plan.lp, static_cast<double>(result.problem.request.K), remarks);
}

void simulate(results::PoolsPlan& plan, const PlanOptions& options) {
  scenario::Scenario online =
      scenario::with(plan.scenario, {{"dispatch.policy", "online"}, {"dispatch.weights", std::nullopt}});
  std::vector<Planned> runs{{planner::with_weights(plan.scenario, plan.paths.plan.n), "weighted", nullptr},
                            {std::move(online), "online", nullptr}};
  if (const auto full_kv = planner::with_full_kv_weights(plan.scenario)) runs.push_back({*full_kv, "full_kv", nullptr});
  std::vector<results::Outcome> outcomes = run_experiments(std::move(runs), options.jobs);
  plan.weighted = std::move(outcomes[0]);
  plan.online = std::move(outcomes[1]);
  if (outcomes.size() > 2) plan.full_kv = std::move(outcomes[2]);
}

/// "8k" or "8k tokens"
std::int64_t tokens_of(const std::string& text) {
  try {
    const bool with_unit = text.find("token") != std::string::npos;
    const std::int64_t tokens = schema::parse_tokens(with_unit ? text : text + " tokens");
    if (tokens >= 1) return tokens;
  } catch (const schema::UnitError&) {  // said below
  }
  throw InputError(
      fmt::format("--context {}: expected tokens of a prompt's chunks, one number or several: 8k or 1k,8k,32k", text));
}

std::vector<std::int64_t> contexts_of(const std::string& text) {
  std::vector<std::int64_t> contexts;
  if (text.empty()) return contexts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    contexts.push_back(tokens_of(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return contexts;
}

double hit_rate_of(const std::string& text) {
  try {
    const double share = schema::parse_number(text);
    if (share >= 0 && share <= 1) return share;
  } catch (const schema::UnitError&) {  // said below
  }
  throw InputError(
      fmt::format("--hit-rate {}: expected the share of the chunks' tokens that is stored, from 0 to 1", text));
}

planner::ReusePlanRequest reuse_request_of(const PlanOptions& options) {
  planner::ReusePlanRequest request;
  request.contexts = contexts_of(options.context);
  if (!options.hit_rate.empty()) request.hit_rate = hit_rate_of(options.hit_rate);
  if (!options.link.empty()) request.link = options.link;
  if (!options.tier.empty()) request.tier = options.tier;
  return request;
}

}  // namespace

void refuse_plan_inputs(const PlanOptions& options) {
  refuse_input("--lp-out", options.lp_out, options.inputs);
  if (options.out.empty()) return;
  std::vector<std::string> names{kDocument, kPage};
  for (const std::string& engine : options.engines) names.emplace_back(planner::find_engine_export(engine)->file);
  for (const std::string& name : names) {
    refuse_input("--out", (std::filesystem::path(options.out) / name).string(), options.inputs);
  }
}

void open_output(PlanOptions& options) {
  refuse_plan_inputs(options);
  if (!options.out.empty()) {
    options.folder = std::make_shared<OutputFolder>(options.out, std::vector<std::string>{kDocument}, options.inputs);
  }
}

void deliver_plan(Console& console, const PlanOptions& options, const results::Json& document,
                  const std::vector<results::Page>& pages, const std::vector<PlanFile>& exported) {
  const std::string text = results::json_text(document);
  if (options.folder) {
    std::string markdown;
    for (const results::Page& page : pages) markdown += (markdown.empty() ? "" : "\n") + results::to_markdown(page);
    std::vector<PlanFile> files{{kDocument, text}, {kPage, markdown}};
    files.insert(files.end(), exported.begin(), exported.end());
    options.folder->write(files, {.timed = {kPage}});
  } else if (!exported.empty()) {
    for (const PlanFile& file : exported) console.print(file.second);
    return;
  }
  if (options.json) {
    console.print(text);
    return;
  }
  bool first = true;
  for (const results::Page& page : pages) {
    if (!first) console.print("\n");
    first = false;
    console.print(page, options.details);
  }
}

void plan_symbols(Console& console, const PlanOptions& options) {
  refuse_options_beside(PlanMode::symbols, options);
  results::SymbolsOutcome outcome;
  outcome.problem = read_or_ended(options, [&] { return planner::read_symbols_problem(options.symbols); });
  if (!options.model.empty()) outcome.problem.model = *planner::find_transfer_model(options.model);
  const auto begin = std::chrono::steady_clock::now();
  outcome.plan = planner::plan(outcome.problem);
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const planner::TransferModelName& entry : planner::kTransferModels) {
    planner::SymbolsProblem other = outcome.problem;
    other.model = entry.model;
    try {
      outcome.by_model.emplace_back(entry.model, planner::plan(other).optimum);
    } catch (const planner::Infeasible&) {  // where one model finds no room, another may
    }
  }
  deliver_plan(console, options, results::plan_document(outcome, options.timing), {results::plan_page(outcome)});
}

void plan_paths(Console& console, const PlanOptions& options) {
  refuse_options_beside(PlanMode::paths, options);
  const planner::PathProblem problem = read_or_ended(
      options, [&] { return planner::path_problem_schema().parse(schema::read_yaml_file(options.paths)); });
  std::optional<PendingFile> lp_file;
  if (!options.lp_out.empty()) lp_file.emplace(options.lp_out);
  const results::PathsResult result = results::plan_paths(options.paths, problem);
  if (lp_file) {
    lp_file->write(lp_of(result));
    lp_file->commit();
  }
  deliver_plan(console, options, results::paths_document(result), {results::paths_page(result)});
  if (!result.plan.converged) {
    throw std::runtime_error(
        fmt::format("warning: not converged: no batches were found that agree with the occupancy they lead to "
                    "(residual {:.2g}, expected at most {:.0e}); these figures are no plan",
                    result.plan.residual, planner::kPathResidual));
  }
}

void plan_pools(Console& console, const PlanOptions& options, const scenario::Scenario& scenario) {
  refuse_options_beside(PlanMode::pools, options,
                        fmt::format("this scenario has {}", scenario.serving.cluster.topology().key));
  if (scenario.serving.prefill != serving::PrefillKind::stored) {
    throw InputError(fmt::format(
        "{}: plans by path are for stored contexts and know nothing of prefilling: use prefill: stored here, "
        "and dispatch: {{policy: online}} to simulate",
        scenario.file));
  }
  const std::string& decode = scenario.serving.decode.policy;
  if (!pools::has_path_plans(*serving::find_decode_policy(decode))) {
    throw InputError(
        fmt::format("{}: plans by path are of full KV on nodes, or of drafts that are verified against it, without a "
                    "drafter, and {} is "
                    "neither: use "
                    "full_kv or draft_verify here, and dispatch: {{policy: online}} to simulate",
                    scenario.file, decode));
  }
  results::PoolsPlan plan = results::plan_pools(scenario);
  if (options.simulate) simulate(plan, options);
  const std::string dispatch = results::dispatch_yaml(plan);
  // In a folder the block is a file, on the terminal it follows the page.
  std::vector<PlanFile> files;
  if (!options.out.empty()) files.emplace_back("dispatch.yaml", dispatch);
  deliver_plan(console, options, results::pools_plan_document(plan), {results::pools_plan_page(plan)}, files);
  if (!options.json) console.print("\n" + dispatch);
  if (!plan.paths.plan.converged) {
    throw std::runtime_error(
        fmt::format("warning: not converged: steps of P2 are longer than the work in them "
                    "(residual {:.2g}); these figures are no plan",
                    plan.paths.plan.residual));
  }
}

void plan_prefetch(Console& console, const PlanOptions& options, const scenario::Scenario& scenario) {
  refuse_options_beside(PlanMode::prefetch, options,
                        fmt::format("decode policy {} does neither", scenario.serving.decode.policy));
  const results::PrefetchOutcome outcome{scenario, planner::plan_prefetch(scenario)};
  std::vector<PlanFile> files;
  if (const auto& crossover = outcome.plan.crossover; crossover && !options.out.empty()) {
    files.emplace_back("crossover.csv", results::crossover_csv(*crossover));
    files.emplace_back("crossover.svg", results::crossover_svg(outcome, *crossover));
  }
  deliver_plan(console, options, results::prefetch_document(outcome), {results::prefetch_page(outcome)}, files);
}

void plan_reuse(Console& console, const PlanOptions& options, const scenario::Scenario& scenario) {
  refuse_options_beside(PlanMode::reuse, options,
                        "this scenario's prompts are made of chunks under decode policy full_kv");
  const results::ReusePlanOutcome outcome{scenario, planner::plan_reuse(scenario, reuse_request_of(options))};
  std::vector<PlanFile> files;
  if (!options.out.empty()) {
    files.emplace_back("break_even.csv", results::break_even_csv(outcome.plan));
    files.emplace_back("break_even.svg", results::break_even_svg(outcome));
  }
  deliver_plan(console, options, results::reuse_plan_document(outcome), {results::reuse_plan_page(outcome)}, files);
}

void plan_draft_table(Console& console, const PlanOptions& options, const scenario::Scenario& scenario) {
  refuse_options_beside(PlanMode::draft_table, options,
                        "--draft-table gives lengths for the policy that the scenario has");
  const results::DraftTableOutcome outcome{scenario, planner::draft_table(scenario)};
  const std::string block = planner::draft_table_yaml(outcome.table);
  std::vector<PlanFile> files;
  if (!options.out.empty()) files.emplace_back("draft_lengths.yaml", block);
  deliver_plan(console, options, results::draft_table_document(outcome), {results::draft_table_page(outcome)}, files);
  if (!options.json) console.print("\nFor the scenario's decode:\n\n" + block);
}

}  // namespace kvsim::cli
