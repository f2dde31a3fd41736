#include "planner/plan/scenario_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "planner/infeasible.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/simulation.h"
#include "sim/systems/systems.h"

namespace kvsim::planner {
namespace {

using models::CompressionKind;

struct Found {
  std::optional<OperatingPoint> optimum, full_kv;
  std::uint64_t evaluated = 0;
};

Found best_of(TransferModel model, std::vector<Cycle> cycles, const Cycle& full, const BatchLimits& limits) {
  const SearchResult baseline = search(model, {full}, limits);
  cycles.push_back(full);
  const SearchResult found = search(model, cycles, limits);
  return {found.optimum, baseline.optimum, found.evaluated + baseline.evaluated};
}

std::vector<BreakdownRow> breakdown_of(const scenario::Scenario& s, const PlanRequest& request) {
  std::vector<BreakdownRow> rows;
  Refinements so_far = kNoRefinements;
  const auto add = [&](std::string_view name, std::string_view description) {
    const ScenarioCosts costs(s, so_far);
    const Found found = best_of(request.model, cycles_of(s, costs, request), costs.full_kv(), costs.limits());
    rows.push_back({std::string(name), std::string(description), found.optimum, found.full_kv});
  };
  add("bytes / peak", "one context length, bytes over peak bandwidths");
  for (const RefinementName& refinement : kRefinements) {
    if (!(request.refinements.*refinement.member)) continue;
    so_far.*refinement.member = true;
    add(refinement.name, refinement.description);
  }
  return rows;
}

[[noreturn]] void nothing_fits(const scenario::Scenario& s, const ScenarioCosts& costs, TransferModel model,
                               const std::vector<Cycle>& cycles) {
  double least = costs.full_kv().resident_bytes;
  double c = 1;
  for (const Cycle& cycle : cycles) {
    const double need = least_kv_bytes(model, cycle);
    if (need < least) {
      least = need;
      c = cycle.c;
    }
  }
  const auto quantity = [](double bytes) { return schema::round_quantity(schema::Dimension::bytes, bytes); };
  const double room = std::max(0.0, costs.room_bytes());
  const std::string request = fmt::format("one request of {} tokens {}", costs.prompt() + costs.generated(),
                                          c < 1 ? fmt::format("at keep ratio {:g}", c) : "with its full KV");
  if (fits(least, room)) {
    throw Infeasible(fmt::format(
        "{}: no plan: {} would fit into GPU memory, but not what else it needs: host memory has room for {} offloaded "
        "requests, and a reload must be over within a draft; allow longer drafts, or "
        "take more host memory or a faster link",
        s.file, request, costs.limits().offloaded));
  }
  // in MB, rounded up, so that what is named is enough
  throw Infeasible(
      fmt::format("{}: no plan under model {}: {} is left for KV beside the weights; the nearest miss, {}, needs {}: "
                  "{:.0f} MB more "
                  "GPU memory, a larger tensor-parallel group or shorter contexts",
                  s.file, name_of(model), quantity(room), request, quantity(least), std::ceil((least - room) / kMB)));
}

std::optional<OfferedLoad> load_of(const Traffic& traffic, const OperatingPoint& optimum) {
  if (!traffic.rate_per_s) return std::nullopt;
  return OfferedLoad{*traffic.rate_per_s * traffic.mean_output, optimum.throughput_tokens_per_s};
}

}  // namespace

std::vector<double> default_keep_ratios() {
  constexpr int kSteps = 20;
  std::vector<double> ratios;
  for (int i = 1; i < kSteps; ++i) ratios.push_back(static_cast<double>(i) / kSteps);
  return ratios;
}

std::vector<Cycle> cycles_of(const scenario::Scenario& s, const ScenarioCosts& costs, const PlanRequest& request) {
  std::vector<Cycle> cycles;
  for (const double c : request.keep_ratios) {
    try {
      std::vector<Cycle> some = costs.drafting(c, request.least_draft_length, request.most_draft_length);
      std::move(some.begin(), some.end(), std::back_inserter(cycles));
    } catch (const std::invalid_argument&) {
      throw schema::InputError(fmt::format(
          "{}: compressor {} says nothing of the agreement of its drafts at keep ratio {:g}: give decode.acceptance "
          "(for example {{model: constant, agreement: 0.98}}), or other keep ratios",
          s.file, s.serving.decode.compressor.name, c));
    }
  }
  return cycles;
}

namespace {

/// Refuses beforehand what a run of the plan would refuse, whatever its x and batch.
void check_drafting(const scenario::Scenario& s, double keep_ratio) {
  OperatingPoint least;
  least.x = 1;
  least.c = keep_ratio;
  least.batch.B_c = 1;
  try {
    systems::check_serving(with_plan(s, least).serving);
  } catch (const serving::ConfigurationError& e) {
    throw schema::InputError(fmt::format("{}: {}: {}", s.file, e.key(), e.what()));
  }
}

}  // namespace

PlanRequest completed(const scenario::Scenario& s, PlanRequest request) {
  check_traffic(s);
  const models::LlmSpec& model = s.serving.model;
  if (model.window.layers > 0 || model.state.layers > 0) {
    const bool states = model.state.layers > 0;
    throw schema::InputError(
        fmt::format("{}: model.{}: what is planned is how much KV to compress, which is not "
                    "known for layers with a {}: use a model without, or `kvsim run`",
                    s.file, states ? "state" : "window", states ? "state" : "window"));
  }
  if (model.shared_kv_layers > 0) {
    throw schema::InputError(
        fmt::format("{}: model.shared_kv_layers: what is planned is how much KV to compress, which is not known for "
                    "layers that read another's: use a model without, or `kvsim run`",
                    s.file));
  }
  if (s.serving.decode.compressor.name.empty()) {
    throw schema::InputError(
        fmt::format("{}: decode: there is no compressor to plan with: add for example `compressor: kvzip` and "
                    "`keep_ratio: 0.2`, or --set decode.compressor=kvzip --set decode.keep_ratio=0.2",
                    s.file));
  }
  const models::CompressorSpec& compressor = s.serving.decode.compressor;
  if (compressor.kind == CompressionKind::quantisation) {
    request.keep_ratios = {compressor.quantised_ratio()};
  } else if (request.keep_ratios.empty()) {
    request.keep_ratios = default_keep_ratios();
  }
  check_drafting(s, request.keep_ratios.front());
  return request;
}

std::optional<OperatingPoint> optimum_of(const scenario::Scenario& s, const PlanRequest& request) {
  const ScenarioCosts costs(s, request.refinements);
  return best_of(request.model, cycles_of(s, costs, request), costs.full_kv(), costs.limits()).optimum;
}

/// Drafts on compressed KV are planned, and nothing beside them.
scenario::Scenario without_drafter(scenario::Scenario s) {
  if (serving::find_decode_policy(s.serving.decode.policy)->drafter) s.serving.decode.policy = "draft_verify";
  return s;
}

ScenarioPlan plan(const scenario::Scenario& given, const PlanRequest& asked) {
  const scenario::Scenario s = without_drafter(given);
  if (!s.serving.cluster.uniform().parallel.tensor_only()) {
    throw schema::InputError(
        "cluster.gpu: plans know tensor_parallel only; attention_data_parallel and pipeline_parallel are simulated: "
        "kvsim "
        "run, compare, sweep and capacity");
  }
  ScenarioPlan result;
  result.request = completed(s, asked);
  const PlanRequest& request = result.request;

  const ScenarioCosts costs(s, request.refinements);
  check_context(s, costs.traffic());
  const std::vector<Cycle> cycles = cycles_of(s, costs, request);
  const Cycle full = costs.full_kv();
  result.limits = costs.limits();
  for (const TransferModelName& entry : kTransferModels) {
    const Found found = best_of(entry.model, cycles, full, result.limits);
    if (found.optimum) result.by_model[entry.model] = *found.optimum;
    if (entry.model != request.model) continue;
    if (!found.optimum) nothing_fits(s, costs, entry.model, cycles);
    result.optimum = *found.optimum;
    result.full_kv = found.full_kv;
    result.evaluated = found.evaluated;
  }
  result.best_of_each = best_of_each(request.model, cycles, result.limits);
  result.breakdown = breakdown_of(s, request);
  result.load = load_of(costs.traffic(), result.optimum);
  result.kv_bytes = costs.kv_bytes();
  result.room_bytes = costs.room_bytes();
  result.weights_bytes = static_cast<double>(s.serving.model.weight_bytes());
  result.prompt_tokens = costs.prompt();
  result.generated_tokens = costs.generated();
  result.fallbacks = costs.fallbacks();
  const serving::DecodePolicy& decode = *serving::find_decode_policy(given.serving.decode.policy);
  if (decode.drafter || decode.keeps_full) {
    result.fallbacks.push_back(
        fmt::format("decode policy {} is planned as draft_verify: what else drafts is left out (two levels: --symbols; "
                    "draft lengths of any policy: --draft-table)",
                    decode.name));
  }
  return result;
}

scenario::Scenario with_plan(const scenario::Scenario& s, const OperatingPoint& point) {
  scenario::Scenario planned = s;
  serving::DecodeConfig& decode = planned.serving.decode;
  decode.budget.reset();  // a share is planned
  std::string& schedule = planned.serving.schedule.policy;
  if (point.x == 0) {
    decode.policy = point.c < 1 ? "lossy" : "full_kv";
    schedule = "fcfs";
  } else {
    const bool verified = serving::find_decode_policy(s.serving.decode.policy)->verifies;
    decode.policy = "draft_verify";
    if (!verified) schedule = "staggered";
    decode.draft_lengths = {};  // x is planned
    decode.draft_length = point.x;
    // A limit that is in order for the scenario's own x.
    if (decode.draft_limit > 0 && decode.draft_limit < point.x) decode.draft_limit = serving::kStrictDraftLimit;
    decode.resident = point.batch.B_g;
    decode.offloaded = point.batch.B_c;
  }
  if (decode.compressor.kind != CompressionKind::quantisation && point.c < 1) {
    decode.keep_ratio = point.c;
  }
  planned.serving.schedule.max_requests = std::min(planned.serving.schedule.max_requests, point.batch.requests());
  return planned;
}

namespace {

/// 1, 2, 3, ... and beyond a few dozen in steps of a tenth.
std::vector<std::int64_t> batch_sizes(std::int64_t most) {
  constexpr std::int64_t kEach = 40;
  std::vector<std::int64_t> sizes;
  for (std::int64_t b = 1; b <= most; b = b < kEach ? b + 1 : b + std::max<std::int64_t>(1, b / 10)) sizes.push_back(b);
  return sizes;
}

/// Scores of an output, relative to full KV's.
struct Scores {
  double quality = 1;
  double functional = 1;  ///< not a number: not known
};

class Choices {
 public:
  Choices(const scenario::Scenario& s, const GpuRates& rates)
      : gpus_(static_cast<double>(s.serving.cluster.uniform().parallel.tensor)), rates_(rates) {}

  void add(std::string policy, const std::optional<OperatingPoint>& point, const Scores& scores) {
    if (!point) return;
    Choice c{std::move(policy),
             *point,
             point->throughput_tokens_per_s / gpus_,
             1 / point->tpot_s(),
             scores.quality,
             {},
             {},
             {}};
    if (std::isfinite(scores.functional)) c.functional = scores.functional;
    constexpr double kPerMillion = 1e6, kSecondsPerHour = 3600;
    const double tokens = point->throughput_tokens_per_s;
    if (rates_.usd_per_hour) {
      c.usd_per_1m_tokens = *rates_.usd_per_hour * gpus_ / (tokens * kSecondsPerHour) * kPerMillion;
    }
    if (rates_.board_power_w) c.joules_per_token = *rates_.board_power_w * gpus_ / tokens;
    all_.push_back(std::move(c));
  }

  [[nodiscard]] std::vector<Choice> front() const {
    std::vector<std::vector<double>> objectives;
    for (const Choice& c : all_) {
      objectives.push_back({c.tokens_per_s_per_gpu, c.tokens_per_s_per_user, c.quality.value_or(0)});
    }
    std::vector<Choice> front;
    for (const std::size_t i : pareto_front(objectives)) front.push_back(all_[i]);
    std::stable_sort(front.begin(), front.end(), [](const Choice& a, const Choice& b) {
      return a.tokens_per_s_per_user > b.tokens_per_s_per_user;
    });
    return front;
  }

 private:
  double gpus_;
  GpuRates rates_;
  std::vector<Choice> all_;
};

}  // namespace

std::vector<std::size_t> pareto_front(const std::vector<std::vector<double>>& points) {
  const auto dominates = [&points](std::size_t a, std::size_t b) {
    bool better = false;
    for (std::size_t k = 0; k < points[a].size(); ++k) {
      if (points[a][k] < points[b][k]) return false;
      better = better || points[a][k] > points[b][k];
    }
    return better || a < b;
  };
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    bool beaten = false;
    for (std::size_t k = 0; k < points.size() && !beaten; ++k) beaten = k != i && dominates(k, i);
    if (!beaten) front.push_back(i);
  }
  return front;
}

std::vector<Choice> pareto_choices(const scenario::Scenario& s, const PlanRequest& asked, const GpuRates& rates) {
  const ScenarioCosts costs(s, asked.refinements);
  const PlanRequest request = completed(s, asked);
  const std::vector<Cycle> drafting = cycles_of(s, costs, request);
  const Cycle full = costs.full_kv();
  const models::CompressorSpec& compressor = s.serving.decode.compressor;
  std::vector<std::pair<Cycle, Scores>> lossy;
  for (const double c : request.keep_ratios) {
    const double quality = compressor.quality_at(c);
    if (!std::isfinite(quality)) continue;
    lossy.emplace_back(costs.lossy(c), Scores{quality, models::least_functional(compressor.functional_at(c))});
  }
  const BatchLimits limits = costs.limits();
  double least = full.resident_bytes;
  for (const Cycle& cycle : drafting) least = std::min(least, cycle.compressed_bytes);
  const auto fit = static_cast<std::int64_t>(std::max(0.0, costs.room_bytes() / least));
  Choices choices(s, rates);
  for (const std::int64_t b : batch_sizes(std::min(limits.requests, fit))) {
    BatchLimits some = limits;
    some.requests = b;
    choices.add("full_kv", search(request.model, {full}, some).optimum, {});
    choices.add("draft_verify", search(request.model, drafting, some).optimum, {});
    for (const auto& [cycle, scores] : lossy) {
      choices.add("lossy", search(request.model, {cycle}, some).optimum, scores);
    }
  }
  return choices.front();
}

}  // namespace kvsim::planner
