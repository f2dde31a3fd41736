// kvsim capacity: how many requests/s a machine sustains within its objectives, and the cheapest fleet for a rate.
#include <algorithm>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/catalogue/catalogue.h"
#include "models/schema/error.h"
#include "models/workload/trace_reader.h"
#include "planner/capacity/capacity_plan.h"
#include "planner/capacity/run_length.h"
#include "planner/command_keys.h"
#include "tools/cli/capacity_options.h"
#include "tools/cli/command.h"
#include "tools/cli/named_things.h"
#include "tools/cli/output_files.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/cli/simulating.h"
#include "tools/results/capacity.h"
#include "tools/results/figure_rows.h"
#include "tools/results/section.h"

namespace kvsim::cli {
namespace capacity_internal {
namespace {

constexpr int kMostJobs = 1024;
constexpr std::int64_t kMostNodeGpus = 1024;

struct Options : RunOptions {
  std::string scenario;
  std::vector<std::string> slo, storage;
  std::string attainment, confidence, model_confidence, rate, machines, policies, prices, memory;
  bool n_minus_1 = false;
  std::int64_t node_gpus = 0;
  std::int64_t users = 0;
};

/// Request with the catalogue, with what the scenario adds to it, and the scenario's own where it changes one.
planner::capacity::CapacityRequest request_of(const Options& options, const scenario::ScenarioFile& file,
                                              const scenario::Scenario& scenario) {
  planner::capacity::CapacityRequest request;
  request.jobs = options.jobs;
  request.n_minus_1 = options.n_minus_1;
  if (!options.attainment.empty()) request.probe.target = share_from_user("--attainment", options.attainment);
  if (!options.confidence.empty()) request.probe.confidence = share_from_user("--confidence", options.confidence);
  if (!options.model_confidence.empty()) {
    request.model_confidence = share_from_user("--model-confidence", options.model_confidence);
    if (request.model_confidence <= 0.5) {
      throw schema::InputError(
          fmt::format("--model-confidence: {:g} is no more than a coin tells; expected a share above 0.5",
                      request.model_confidence));
    }
  }
  const bool closed = scenario.workload.closed.has_value();
  if (closed && !options.rate.empty()) {
    throw schema::InputError(
        "--rate: the scenario's users wait for their answers: say how many there are with --users");
  }
  if (!closed && options.users > 0) {
    throw schema::InputError("--users: the scenario's load arrives on its own: give --rate, or workload.closed");
  }
  if (!options.rate.empty()) {
    request.rate = rate_from_user("--rate", options.rate);
    const bool of_requests = options.rate.find("req") != std::string::npos;
    const bool sessions = planner::capacity::load_of(scenario) == planner::capacity::Load::sessions;
    if (!sessions && options.rate.find("session") != std::string::npos) {
      throw schema::InputError(fmt::format(
          "--rate: \"{}\" is of sessions, and this workload has none: give requests/s, or workload.sessions",
          options.rate));
    }
    if (of_requests && sessions) {
      *request.rate /= planner::capacity::requests_per_load(scenario);
    }
  }
  if (options.users > 0) request.rate = static_cast<double>(options.users);
  if (!options.machines.empty()) request.machines = planner::capacity::parse_machines(options.machines);
  if (!options.policies.empty()) {
    for (const std::string& policy : names_from_user("--policies", options.policies)) {
      request.policies.push_back({policy, planner::with_policy(file, policy)});
    }
  }
  if (options.replications && scenario.trace) {
    throw schema::InputError(
        "--replications: a trace arrives in one way only, so its confidence comes from batches of one run: leave this "
        "option out");
  }
  // The scenario's own replications count where they are more than what confidence needs.
  request.probe.replications =
      options.replications.value_or(std::max(scenario.replications, request.probe.replications));
  request.prices = models::PriceTable::built_in();
  if (!options.prices.empty()) request.prices.change_by_file(options.prices, names_of_gpus(scenario));
  if (!options.memory.empty()) {
    request.sizes.push_back(sizes_from_user("--memory", std::string(planner::capacity::kHostTier), options.memory));
  }
  for (const std::string& tier : options.storage) request.sizes.push_back(storage_from_user("--storage", tier));
  return request;
}

std::optional<results::HitRateView> hit_rates(const scenario::Scenario& scenario) {
  if (!scenario.workload.recorded_prompts()) return std::nullopt;
  results::HitRateView view;
  view.block_tokens = scenario.workload.trace->block_tokens();
  const models::LlmSpec& model = scenario.serving.model;
  // KV bytes of a stored token where layers have a window or a state depend on where a prefix ends: blocks alone.
  if (model.grows_evenly()) view.kv_bytes_per_token = static_cast<double>(model.kv_bytes_per_token());
  view.curve = models::hit_rate_curve(*scenario.trace);
  if (view.curve.accesses == 0) return std::nullopt;
  return view;
}

/// --node-gpus N is --set cluster.node.gpus=N.
Options with_nodes(Options options) {
  if (options.node_gpus == 0) return options;
  const scenario::Written own = scenario_file(options.scenario, options).parse();
  if (options.rate.empty() && options.users == 0) {
    throw schema::InputError(own.workload.closed
                                 ? "--node-gpus is what the fleet for so many users is bought in: give --users too"
                                 : "--node-gpus is what the fleet for a required rate is bought in: give --rate too");
  }
  if (const auto& node = own.serving.cluster.node; node && node->usd_per_hour && node->gpus != options.node_gpus) {
    throw schema::InputError(
        fmt::format("--node-gpus {}: {} has cluster.node.price, which is that of a node of {} GPUs: leave --node-gpus "
                    "out, or cluster.node.price, so that GPUs and memory count at their own prices",
                    options.node_gpus, options.scenario, node->gpus));
  }
  options.set.push_back(fmt::format("cluster.node.gpus={}", options.node_gpus));
  return options;
}

/// Throws Interrupted where it was before any configuration that meets the objectives was done.
planner::capacity::CapacityPlan planned(const scenario::Scenario& scenario,
                                        planner::capacity::CapacityRequest request) {
  try {
    return planner::capacity::plan_capacity(scenario, std::move(request));
  } catch (const planner::capacity::Stopped&) {
    throw Interrupted();
  }
}

/// Names the part of an interrupted search that results are of; empty where it was not.
std::string interruption(const planner::capacity::CapacityPlan& plan) {
  if (plan.stopped == 0) return {};
  const std::size_t all = plan.configurations.size();
  return fmt::format("results are of {} of {} configurations", all - plan.stopped, all);
}

/// Keys without effect on any configuration are refused or remarked. A fleet has several replicas, and a machine that
/// is chosen may need several GPUs.
void remark_on_searched(scenario::Scenario& scenario, planner::capacity::CapacityRequest& request) {
  std::vector<scenario::Scenario> searched;
  for (const planner::UnderPolicy& under : request.policies) searched.push_back(under.scenario);
  if (searched.empty()) searched.push_back(scenario);
  std::vector<scenario::Scenario*> all;
  for (scenario::Scenario& one : searched) {
    serving::ClusterConfig& cluster = one.serving.cluster;
    if (request.rate) cluster.groups.front().count = std::max<std::int64_t>(2, cluster.replicas());
    for (const planner::capacity::MachineRequest& machine : request.machines) {
      cluster.groups.front().parallel.tensor =
          std::max({std::int64_t{2}, cluster.groups.front().parallel.tensor, machine.tensor_parallel.value_or(2)});
    }
    all.push_back(&one);
  }
  remark_on_keys(all);
  planner::refuse_unread_by("capacity", scenario);
  if (!scenario.serving.placement) planner::refuse_unread_by("capacity without placement", scenario);
  const std::string& own = scenario.serving.cluster.uniform().gpu.name;
  const auto is_own = [&own](const planner::capacity::MachineRequest& machine) { return machine.gpu == own; };
  if (!request.machines.empty() && std::none_of(request.machines.begin(), request.machines.end(), is_own)) {
    planner::refuse_unread_by("capacity --machines of others", scenario);
  }
  if (std::any_of(request.sizes.begin(), request.sizes.end(),
                  [](const auto& sizes) { return sizes.tier == planner::capacity::kHostTier; })) {
    planner::refuse_unread_by("capacity --memory", scenario);
  }
  scenario.remarks = searched.front().remarks;
  for (planner::UnderPolicy& under : request.policies) under.scenario.remarks = scenario.remarks;
}

void capacity(Console& console, const Options& options) {
  scenario::ScenarioFile file = scenario_file(options.scenario, with_nodes(options));
  if (!options.machines.empty()) file = file.for_other_machines();
  std::vector<schema::Assignment> objectives;
  for (const std::string& objective : options.slo) objectives.push_back(objective_from_user(objective));
  file = file.with(objectives);
  scenario::Scenario scenario = file.load();
  if (const serving::Topology t = scenario.serving.cluster.topology(); !t.independent()) {
    throw schema::InputError(
        fmt::format("capacity: rates and fleets are those of replicas, and this scenario has {}: vary the rate of "
                    "arrivals and the nodes with kvsim sweep",
                    t.key));
  }
  planner::capacity::CapacityRequest request = request_of(options, file, scenario);
  remark_on_searched(scenario, request);
  std::optional<OutputFolder> folder;
  if (!options.out.empty()) {
    std::vector<std::string> inputs = files_read(scenario.file, scenario);
    inputs.push_back(options.prices);
    folder.emplace(options.out, std::vector<std::string>{"result.json", "result.md"}, std::move(inputs));
  }
  std::size_t sized = 0;  // policies, with every choice of sizes
  for (const auto& [policy, under] : request.policies) {
    sized += planner::capacity::size_choices(under, request.sizes).size();
  }
  if (request.policies.empty()) sized = planner::capacity::size_choices(scenario, request.sizes).size();
  CapacityProgress progress(std::max<std::size_t>(1, request.machines.size()) * sized);
  request.watch = [&progress](const planner::capacity::ProbeProgress& simulated) {
    if (interrupted()) throw planner::capacity::Stopped();
    progress.simulating(simulated);
  };
  request.report = [&progress](std::size_t i, const planner::capacity::Probe& probe) { progress.report(i, probe); };
  results::CapacityOutcome outcome{{}, hit_rates(scenario), scenario::resolved_yaml(scenario)};
  const auto write = [&folder](const results::CapacityOutcome& what) {
    if (!folder) return;
    folder->write({{"result.json", results::json_text(results::capacity_document(what))},
                   {"result.md", results::to_markdown(results::capacity_page(what))}},
                  {.interrupted = interruption(what.plan)});
  };
  // The rates of single replicas are known long before fleets are: they stay where the process is killed.
  request.partial = [&](const planner::capacity::CapacityPlan& partial) {
    if (!folder || interrupted()) return;
    results::CapacityOutcome so_far = outcome;
    so_far.plan = partial;
    write(so_far);
  };
  outcome.plan = planned(scenario, std::move(request));
  write(outcome);
  const results::Json document = results::capacity_document(outcome);
  const std::string json = results::json_text(document);
  const results::Page page = results::capacity_page(outcome);
  if (options.json) {
    console.print(json);
  } else if (options.csv) {
    console.print(results::objects_csv(document.at("configurations")));
  } else {
    console.print(page, options.details);
  }
  if (const std::string cut = interruption(outcome.plan); !cut.empty()) throw Interrupted(cut);
}

void declare_capacity_options(CLI::App& app, Options& o) {
  o.jobs = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostJobs);
  app.add_option("SCENARIO", o.scenario, "Scenario file (YAML)")->required()->type_name("FILE");
  app.add_option(
         "--slo", o.slo,
         "An objective, in place of the scenario's of that name; its others\nstay (--set slo={ttft_p99: 2 s} replaces "
         "all); repeatable:\nttft, tpot, itl or e2e with _p50, _p90, _p95 or _p99")
      ->type_name("NAME=TIME")
      ->allow_extra_args(false);
  app.add_option("--attainment", o.attainment,
                 "Share of requests that must meet them all at once; by default\nthat of each percentile: 99 % within "
                 "ttft_p99 and "
                 "tpot_p99")
      ->type_name("SHARE");
  app.add_option("--rate", o.rate, "Required rate such as 100/s: size the cheapest fleet for it")->type_name("R");
  add_whole_number(
      app, "--users", 1, scenario::kMostClients, [&o](std::int64_t n) { o.users = n; },
      "The same of workload.closed: the cheapest fleet for so many users");
  app.add_option("--machines", o.machines, "GPUs of the catalogue, with GPUs per replica after a\ncolon if need be")
      ->type_name("M,M:TP,...");
  app.add_option("--policies", o.policies, "Decode policies, as in compare; by default the scenario's")
      ->type_name("P,P:S,...");
  app.add_option("--memory", o.memory, "Host memory per replica, where prompts are stored in tiers:\neach is compared")
      ->type_name("SIZE,SIZE,...");
  app.add_option("--storage", o.storage,
                 "Capacities of a tier of cluster.storage; repeatable, each\ncombination counts")
      ->type_name("TIER=SIZE,...")
      ->allow_extra_args(false);
  app.add_option("--prices", o.prices, "Price table (YAML) that changes the built-in one")->type_name("FILE");
  add_whole_number(
      app, "--node-gpus", 1, kMostNodeGpus, [&o](std::int64_t n) { o.node_gpus = n; },
      "With --rate: GPUs are bought in nodes of so many, and paid for whether\nreplicas use them or not "
      "(cluster.node.gpus)");
  app.add_flag("--n-1", o.n_minus_1, "With --rate: the objectives hold with one replica less");
  app.add_option("--confidence", o.confidence, "One-sided, of the attainment; by default 0.95")->type_name("SHARE");
  app.add_option("--model-confidence", o.model_confidence,
                 "One-sided, that the machines suffice in spite of what backtests\nmissed by; by default 0.9")
      ->type_name("SHARE");
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  declare_capacity_options(app, o);
  declare_set(app, o.set);
  add_whole_number(
      app, "--seed", 0, std::numeric_limits<std::int64_t>::max(), [&o](std::int64_t n) { o.seed = n; },
      "Seed of every random stream (run.seed)");
  constexpr int kMostReplications = 10000;
  add_whole_number(
      app, "--replications", 1, kMostReplications, [&o](std::int64_t n) { o.replications = n; },
      "Runs per rate, with seeds seed, seed + 1, ...; by default 8");
  add_whole_number(
      app, "--jobs", 1, kMostJobs, [&o](std::int64_t n) { o.jobs = static_cast<int>(n); },
      "Runs at once, by default one per processor; no result depends on it");
  app.add_option("--out", o.out, "Folder for result.json, result.md")->type_name("DIR");
  CLI::Option* json = app.add_flag("--json", o.json, "Print one JSON document");
  app.add_flag("--details", o.details, kDetailsHelp);
  app.add_flag("--csv", o.csv, "Print a table of what was compared, a line a configuration")->excludes(json);
  return [options](Console& console) { capacity(console, *options); };
}

}  // namespace
}  // namespace capacity_internal

extern const Command capacity_command;
const Command capacity_command{"capacity", "Find the rate that machines sustain, and the cheapest fleet for a rate",
                               "kvsim capacity scenarios/capacity/chat.yaml --machines h100-sxm,a100 --rate 100/s",
                               capacity_internal::declare};

}  // namespace kvsim::cli
