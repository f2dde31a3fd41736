#include "planner/command_keys.h"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/routing/router.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::planner {

namespace {

/// The keys, and those of the map `within` that entries of its registry have of their own but for `read`, which live as
/// long as the program.
template <class Entry>
std::vector<const char*> with_own_keys(std::vector<const char*> keys, std::span<const Entry> registry,
                                       std::string_view within, std::string_view read = "") {
  static const std::vector<std::string> own = [&] {
    std::vector<std::string> paths;
    for (const Entry& entry : registry) {
      for (const std::string& key : entry.keys.names()) paths.push_back(fmt::format("{}.{}", within, key));
    }
    return paths;
  }();
  for (const std::string& path : own) {
    if (path != read) keys.push_back(path.c_str());
  }
  return keys;
}

}  // namespace

std::span<const CommandKeys> command_keys() {
  using scenario::WithinMap;
  const auto with_own = [](std::vector<const char*> keys, std::string_view read = "") {
    return with_own_keys(with_own_keys(std::move(keys), serving::schedule_policies(), "schedule", read),
                         routing::routers(), "cluster");
  };
  static const std::array table{
      CommandKeys{"capacity", {"workload.closed.concurrency"}, "capacity searches it: use --users", WithinMap::allowed},
      CommandKeys{"capacity",
                  {"workload.requests", "workload.sessions.count"},
                  "capacity chooses how long runs are: use run.duration"},
      // Tiers are warmed with requests of the scenario's rate.
      CommandKeys{"capacity without placement",
                  {"workload.arrivals.rate"},
                  "capacity searches it: use --rate",
                  WithinMap::allowed},
      CommandKeys{
          "capacity --machines of others",
          {"cluster.gpu.type", "cluster.gpu.tensor_parallel", "cluster.gpu.profile", "cluster.gpu.peer_link",
           "cluster.host.link"},
          "--machines names other GPUs, which bring their own: use --machines GPU:N, or a GPU of a file in include",
          WithinMap::allowed},
      CommandKeys{"capacity --memory", {"cluster.host.memory", "cluster.node.memory"}, "--memory says it: use that"},
      CommandKeys{
          "plan", {"slo"}, "a plan looks for the most tokens/s, whatever the objectives: use capacity or sweep"},
      CommandKeys{"plan", {"decode.draft_lengths"}, "a plan has one draft length: use --draft-table, or run"},
      CommandKeys{
          "plan without --simulate", {"decode.draft_length"}, "plan chooses it: use --draft-length, or --simulate"},
      CommandKeys{
          "plan without --simulate", {"decode.resident", "decode.offloaded"}, "plan chooses the batch: use --simulate"},
      // Another compressor needs its ratio beside it.
      CommandKeys{"plan without --simulate, of the file's compressor",
                  {"decode.keep_ratio"},
                  "plan chooses it: use --keep-ratio, or --simulate"},
      CommandKeys{"plan", {"decode.budget"}, "a plan chooses a share of the KV: use compare or sweep"},
      CommandKeys{
          "plan by closed forms",
          with_own({"run", "cluster.router", "workload.requests", "workload.arrivals.process", "workload.arrivals.cv",
                    "schedule.window", "cluster.host.discipline", "schedule.asynchronous", "schedule.receive_interval",
                    "schedule.batch_wait", "schedule.preempted"},
                   "schedule.arrival_slack"),
          "closed forms are of average iterations, and nothing is simulated: use --simulate, or run",
          WithinMap::allowed},
      // The keys that decide which step is possible at all (schedule.policy, prefill, host memory) may be set.
      CommandKeys{"show step",
                  with_own({"run",
                            "slo",
                            "dispatch",
                            "cluster.replicas",
                            "cluster.router",
                            "cluster.host.link",
                            "cluster.host.discipline",
                            "workload.arrivals",
                            "workload.closed",
                            "workload.requests",
                            "workload.output",
                            "workload.prefixes",
                            "workload.sessions",
                            "decode.draft_lengths",
                            "decode.draft_limit",
                            "decode.resident",
                            "decode.offloaded",
                            "schedule.window",
                            "schedule.arrival",
                            "schedule.receive_interval",
                            "schedule.batch_wait",
                            "schedule.blocking_loads",
                            "schedule.prefill_order",
                            "schedule.reserve",
                            "schedule.preempted",
                            "schedule.asynchronous"}),
                  "one step is timed, and nothing is simulated: use run", WithinMap::allowed},
      CommandKeys{"show step --batch", {"schedule.max_requests"}, "--batch says how many requests there are"},
      CommandKeys{
          "show step --context", {"workload.context"}, "--context says how long contexts are", WithinMap::allowed},
      CommandKeys{"show step without --verify",
                  {"decode.draft_length"},
                  "nothing is verified in this step: use --verify",
                  WithinMap::allowed},
      // The model says how long contexts may be.
      CommandKeys{"workload generate",
                  {"cluster", "prefill", "decode", "placement", "dispatch", "slo", "run.warmup", "run.replications",
                   "schedule"},
                  "requests are written as they arrive, and none is served: use run",
                  WithinMap::allowed}};
  return table;
}

void refuse_unread_by(std::string_view command, const scenario::Scenario& scenario) {
  bool known = false;
  for (const CommandKeys& unread : command_keys()) {
    if (unread.command != command) continue;
    scenario::refuse_if_set(scenario, unread.keys, unread.why, unread.within);
    known = true;
  }
  if (!known) throw std::logic_error(fmt::format("no keys are stated for the command \"{}\"", command));
}

}  // namespace kvsim::planner
