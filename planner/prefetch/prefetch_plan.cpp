#include "planner/prefetch/prefetch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/hardware/link_spec.h"
#include "models/prefetch/prefetch_spec.h"
#include "models/schema/units.h"
#include "planner/infeasible.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/simulation.h"
#include "sim/systems/systems.h"

namespace kvsim::planner {

using serving::DecodePolicy;
using serving::KvGeometry;

std::string_view words_of(BatchBound bound) {
  constexpr std::array kWords{"GPU memory", "host memory", "schedule.max_requests", "the workload's concurrency"};
  return kWords.at(static_cast<std::size_t>(bound));
}

LikeRequests average_requests(const Traffic& traffic, std::int64_t batch) {
  return {batch, std::max<std::int64_t>(1, std::llround(traffic.mean_context)), std::llround(traffic.mean_generated)};
}

BatchByMemory batch_by_memory(const serving::ServingConfig& config, const Traffic& traffic) {
  const DecodePolicy& decode = *serving::find_decode_policy(config.decode.policy);
  const KvGeometry geometry = serving::configured_geometry(config, config.cluster.uniform());
  const LikeRequests average = average_requests(traffic, 1);
  const std::int64_t output = std::llround(traffic.mean_output);
  BatchByMemory b;
  b.capacity_bytes = std::max<std::int64_t>(0, serving::kv_capacity_bytes(config, config.cluster.uniform(), geometry));
  const std::int64_t room = serving::draft_room(config.decode, decode);
  b.request_bytes = serving::decoding_reservation(decode, geometry, average.prompt, average.generated, room);
  b.batch = b.capacity_bytes / b.request_bytes;
  b.at_the_end = b.capacity_bytes / serving::decoding_reservation(decode, geometry, average.prompt, output, room);
  const auto at_most = [&b](std::int64_t requests, BatchBound bound) {
    b.at_the_end = std::min(b.at_the_end, requests);
    if (requests >= b.batch) return;
    b.batch = requests;
    b.bound = bound;
  };
  if (config.prefill == serving::PrefillKind::stored || decode.offloads()) {
    at_most(config.cluster.uniform().host_memory_bytes /
                serving::host_reservation(config, decode, geometry, average.prompt, output),
            BatchBound::host_memory);
  }
  at_most(config.schedule.max_requests, BatchBound::max_requests);
  if (traffic.concurrency) at_most(*traffic.concurrency, BatchBound::concurrency);
  return b;
}

std::vector<TwoTokenMachine> two_token_machines(const scenario::Scenario& scenario, const Traffic& traffic,
                                                const models::Catalogue& catalogue) {
  std::vector<TwoTokenMachine> machines;
  for (const models::Catalogue::Line& line : catalogue.list(models::EntryKind::gpu)) {
    serving::ServingConfig config =
        scenario::on_machine(scenario, line.name, scenario.serving.cluster.uniform().parallel.tensor).serving;
    config.decode.policy = scenario.serving.decode.policy;
    TwoTokenMachine machine;
    machine.gpu = line.name;
    machine.fits = batch_by_memory(config, traffic).batch;
    if (machine.fits < 1) continue;
    const LikeRequests one = average_requests(traffic, 1);
    const models::TwoTokenWork work{estimate(config, one).attention_bytes_per_request,
                                    static_cast<double>(one.context())};
    const models::StepTimer timer = step_timer(config);
    machine.not_free = models::two_token_batches(timer, work, kLargestBatch, kFreeShare);
    machine.cost_at_fits = models::two_token_cost(timer, work, static_cast<double>(machine.fits));
    machines.push_back(std::move(machine));
  }
  return machines;
}

namespace {

using serving::Fetch;

/// Policies without drafts, whose steps estimate() knows.
bool comparable(const DecodePolicy& decode) {
  return !decode.verifies && !decode.drafter && (decode.low_bit_copy || decode.lossless());
}

scenario::Scenario under(scenario::Scenario s, const DecodePolicy& decode) {
  s.serving.decode.policy = decode.name;
  return s;
}

double resident_fraction_of(const serving::ServingConfig& config, const DecodePolicy& decode, std::int64_t context) {
  if (decode.low_bit_copy) {
    const std::int64_t fetched = decode.fetches_pairs() ? models::fetched_tokens(config.decode.prefetch, context) : 0;
    return models::resident_fraction(config.decode.compressor, config.decode.compressor.residual_tokens + fetched,
                                     context);
  }
  if (decode.fetch == Fetch::none) return 1;
  return static_cast<double>(config.decode.prefetch.buffered_layers) / static_cast<double>(config.model.layers);
}

PolicyEstimate estimate_of(const scenario::Scenario& s, const DecodePolicy& decode, const Traffic& traffic) {
  PolicyEstimate p;
  p.policy = decode.name;
  try {
    const serving::ServingConfig config = under(s, decode).serving;
    systems::check_serving(config);
    p.memory = batch_by_memory(config, traffic);
    const LikeRequests requests = average_requests(traffic, p.memory.batch);
    p.resident_fraction = resident_fraction_of(config, decode, requests.context());
    if (requests.batch < 1) {
      p.problem = fmt::format("no room for one request ({})", words_of(p.memory.bound));
    } else {
      p.step = estimate(config, requests);
    }
  } catch (const serving::ConfigurationError& e) {
    p.problem = e.what();
  }
  return p;
}

FetchEstimate fetch_of(const serving::ServingConfig& config, std::int64_t context) {
  const models::LinkSpec& link = config.cluster.uniform().host_link;
  const models::LayerFetch fetch =
      models::layer_fetch(config.decode.prefetch, config.model, config.cluster.uniform().parallel.tensor,
                          std::max<std::int64_t>(0, context - config.decode.compressor.residual_tokens));
  const models::GatherMethod& method = *models::find_gather(link, config.decode.prefetch.copies, fetch.row_bytes);
  return {fetch.rows, fetch.row_bytes, method.name, models::gathered_bytes_per_s(link, method, fetch.row_bytes),
          link.read_bytes_per_s.value};
}

[[noreturn]] void nothing_fits(const scenario::Scenario& s, const BatchByMemory& memory) {
  const auto quantity = [](std::int64_t bytes) {
    return schema::round_quantity(schema::Dimension::bytes, static_cast<double>(bytes));
  };
  if (memory.bound != BatchBound::gpu_memory) {
    throw Infeasible(
        fmt::format("{}: no plan: not one request fits: more {} is needed", s.file, words_of(memory.bound)));
  }
  throw Infeasible(fmt::format(
      "{}: no plan: {} is left for KV beside the weights; the nearest miss, one request of average context, needs {}: "
      "more GPU memory, a larger tensor-parallel group, shorter contexts or fewer bits",
      s.file, quantity(memory.capacity_bytes), quantity(memory.request_bytes)));
}

const PolicyEstimate* find(const std::vector<PolicyEstimate>& policies, std::string_view name) {
  const auto at =
      std::find_if(policies.begin(), policies.end(), [name](const PolicyEstimate& p) { return p.policy == name; });
  return at == policies.end() ? nullptr : &*at;
}

}  // namespace

bool plans_prefetch(const scenario::Scenario& scenario) {
  const DecodePolicy& decode = *serving::find_decode_policy(scenario.serving.decode.policy);
  return decode.fetch != Fetch::none || decode.low_bit_copy;
}

PrefetchPlan plan_prefetch(const scenario::Scenario& s) {
  PrefetchPlan plan;
  plan.traffic = traffic_of(s);
  check_context(s, plan.traffic);
  plan.context = average_requests(plan.traffic, 1).context();
  for (const DecodePolicy& decode : serving::decode_policies()) {
    if (comparable(decode)) plan.policies.push_back(estimate_of(s, decode, plan.traffic));
  }
  plan.own = *find(plan.policies, s.serving.decode.policy);
  if (plan.own.memory.batch < 1) nothing_fits(s, plan.own.memory);
  const DecodePolicy& speculative = *serving::find_decode_policy("speculative_prefetch");
  const PolicyEstimate& chosen = *find(plan.policies, speculative.name);
  if (!chosen.problem.empty()) return plan;
  const scenario::Scenario fetching = under(s, speculative);
  const models::Catalogue& catalogue = *s.catalogue;
  plan.fetch = fetch_of(fetching.serving, plan.context);
  plan.crossover = crossover(fetching.serving, chosen.step.requests, catalogue);
  plan.machines = two_token_machines(fetching, plan.traffic, catalogue);
  return plan;
}

}  // namespace kvsim::planner
