#include "planner/explain/factor.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "models/workload/limits.h"

namespace kvsim::planner {
namespace {

using models::AcceptanceKind;

void scale(models::Sourced<double>& figure, double by) {
  figure.value *= by;
}

std::int64_t scaled_tokens(std::int64_t tokens, double by) {
  return std::clamp<std::int64_t>(std::llround(static_cast<double>(tokens) * by), 1, models::max_request_tokens);
}

/// S(i)^power as a curve with a point for every length up to `last`; beyond, the last S holds, as for the original.
std::vector<models::AcceptancePoint> raised(const models::AcceptanceSpec& spec, std::int64_t last, double power) {
  const models::AcceptanceModel law(spec, 1.0, last);
  std::vector<models::AcceptancePoint> points;
  double sum = 0;
  for (std::int64_t i = 1; i <= last; ++i) {
    sum += std::pow(law.survival(i), power);
    points.push_back({i, sum});
  }
  return points;
}

void raise_agreement(serving::DecodeConfig& decode, double power) {
  models::AcceptanceSpec& law = decode.acceptance;
  switch (law.kind) {
    case AcceptanceKind::compressor:
      for (models::KeepRatioPoint& p : decode.compressor.agreement) p.value = std::pow(p.value, power);
      for (models::KeepRatioPoint& p : decode.compressor.step_kl_nats) p.value *= power;
      break;
    case AcceptanceKind::constant:
    case AcceptanceKind::heterogeneous:  // of the mean; requests differ as much as before
      law.agreement = std::pow(law.agreement, power);
      break;
    case AcceptanceKind::step_kl:
      law.step_kl_nats *= power;
      break;
    case AcceptanceKind::curve:
      law.points = raised(law, law.points.back().draft_length, power);
      break;
    case AcceptanceKind::positions:
      for (double& reached : law.positions) reached = std::pow(reached, power);
      break;
    case AcceptanceKind::recorded:
      law.points = raised(law, *std::max_element(law.lengths.begin(), law.lengths.end()) + 1, power);
      law.lengths.clear();
      law.kind = AcceptanceKind::curve;
      break;
  }
}

void scale_lengths(models::LengthSpec& length, double by) {
  length.mean *= by;
  length.min = scaled_tokens(length.min, by);
  length.max = scaled_tokens(length.max, by);
  for (std::int64_t& value : length.values) value = scaled_tokens(value, by);
}

void scale_contexts(scenario::Scenario& s, double by) {
  if (s.trace) {
    auto requests = std::make_shared<std::vector<models::RequestSpec>>(*s.trace);
    for (models::RequestSpec& r : *requests) r.prompt_tokens = scaled_tokens(r.prompt_tokens, by);
    s.trace = std::move(requests);
  }
  if (s.workload.context) scale_lengths(*s.workload.context, by);
  if (s.workload.prefixes) {
    if (s.workload.prefixes->datasets.empty()) scale_lengths(s.workload.prefixes->tokens, by);
    for (models::DatasetSpec& dataset : s.workload.prefixes->datasets) dataset.mean_tokens.value *= by;
  }
  if (auto& chunks = s.workload.chunks) {
    const std::int64_t most = (models::max_request_tokens - 1) / chunks->per_request;
    chunks->tokens = std::min(scaled_tokens(chunks->tokens, by), most);
    s.serving.chunks = chunks;  // what is stored beforehand
  }
}

}  // namespace

const FactorName& name_of(Factor factor) {
  return *std::find_if(kFactors.begin(), kFactors.end(), [factor](const FactorName& f) { return f.factor == factor; });
}

scenario::Scenario scaled(const scenario::Scenario& scenario, Factor factor, double by) {
  scenario::Scenario s = scenario;
  serving::ClusterConfig& cluster = s.serving.cluster;
  switch (factor) {
    case Factor::hbm_bandwidth:
      scale(cluster.gpu.memory_bytes_per_s, by);
      break;
    case Factor::hbm_capacity:
      cluster.gpu.memory_bytes.value = std::llround(static_cast<double>(cluster.gpu.memory_bytes.value) * by);
      break;
    case Factor::link_bandwidth:
      scale(cluster.host_link.read_bytes_per_s, by);
      scale(cluster.host_link.write_bytes_per_s, by);
      break;
    case Factor::compute:
      scale(cluster.gpu.bf16_flops_per_s, by);
      scale(cluster.gpu.fp8_flops_per_s, by);
      break;
    case Factor::agreement:
      raise_agreement(s.serving.decode, 1 / by);
      break;
    case Factor::context:
      scale_contexts(s, by);
      break;
  }
  return s;
}

}  // namespace kvsim::planner
