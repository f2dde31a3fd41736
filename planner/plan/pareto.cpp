#include "planner/plan/pareto.h"

#include <algorithm>
#include <cmath>

namespace kvsim::planner {
namespace {

/// 1, 2, 3, ... and beyond a few dozen in steps of a tenth.
std::vector<std::int64_t> batch_sizes(std::int64_t most) {
  constexpr std::int64_t kEach = 40;
  std::vector<std::int64_t> sizes;
  for (std::int64_t b = 1; b <= most; b = b < kEach ? b + 1 : b + std::max<std::int64_t>(1, b / 10)) sizes.push_back(b);
  return sizes;
}

class Choices {
 public:
  Choices(const scenario::Scenario& s, const GpuRates& rates)
      : gpus_(static_cast<double>(s.serving.cluster.tensor_parallel)), rates_(rates) {}

  void add(std::string policy, const std::optional<OperatingPoint>& point, std::optional<double> quality) {
    if (!point) return;
    Choice c{std::move(policy), *point, point->throughput_tokens_per_s / gpus_, 1 / point->tpot_s(), quality, {}, {}};
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
  std::vector<std::pair<Cycle, double>> lossy;
  for (const double c : request.keep_ratios) {
    const double quality = compressor.quality_at(c);
    if (std::isfinite(quality)) lossy.emplace_back(costs.lossy(c), quality);
  }
  const BatchLimits limits = costs.limits();
  double least = full.resident_bytes;
  for (const Cycle& cycle : drafting) least = std::min(least, cycle.compressed_bytes);
  const auto fit = static_cast<std::int64_t>(std::max(0.0, costs.room_bytes() / least));
  Choices choices(s, rates);
  for (const std::int64_t b : batch_sizes(std::min(limits.requests, fit))) {
    BatchLimits some = limits;
    some.requests = b;
    choices.add("full_kv", search(request.model, {full}, some).optimum, 1.0);
    choices.add("draft_verify", search(request.model, drafting, some).optimum, 1.0);
    for (const auto& [cycle, quality] : lossy) {
      choices.add("lossy", search(request.model, {cycle}, some).optimum, quality);
    }
  }
  return choices.front();
}

}  // namespace kvsim::planner
