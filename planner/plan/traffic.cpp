#include "planner/plan/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "models/schema/error.h"
#include "models/workload/trace_reader.h"
#include "planner/infeasible.h"
#include "sim/engine/random.h"

namespace kvsim::planner {
namespace {

constexpr int kSample = 4096;  // standard error of a mean: cv / 64
constexpr std::uint64_t kSeed = 0;

std::vector<double> draw(const models::LengthSpec& spec, const char* stream) {
  const models::LengthSampler sampler(spec);
  models::RandomSourceOf<engine::RandomStream> random(engine::RandomStream(kSeed, stream));
  std::vector<double> values;
  values.reserve(kSample);
  for (int i = 0; i < kSample; ++i) values.push_back(static_cast<double>(sampler.sample(random)));
  return values;
}

/// Lengths of the requests' prefixes: of each kind as many as its share of the requests.
std::vector<double> draw_prefixes(const models::SharedPrefixSpec& spec) {
  std::vector<double> values;
  double share = 0;
  for (const models::PrefixKind& kind : prefix_kinds(spec)) {
    share += kind.requests;
    const std::vector<double> drawn = draw(kind.tokens, "plan.prefixes");
    const std::size_t end = std::min(drawn.size(), static_cast<std::size_t>(std::llround(share * kSample)));
    while (values.size() < end) values.push_back(drawn[values.size()]);
  }
  return values;
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0.0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void set_lengths(Traffic& t, std::vector<double> contexts, std::vector<double> outputs) {
  std::sort(contexts.begin(), contexts.end());
  t.mean_context = mean(contexts);
  t.mean_output = mean(outputs);
  double squares = 0;
  for (const double n : outputs) squares += n * n;
  // A request of n tokens is under way for a time in proportion to n, and has n/2 on average.
  t.mean_generated = squares / static_cast<double>(outputs.size()) / (2 * t.mean_output);
  t.contexts = std::move(contexts);
  t.outputs = std::move(outputs);
}

}  // namespace

// Closed forms are of requests of one kind that stand alone, at a rate that stays.
void check_traffic(const scenario::Scenario& scenario) {
  const scenario::WorkloadConfig& w = scenario.workload;
  const auto refuse = [&](const char* key, const std::string& why) {
    throw schema::InputError(fmt::format("{}: {}: {}", scenario.file, key, why));
  };
  if (w.sessions) {
    refuse("workload.sessions",
           "closed forms know of requests that stand alone, not of turns that wait for each other: use run, compare or "
           "sweep");
  }
  if (w.trace && w.trace->sessions) {
    refuse(
        "workload.trace.sessions",
        "closed forms know of requests that stand alone, not of turns that wait for each other: leave it out, or use "
        "run, compare or sweep");
  }
  if (!w.classes.empty()) {
    refuse("workload.classes", "closed forms know of one law of lengths: use run, compare or sweep, or give one law");
  }
  if (scenario.serving.schedule.prefix_caching) {
    refuse("schedule.prefix_caching",
           "closed forms know of prompts that are computed whole: use run, compare or sweep");
  }
  // Prompts of chunks, and paths of requests, have plans of their own, which know what is stored.
  if (scenario.serving.placement && !w.chunks && !scenario.serving.cluster.topology().dispatcher) {
    refuse("placement",
           "closed forms know of no tiers in which prompts are stored and found again: use `kvsim compare` for its "
           "policies, and `kvsim capacity --memory ... --storage ...` for the sizes of tiers");
  }
  if (w.arrivals && w.arrivals->over_time) {
    refuse("workload.arrivals.over_time",
           "closed forms are of a rate that stays; " + sized_for_the_highest(*w.arrivals));
  }
}

double Traffic::longest_of(double requests) const {
  const double at = requests / (requests + 1) * static_cast<double>(contexts.size() - 1);
  return contexts[static_cast<std::size_t>(std::llround(at))];
}

Traffic traffic_of(const scenario::Scenario& scenario) {
  const scenario::WorkloadConfig& w = scenario.workload;
  const auto replicas = static_cast<double>(scenario.serving.cluster.replicas());
  check_traffic(scenario);
  Traffic t;
  if (w.trace) {
    std::vector<double> contexts, outputs;
    for (const models::RequestSpec& r : *scenario.trace) {
      contexts.push_back(static_cast<double>(r.prompt_tokens));
      outputs.push_back(static_cast<double>(r.output_tokens));
    }
    set_lengths(t, std::move(contexts), std::move(outputs));
    t.named_context = t.mean_context;
    t.rate_per_s = models::arrival_rate(*scenario.trace) / replicas;
    return t;
  }
  std::vector<double> contexts = draw(*w.context, "plan.context");
  t.named_context = models::LengthSampler(*w.context).mean();
  if (w.prefixes) {
    // Popular prefixes of one kind have lengths like any others, so that over all runs popularity does not matter.
    const std::vector<double> prefixes = draw_prefixes(*w.prefixes);
    std::transform(contexts.begin(), contexts.end(), prefixes.begin(), contexts.begin(), std::plus<>());
    t.named_context += models::mean_prefix_tokens(*w.prefixes);
  }
  if (w.chunks) {
    const auto tokens = static_cast<double>(w.chunks->tokens_per_request());
    for (double& context : contexts) context += tokens;
    t.named_context += tokens;
  }
  set_lengths(t, std::move(contexts), draw(*w.output, "plan.output"));
  if (w.closed) {
    t.concurrency =
        (w.closed->concurrency + scenario.serving.cluster.replicas() - 1) / scenario.serving.cluster.replicas();
  } else {
    t.rate_per_s = w.arrivals->rate_per_s / replicas;
  }
  return t;
}

void check_context(const scenario::Scenario& s, const Traffic& traffic) {
  const double tokens = traffic.mean_context + traffic.mean_output;
  const auto most = static_cast<double>(s.serving.model.max_context);
  if (tokens <= most) return;
  throw Infeasible(fmt::format(
      "{}: no plan: requests of {:.0f} tokens on average, prompt and output, and {} goes up to {:.0f}; shorten them by "
      "{:.0f} tokens or take a model with a longer context",
      s.file, tokens, s.serving.model.name, most, tokens - most));
}

namespace {

double mean_rate(const models::ArrivalSpec& arrivals) {
  return arrivals.rate_per_s > 0 ? arrivals.rate_per_s : arrivals.over_time->mean_rate();
}

/// In requests per second.
double highest_rate(const models::ArrivalSpec& arrivals) {
  const models::RateOverTime& rates = *arrivals.over_time;
  if (rates.table.empty()) return mean_rate(arrivals) * (1 + rates.amplitude);
  const auto highest = std::max_element(rates.table.begin(), rates.table.end(),
                                        [](const auto& a, const auto& b) { return a.rate_per_s < b.rate_per_s; });
  return highest->rate_per_s * mean_rate(arrivals) / rates.mean_rate();
}

}  // namespace

std::string sized_for_the_highest(const models::ArrivalSpec& arrivals) {
  const std::string process = arrivals.kind == models::ArrivalKind::gamma
                                  ? fmt::format("{}, cv: {:.6g}", word(arrivals.kind), arrivals.cv)
                                  : std::string(word(arrivals.kind));
  const double highest = highest_rate(arrivals);
  return fmt::format(
      "the highest of this one is {0:.6g}/s. --set \"workload.arrivals={{process: {1}, rate: {0:.6g}/s}}\" is of that "
      "rate alone: what holds at it holds at all others, and where R/s is the most that does, all rates may be "
      "multiplied by R / {0:.6g}. How it goes as they change says run, or sweep over workload.arrivals.rate",
      highest, process);
}

}  // namespace kvsim::planner
